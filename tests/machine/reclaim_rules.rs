//! One witness for each rule about when reclaim has failed, what it counts, and what it splits or spares, as in
//! `rules`.

use crate::rules::{alloc, both, both_zones, free, newest};
use crate::support::*;
use mmsim::base::migratetype::Migratetype::{Movable, Unmovable};
use mmsim::base::time::SimDuration;
use mmsim::config::{NodeConfig, ZoneConfig, ZoneKind};
use mmsim::machine::result::{Outcome, RunResult};
use mmsim::machine::{Machine, Watch};
use mmsim::phys::gfp::{GFP_KERNEL, GFP_NOWAIT, GfpFlags};
use mmsim::workload::{Advice, MapKind, Op, VmaFlags};
use mmsim_core::policy::{ANON_ONLY, ReclaimPolicy};
use mmsim_lru::mglru::{Mglru, MglruConfig};

/// Six locked pages of a process, two free ones, and so on through memory. The kernel has all larger
/// blocks.
fn locked_but_for_pairs() -> Vec<Op> {
    let locked = VmaFlags { locked: true, ..VmaFlags::default() };
    let mut ops = vec![map(0, 1400, MapKind::Anon, locked)];
    for i in 0..230 {
        ops.extend([write(0, 6 * i, 6), alloc(i, 1, Movable, GFP_KERNEL)]);
    }
    ops.extend((0..230).map(free));
    ops.extend((1000..1100).map(|i| alloc(i, 2, Unmovable, GfpFlags::default())));
    ops
}

/// Requests for memory that cannot be moved take single pages from movable pageblocks, which raises
/// the marks each time. All pages are locked, so kswapd frees nothing. After sixteen runs it has given
/// up, or it comes for each of the requests.
#[test]
fn boosted_runs_fail() {
    let mut ops = locked_but_for_pairs();
    ops.extend((300..600).map(|i| alloc(i, 0, Unmovable, GFP_KERNEL)));
    ops.push(end(0));
    ops.extend((600..630).flat_map(|i| [alloc(i, 0, Unmovable, GFP_KERNEL), sleep_ms(200)]));
    ops.push(end(1));
    let runs = both(&newest("ramdisk"), "boosted-runs-fail", ["no", "yes"], &ops)
        .map(|r| count(&r, "pageoutrun"));
    assert!(runs[1] <= 16 && runs[0] > runs[1], "{runs:?}");
}

/// Free memory is in pairs, and there is nothing to reclaim. Requests for blocks of order 3 have kswapd
/// fail until it has given up. Then a process has pages that can be reclaimed, and such requests
/// reclaim some. kswapd has hope again, or would only if there were a block.
#[test]
fn failures_end_balanced() {
    let ask = |i| [alloc(i, 3, Unmovable, GFP_KERNEL.with(GfpFlags::NORETRY)), sleep_ms(200)];
    let mut ops = locked_but_for_pairs();
    ops.extend((600..630).flat_map(ask));
    ops.extend([end(0), map(1, 40, MapKind::Anon, VmaFlags::default()), write(1, 0, 40)]);
    ops.extend((700..705).flat_map(ask));
    ops.push(end(1));
    let mut c = newest("ramdisk");
    c.vm.watermark_boost_factor = 0;
    let of = both(&c, "failures-end-balanced", ["no", "yes"], &ops)
        .map(|r| [0, 1].map(|i| phase_counts(&r.phases[i], ["pageoutrun", "pgsteal_direct"])));
    let [no, yes] = of;
    assert_eq!(no[0], yes[0]);
    assert!(no[1][0] > 0 && no[1][1] > 0, "{of:?}");
    assert!(yes[1][0] == 0 && yes[1][1] > 0, "{of:?}");
}

