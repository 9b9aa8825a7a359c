//! Data of pageblocks over time for the script. A frame has the cells that changed since the one
//! before, which are few.

use mmsim::base::migratetype::{Migratetype, NR_MIGRATETYPES};
use mmsim::phys::buddy::NR_ORDERS;
use serde::Serialize;

use crate::film::{Film, Frame, Passed};

/// The film of a run.
#[derive(Serialize)]
pub(super) struct FilmData<'a> {
    stride: u64,
    block_pages: u64,
    cell_blocks: u64,
    types: Vec<&'static str>,
    zones: Vec<ZoneData<'a>>,
    frames: Vec<FrameData>,
}

#[derive(Serialize)]
struct ZoneData<'a> {
    name: &'a str,
    first: u64,
    blocks: u64,
    cells: u64,
}

/// `t`: when; `d`: cells that changed, each as its distance from the one before, its type, and
/// its free, movable and pinned pages; `p`: zone, runs of compaction, and the blocks from and to that
/// its scanners passed.
#[derive(Serialize)]
struct FrameData {
    t: u64,
    d: Vec<u64>,
    types: [u64; NR_MIGRATETYPES],
    orders: [u64; NR_ORDERS],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    p: Vec<[u64; 6]>,
}

impl<'a> FilmData<'a> {
    pub(super) fn of(film: &'a Film) -> FilmData<'a> {
        let mut before: Option<&Frame> = None;
        let frame = |frame: &'a Frame| {
            let was = before.replace(frame).map(|f| &f.cells);
            let (mut d, mut last) = (Vec::new(), 0);
            for (i, c) in frame.cells.iter().enumerate() {
                if was.is_none_or(|was| was[i] != *c) {
                    let pages = [c.free, c.movable, c.pinned].map(u64::from);
                    d.extend([(i - last) as u64, c.migratetype as u64]);
                    d.extend(pages);
                    last = i;
                }
            }
            let passed = frame.passed.iter().filter_map(|p| passed(film, p)).collect();
            let (types, orders) = (frame.types, frame.orders);
            FrameData { t: frame.at.0, d, types, orders, p: passed }
        };
        FilmData {
            stride: film.stride,
            block_pages: film.block_pages,
            cell_blocks: film.cell_blocks,
            types: Migratetype::ALL.map(Migratetype::name).into(),
            frames: film.frames.iter().map(frame).collect(),
            zones: film
                .zones
                .iter()
                .map(|z| ZoneData {
                    name: &z.name,
                    first: z.first_pfn,
                    blocks: z.blocks,
                    cells: z.cells,
                })
                .collect(),
        }
    }
}

/// The pageblocks of a zone that were passed, by their numbers within it.
fn passed(film: &Film, p: &Passed) -> Option<[u64; 6]> {
    let nth = film.zones.iter().position(|z| z.zone == p.zone)?;
    let zone = &film.zones[nth];
    let block = |pfn: u64| {
        (pfn.saturating_sub(zone.first_pfn) / film.block_pages).min(zone.blocks.saturating_sub(1))
    };
    let [m, f] = [p.migrate, p.free].map(|(from, to)| (block(from), block(to)));
    Some([nth as u64, p.runs, m.0, m.1, f.0, f.1])
}
