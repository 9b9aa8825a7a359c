//! Accepted and refused scripts.

use super::*;

fn refused(text: &str) -> String {
    parse(text).map(|_| ()).expect_err(text).to_string()
}

#[test]
fn commands_are_read() {
    let text = "write /proc/sys/vm/lowmem_reserve_ratio 1 256\n\nanon 0 10\ntable 3 10 0.5\n\
                scan 0 2 8 w\nzipf 0 3 100 300 7 1\nmixscan 0 3 5 7 0 0 2 10 50 mmap\nresid 0 10 1";
    let all = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let map = Map { mul: 7, add: 1 };
    let drawn = Drawn { region: 0, table: 3, accesses: 100, map };
    assert_eq!(all.len(), 7);
    assert_eq!(
        all[0],
        Command::Write {
            path: "/proc/sys/vm/lowmem_reserve_ratio".into(),
            value: "1 256".into(),
            may_fail: false
        }
    );
    let pages = Pages { region: 0, at: 2, count: 8 };
    assert_eq!(all[3], Command::Scan { pages, write: true, times: 1 });
    assert_eq!(all[4], Command::Zipf { drawn, write_permille: 300 });
    assert!(matches!(all[5], Command::MixScan { loop_, .. } if loop_ == pages));
    assert_eq!(all[6], Command::Look);
}

#[test]
fn a_process_has_regions_of_its_own_and_the_tables_before_it() {
    let text = "table 0 4 1\nmkdir /cg/a\nprocess 7 /cg/a\nanon 0 9\non 7 anon 0 4\n\
                on 7 zipf 0 0 5 0 1 0\non 7 pin 1";
    let all = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all[2], Command::Process { process: 7, group: "/cg/a".into() });
    let anon = Box::new(Command::Anon { region: 0, pages: 4 });
    assert_eq!(all[4], Command::On { process: 7, command: anon });
    assert_eq!(all[6], Command::On { process: 7, command: Box::new(Command::Pin { cpu: 1 }) });
}

#[test]
fn processes_that_were_started_are_waited_for() {
    let begin = "process 7 -\njoin /cg/a\nstart 7 anon 0 4\n";
    let all = parse(&format!("{begin}wait\non 7 pin 0")).unwrap_or_else(|e| panic!("{e}"));
    let anon = Box::new(Command::Anon { region: 0, pages: 4 });
    assert_eq!(
        all[1..4],
        [
            Command::Join { group: "/cg/a".into() },
            Command::Start { process: 7, command: anon },
            Command::Wait,
        ]
    );
    assert!(refused(&format!("{begin}on 7 pin 0")).ends_with("write `wait` before"));
    let many = "start 7 sleepms 0\n".repeat(group::MAX_UNDER_WAY);
    assert!(refused(&format!("{begin}{many}")).ends_with("commands without `wait`"));
}

#[test]
fn swap_is_on_a_device_of_so_many_pages() {
    let text = "swapon /dev/nullb0 262144\nzram 8192\nzram 8192 5\nswapon /dev/a 2 32767";
    let all = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let on =
        |device: &str, pages, priority| Command::Swapon { device: device.into(), pages, priority };
    let zram = |priority| Command::Zram { bytes: 8192, priority };
    let first = on("/dev/nullb0", 262_144, None);
    assert_eq!(all, [first, zram(None), zram(Some(5)), on("/dev/a", 2, Some(32_767))]);
}

#[test]
fn contents_are_numbers_of_drawn_bytes() {
    let all = parse("anon 0 9\ncontents 0 900 0 4096").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all[1], Command::Contents { region: 0, bytes: vec![900, 0, 4096] });
    assert!(refused("contents 0 9").ends_with("there is no region 0"));
    assert!(refused("anon 0 9\ncontents 0 4097").contains("write a number from 0 to 4096"));
}