/// Nothing can be swapped, and memory.reclaim shall take anonymous memory alone: it takes file pages
/// up to 7.2, and nothing later. Both LRUs ask for it.
#[test]
fn anon_only_falls_back() {
    let taken = |value, mglru| {
        let mut c = ruled(newest("ramdisk"), "anon-only-falls-back", value);
        c.swap.clear();
        let only = Op::MemcgReclaim { memcg: None, pages: 50, swappiness: Some(ANON_ONLY) };
        let ops = [file(0, 200, true, VmaFlags::default()), read(0, 0, 200), end(0), only, end(1)];
        let tasks = vec![member("t", ops.to_vec())];
        let mut m = match mglru {
            false => machine(&c, tasks),
            true => Machine::new(&c, tasks, 1, |mem| {
                Box::new(Mglru::new(MglruConfig::V7_3, mem, 1)) as Box<dyn ReclaimPolicy>
            }),
        };
        let r = m.run(Watch::default().with_check_every(97));
        phase_counts(&r.phases[1], ["pgscan_file"])[0]
    };
    for mglru in [false, true] {
        let [no, yes] = ["no", "yes"].map(|value| taken(value, mglru));
        assert!(no == 0 && yes >= 50, "mglru {mglru}: {no} {yes}");
    }
}

/// Reclaim for memory.reclaim is counted separately, and no longer as that of a direct reclaimer.
/// In 6.12 neither is counted for the machine.
#[test]
fn counts_proactive() {
    let ops = [
        anon(400),
        write(0, 0, 400),
        Op::MemcgReclaim { memcg: None, pages: 100, swappiness: None },
    ];
    let counters = ["pgscan_direct", "pgscan_proactive", "pgsteal_direct", "pgsteal_proactive"];
    let of = both(&newest("ramdisk"), "counts-proactive", ["no", "yes"], &ops)
        .map(|r| counters.map(|c| stat(&r, 0, c)));
    let [direct, proactive] = of;
    assert!(direct[0] > 0 && direct[2] >= 100, "{direct:?}");
    assert_eq!(proactive, [0, direct[0], 0, direct[2]]);
}

/// Pages that are written one after the other go to an asynchronous device as few requests, and to
/// a synchronous one singly. Before 7.3 there is no such counter.
#[test]
fn counts_swap_requests() {
    let ops = [anon(3000), write(0, 0, 3000), read(0, 0, 3000)];
    let counters = ["pswpout", "nrswpout", "pswpin", "nrswpin"];
    let of = |device| {
        let mut c = newest(device);
        c.vm.page_cluster = 3;
        both(&c, "counts-swap-requests", ["no", "yes"], &ops).map(|r| counts(&r, counters))
    };
    for device in ["ramdisk", "nvme"] {
        let [no, yes] = of(device);
        assert!(no[0] > 100 && no[2] > 100 && no == [no[0], 0, no[2], 0], "{no:?}");
        assert_eq!([yes[0], yes[2]], [no[0], no[2]]);
        match device {
            "ramdisk" => assert_eq!([yes[1], yes[3]], [yes[0], yes[2]]),
            _ => {
                assert!(32 * yes[1] >= yes[0] && 4 * yes[1] < yes[0] && yes[3] < yes[2], "{yes:?}")
            }
        }
    }
}

/// Anonymous pages are read and swapped: what was scanned for eviction was freed or rotated.
#[test]
fn counts_rotated() {
    let ops = [anon(3000), write(0, 0, 3000), read(0, 0, 3000)];
    let counters = ["pgscan_anon", "pgsteal_anon", "pgrotate_anon"];
    let [no, yes] = both(&newest("ramdisk"), "counts-rotated", ["no", "yes"], &ops)
        .map(|r| counts(&r, counters));
    assert_eq!(no[2], 0);
    assert!(yes[2] > 0 && yes[0] == yes[1] + yes[2], "{yes:?}");
}

/// Free memory is in pairs, and there is nothing to reclaim. A request for a larger block reclaims: it
/// gives up at once, or walks through all priorities once more.
#[test]
fn reclaim_walks_again() {
    let mut ops = locked_but_for_pairs();
    ops.extend([end(0), alloc(600, 3, Unmovable, GFP_KERNEL.with(GfpFlags::NORETRY)), end(1)]);
    let stalls = both(&newest("ramdisk"), "reclaim-walks-again", ["no", "yes"], &ops)
        .map(|r| phase_counts(&r.phases[1], ["allocstall_normal"]));
    assert_eq!(stalls, [[1], [2]]);
}

