//! Imports: accepted input, refused input and its errors, and guesses.

use std::io::Write;

use mmsim_workload::trace::{
    Action, Backing, ImportFormat, ImportOptions, ImportSummary, PageKind, Record, Timing,
    TraceError, TraceInfo, TraceReader, TraceTable, import,
};
use proptest::prelude::*;

type Imported = (ImportSummary, TraceTable, Vec<Record>);

fn run(format: ImportFormat, input: &[u8], o: &ImportOptions) -> Result<Imported, TraceError> {
    let mut out = Vec::new();
    let summary = import(format, input, &mut out, o)?;
    let mut reader = TraceReader::new(&out[..])?;
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block)? {
        all.extend_from_slice(&block);
    }
    let info = TraceInfo::read(&out[..], out.len() as u64)?;
    assert_eq!(info.records, summary.records);
    assert_eq!(info.accesses, summary.accesses_kept);
    assert_eq!(info.distinct_pages, summary.distinct_pages);
    Ok((summary, reader.table().clone(), all))
}

fn lackey(input: &str) -> Result<Imported, TraceError> {
    run(ImportFormat::Lackey, input.as_bytes(), &ImportOptions::default())
}

/// Every touched page as (virtual page, write), in order.
fn touched(table: &TraceTable, records: &[Record]) -> Vec<(u64, bool)> {
    let mut all = Vec::new();
    for record in records {
        if let Action::Access { region, write, first, count } = record.action {
            let start = table.regions[usize::from(region)].start + u64::from(first);
            all.extend((start..start + u64::from(count)).map(|page| (page, write)));
        }
    }
    all
}

const PROGRAM: &str = "\
==7960== Lackey, an example Valgrind tool
==7960== Command: ./p
==7960==
I  0401ab70,3
 S 1fff000728,8
I  0401ab73,5
 L 1fff000728,8
 M 04a5dffc,8
I  0401ab78,2
 L 10000000,4

==7960==
--7960-- ended
";

#[test]
fn lackey_lines_become_pages() {
    let (summary, table, records) = lackey(PROGRAM).unwrap();
    let pages = touched(&table, &records);
    assert_eq!(
        pages,
        [(0x401a, false), (0x1fff000, true), (0x4a5d, true), (0x4a5e, true), (0x10000, false),]
    );
    assert_eq!((summary.lines, summary.accesses_read), (13, 8));
    let kinds: Vec<&str> = table.regions.iter().map(|r| r.backing.label()).collect();
    assert_eq!(kinds, ["executable file", "anonymous", "unknown", "anonymous"]);
    assert_eq!(table.files, ["program.text0"]);
    let assumed = summary.assumptions.join("; ");
    for part in ["1 ns", "64 kept accesses", "guessed", "unknown kind", "system calls"] {
        assert!(assumed.contains(part), "{assumed} lacks {part:?}");
    }
    assert_eq!(table.assumptions, summary.assumptions);
}

#[test]
fn fetches_can_be_left_out_and_still_take_time() {
    let input = format!("{} L 2000,1\n", "I  1000,4\n".repeat(5000));
    let options = ImportOptions { fetches: false, ..ImportOptions::default() };
    let (_, table, records) = run(ImportFormat::Lackey, input.as_bytes(), &options).unwrap();
    assert_eq!(touched(&table, &records), [(2, false)]);
    assert_eq!((records[0].ticks, table.tick_ns), (5, 1000));
}

#[test]
fn maps_say_what_addresses_are() {
    let maps = "\
04000000-04100000 r-xp 00005000 08:01 1 /usr/lib/ld.so
04a00000-04b00000 rw-s 00000000 08:01 2 /data/shop.db
1ffe000000-1fff001000 rw-p 00000000 00:00 0 [stack]
";
    let options = ImportOptions { maps: Some(maps.into()), ..ImportOptions::default() };
    let (_, table, _) = run(ImportFormat::Lackey, PROGRAM.as_bytes(), &options).unwrap();
    let backings: Vec<Backing> = table.regions.iter().map(|r| r.backing).collect();
    assert_eq!(
        backings,
        [
            Backing::Text { file: 0, offset: 0x1a + 5 },
            Backing::File { file: 1, offset: 0x5d, shared: true },
            Backing::Unknown,
            Backing::Anon,
        ]
    );
    assert_eq!(table.files, ["ld.so", "shop.db"]);
}