/// As `evidence/reference/GENERATOR.md` has it: from `start + ph * count / every` on, `ph = k mod every`.
#[test]
fn a_child_reads_its_pages_in_so_many_ticks() {
    let all = parse("spawn 8192 1000 0 0 8 1 2048 6144 50\nchildrss t1\nval t1 /a /b\nkillchild");
    let all = all.unwrap_or_else(|e| panic!("{e}"));
    let Command::Spawn { pages: 8192, tick_us: 1000, ticks: 0, reads } = &all[0] else {
        panic!("{:?}", all[0])
    };
    assert_eq!((reads[0].at(0), reads[0].at(7)), (0..8, 0..8));
    assert_eq!((reads[1].at(1), reads[1].at(51)), (2170..2293, 2170..2293));
    assert_eq!(reads[1].at(49).end, 8192);
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let cases = [
        ("spawn 8 1 0 4 5 1", "up to page 9, but the child has 8 pages"),
        ("childrss t1", "there is no child"),
        ("val /a /b", "several files need a label before them"),
        ("val t1", "the path is missing"),
        ("anon 0 10\nfil 0 0 10", "line 2: `fil 0 0 10`: not a command of this recorder"),
        ("swapon", "the device is missing"),
        ("swapon /dev/nullb0 1", "the pages is 1, write a number from 2 to"),
        ("swapon /dev/nullb0 8 8 8", "`8` is too much"),
        ("zram 8192 32768", "the priority is `32768`, write a number from 0 to 32767"),
        ("drain 257", "the pages of a pipe is 257, write a number from 1 to 256"),
        ("seed x", "line 1: `seed x`: the seed is `x`, write a number"),
        ("seed", "the seed is missing"),
        ("seed 1 2", "`2` is too much"),
        ("fill 0 0 10", "there is no region 0"),
        ("anon 0 10\nfill 0 5 6", "up to page 11, but region 0 has 10 pages"),
        ("anon 0 10\nanon 0 10", "there is a region 0 already"),
        ("anon 0 10\nunmap 0\nfill 0 0 1", "line 3"),
        ("anon 0 0", "the number of pages is 0, write a number from 1 to"),
        ("anon 0 10\nzipf 0 0 1 0 1 0", "there is no table 0"),
        ("anon 0 10\ntable 0 11 1\nzipf 0 0 1 0 1 0", "11 ranks, but region 0 has 10 pages"),
        ("table 0 10 nan", "theta is NaN, write a number from 0 to 10"),
        ("anon 0 10\nmadvise 0 0 10 cold", "write populate_read or pageout or free or dontneed"),
        ("snap a\nsnapx a", "there is a snapshot `a` already"),
        ("anon 0 10\ntable 0 3 1\nebizzy 0 0 4 1 1 5", "up to page 12, but region 0 has 10"),
        ("anon 0 10\ntable 0 2 1\nebizzy 0 0 5 1 1 0", "there is a region 0 already"),
        ("mkdir /a", "the path is `/a`, write one below /cg"),
        ("mount cgroup2 none /cg rw", "write memory_recursiveprot or memory_localevents or none"),
        ("process 1 /cg/a\nprocess 1 /cg/a", "there is a process 1 already"),
        ("on 1 anon 0 4", "there is no process 1"),
        (
            "process 1 /cg/a\nanon 0 4\non 1 fill 0 0 4",
            "line 3: `on 1 fill 0 0 4`: there is no region 0",
        ),
        ("process 1 /cg/a\non 1 snap a", "`snap` is a command of the first process"),
    ];
    for (text, what) in cases {
        let said = refused(text);
        assert!(said.contains(what), "{text}: {said}");
    }
}

#[test]
fn scripts_can_be_cut() {
    let text = "seed 1\nsnapx a\nseed 2\nsnap b\n";
    assert_eq!(until(text, "a").as_deref(), Ok("seed 1\nsnapx a\n"));
    assert_eq!(until(text, "b").as_deref(), Ok(text));
    assert!(until(text, "c").is_err());
}
