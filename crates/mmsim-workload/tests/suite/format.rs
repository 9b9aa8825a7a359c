//! The native trace format: what is written comes back, and nothing else is accepted.

use mmsim_workload::trace::{
    Action, Backing, Process, Record, Region, Timing, TraceError, TraceInfo, TraceReader,
    TraceTable, TraceWriter, head,
};
use proptest::prelude::*;

/// A stream of choices for building a valid trace.
struct Choices<'a>(std::slice::Iter<'a, u64>, u64);

impl Choices<'_> {
    fn below(&mut self, n: u64) -> u64 {
        // Falls back to a walk when the given choices are used up.
        self.1 = self.1.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let word = self.0.next().copied().unwrap_or(self.1 >> 17);
        word % n
    }
}

fn backing(c: &mut Choices<'_>) -> Backing {
    let (file, offset) = (c.below(2) as u16, c.below(1 << 20) as u32);
    match c.below(6) {
        0 => Backing::Anon,
        1 => Backing::File { file, offset, shared: false },
        2 => Backing::File { file, offset, shared: true },
        3 => Backing::Text { file, offset },
        4 => Backing::SharedText { file, offset },
        _ => Backing::Unknown,
    }
}

fn build_table(c: &mut Choices<'_>) -> TraceTable {
    let mut table = TraceTable::empty("proptest");
    table.timing = if c.below(2) == 0 { Timing::ThinkTime } else { Timing::Arrivals };
    table.tick_ns = 1 + c.below(1000);
    table.assumptions.push("made up".into());
    table.files = vec!["a".into(), "b\u{e9}".into()];
    for pid in 0..1 + c.below(3) {
        table.processes.push(Process { pid: pid as u32, name: format!("p{pid}") });
        let mut start = c.below(1 << 34);
        for _ in 0..1 + c.below(4) {
            let pages = 1 + c.below(3000) as u32;
            let at_start = c.below(4) != 0;
            let process = pid as u16;
            table.regions.push(Region { process, start, pages, backing: backing(c), at_start });
            start += u64::from(pages) + c.below(2) * c.below(1 << 20);
        }
    }
    let descriptor = Backing::Descriptor { file: 1, offset: 3 };
    let region = Region { process: 0, start: 0, pages: 9, backing: descriptor, at_start: true };
    table.regions.push(region);
    table
}

/// A valid trace: its table and records.
fn build(choices: &[u64], nr: usize) -> (TraceTable, Vec<Record>) {
    let mut c = Choices(choices.iter(), 1);
    let table = build_table(&mut c);
    let mut mapped: Vec<bool> = table.regions.iter().map(|r| r.at_start).collect();
    let mut records = Vec::new();
    for _ in 0..nr {
        let i = c.below(table.regions.len() as u64) as usize;
        let r = &table.regions[i];
        let region = i as u16;
        let action = if !mapped[i] {
            mapped[i] = true;
            Action::Map { region }
        } else if c.below(50) == 0 && !matches!(r.backing, Backing::Descriptor { .. }) {
            mapped[i] = false;
            Action::Unmap { region }
        } else {
            let first = c.below(u64::from(r.pages)) as u32;
            let longest = if c.below(3) == 0 { r.pages - first } else { 1 };
            let count = 1 + c.below(u64::from(longest)) as u32;
            Action::Access { region, write: c.below(2) == 0, first, count }
        };
        let ticks = c.below(2) * c.below(1 << 36);
        records.push(Record { process: r.process, ticks, action });
    }
    (table, records)
}