/// An executable mapping is text whether shared or not. Shared memory is an object of its own, and no
/// file of a disk; huge pages are anonymous memory, and an assumption of the trace says so.
#[test]
fn maps_tell_text_and_shared_memory_from_files() {
    let maps = "\
04000000-04100000 r-xs 00005000 08:01 1 /usr/lib/ld.so
04a00000-04b00000 rw-s 00000000 00:01 2 /SYSV00000000 (deleted)
1ffe000000-1fff001000 rw-s 00000000 00:0f 3 /anon_hugepage (deleted)
";
    let options = ImportOptions { maps: Some(maps.into()), ..ImportOptions::default() };
    let (_, table, _) = run(ImportFormat::Lackey, PROGRAM.as_bytes(), &options).unwrap();
    let labels: Vec<&str> = table.regions.iter().map(|r| r.backing.label()).collect();
    assert_eq!(labels, ["executable file, shared", "shared memory", "unknown", "anonymous"]);
    assert_eq!(table.regions[0].backing, Backing::SharedText { file: 0, offset: 0x1a + 5 });
    assert_eq!(table.regions[1].backing, Backing::Shmem { file: 1, offset: 0x5d });
    assert_eq!(table.files, ["ld.so", "SYSV00000000#2"]);
    let said = |start: &str| table.assumptions.iter().filter(|a| a.starts_with(start)).count();
    assert_eq!(said("1 pages of hugetlbfs"), 1, "{:?}", table.assumptions);
}

/// Two processes in turn are two things a record, where a block has room for 65,536.
#[test]
fn processes_in_turn_fill_a_block() {
    use std::fmt::Write as _;
    for timed in [false, true] {
        let mut text = if timed { "pid,page,op,time\n" } else { "pid,page,op\n" }.to_string();
        for i in 0..40_000 {
            let time = if timed { format!(",{i}") } else { String::new() };
            writeln!(text, "{},{},R{time}", i % 2 + 1, i % 100).unwrap();
        }
        let options = ImportOptions { time_unit_ns: Some(1000), ..ImportOptions::default() };
        let (summary, table, records) = run(ImportFormat::Csv, text.as_bytes(), &options).unwrap();
        assert_eq!((summary.processes, summary.accesses_kept), (2, 40_000));
        let pids: Vec<u32> =
            records.iter().map(|r| table.processes[usize::from(r.process)].pid).collect();
        assert!((0..40_000).all(|i| pids[i] == i as u32 % 2 + 1));
    }
}

#[test]
fn compressed_input_is_recognised() {
    let plain = lackey(PROGRAM).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(PROGRAM.as_bytes()).unwrap();
    let zst = zstd::stream::encode_all(PROGRAM.as_bytes(), 1).unwrap();
    for input in [gz.finish().unwrap(), zst] {
        let options = ImportOptions::default();
        assert_eq!(run(ImportFormat::Lackey, &input, &options).unwrap(), plain);
        let cut = run(ImportFormat::Lackey, &input[..input.len() - 5], &options);
        assert!(cut.unwrap_err().to_string().starts_with("reading the input after line"));
    }
}