/// Anonymous pages, file pages that are older, and free swap: memory.reclaim with `swappiness=max`
/// takes the requested pages, and anonymous memory alone. So do both LRUs. MGLRU has to age for it:
/// that there are old generations of files does not matter.
#[test]
fn anon_only_takes_anonymous_memory() {
    let only = Op::MemcgReclaim { memcg: None, pages: 100, swappiness: Some(ANON_ONLY) };
    let ops = [anon(600), pread(0, 300), write(0, 0, 600), end(0), only, end(1)];
    for mglru in [None, Some(MglruConfig::V6_18), Some(MglruConfig::V7_3)] {
        let (c, tasks) = (newest("ramdisk"), vec![member("t", ops.to_vec())]);
        let mut m = match mglru {
            None => machine(&c, tasks),
            Some(config) => Machine::new(&c, tasks, 1, |mem| {
                Box::new(Mglru::new(config, mem, 1)) as Box<dyn ReclaimPolicy>
            }),
        };
        let r = m.run(Watch::default().with_check_every(97));
        let taken = phase_counts(&r.phases[1], ["pgsteal_anon", "pgsteal_file"]);
        assert!(taken[0] >= 100 && taken[1] == 0, "{mglru:?}: {taken:?}");
    }
}

/// A group whose `memory.min` is its limit, after kswapd has noted that, reads one page more than fits.
/// Reclaim for the limit heeds the note and finds nothing, so that the group's process is killed. Or it
/// ignores it: a 2^p-th part of what is left of 300 pages is 33 pages in all down to p = 4. Or it heeds it in
/// part, so that the list counts as 32 pages: it goes down to the last priority for them.
#[test]
fn stale_protection() {
    let mut c = newest("ramdisk");
    (c.memcgs[0].min, c.memcgs[0].max) = (300, Some(300));
    let ops = [pread(0, 300), sleep_ms(1000), end(0), pread(300, 1), end(1)];
    let other = || vec![sleep_ms(100), anon(1800), write(0, 0, 1800), sleep_ms(2000)];
    let [ignored, less, skips] = ["ignored", "scans-less", "skips"].map(|v| {
        let c = ruled(c.clone(), "stale-protection", v);
        run(&c, vec![member("t", ops.to_vec()), task("other", other())])
    });
    assert_eq!([&ignored, &less, &skips].map(|r| count(r, "oom_kill")), [0, 0, 1]);
    let stolen = |r: &RunResult| phase_counts(&r.phases[1], ["pgsteal_file"])[0];
    assert_eq!([stolen(&ignored), stolen(&less)], [33, 63]);
}

/// Three processes of 300 pages, in a group of 900. The one that was made first goes, or the last.
#[test]
fn oom_ties_last() {
    let mut c = newest("ramdisk");
    (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(900), Some(0));
    let holds = |ms, pages| vec![sleep_ms(ms), anon(pages), write(0, 0, pages), sleep_ms(2000)];
    let victim = ["no", "yes"].map(|value| {
        let tasks = [("a", 0, 300), ("b", 10, 300), ("c", 20, 301)];
        let tasks = tasks.map(|(name, ms, pages)| member(name, holds(ms, pages)));
        let r = run(&ruled(c.clone(), "oom-ties-last", value), tasks.into());
        let Outcome::OutOfMemory(s) = r.outcome else { panic!("{:?}", r.outcome) };
        s.victim
    });
    assert_eq!(victim, ["a", "c"]);
}

/// Two groups with pages below a limited one. Reclaim for that limit goes on behind the group where
/// the last one stopped, or visits all each time: then it comes by more groups for the same pages.
#[test]
fn shared_walks() {
    let mut c = newest("ramdisk");
    c.memcgs = ["top", "top/a", "top/b"].map(group).into();
    c.memcgs[0].max = Some(400);
    let again = |n| [write(0, 0, n), sleep_ms(50)];
    let ops = |n: u32| -> Vec<Op> {
        std::iter::once(anon(n)).chain((0..4).flat_map(|_| again(n))).collect()
    };
    let walked = ["no", "yes"].map(|value| {
        let tasks = [1, 2].map(|i| threads(&i.to_string(), Some(i), vec![ops(300)]));
        let r = run(&ruled(c.clone(), "shared-walks", value), tasks.into());
        assert_eq!(r.outcome, Outcome::Completed);
        (count(&r, "sim_memcg_walk_groups"), count(&r, "sim_memcg_walk_short") > 0)
    });
    assert!(walked[0].0 > walked[1].0, "{walked:?}");
    assert_eq!(walked.map(|w| w.1), [false, true]);
}

