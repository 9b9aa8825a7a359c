//! The trace for Perfetto, read back by a decoder of the wire format that shares nothing with its
//! writer.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{self, Folder};
use crate::observers::complaints;

/// A field of a message.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// Fields of a message by their numbers, in order.
type Message = Vec<(u64, Field)>;

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (first, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        shift += 7;
        if first & 0x80 == 0 {
            return value;
        }
    }
}

fn message(mut bytes: &[u8]) -> Message {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (word, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(word.try_into().expect("eight bytes")))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag >> 3, field));
    }
    fields
}

fn number(m: &Message, field: u64) -> Option<u64> {
    m.iter().find(|f| f.0 == field).map(|f| match f.1 {
        Field::Number(n) => n,
        Field::Bytes(_) => panic!("field {field} is no number"),
    })
}

fn bytes(m: &Message, field: u64) -> Option<&[u8]> {
    m.iter().find(|f| f.0 == field).map(|f| match &f.1 {
        Field::Bytes(b) => b.as_slice(),
        Field::Number(_) => panic!("field {field} is a number"),
    })
}

fn text(m: &Message, field: u64) -> Option<String> {
    bytes(m, field).map(|b| String::from_utf8(b.to_vec()).expect("UTF-8"))
}

/// Events of one run.
#[derive(Default)]
struct Run {
    names: BTreeMap<u64, String>,
    tracks: BTreeMap<u64, String>,
    counters: BTreeMap<u64, Vec<u64>>,
    /// Depth of a track, and the number of events of each kind, by name.
    depth: BTreeMap<u64, i64>,
    seen: BTreeMap<String, u64>,
    evicted: BTreeSet<u64>,
    answered: u64,
}

fn read(trace: &[u8]) -> BTreeMap<u64, Run> {
    let mut runs: BTreeMap<u64, Run> = BTreeMap::new();
    for (field, packet) in message(trace) {
        let Field::Bytes(packet) = packet else { panic!("a packet") };
        assert_eq!(field, 1);
        let packet = message(&packet);
        let run = runs.entry(number(&packet, 10).expect("a sequence")).or_default();
        if let Some(interned) = bytes(&packet, 12) {
            for (_, name) in message(interned) {
                let Field::Bytes(name) = name else { panic!("a name") };
                let name = message(&name);
                run.names.insert(number(&name, 1).expect("iid"), text(&name, 2).expect("a name"));
            }
        }
        if let Some(descriptor) = bytes(&packet, 60) {
            let d = message(descriptor);
            let inner = |field, name| bytes(&d, field).and_then(|b| text(&message(b), name));
            let name = text(&d, 2).or_else(|| inner(3, 6)).or_else(|| inner(4, 5));
            let uuid = number(&d, 1).expect("a uuid");
            let before = run.tracks.insert(uuid, name.expect("a name"));
            assert_eq!(before, None, "a track is there twice");
            if bytes(&d, 8).is_some() {
                run.counters.insert(uuid, Vec::new());
            }
        }
        let Some(event) = bytes(&packet, 11) else { continue };
        let event = message(event);
        assert!(number(&packet, 8).is_some(), "an event without its time");
        let track = number(&event, 11).expect("a track");
        assert!(run.tracks.contains_key(&track), "an event on no track");
        match number(&event, 9).expect("a type") {
            1 => *run.depth.entry(track).or_default() += 1,
            2 => *run.depth.entry(track).or_default() -= 1,
            3 => {}
            4 => {
                let value = number(&event, 30).expect("a value");
                run.counters.get_mut(&track).expect("a counter").push(value);
                continue;
            }
            other => panic!("type {other}"),
        }
        assert!((0..=1).contains(&run.depth.get(&track).copied().unwrap_or(0)), "slices overlap");
        if let Some(name) = number(&event, 10) {
            *run.seen.entry(run.names[&name].clone()).or_default() += 1;
        }
        if let Some(flow) = number(&event, 47) {
            assert!(run.evicted.insert(flow), "an eviction twice");
        }
        if let Some(flow) = number(&event, 48) {
            assert!(run.evicted.contains(&flow), "a refault of no eviction");
            run.answered += 1;
        }
    }
    runs
}

#[test]
fn a_trace_holds_what_the_report_counts() {
    let f = Folder::new();
    f.write("x.toml", harness::heap_and_file(20, 24, 8));
    let run = |jobs: &str, name: &str| {
        let args = ["run", "x.toml", "--jobs", jobs, "-o", "r.json", "--perfetto", name];
        let said = f.mmsim(&args);
        assert_eq!((said.code, complaints(&said)), (Some(0), vec![]));
        std::fs::read(f.path(name)).expect("a trace")
    };
    let trace = run("1", "a.pftrace");
    assert!(trace == run("2", "b.pftrace"), "jobs changed the trace");
    let report: serde_json::Value = serde_json::from_str(&f.read("r.json")).expect("JSON");
    let runs = read(&trace);
    assert_eq!(runs.len(), 2);
    for (run, said) in runs.values().zip(report["runs"].as_array().expect("runs")) {
        let counted = |name: &str| said["vmstat"][name].as_u64().unwrap_or(0);
        let seen = |name: &str| run.seen.get(name).copied().unwrap_or(0);
        assert_eq!(seen("swap-in") + seen("file read"), counted("pgmajfault"));
        assert_eq!(seen("refault anon"), counted("workingset_refault_anon"));
        assert_eq!(seen("refault file"), counted("workingset_refault_file"));
        assert!(seen("refault anon") > 100 && run.answered > 100);
        let evictions = seen("evict anon") + seen("evict file");
        assert_eq!(evictions, run.evicted.len() as u64);
        let stalls =
            ["dma", "dma32", "normal", "movable"].map(|z| counted(&format!("allocstall_{z}")));
        assert_eq!(seen("direct reclaim"), stalls.iter().sum::<u64>());
        assert!(run.depth.values().all(|d| *d == 0), "a slice that does not end");
        let names: BTreeSet<&str> = run.tracks.values().map(String::as_str).collect();
        for name in ["CPU 0", "CPU 1", "kswapd0", "heap", "file", "refaults", "nr_free_pages"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        for (track, values) in &run.counters {
            let name = run.tracks[track].as_str();
            let end = said["vmstat"][name].as_u64().or(said["gauges"][name].as_u64());
            if let Some(end) = end {
                assert_eq!(values.last(), Some(&end), "{name}");
            }
        }
    }
}