#[test]
fn wrong_lines_are_named() {
    let says = |line: &str, expected: &str| {
        let error = lackey(&format!("==1==\nI  1000,4\n{line}\n")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line 3: {line:?}: expected")), "{error}");
        assert!(error.contains(expected), "{error}");
    };
    says("X 1f,4", "`I`, `L`, `S` or `M`");
    says("I 1000,4", "`I`, `L`, `S` or `M`");
    says(" L 1000", "a comma");
    says(" L ,4", "a hexadecimal address");
    says(" S 1g00,4", "a hexadecimal address");
    says(" S 1000,0", "a size from 1");
    says(" S 1000,99999999999999999999", "a size from 1");
    says(" M 11112222333344445,4", "at most 16 digits");
    let long = "x".repeat(1 << 20);
    let error = lackey(&long).unwrap_err().to_string();
    assert!(error.starts_with("line 1: more than"), "{error}");
}

#[test]
fn odd_ends_are_fine() {
    assert_eq!(lackey("").unwrap().0.lines, 0);
    assert_eq!(lackey("I  1000,4").unwrap().0.accesses_kept, 1);
    assert_eq!(lackey("I  1000,4\r\n L 5000,4\r\n").unwrap().0.accesses_kept, 2);
    let (summary, ..) = lackey("I  ffffffffff600000,4\n L 7ffffffffffff,8\n").unwrap();
    assert_eq!(summary.accesses_kept, 0);
    assert!(summary.assumptions.join(" ").contains("2 references above the 47-bit user space"));
}

/// Lines that cross the border of the input's buffer come out whole.
#[test]
fn long_input_is_read_in_pieces() {
    let mut input = String::new();
    for i in 0..100_000u64 {
        input += &format!(" S {:x},4\n", 0x10_0000 + (i << 12));
    }
    let (summary, table, records) = lackey(&input).unwrap();
    assert_eq!((summary.lines, summary.accesses_kept), (100_000, 100_000));
    assert_eq!((table.regions.len(), table.regions[0].pages), (1, 100_000));
    assert_eq!(records.len(), 1);
}

fn pages(input: &str) -> Result<Imported, TraceError> {
    run(ImportFormat::Pages, input.as_bytes(), &ImportOptions::default())
}

#[test]
fn page_texts_are_taken_as_they_are() {
    let input = "# a comment\nR 0x10\nR 16 2 # again\n\nW 0x100000 4 7\nw\t17\n";
    let (summary, table, records) = pages(input).unwrap();
    assert_eq!(records.len(), 4);
    assert_eq!(
        touched(&table, &records),
        [
            (0x10, false),
            (0x10, false),
            (0x11, false),
            (0x100000, true),
            (0x100001, true),
            (0x100002, true),
            (0x100003, true),
            (17, true)
        ]
    );
    assert_eq!(table.processes.iter().map(|p| p.pid).collect::<Vec<_>>(), [0, 7]);
    assert_eq!(table.timing, Timing::ThinkTime);
    assert_eq!(summary.processes, 2);
}

#[test]
fn times_make_arrivals() {
    let (_, table, records) = pages("R 1 1 0 100\nR 2 1 1 50\nR 3 1 0 1000\n").unwrap();
    assert_eq!((table.timing, table.tick_ns), (Timing::Arrivals, 1));
    assert_eq!(records.iter().map(|r| r.ticks).collect::<Vec<_>>(), [100, 50, 900]);
}

#[test]
fn wrong_page_lines_are_named() {
    let says = |input: &str, line: u64, expected: &str| {
        let error = pages(input).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {line}: ")), "{error}");
        assert!(error.contains(expected), "{error} lacks {expected:?}");
    };
    says("R 1\nQ 2\n", 2, "\"Q 2\": expected `R` or `W`");
    says("R\n", 1, "a page number after");
    says("R x\n", 1, "a page number");
    says("R 0x\n", 1, "a page number");
    says("R 99999999999999999999999\n", 1, "a page number");
    says("R 1152921504606846976\n", 1, "47-bit");
    says("R 1 0\n", 1, "a count from 1");
    says("R 1 1152921504606846976\n", 1, "a count from 1");
    says("R 1 1 99999999999\n", 1, "a process id");
    says("R 1 1 0 5\nR 1 1 0 4\n", 2, "a time not before");
    says("R 1 1 0 5\nR 1\n", 2, "a time on every line");
    says("R 1 1 0 5 9\n", 1, "at most five fields");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bounds that the collapsing promises, against the full sequence: each dropped
    /// access has a kept one of its page, as strong, fewer than `window` kept accesses and
    /// fewer than `refresh` instructions before.
    #[test]
    fn dropped_accesses_are_close_to_a_kept_one(
        refs in prop::collection::vec((0u64..3, 0u64..40, any::<bool>()), 1..2000),
        window in 0u64..20,
        refresh in 1u64..300,
    ) {
        let mut input = String::new();
        for (steps, page, write) in &refs {
            for _ in 0..*steps {
                input += "I  0,1\n";
            }
            let (page, verb) = ((page + 1) << 13, if *write { 'S' } else { 'L' });
            input += &format!(" {verb} {page:x},4\n");
        }
        let options = ImportOptions {
            window, refresh, tick: 1, fetches: false, ..ImportOptions::default()
        };
        let (_, table, records) = run(ImportFormat::Lackey, input.as_bytes(), &options).unwrap();
        let kept = touched(&table, &records);
        prop_assert_eq!(kept.len(), records.len(), "pages are never neighbours here");
        let (mut now, mut clock, mut next) = (0, 0, 0);
        let mut before: Vec<(u64, u64, bool)> = Vec::new();
        for (steps, page, write) in refs {
            now += steps;
            let page = (page + 1) * 2;
            let arrives = records.get(next).map(|r| clock + r.ticks);
            let covered = before.iter().rev().take(window as usize).any(|&(when, p, w)| {
                p == page && now - when < refresh && (w || !write)
            });
            if kept.get(next) == Some(&(page, write)) && arrives == Some(now) {
                clock = now;
                next += 1;
                before.push((now, page, write));
            } else {
                prop_assert!(covered, "page {page} at {now} is lost");
            }
        }
        prop_assert_eq!(next, kept.len());
    }

    #[test]
    fn no_text_makes_an_import_panic(
        words in prop::collection::vec("[ILSMRWx=#,.0-9a-f \n]{0,12}", 0..200),
    ) {
        let text = words.concat();
        let _ = lackey(&text);
        let _ = pages(&text);
    }

    #[test]
    fn no_bytes_make_an_import_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let options = ImportOptions::default();
        let _ = run(ImportFormat::Lackey, &bytes, &options);
        let _ = run(ImportFormat::Pages, &bytes, &options);
    }
}