/// A group with a limit of 200 pages and one process. Kernel memory of the process (48 pages) counts
/// as used, or not: reclaim begins that much earlier.
#[test]
fn memcg_charges() {
    let mut c = newest("ramdisk");
    c.memcgs[0].max = Some(200);
    let ops = [anon(180), write(0, 0, 180), sleep_ms(100), end(0)];
    let [exact, kernel] =
        both(&c, "memcg-charges", ["exact", "kernel"], &ops).map(|r| stat(&r, 0, "pswpout"));
    assert!(exact == 0 && kernel >= 28, "{exact} {kernel}");
}

/// 60 file pages that were read twice are active in a group of 100, and others are read once. The
/// inactive list is too short, so active pages are looked at as well. By the statistics of before the
/// run it is not, until the next flush.
#[test]
fn memcg_stats() {
    let mut c = newest("ramdisk");
    c.memcgs[0].max = Some(100);
    let first = [pread(0, 60), pread(0, 60), pread(100, 300), end(0)];
    let ops = [&first[..], &[sleep_ms(2500), pread(400, 300), end(1)]].concat();
    let [exact, kernel] = both(&c, "memcg-stats", ["exact", "kernel"], &ops)
        .map(|r| [0, 1].map(|i| phase_counts(&r.phases[i], ["pgdeactivate"])[0]));
    assert!(exact[0] > 0, "{exact:?}");
    assert!(kernel[0] == 0 && kernel[1] > 0, "{kernel:?}");
}

/// A process reads 100 pages of a file and ends, and its group is removed. The pages stay its own, or
/// go to the root.
#[test]
fn memcg_offline() {
    let mut c = newest("ramdisk");
    c.memcgs[0].until = Some(SimDuration::from_millis(500));
    let left = ["keeps", "reparent"].map(|value| {
        let tasks = vec![member("t", vec![pread(0, 100)]), task("rest", vec![sleep_ms(1000)])];
        stat(&run(&ruled(c.clone(), "memcg-offline", value), tasks), 0, "memory.current")
    });
    assert_eq!(left, [100 * 4096, 0]);
}

/// Two groups far above their `memory.high` take pages in turn on one CPU, and nothing can be
/// reclaimed. With one entry each page takes a batch, and each batch is looked at. With seven, a
/// batch lasts for 64 pages.
#[test]
fn memcg_stock_groups() {
    let mut c = ruled(newest("ramdisk"), "memcg-charges", "kernel");
    c.memcgs = ["a", "b"].map(group).into();
    c.memcgs.iter_mut().for_each(|g| g.high = Some(1));
    c.swap.clear();
    let turns = || (0..20).flat_map(|i| [write(0, i, 1), sleep_ms(20)]);
    let looks = ["1", "7"].map(|value| {
        let tasks = [0, 1].map(|i| {
            let ops = std::iter::once(anon(100)).chain(turns()).collect();
            threads(&i.to_string(), Some(i), vec![ops])
        });
        let r = run(&ruled(c.clone(), "memcg-stock-groups", value), tasks.into());
        stat(&r, 0, "memory.events.high")
    });
    assert!(looks[0] > 5 * looks[1] && looks[1] > 0, "{looks:?}");
}

/// 480 of 512 pages of a huge page are dropped, and come free at once or not at all.
#[test]
fn deferred_split() {
    let mut c = newest("ramdisk");
    c.vm.thp = mmsim::config::Thp::Always;
    let ops = [anon(512), write(0, 0, 512), end(0), advise(0, 0, 480, Advice::DontNeed), end(1)];
    let names = ["thp_split_page", "thp_deferred_split_page", "pgfree"];
    let [no, yes] =
        both(&c, "deferred-split", ["no", "yes"], &ops).map(|r| phase_counts(&r.phases[1], names));
    assert_eq!((no, yes), ([1, 0, 480], [0, 1, 0]));
}

/// No swap and 2,048 frames: a unit of `oom_score_adj` is two pages. Of a process of 1,000 pages with -999
/// and one of 300 with -400, points are -998 and -500 where they may fall below 1, so the second goes.
/// Else both have 1, and the first one goes.
#[test]
fn badness_below_one() {
    let mut c = newest("ramdisk");
    c.swap.clear();
    let holds = |name: &str, pages, adj| {
        let ops = vec![anon(pages), write(0, 0, pages), sleep_ms(1000), end(0)];
        task(name, ops).with_oom_score_adj(adj)
    };
    let late = vec![sleep_ms(100), anon(900), write(0, 0, 900), end(0)];
    let survivor = |value| {
        let late = task("late", late.clone()).with_oom_score_adj(-999);
        let tasks = vec![holds("large", 1000, -999), holds("small", 300, -400), late];
        let c = ruled(c.clone(), "oom-ties-last", "no");
        let r = run(&ruled(c, "badness-below-one", value), tasks);
        ["large", "small"].map(|name| r.phases.iter().any(|p| p.name.starts_with(name)))
    };
    assert_eq!(survivor("no"), [false, true]);
    assert_eq!(survivor("yes"), [true, false]);
}

