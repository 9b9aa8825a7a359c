//! Speed of reading a trace, and of making one from text.
//!
//! - `decode`: 4 million zipf 0.9 accesses over 2^20 scattered pages, the worst case for a
//!   compressor. Goals: stored 1 G accesses/s at 2.6 bytes an access; compressed 350 M/s at
//!   3.1 bytes. `reads` has no writes; `first_writes` writes each page at first, as imports
//!   of bare requests do; `runs` has counts and times, so that its blocks are columns.
//! - `import`: the same pages as text; `near` are 512 pages, whose notes fit the first cache,
//!   `next` are pages one after the other, whose blocks are columns. `whole` makes a stored
//!   trace. `parse` is four columns with operations that are left out, so that all that is
//!   done is to read and to parse; the rest of `whole` is noting, keeping, packing and
//!   writing. Goal: 20 times the 2.7 to 3.2 M requests/s that libCacheSim's readers of text
//!   reach, 60 M lines/s.
//!
//! Sizes are printed before the times.

#![allow(missing_docs)] // the macros below make public functions
#![allow(clippy::print_stderr)] // sizes belong beside the times

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mmsim_core::base::rng::Rng;
use mmsim_workload::sampler::{PageSampler, RankMap};
use mmsim_workload::trace::{
    Action, Backing, Block, ImportFormat, ImportOptions, Process, Record, Region, TraceReader,
    TraceTable, TraceWriter, import,
};
use std::fmt::Write;

const PAGES: u32 = 1 << 20;
const ACCESSES: usize = 4 << 20;
const LINES: usize = 1 << 20;

fn draws(n: usize) -> Vec<u32> {
    let pages = PageSampler::new(PAGES, 0.9, RankMap::Scatter);
    let mut rng = Rng::for_purpose(1, "bench/trace");
    (0..n).map(|_| pages.sample(&mut rng)).collect()
}

/// A trace of these accesses: page, writes, pages of the run, ticks.
fn trace(level: i32, accesses: impl Iterator<Item = (u32, bool, u32, u64)>) -> Vec<u8> {
    let mut table = TraceTable::empty("bench");
    table.processes.push(Process { pid: 1, name: "bench".into() });
    let backing = Backing::Anon;
    table.regions.push(Region { process: 0, start: 0, pages: PAGES + 8, backing, at_start: true });
    let mut writer = TraceWriter::new(Vec::new(), table, level).expect("a table");
    for (first, write, count, ticks) in accesses {
        let action = Action::Access { region: 0, write, first, count };
        writer.record(&Record { process: 0, ticks, action }).expect("a record");
    }
    writer.finish().expect("a trace")
}

/// Accesses and the sum of their pages.
fn read(bytes: &[u8]) -> (u64, u64) {
    let mut reader = TraceReader::new(bytes).expect("a trace");
    let (mut n, mut sum) = (0, 0);
    while let Some(block) = reader.next().expect("a whole trace") {
        match block {
            Block::Pages(block) => {
                n += block.pages.len() as u64;
                sum += block.pages.iter().map(|&p| u64::from(p)).sum::<u64>();
            }
            Block::Records(records) => {
                for record in records {
                    if let Action::Access { first, count, .. } = record.action {
                        n += u64::from(count);
                        sum += u64::from(first);
                    }
                }
            }
        }
    }
    (n, sum)
}

fn decode(c: &mut Criterion) {
    let draws = draws(ACCESSES);
    let mut seen = vec![false; PAGES as usize];
    let first: Vec<bool> =
        draws.iter().map(|&p| !std::mem::replace(&mut seen[p as usize], true)).collect();
    let sum: u64 = draws.iter().map(|&p| u64::from(p)).sum();
    let mut group = c.benchmark_group("decode");
    group.sample_size(20);
    for (coding, level) in [("stored", 0), ("zstd9", 9)] {
        let plain = |write: &dyn Fn(usize) -> bool| {
            trace(level, draws.iter().enumerate().map(|(i, &p)| (p, write(i), 1, 0)))
        };
        let runs = draws.iter().enumerate().map(|(i, &p)| {
            (p, i % 3 == 0, 1 + u32::from(i % 7 == 0), if i % 16 == 0 { 100 } else { 0 })
        });
        for (name, bytes) in [
            ("reads", plain(&|_| false)),
            ("first_writes", plain(&|i| first[i])),
            ("runs", trace(level, runs)),
        ] {
            let (n, found) = read(&bytes);
            assert_eq!(found, sum, "{coding}/{name}");
            eprintln!("decode/{coding}/{name}: {:.3} bytes/access", bytes.len() as f64 / n as f64);
            group.throughput(Throughput::Elements(n));
            group.bench_function(format!("{coding}/{name}"), |b| {
                b.iter(|| assert_eq!(read(&bytes).1, sum));
            });
        }
    }
    group.finish();
}

fn text(c: &mut Criterion) {
    let draws = draws(LINES);
    let mut group = c.benchmark_group("import");
    group.sample_size(20).throughput(Throughput::Elements(LINES as u64));
    let (mut one, mut four) = (String::from("page\n"), String::from("time,page,size,op\n"));
    let (mut dropped, mut two) = (four.clone(), String::from("page,op\n"));
    let (mut pages, mut near, mut next) = (String::new(), String::new(), String::new());
    for (i, p) in draws.iter().enumerate() {
        let op = if i % 3 == 0 { 'W' } else { 'R' };
        let _ = writeln!(one, "{p}");
        let _ = writeln!(four, "{},{p},4096,{op}", 1_600_000_000 + i);
        let _ = writeln!(dropped, "{},{p},4096,D", 1_600_000_000 + i);
        let _ = writeln!(two, "{p},{op}");
        let _ = writeln!(pages, "{op} {p}");
        let _ = writeln!(next, "{op} {i}");
        let _ = writeln!(near, "{op} {}", p % 512 + 100_000);
    }
    let options = ImportOptions { level: 0, time_unit_ns: Some(0), ..ImportOptions::default() };
    for (name, format, input, kept) in [
        ("csv_parse_time_page_size_op", ImportFormat::Csv, &dropped, 0),
        ("csv_whole_page", ImportFormat::Csv, &one, LINES),
        ("csv_whole_page_op", ImportFormat::Csv, &two, LINES),
        ("csv_whole_time_page_size_op", ImportFormat::Csv, &four, LINES),
        ("pages_whole", ImportFormat::Pages, &pages, LINES),
        ("pages_whole_near", ImportFormat::Pages, &near, LINES),
        ("pages_whole_next", ImportFormat::Pages, &next, LINES),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut out = Vec::new();
                let done = import(format, input.as_bytes(), &mut out, &options).expect(name);
                assert_eq!(done.accesses_kept, kept as u64);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decode, text);
criterion_main!(benches);