fn csv(input: &str, change: impl Fn(&mut ImportOptions)) -> Result<Imported, TraceError> {
    let mut options = ImportOptions::default();
    change(&mut options);
    run(ImportFormat::Csv, input.as_bytes(), &options)
}

fn with(columns: &str) -> impl Fn(&mut ImportOptions) {
    move |o| o.columns = Some(columns.into())
}

#[test]
fn csv_columns_have_names() {
    let input = "\
ts,host,lbn,rw,len
100,\"a, \"\"b\"\"\",7,R,1
100.5,b,0x9,Write,4096
101,c,7,trim,4096
102,,8,w,4097\r
103,c,3,\"read\",0
";
    let (summary, table, records) = csv(input, |o| {
        o.columns = Some("page=lbn,op=rw,size=len,time=ts".into());
        o.time_unit_ns = Some(1_000_000);
    })
    .unwrap();
    let expected = [(7, false), (9, true), (8, true), (9, true)];
    assert_eq!(touched(&table, &records), expected);
    assert_eq!(records.iter().map(|r| r.ticks).collect::<Vec<_>>(), [0, 500_000, 1_500_000]);
    assert_eq!((table.timing, table.tick_ns), (Timing::Arrivals, 1));
    assert_eq!((summary.lines, summary.accesses_read), (6, 4));
    let assumed = table.assumptions.join("; ");
    for part in [
        "anonymous memory",
        "a page has 4096 bytes",
        "units of 1000000 ns",
        "1 operations that neither read nor write",
        "1 requests of no bytes",
    ] {
        assert!(assumed.contains(part), "{assumed} lacks {part:?}");
    }
    let regions: Vec<_> = table.regions.iter().map(|r| (r.start, r.pages, r.backing)).collect();
    assert_eq!(regions, [(7, 3, Backing::Anon)]);
}

/// The same accesses, said in bytes, in pages, with and without a line of names.
#[test]
fn csv_places_can_be_said_in_several_ways() {
    let pages = [(2, false), (3, false), (9, true)];
    let all = [
        ("offset,size,op\n8200,4096,R\n36864,1,W\n", None),
        ("x,y,z\n0x2008,4096,r\n36864,4096,w\n", Some("address=x,size=y,op=z")),
        ("\u{feff}op,count,page\r\nR,2,2\r\nW,1,9\r\n", None),
        ("R,2,2\n\nW,1,9", Some("op=#1,count=#2,page=#3")),
    ];
    for (input, columns) in all {
        let (_, table, records) = csv(input, |o| o.columns = columns.map(str::to_string)).unwrap();
        assert_eq!(touched(&table, &records), pages, "{input}");
    }
    let (_, table, records) = csv("page,size\n2,1024\n", |o| o.page_size = 512).unwrap();
    assert_eq!(touched(&table, &records), [(2, true), (3, true)]);
}

#[test]
fn csv_of_pages_alone_writes_what_is_new() {
    let (_, table, records) = csv("page\n5\n6\n5\n", |_| ()).unwrap();
    assert_eq!(touched(&table, &records), [(5, true), (6, true), (5, false)]);
    assert!(table.assumptions.iter().any(|a| a.contains("the first access to a page writes it")));
    let (_, table, records) = csv("page,count\n5,1\n4,3\n", |_| ()).unwrap();
    assert_eq!(touched(&table, &records), [(5, true), (4, true), (5, false), (6, true)]);
    // Far apart, as they are and numbered.
    let far = "page,pid\n9000000000,1\n5,2\n9000000000,2\n";
    let (_, table, _) = csv(far, |_| ()).unwrap();
    assert_eq!((table.processes.len(), table.regions.len()), (2, 3));
    let (_, table, records) = csv(far, |o| o.dense = true).unwrap();
    assert_eq!(touched(&table, &records), [(0, true), (1, true), (0, true)]);
    // A file's pages, read before they are written.
    let (_, table, records) = csv("page,op\n70,R\n", |o| o.kind = Some(PageKind::File)).unwrap();
    assert_eq!(touched(&table, &records), [(70, false)]);
    let backing = Backing::File { file: 0, offset: 70, shared: true };
    assert_eq!((table.regions[0].backing, table.files[0].as_str()), (backing, "program"));
}

