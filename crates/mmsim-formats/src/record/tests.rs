//! Records as text and back, and what is wrong with some.

use super::*;

fn region(start: u64, end: u64, nr_accesses: u32, age: Option<u32>) -> Region {
    Region { start, end, nr_accesses, age }
}

fn sample() -> Record {
    let regions =
        |n: u32| vec![region(0, 4096, n, Some(7)), region(8192, 1 << 40, 20 - n, Some(0))];
    let ends = [100_000_000, 200_123_000, 300_001_000];
    let mut snapshots: Vec<Snapshot> = (3..)
        .zip(ends)
        .map(|(n, end_ns)| Snapshot { start_ns: 0, end_ns, regions: regions(n) })
        .collect();
    set_start_times(&mut snapshots);
    Record {
        kdamond_idx: 1,
        intervals: Some(Intervals { sample_us: 5_000, aggr_us: 100_000, ops_update_us: 1_000_000 }),
        target_id: 0,
        snapshots,
        ..Record::default()
    }
}

#[test]
fn the_first_snapshot_is_as_long_as_the_others_on_average() {
    let starts: Vec<u64> = sample().snapshots.iter().map(|s| s.start_ns).collect();
    assert_eq!(
        starts,
        [100_000_000 - 100_000_500, 100_000_000, 200_123_000].map(|t: i64| t.max(0) as u64)
    );
}

/// A twin: the lines as the kernel's format says, put together by hand.
#[test]
fn perf_script_prints_one_line_a_region() {
    let text = perf::write(&[sample()]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(
        lines[3],
        "kdamond.1     0 [000]     0.200123: damon:damon_aggregated: target_id=0 nr_regions=2 \
         8192-1099511627776: 16 0"
    );
}

#[test]
fn both_forms_read_back() {
    let mut other = sample();
    other.target_id = 1;
    other.snapshots.truncate(1);
    let records = [sample(), other];
    let mut without_intervals = records.clone();
    for r in &mut without_intervals {
        r.intervals = None;
    }
    assert_eq!(perf::read(&perf::write(&records), "x").unwrap(), without_intervals);
    let json = damo::write(&records);
    assert_eq!(damo::read(&json, "x").unwrap(), records);
    assert_eq!(read(&damo::compressed(&json), "x").unwrap(), records);
    assert_eq!(read(json.as_bytes(), "x").unwrap(), records);
}

/// Lines of three kernels: without an age and with an address for the target, of now, and of
/// schemes; others between them.
#[test]
fn what_kernels_have_printed() {
    let text = "\
# a comment
kdamond.0  4452 [000] 82877.315633:          damon:damon_aggregated: target_id=18446623435582458880 nr_regions=2 140731667070976-140731668037632: 0
 swapper     0 [001] 82877.400000: sched:sched_switch: prev_comm=kdamond.0
kdamond.0  4452 [000] 82877.315640: damon:damon_aggregated: target_id=18446623435582458880 nr_regions=2 140731668037632-140731668037633: 5
   kdamond.0 129062 [004] 100952.251360: damon:damon_aggregated: target_id=0 nr_regions=1 8359534592-8371830784: 0 505
kdamond.0 1 [0] 100953.0: damos_before_apply: ctx_idx=0 scheme_idx=2 target_idx=0 nr_regions=11 4096-8192: 0 136
kdamond.0 1 [0] 100953.1: damos_before_apply: ctx_idx=0 scheme_idx=2 target_idx=0 nr_regions=11 16384-20480: 0 7
kdamond.0 1 [0] 100954.0: damos_before_apply: ctx_idx=0 scheme_idx=2 target_idx=0 nr_regions=11 4096-8192: 1 0";
    let records = perf::read(text, "x").unwrap();
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].target_id, 18_446_623_435_582_458_880);
    assert_eq!(records[0].snapshots[0].end_ns, 82_877_315_633_000);
    assert_eq!(records[0].snapshots[0].regions[1].nr_accesses, 5);
    assert_eq!(records[0].snapshots[0].regions[1].age, None);
    assert_eq!(records[1].snapshots[0].regions[0].age, Some(505));
    assert_eq!(records[2].scheme_idx, Some(2));
    let sizes: Vec<usize> = records[2].snapshots.iter().map(|s| s.regions.len()).collect();
    assert_eq!(sizes, [2, 1]);
    assert_eq!(perf::read(&perf::write(&records[..1]), "x").unwrap(), records[..1]);
}

#[test]
fn numbers_with_commas_and_members_that_are_missing() {
    let text = r#"[{"target_id": 3, "snapshots": [{"start_time": "1,000", "end_time": 2000.5,
        "regions": [{"start": "4,096", "end": "8,192", "nr_accesses": {"samples": 2, "percent": null},
        "age": {"usec": "1 s", "aggr_intervals": null}}]}], "of a later version": {}}]"#;
    let [record] = &damo::read(text, "x").unwrap()[..] else { panic!("one record") };
    assert_eq!((record.target_id, record.intervals), (3, None));
    let regions = vec![region(4096, 8192, 2, None)];
    assert_eq!(record.snapshots, [Snapshot { start_ns: 1000, end_ns: 2000, regions }]);
}

fn title_and_place(e: &Error) -> (String, usize, usize) {
    let (_, line, column) = e.position().expect("a place");
    (e.title().to_string(), line, column)
}

