//! `mmsim list zoneinfo`.

use mmsim::machine::snapshot::ZoneSnapshot;
use mmsim::report::{Rows, proc};
use mmsim::setup::{self, Setup, SetupRequest};
use serde::Serialize;

use crate::args::{ListFormat, MachineArgs};
use crate::table;
use mmsim_terminal::exit::Failure;

/// The zones of a machine in the form asked for.
pub(crate) fn list(args: &MachineArgs, format: ListFormat) -> Result<String, Failure> {
    let setup = setup(args)?;
    Ok(match format {
        ListFormat::Table => for_people(&setup),
        ListFormat::Json => json(&setup),
        ListFormat::Csv => csv(&setup),
        ListFormat::Text => proc::zoneinfo(&setup.snapshot),
    })
}

/// The zones that Linux sets up on a machine.
fn setup(args: &MachineArgs) -> Result<Setup, Failure> {
    if args.memory.is_none() && args.zones.is_empty() {
        return Err(Failure::said(
            "zoneinfo is of a machine, write `mmsim list zoneinfo --memory SIZE`",
        ));
    }
    let mut request = SetupRequest::default();
    request.memory = args.memory.as_deref().unwrap_or(request.memory);
    request.zones = &args.zones;
    request.kernel = args.kernel.as_deref().unwrap_or(request.kernel);
    request.cpus = args.cpus.unwrap_or(request.cpus);
    request.nodes = args.nodes.unwrap_or(request.nodes);
    let mut vm = args.vm.clone();
    if args.thp {
        const KEY: &str = "transparent_hugepage";
        if vm.iter().any(|(key, _)| key == KEY) {
            let both = format!("--thp is short for `--vm {KEY}=madvise`, leave one of them out");
            return Err(Failure::said(&both));
        }
        vm.push((KEY.to_string(), "madvise".to_string()));
    }
    request.vm = &vm;
    Ok(setup::setup(&request)?)
}

/// `high` and `batch` of the per-CPU lists, which are the same for all CPUs.
fn pcp(z: &ZoneSnapshot) -> [u64; 2] {
    z.pcp.first().map_or([0, 1], |p| [p.high.into(), p.batch.into()])
}

/// The sizes of a zone in the order of the columns.
fn sizes(z: &ZoneSnapshot) -> Vec<u64> {
    [z.managed].into_iter().chain(z.watermark).chain(pcp(z)).collect()
}

fn for_people(setup: &Setup) -> String {
    let header = [
        "node",
        "zone",
        "managed",
        "min",
        "low",
        "high",
        "promo",
        "pcp high",
        "batch",
        "protection",
    ];
    let row = |z: &ZoneSnapshot| {
        let mut row = vec![z.node.0.to_string(), z.kind.name().to_string()];
        row.extend(sizes(z).iter().map(u64::to_string));
        let [dma, dma32, normal, movable] = z.lowmem_reserve;
        row.push(format!("({dma}, {dma32}, {normal}, {movable}, {movable})"));
        row
    };
    let zones = table::grid(Some(&header), setup.snapshot.zones.iter().map(row), 2);
    format!("min_free_kbytes {}; sizes in pages of 4 KiB\n\n{zones}", setup.min_free_kbytes)
}

/// The document.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    min_free_kbytes: u64,
    zones: Vec<Zone<'a>>,
}

#[derive(Serialize)]
struct Zone<'a> {
    node: u8,
    zone: &'a str,
    managed: u64,
    min: u64,
    low: u64,
    high: u64,
    promo: u64,
    pcp_high: u64,
    pcp_batch: u64,
    /// DMA, DMA32, Normal, Movable.
    protection: [u64; 4],
}

fn json(setup: &Setup) -> String {
    let zone = |z: &ZoneSnapshot| {
        let ([min, low, high, promo], [pcp_high, pcp_batch]) = (z.watermark, pcp(z));
        let (node, zone, managed) = (z.node.0, z.kind.name(), z.managed);
        let protection = z.lowmem_reserve;
        Zone { node, zone, managed, min, low, high, promo, pcp_high, pcp_batch, protection }
    };
    let zones = setup.snapshot.zones.iter().map(zone).collect();
    let document = Document { schema: 1, min_free_kbytes: setup.min_free_kbytes, zones };
    let mut json = serde_json::to_string_pretty(&document).expect("plain data");
    json.push('\n');
    json
}

fn csv(setup: &Setup) -> String {
    let mut rows = Rows::below(
        "node,zone,managed,min,low,high,promo,pcp_high,pcp_batch,protection_dma,protection_dma32,\
         protection_normal,protection_movable,min_free_kbytes",
    );
    for z in &setup.snapshot.zones {
        let mut row = vec![z.node.0.to_string(), z.kind.name().to_string()];
        let last = [setup.min_free_kbytes];
        let numbers = sizes(z).into_iter().chain(z.lowmem_reserve).chain(last);
        row.extend(numbers.map(|n| n.to_string()));
        rows.texts(row);
    }
    rows.into_text()
}