fn write(table: &TraceTable, records: &[Record], level: i32) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), table.clone(), level).unwrap();
    for record in records {
        writer.record(record).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<(TraceTable, Vec<Record>), TraceError> {
    let mut reader = TraceReader::new(bytes)?;
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        all.extend_from_slice(&block);
    }
    Ok((reader.table().clone(), all))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_written_comes_back(
        choices in prop::collection::vec(any::<u64>(), 0..400),
        nr in 0usize..20_000,
        level in prop::sample::select(vec![0, 1, 9]),
    ) {
        let (table, records) = build(&choices, nr);
        let bytes = write(&table, &records, level);
        let (table_back, back) = read(&bytes).unwrap();
        prop_assert_eq!(&table_back, &table);
        prop_assert_eq!(&back, &records);
        let info = TraceInfo::read(&bytes[..], bytes.len() as u64).unwrap();
        prop_assert_eq!(info.records, records.len() as u64);
        prop_assert_eq!(info.accesses, info.reads + info.writes);
    }

    /// Each byte is under some digest, compressed or not: every change is noticed.
    #[test]
    fn every_changed_byte_is_noticed(
        choices in prop::collection::vec(any::<u64>(), 0..100),
        nr in 0usize..3000,
        level in prop::sample::select(vec![0, 3]),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let (table, records) = build(&choices, nr);
        let mut bytes = write(&table, &records, level);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(read(&bytes).is_err());
    }

    /// Single accesses take their own kind of block.
    #[test]
    fn plain_accesses_come_back(
        pages in prop::collection::vec((0u32..1 << 20, 0u8..4), 1..3000),
        split in 1u32..1 << 20,
        level in prop::sample::select(vec![0, 3]),
    ) {
        let mut table = TraceTable::empty("plain");
        table.processes.push(Process { pid: 1, name: "p".into() });
        for (start, end) in [(0, split), (split, 1 << 20)] {
            let (start, pages) = (u64::from(start), end - start);
            let backing = Backing::Anon;
            table.regions.push(Region { process: 0, start, pages, backing, at_start: true });
        }
        let records: Vec<Record> = pages
            .iter()
            .map(|&(page, write)| {
                let region = u16::from(page >= split);
                let first = if page >= split { page - split } else { page };
                let action = Action::Access { region, write: write == 0, first, count: 1 };
                Record { process: 0, ticks: 0, action }
            })
            .collect();
        let bytes = write(&table, &records, level);
        let (table_back, back) = read(&bytes).unwrap();
        prop_assert_eq!(table_back, table);
        prop_assert_eq!(back, records);
        let info = TraceInfo::read(&bytes[..], bytes.len() as u64).unwrap();
        let writes = pages.iter().filter(|p| p.1 == 0).count() as u64;
        prop_assert_eq!((info.accesses, info.writes), (pages.len() as u64, writes));
        let distinct: std::collections::BTreeSet<u32> = pages.iter().map(|p| p.0).collect();
        prop_assert_eq!(info.distinct_pages, distinct.len() as u64);
    }

    #[test]
    fn a_cut_trace_is_an_error(
        choices in prop::collection::vec(any::<u64>(), 0..100),
        nr in 0usize..3000,
        level in prop::sample::select(vec![0, 3]),
        at in any::<prop::sample::Index>(),
    ) {
        let (table, records) = build(&choices, nr);
        let bytes = write(&table, &records, level);
        prop_assert!(read(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn random_bytes_are_an_error(
        body in prop::collection::vec(any::<u8>(), 0..2000),
        kind in 0usize..2,
    ) {
        let mut bytes = if kind == 0 { Vec::new() } else { prelude() };
        bytes.extend_from_slice(&body);
        prop_assert!(read(&bytes).is_err());
    }
}

/// Probability of an event: never, one time in some number, or always.
fn odds() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, 1, 2, 3, 1000, 50_000])
}

/// Records in numbers around those of a block, of processes that come in turn, at random or
/// seldom, with runs, times and mappings now and then.
fn many(nr: usize, processes: u16, [switch, write, run, time, remap]: [u64; 5]) -> Vec<Record> {
    let mut c = Choices([].iter(), nr as u64);
    let is = |c: &mut Choices<'_>, odds| odds > 0 && c.below(odds) == 0;
    let (mut process, mut mapped) = (0, vec![true; usize::from(processes)]);
    let record = |_| {
        if is(&mut c, switch) {
            process = (process + 1) % processes;
        }
        let here = &mut mapped[usize::from(process)];
        let region = process;
        let action = if !*here || is(&mut c, remap) {
            *here = !*here;
            if *here { Action::Map { region } } else { Action::Unmap { region } }
        } else {
            let count = if is(&mut c, run) { 1 + c.below(1000) as u32 } else { 1 };
            let first = c.below(1 << 22) as u32;
            Action::Access { region, write: is(&mut c, write), first, count }
        };
        let ticks = if is(&mut c, time) { c.below(1 << 40) } else { 0 };
        Record { process, ticks, action }
    };
    (0..nr).map(record).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever comes in whatever order: what the writer finishes the reader reads.
    #[test]
    fn blocks_end_where_a_reader_wants_them(
        nr in prop_oneof![32_000usize..34_000, 65_000usize..67_000, 1usize..200_000],
        processes in 1u16..4,
        odds in prop::array::uniform5(odds()),
        level in prop::sample::select(vec![0, 1]),
    ) {
        let mut table = TraceTable::empty("many");
        for process in 0..processes {
            table.processes.push(Process { pid: process.into(), name: "p".into() });
            table.regions.push(Region {
                process,
                start: 0,
                pages: (1 << 22) + 1000,
                backing: Backing::Anon,
                at_start: true,
            });
        }
        let records = many(nr, processes, odds);
        let bytes = write(&table, &records, level);
        match read(&bytes) {
            Ok((table_back, back)) => {
                prop_assert_eq!(table_back, table);
                prop_assert!(back == records, "other records come back");
            }
            Err(e) => prop_assert!(false, "{e}"),
        }
    }
}

fn prelude() -> Vec<u8> {
    let (table, _) = build(&[], 0);
    write(&table, &[], 1)[..16].to_vec()
}

