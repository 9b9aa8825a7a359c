//! evidence/calibration.toml says what the code says, and names every cost and device.

use std::collections::BTreeMap;

use crate::root;
use mmsim::Scenario;
use mmsim::backing::device::DEVICE_PRESETS;
use mmsim::config::cost::CostModel;
use mmsim::config::host::HostConfig;
use mmsim::machines::Catalogue;
use mmsim::scenario::workload::WorkloadSpec;

struct Constant {
    value: i64,
    fields: BTreeMap<String, String>,
}

/// The constants of the file by name.
fn constants() -> BTreeMap<String, Constant> {
    let text = std::fs::read_to_string(root().join("evidence/calibration.toml")).expect("the file");
    let document: toml::Table = text.parse().unwrap_or_else(|e| panic!("{e}"));
    let mut all = BTreeMap::new();
    for c in document["constant"].as_array().expect("a list of constants") {
        let c = c.as_table().expect("a constant is a table");
        let text = |key: &str| c.get(key).and_then(|v| v.as_str()).map(str::to_string);
        let name = text("name").expect("a constant has a name");
        let fields = ["unit", "where", "code", "source", "looked_at"].map(|key| {
            let value = text(key).unwrap_or_else(|| panic!("{name} has no `{key}`"));
            assert!(!value.is_empty(), "{name}: `{key}` is empty");
            (key.to_string(), value)
        });
        let value = c["value"].as_integer().unwrap_or_else(|| panic!("{name} has no value"));
        let constant = Constant { value, fields: fields.into_iter().collect() };
        assert!(all.insert(name.clone(), constant).is_none(), "{name} is there twice");
    }
    all
}

/// Values of the code, as far as they can be read.
fn in_code() -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, value) in CostModel::measured().fields() {
        all.insert(format!("cost.{name}"), value.0);
    }
    for &(name, read, write, servers, mbps, _, _, stored, depth, _) in DEVICE_PRESETS {
        all.insert(format!("device.{name}.read"), read);
        all.insert(format!("device.{name}.write"), write);
        all.insert(format!("device.{name}.servers"), servers.into());
        all.insert(format!("device.{name}.bandwidth"), mbps);
        all.insert(format!("device.{name}.stored"), stored.into());
        if depth > 0 {
            all.insert(format!("device.{name}.queue_depth"), depth.into());
        }
    }
    let kernels = ["6.1", "6.12", "6.18", "7.3"];
    for (name, of_kernel) in mmsim_lab::validate::cost::RECORDED {
        for (kernel, value) in kernels.into_iter().zip(of_kernel) {
            all.insert(format!("validate.cost.{kernel}.{name}"), value);
        }
    }
    let lags = kernels[1..].iter().zip(mmsim_lab::validate::cost::KSWAPD_LAG);
    all.extend(lags.map(|(kernel, lag)| (format!("validate.kswapd-lag.{kernel}"), lag)));
    for (kernel, threads) in kernels.into_iter().zip(mmsim_lab::validate::cost::BOOT_THREADS) {
        for (thread, &value) in ["first", "second"].into_iter().zip(threads) {
            let of = if threads.len() > 1 { format!("{kernel}.{thread}") } else { kernel.into() };
            all.insert(format!("validate.boot-threads.{of}"), value);
        }
    }
    let before = mmsim_lab::validate::cost::BEFORE_START;
    for (name, value) in ["at-all", "page", "entry"].into_iter().zip(before) {
        all.insert(format!("validate.before-start.{name}"), value);
    }
    for (name, value) in ["read", "write"].into_iter().zip(mmsim_lab::validate::cost::ZRAM) {
        all.insert(format!("validate.zram-{name}"), value);
    }
    for (kernel, of_kernel) in kernels[1..].iter().zip(mmsim_lab::validate::cost::ZSWAP) {
        for (groups, times) in ["plain", "groups"].into_iter().zip(of_kernel) {
            for (name, value) in ["out", "in"].into_iter().zip(times) {
                all.insert(format!("validate.zswap.{kernel}.{groups}.{name}"), value);
            }
        }
    }
    let lags = kernels[1..].iter().zip(mmsim_lab::validate::cost::WORKER_LAG);
    all.extend(lags.map(|(kernel, lag)| (format!("validate.worker-lag.{kernel}"), lag)));
    for (name, value) in ["page", "kib"].into_iter().zip(mmsim_lab::validate::cost::DRAWN) {
        all.insert(format!("validate.drawn.{name}"), value);
    }
    let kib = mmsim_lab::validate::cost::NULL_BLK_KIB;
    all.insert("validate.null-blk.kib".into(), kib.into());
    let smallest = "[machine]\nmemory = \"64MiB\"\n\
                    [[task]]\nworkload = \"sequential\"\nmemory = \"1MiB\"\n";
    let scenario = Scenario::from_str(smallest, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    all.insert("machine.tick".into(), runs[0].machine.tick.0);
    all.insert("machine.run-ahead".into(), runs[0].machine.run_ahead.0);
    let host = HostConfig::linux();
    all.insert("machine.host.answer".into(), host.answer.as_nanos());
    all.insert("machine.host.fault".into(), host.fault.as_nanos());
    all.insert("machine.host.huge-fault".into(), HostConfig::HUGE_FAULT);
    all.extend(of_a_build());
    all
}

/// The defaults of the workload `build`, in the units of the file.
fn of_a_build() -> Vec<(String, u64)> {
    let text = "[machine]\nmemory = \"64MiB\"\n[[task]]\nworkload = \"build\"\nrecords = 1\n";
    let scenario = Scenario::from_str(text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand(&Catalogue).unwrap_or_else(|e| panic!("{e}"));
    let WorkloadSpec::Build(b) = &runs[0].tasks[0].work else { panic!("a build") };
    let kib = |pages: u32| u64::from(pages) * 4;
    [
        ("text", kib(b.text)),
        ("headers", b.headers.into()),
        ("header", kib(b.header_pages)),
        ("header-reads", b.header_reads.into()),
        ("header-zipf", (b.header_theta * 1000.0).round() as u64),
        ("sources", b.sources.into()),
        ("source", kib(b.source_pages)),
        ("anon-min", kib(b.anon_min)),
        ("anon-max", kib(b.anon_max)),
        ("bursts", b.bursts.into()),
        ("passes", b.passes.into()),
        ("compute-min", b.compute_min.as_nanos() / 1_000_000),
        ("compute-max", b.compute_max.as_nanos() / 1_000_000),
        ("object-min", kib(b.object_min)),
        ("object-max", kib(b.object_max)),
        ("link-every", b.link_every.into()),
        ("unmovable", b.unmovable.into()),
        ("reclaimable", b.reclaimable.into()),
    ]
    .map(|(key, value)| (format!("build.{key}"), value))
    .to_vec()
}

#[test]
fn values_are_those_of_the_code_and_none_is_missing() {
    let written = constants();
    let code = in_code();
    for (name, value) in &code {
        let c =
            written.get(name).unwrap_or_else(|| panic!("evidence/calibration.toml lacks {name}"));
        assert_eq!(u64::try_from(c.value).ok(), Some(*value), "{name}");
    }
    let known = ["cost.", "device.", "machine.", "build."];
    for name in written.keys().filter(|n| known.iter().any(|k| n.starts_with(k))) {
        assert!(code.contains_key(name), "the code has no {name}");
    }
}

#[test]
fn every_constant_stands_where_the_file_says() {
    for (name, c) in constants() {
        let path = root().join(&c.fields["where"]);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{name}: {}: {e}", path.display()));
        assert!(text.contains(&c.fields["code"]), "{name}: {} lacks its code", path.display());
    }
}