#[test]
fn wrong_csv_is_refused_with_its_place() {
    let says = |input: &str, columns: Option<&str>, parts: &[&str]| {
        let change = |o: &mut ImportOptions| o.columns = columns.map(str::to_string);
        let error = csv(input, change).expect_err(input).to_string();
        for part in parts {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
    };
    says("", None, &["line 1", "names of columns"]);
    says("lbn,op\n1,R\n", None, &["lbn,op", "one of page, address, offset"]);
    says("lbn,op\n1,R\n", Some("page=lba"), &["line 1", "a column \"lba\""]);
    says("lbn,op\n1,R\n", Some("place=lbn"), &["role \"place\"", "page, address"]);
    says("lbn,op\n1,R\n", Some("lbn"), &["ROLE=NAME"]);
    says("lbn,op\n1,R\n", Some("page=lbn,op=lbn"), &["two roles"]);
    says("page,offset\n1,2\n", None, &["one of page, address, offset"]);
    says("page,time\n1,2\n", None, &["--time-unit"]);
    says("page,op\n1,R\n2\n", None, &["line 3, column 2", "after 1 of its fields", "field 2"]);
    says("a,page\n1,2\nxy,two\n", None, &["line 3, column 4", "\"two\"", "a page number"]);
    says("a,page\n1,2\n1,\n", None, &["line 3, column 3", "\"\"", "a page number"]);
    says(
        "page,op\n1,RW\n1,0\n",
        None,
        &["line 2: ", "\"0\" 1 times, \"RW\" 1 times", "--ops 0=r,RW=r"],
    );
    says("page,pid\n1,4294967296\n", None, &["line 2, column 3", "below 2^32"]);
    says("page\n99999999999999999999\n", None, &["line 2, column 1", "a page number"]);
    says("page\n34359738368\n", None, &["line 2", "47-bit"]);
    says("page,op\n\"1,R\n2,R\n", None, &["line 2, column 1", "does not close"]);
    says("page,op\n\"1\"x,R\n", None, &["line 2, column 4", "after a quote"]);
    says("offset,size\n18446744073709551615,2\n", None, &["line 2", "below 2^64"]);
    says("\n\n1\n2\nx\n", Some("page=#1"), &["line 5, column 1", "a page number"]);
    // Past the first piece of the input, and after many lines that are fine.
    let long = format!("page,op\n{}\n1\n", "1234,R\n".repeat(100_000));
    says(&long, None, &["line 100003, column 2", "after 1 of its fields"]);
    let late = csv("page,time\n1,5\n1,4\n", |o| o.time_unit_ns = Some(1));
    assert!(late.unwrap_err().to_string().contains("line 3: \"1,4\": expected a time not before"));
    let size = csv("page\n1\n", |o| o.page_size = 1000);
    assert!(size.unwrap_err().to_string().contains("a power of two"));
    assert!(csv("lbn\n1\n", with("page=lbn")).is_ok());
}

proptest! {
    /// Whatever the bytes are, the answer is a trace or an error with its line.
    #[test]
    fn csv_of_any_bytes_is_a_trace_or_an_error(
        body in "(page|op|size|time|,|\"|\n|\r\n|[0-9]{1,5}|R|W|-|x){0,60}",
    ) {
        let input = format!("page,op\n{body}");
        match csv(&input, |o| o.time_unit_ns = Some(1)) {
            Ok((summary, ..)) => prop_assert!(summary.lines >= 1),
            Err(e) => prop_assert!(e.to_string().starts_with("line "), "{}", e),
        }
    }

    /// Pages written as CSV and as a text of pages are the same trace.
    #[test]
    fn csv_and_a_text_of_pages_agree(
        all in prop::collection::vec((any::<bool>(), 0u64..1 << 20, 1u64..9, 0u32..3), 1..200),
    ) {
        let op = |w: bool| if w { "W" } else { "R" };
        let text: String =
            all.iter().map(|&(w, p, n, pid)| format!("{} {p} {n} {pid}\n", op(w))).collect();
        let values: String =
            all.iter().map(|&(w, p, n, pid)| format!("{p},{pid},{},{n}\n", op(w))).collect();
        let (_, a, text) = run(ImportFormat::Pages, text.as_bytes(), &ImportOptions::default()).unwrap();
        let (_, b, values) = csv(&format!("page,pid,op,count\n{values}"), |_| ()).unwrap();
        prop_assert_eq!(touched(&a, &text), touched(&b, &values));
        let process = |r: &Record| r.process;
        prop_assert!(text.iter().map(process).eq(values.iter().map(process)));
    }
}