/// The digest of the format, as docs/dev/trace-format.md describes it, in the plainest way.
fn digest(parts: &[&[u8]]) -> u64 {
    const START: u64 = 0x6d6d_745f_626c_6f63;
    let step = |h: u64, w: u64| (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mut lanes = [0, 1, 2, 3].map(|l| START ^ l);
    for part in parts {
        for (i, bytes) in part.chunks(8).enumerate() {
            let word = bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
            lanes[i % 4] = step(lanes[i % 4], word);
        }
        lanes[0] = step(lanes[0], part.len() as u64);
    }
    let h = lanes.into_iter().fold(START, step);
    h ^ (h >> 31)
}

/// A trace whose first block is a table with this payload, compressed, of `decoded` bytes as the
/// head says; the digest is right.
fn compressed_table(payload: &[u8], decoded: u32) -> Vec<u8> {
    let mut head = vec![b'T', 1];
    head.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    head.extend_from_slice(&decoded.to_le_bytes());
    let check = digest(&[&head, payload]);
    [prelude(), head, check.to_le_bytes().to_vec(), payload.to_vec()].concat()
}

#[test]
fn a_bomb_is_refused_before_it_grows() {
    let zeros = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    assert!(zeros.len() < 10_000);
    // Beyond what a table may have; within it, but not what is stated; and not zstd at all.
    let says = |bytes: Vec<u8>, text: &str| {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(text), "{error:?} lacks {text:?}");
    };
    says(compressed_table(&zeros, 64 << 20), "67108864 decoded, expected at most 8388608");
    says(compressed_table(&zeros, 8 << 20), "what zstd cannot decode");
    let small = zstd::bulk::compress(&[0; 5000], 1).unwrap();
    says(compressed_table(&small, 6000), "5000 bytes after decompression");
    says(compressed_table(&[7; 100], 5000), "one zstd frame of 5000 bytes");
    says(compressed_table(&small, 5000), "nanoseconds of a tick");
}

#[test]
fn what_is_no_trace_says_so() {
    let says = |bytes: &[u8], text: &str| {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(text), "{error:?} lacks {text:?}");
    };
    says(b"", "a page trace");
    says(b"I  04016b70,3\n", "a page trace");
    says(&prelude()[..12], "a prelude of 16 bytes");
    let mut newer = prelude();
    newer[8] = 9;
    says(&newer, "byte 8 of the decoded trace: found version 9, expected version 2, the latest");
    let mut older = prelude();
    older[8] = 1;
    says(&older, "found version 1, expected version 2; import it again");
    says(&prelude(), "byte 16 of the decoded trace: found the end");
    let (table, records) = build(&[], 100);
    for level in [0, 1] {
        let mut more = write(&table, &records, level);
        more.push(0);
        says(&more, "more bytes");
    }
}

#[test]
fn the_writer_refuses_what_no_reader_takes() {
    let (table, _) = build(&[], 0);
    let refuses = |table: TraceTable, text: &str| {
        let Err(error) = TraceWriter::new(Vec::new(), table, 0) else { panic!("{text}") };
        assert!(error.to_string().contains(text), "{error} lacks {text:?}");
    };
    let with = |change: &dyn Fn(&mut TraceTable)| {
        let mut table = table.clone();
        change(&mut table);
        table
    };
    refuses(with(&|t| t.processes.clear()), "0 processes");
    refuses(with(&|t| t.regions[0].pages = 0), "0 pages");
    refuses(with(&|t| t.regions[0].start = 1 << 60), "47-bit");
    refuses(with(&|t| t.regions[0].start = u64::MAX), "47-bit");
    refuses(with(&|t| t.regions.push(t.regions[0])), "overlap with region 0");
    refuses(with(&|t| t.processes = vec![t.processes[0].clone(); 4097]), "4097 processes");
    refuses(with(&|t| t.tick_ns = 0), "0 ns");
    let mut writer = TraceWriter::new(Vec::new(), table.clone(), 0).unwrap();
    let pages = table.regions[0].pages;
    let action = Action::Access { region: 0, write: true, first: pages - 1, count: 2 };
    assert!(writer.record(&Record { process: 0, ticks: 0, action }).is_err());
    let action = Action::Access { region: 0, write: true, first: 0, count: 1 };
    assert!(writer.record(&Record { process: 0, ticks: u64::MAX, action }).is_err());
    let action = Action::Access { region: 500, write: true, first: 0, count: 1 };
    assert!(writer.record(&Record { process: 0, ticks: 0, action }).is_err());
}

#[test]
fn the_head_is_lines() {
    let (table, records) = build(&[], 1000);
    let bytes = write(&table, &records, 3);
    let lines: Vec<String> =
        mmsim_workload::trace::Head::new(&bytes[..], 5).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|l| l.contains("region")), "{lines:#?}");
    assert!(head("no such file.mmt", 1).is_err());
}