#[test]
fn lines_that_are_wrong() {
    let good = perf::write(&[sample()]);
    for (from, to, title, line, column) in [
        (
            "0.200123:",
            "0.2001x3:",
            "found `0.2001x3:`, expected a time in seconds as in `0.100000:`",
            3,
            27,
        ),
        (
            "nr_regions=2 0-4096: 4",
            "nr_regions=0 0-4096: 4",
            "found `nr_regions=0`, expected `nr_regions=` and a number from 1",
            3,
            73,
        ),
        (
            "0-4096: 4 7",
            "4096-0: 4 7",
            "found `4096-0:`, expected a region that ends above its start",
            3,
            86,
        ),
        (
            "0-4096: 4 7",
            "0-4096: 4 old",
            "found `old`, expected the age in aggregations, or nothing",
            3,
            96,
        ),
        (
            "0-4096: 4 7",
            "0-4096:",
            "found the end of the line, expected the number of samples with an access",
            3,
            93,
        ),
        ("nr_regions=2 0-4096: 4", "nr_regions=3 0-4096: 4", "1 of 3 regions", 0, 0),
        (
            "0.300001: damon:damon_aggregated: target_id=0 nr_regions=2 0",
            "0.100001: damon:damon_aggregated: target_id=0 nr_regions=2 0",
            "the time goes back",
            5,
            61,
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let e = perf::read(&good.replacen(from, to, 1), "x").unwrap_err();
        if line == 0 {
            assert!(e.title().contains("regions of a snapshot are missing before this"), "{e}");
            continue;
        }
        assert_eq!(title_and_place(&e), (format!("`x`: {title}"), line, column), "{e}");
    }
    let cut: Vec<&str> = good.lines().take(5).collect();
    let e = perf::read(&cut.join("\n"), "x").unwrap_err();
    assert_eq!(e.title(), "`x`: the last snapshot lacks 1 of 2 regions");
}

/// Lost lines show by times and addresses, even where the numbers of regions fit.
#[test]
fn snapshots_that_lost_lines() {
    let line = |time: &str, nr: u32, region: &str| {
        format!("k 1 [0] {time}: damon:damon_aggregated: target_id=0 nr_regions={nr} {region} 0\n")
    };
    let wrong = |lines: &[(&str, &str)]| {
        let text: String = lines.iter().map(|(t, r)| line(t, 3, r)).collect();
        let e = perf::read(&text, "x").unwrap_err();
        (title_and_place(&e), e)
    };
    // The third line is of the next snapshot, whose first it is.
    let ((title, at, _), _) = wrong(&[
        ("1.100000", "0-4096: 1"),
        ("1.100000", "4096-8192: 2"),
        ("1.200000", "0-4096: 11"),
        ("1.200000", "4096-8192: 12"),
        ("1.200000", "8192-12288: 13"),
        ("1.300000", "0-4096: 0"),
    ]);
    let of = "the snapshot of 1.100000 s, which has 2 of 3 regions";
    assert_eq!((title, at), (format!("`x`: 1.200000 s does not belong to {of}"), 3));
    // Addresses that ascend do not hide it.
    let ((title, at, _), _) = wrong(&[
        ("1.100000", "0-4096: 1"),
        ("1.200000", "4096-8192: 12"),
        ("1.200000", "8192-12288: 13"),
    ]);
    assert!(title.contains("1.200000 s does not belong"), "{title}");
    assert_eq!(at, 2);
    // Aggregations of 4 ms: half of one is the limit once there were two.
    let whole = [("1.000000", 0), ("1.004000", 0)];
    let mut text = String::new();
    for (time, _) in whole {
        text += &line(time, 2, "0-4096: 1");
        text += &line(time, 2, "4096-8192: 1");
    }
    text += &line("1.008000", 2, "0-4096: 1");
    text += &line("1.012000", 2, "4096-8192: 1");
    let e = perf::read(&text, "x").unwrap_err();
    assert_eq!(title_and_place(&e).1, 6, "{e}");
    // At one time, but not in order.
    let ((title, at, _), _) =
        wrong(&[("1.1", "8192-12288: 1"), ("1.1", "4096-8192: 2"), ("1.1", "0-4096: 2")]);
    assert!(title.contains("4096-8192 begins before 12288"), "{title}");
    assert_eq!(at, 2);
    // A burst takes its time.
    let text = line("1.100000", 2, "0-4096: 1") + &line("1.100900", 2, "4096-8192: 1");
    assert_eq!(perf::read(&text, "x").unwrap()[0].snapshots.len(), 1);
}

#[test]
fn packed_records_are_unpacked() {
    use std::io::Write as _;
    let dir = std::env::temp_dir().join(format!("mmsim-packed-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let text = perf::write(&[sample()]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let path = dir.join("r.gz");
    std::fs::write(&path, gz.finish().unwrap()).unwrap();
    assert_eq!(load(&path).unwrap(), perf::read(&text, "x").unwrap());
    std::fs::write(&path, b"\xfd7zXZ\0\0\x04").unwrap();
    let e = load(&path).unwrap_err().to_string();
    assert!(e.contains("compressed with xz") && e.contains("xz -dk"), "{e}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn files_that_are_no_records() {
    let json = damo::write(&[sample()]);
    let e = read(json.replacen("\"end\":4096", "\"end\":0", 1).as_bytes(), "x").unwrap_err();
    assert!(e.title().contains("the region 0-0 does not end above its start"), "{e}");
    assert!(e.position().is_some());
    let packed = damo::compressed(&json);
    assert!(read(&packed[..packed.len() / 2], "x").unwrap_err().title().contains("unpacked"));
    assert_eq!(read(b"no lines of it\n", "x").unwrap_err().title(), "`x` has no snapshot");
    assert!(read(b"PERFILE2\0\0", "x").unwrap_err().to_string().contains("perf script -i"));
    assert!(read(b"[{}]", "x").unwrap_err().title().contains("missing field `snapshots`"));
}