/// The write requests 700 of 1500 pages, all of them accessed. A quarter of the rest each time ends
/// within a batch, and so does a batch each time, in more tries; all of the rest at once goes
/// beyond it. A number is a batch of its own size.
#[test]
fn memory_reclaim_try() {
    let ops = [anon(1500), write(0, 0, 1500), reclaim(700)];
    let of = |v| {
        run(&ruled(newest("ramdisk"), "memory-reclaim-try", v), vec![member("t", ops.to_vec())])
    };
    let runs = ["whole", "batch", "quarter"].map(of);
    let [whole, batch, quarter] = [0, 1, 2].map(|i| count(&runs[i], "pgsteal_anon"));
    assert!((700..764).contains(&quarter) && (700..764).contains(&batch), "{batch} {quarter}");
    assert!(whole > quarter.max(batch), "{whole} {batch} {quarter}");
    assert_ne!(runs[1].digest, runs[2].digest);
    assert_eq!(of("32").digest, runs[1].digest);
    assert_eq!(of("700").digest, runs[0].digest);
    let larger = of("200").digest;
    assert!(runs.iter().all(|run| run.digest != larger));
}

/// Pages of a mapped file are used once each, and then memory is short. Those of an executable mapping
/// are kept, and whether the mapping is shared makes no difference to either LRU: VM_EXEC counts
/// (Linux 6.12 mm/vmscan.c, `folio_check_references`).
#[test]
fn shared_text_is_text() {
    let back = |exec, shared, mglru: bool| {
        let c = newest("ramdisk");
        let flags = VmaFlags { exec, ..VmaFlags::default() };
        let mut ops = vec![file(1, 600, shared, flags), anon(6000)];
        for i in 0..40 {
            ops.extend([read(1, 0, 600), write(0, 100 * i, 100)]);
        }
        let tasks = vec![task("t", ops)];
        let mut m = match mglru {
            false => machine(&c, tasks),
            true => Machine::new(&c, tasks, 1, |mem| {
                Box::new(Mglru::new(MglruConfig::V7_3, mem, 1)) as Box<dyn ReclaimPolicy>
            }),
        };
        let r = m.run(Watch::default().with_check_every(97));
        counts(&r, ["pgmajfault", "pgactivate", "pgsteal_file", "pgpgin"])
    };
    for mglru in [false, true] {
        let [private, shared] = [false, true].map(|shared| back(true, shared, mglru));
        assert_eq!(private, shared, "mglru {mglru}");
    }
    assert_ne!(back(true, true, false), back(false, true, false));
}

/// kswapd naps after a run for both zones, and the upper one has much free memory then. A request
/// for kernel memory, which only the lower zone has, wakes it. If it keeps the zones of its last
/// run, it finds the upper one balanced and ends at once; else it reclaims from the lower one.
#[test]
fn kswapd_keeps_zones() {
    let mut c = newest("ramdisk");
    c.vm.watermark_boost_factor = 0;
    let upper = ZoneConfig { kind: ZoneKind::Movable, ..zone(1024) };
    c.nodes = vec![NodeConfig { zones: vec![zone(512), upper] }];
    let other = map(1, 600, MapKind::Anon, VmaFlags::default());
    let mut ops = vec![anon(1100), other, write(0, 0, 1100), write(1, 0, 600), unmap(0)];
    ops.push(sleep_ms(20));
    ops.extend((0..200).map(|i| alloc(i, 0, Unmovable, GFP_NOWAIT)));
    ops.push(sleep_ms(20));
    let [no, yes] = both_zones(&c, "kswapd-keeps-zones", ["no", "yes"], &ops);
    let [_, low, high, _] = no.watermark;
    assert!(no.free >= high && yes.free < low, "{} {} of {low} {high}", no.free, yes.free);
}
