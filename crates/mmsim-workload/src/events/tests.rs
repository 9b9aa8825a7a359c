//! Bytes against lines: the two forms of the same events.

use std::sync::{Arc, Mutex};

use mmsim_core::base::compact_result::CompactResult;
use mmsim_core::base::id::{
    AsId, CpuId, DaemonId, FileId, MemcgId, NodeId, PageIdx, Pfn, SwapSlot, ThreadId, ZoneId,
};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rng::Rng;
use mmsim_core::base::time::{SimDuration, SimTime};
use mmsim_core::memory::trace::{
    FaultKind, Observer, ScanOutcome, TraceEvent, TraceKind, TraceKinds, ZswapStep,
};
use mmsim_core::phys::buddy::Extfrag;

use super::layout::{FileField, FileKind, decode_kinds, encode_kinds, kinds};
use super::*;
use crate::trace::source::BLOCK_HEAD;

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    full: Option<SimTime>,
    events: Option<u64>,
}

struct To(Arc<Mutex<Seen>>);

impl EventSink for To {
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.0.lock().unwrap().bytes.extend_from_slice(bytes);
        true
    }
    fn full(&mut self, at: SimTime) {
        self.0.lock().unwrap().full = Some(at);
    }
    fn ended(&mut self, events: u64) {
        self.0.lock().unwrap().events = Some(events);
    }
}

const ALL: Wanted = Wanted { kinds: TraceKinds::ALL, threads: None, pages: None };

fn recorded(form: EventForm, limit: Option<u64>, events: &[(SimTime, TraceEvent)]) -> Seen {
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let run = EventRun { place: Some(7), ..run() };
    let to = Box::new(To(Arc::clone(&seen)));
    let mut recorder = EventRecorder::new(form, ALL, &run, limit, to);
    events.iter().for_each(|(now, event)| recorder.event(*now, event));
    drop(recorder);
    Arc::into_inner(seen).expect("the recorder is gone").into_inner().unwrap()
}

fn run() -> EventRun {
    EventRun {
        place: None,
        scenario: "zipf".into(),
        variant: "v6.12".into(),
        axes: vec![("machine.memory".into(), "1GiB".into())],
        seed: u64::MAX,
        policy: "classic-v6.12".into(),
        tasks: vec![("a".into(), vec![ThreadId(0), ThreadId(2)]), ("b".into(), vec![])],
        threads: vec!["a/0".into(), "b/0".into(), "a/1".into()],
    }
}

/// The lines of a file, and what ended it.
fn read(bytes: &[u8]) -> (String, Result<(), String>) {
    let mut lines = Vec::new();
    let mut all = || {
        let mut reader = EventReader::new(bytes)?;
        loop {
            match reader.advance()? {
                Step::Run => {}
                Step::Event => reader.event().write_line(&mut lines),
                Step::End => return Ok::<(), crate::trace::TraceError>(()),
            }
        }
    };
    let end = all().map_err(|e| e.to_string());
    (String::from_utf8(lines).unwrap(), end)
}

/// A number that is small, near the top, or anything.
fn number(rng: &mut Rng) -> u64 {
    let any = rng.below(u64::MAX);
    match rng.below(4) {
        0 => any % 3,
        1 => u64::MAX - any % 3,
        2 => any >> rng.below(64),
        _ => any,
    }
}

/// An event of a kind with drawn fields.
fn drawn(kind: TraceKind, rng: &mut Rng) -> TraceEvent {
    use TraceEvent as E;
    use TraceKind as K;
    const LRU: [&str; 4] = ["anon", "file", "nr_active_file", "unevictable"];
    macro_rules! n {
        () => {
            number(rng)
        };
    }
    let (a, b) = (n!(), n!());
    let (pfn, page) = (Pfn(a as u32), PageIdx(b as u32));
    let (node, memcg, zone) = (NodeId(a as u8), MemcgId(b as u16), ZoneId(b as u8));
    let (thread, order, yes) = (ThreadId(a as u32), b as u8, a.is_multiple_of(2));
    let some_page = rng.below(3).is_multiple_of(2).then_some(page);
    let slot = rng.below(3).is_multiple_of(2).then(|| SwapSlot(rng.below(1 << 32) as u32));
    let of = |n: u64| (b % n) as usize;
    match kind {
        K::PageFault => {
            use FaultKind::{
                Cow, FileMajor, FileMinor, Reuse, SwapCache, SwapIn, ZeroFill, ZeroPage,
            };
            let kinds = [ZeroFill, ZeroPage, SwapIn, SwapCache, FileMinor, FileMajor, Cow, Reuse];
            let (kind, pfn) = (kinds[of(8)], yes.then_some(pfn));
            E::PageFault { thread, page, write: yes, kind, major: !yes, pfn }
        }
        K::MmPageAlloc => E::MmPageAlloc { pfn, order, zone: a as u8 },
        K::MmPageFree => E::MmPageFree { pfn, order },
        K::MmPageAllocExtfrag => E::MmPageAllocExtfrag(Extfrag {
            pfn,
            alloc_order: order,
            fallback_order: a as u8,
            alloc_migratetype: Migratetype::ALL[of(6)],
            fallback_migratetype: Migratetype::ALL[(a % 6) as usize],
            change_ownership: yes,
            fragmenting: !yes,
        }),
        K::MmVmscanLruIsolate => E::MmVmscanLruIsolate {
            node,
            memcg,
            lru: LRU[of(4)],
            nr_requested: n!(),
            nr_scanned: n!(),
            nr_taken: n!(),
        },
        K::MmVmscanLruShrinkActive => E::MmVmscanLruShrinkActive {
            node,
            file: yes,
            nr_taken: n!(),
            nr_active: n!(),
            nr_deactivated: n!(),
            priority: order,
        },
        K::MmVmscanLruShrinkInactive => E::MmVmscanLruShrinkInactive {
            node,
            file: yes,
            nr_scanned: n!(),
            nr_reclaimed: n!(),
            priority: order,
        },
        K::SimShrinkLruvec => E::SimShrinkLruvec {
            node,
            memcg,
            kswapd: yes,
            priority: order,
            sizes: [n!(), n!(), n!(), n!()],
            targets: [n!(), n!(), n!(), n!()],
            scanned: [n!(), n!()],
            reclaimed: [n!(), n!()],
        },
        K::SimEvictFolios => E::SimEvictFolios {
            node,
            memcg,
            kswapd: yes,
            priority: order,
            nr_to_scan: n!(),
            scanned: n!(),
            taken: n!(),
            reclaimed: n!(),
        },
        K::SimDrop => {
            E::SimDrop { page, pfn: yes.then_some(pfn), slot, why: ["zap", "invalidate"][of(2)] }
        }
        K::SimMlock => E::SimMlock { page, pages: n!() as u32, locked: yes },
        K::SimScanFolio => {
            use ScanOutcome::{
                ActivateDirty, ActivateNoSwap, ActivateReferenced, ActivateRewritten,
                ActivateWriteback, KeepBusy, KeepReferenced, KeepWriteback, LazyFreed, Reclaimed,
                Unevictable,
            };
            let outcomes = [
                Reclaimed,
                LazyFreed,
                KeepReferenced,
                KeepWriteback,
                KeepBusy,
                ActivateReferenced,
                ActivateDirty,
                ActivateWriteback,
                ActivateRewritten,
                ActivateNoSwap,
                Unevictable,
            ];
            E::SimScanFolio { pfn, page: some_page, file: yes, outcome: outcomes[of(11)] }
        }
        K::MmLruActivate => E::MmLruActivate { pfn },
        K::SimDeactivate => E::SimDeactivate { pfn },
        K::SimLazyFree => E::SimLazyFree { pfn, page: some_page },
        K::SimLazyDrop => E::SimLazyDrop { pfn, page: some_page },
        K::MmLruInsertion => E::MmLruInsertion { pfn, lru: LRU[of(4)] },
        K::SimEvict => {
            E::SimEvict { eviction: n!(), pfn, page: some_page, file: yes, slot, written: !yes }
        }
        K::SimRefault => E::SimRefault {
            page,
            file: yes,
            eviction: yes.then_some(n!()),
            distance: n!(),
            workingset_size: n!(),
            activated: yes,
        },
        K::SimSwapRead => {
            E::SimSwapRead { pfn, page: some_page, slot: SwapSlot(n!() as u32), ahead: yes }
        }
        K::SimZswap => {
            use ZswapStep::{
                GroupLimit, Incompressible, Loaded, MarkedZero, NoFrame, NotWrittenBack, PoolLimit,
                Stored, WrittenBack, ZeroFilled,
            };
            let steps = [
                Stored,
                MarkedZero,
                GroupLimit,
                PoolLimit,
                Incompressible,
                NoFrame,
                Loaded,
                ZeroFilled,
                WrittenBack,
                NotWrittenBack,
            ];
            let (slot, what, bytes) = (SwapSlot(n!() as u32), steps[of(10)], n!() as u32);
            E::SimZswap { page: some_page, slot, what, bytes }
        }
        K::SimLruGen => E::SimLruGen {
            node,
            memcg,
            seq: n!(),
            age: SimDuration(n!()),
            nr_anon: n!(),
            nr_file: n!(),
        },
        K::MmVmscanWriteFolio => E::MmVmscanWriteFolio { pfn, file: yes },
        K::SimWritebackEnd => E::SimWritebackEnd { pfn },
        K::MmVmscanKswapdWake => E::MmVmscanKswapdWake { node, order },
        K::MmVmscanKswapdSleep => E::MmVmscanKswapdSleep { node },
        K::MmVmscanDirectReclaimBegin => E::MmVmscanDirectReclaimBegin { thread, order },
        K::MmVmscanDirectReclaimEnd => E::MmVmscanDirectReclaimEnd { thread, nr_reclaimed: n!() },
        K::SimDaemonAct => E::SimDaemonAct {
            daemon: DaemonId(a as u8),
            what: "SIGKILL",
            process: Some(AsId(a as u16)),
            memcg: MemcgId(a as u16),
            pages: n!(),
        },
        K::MmCacheExtReclaim => E::MmCacheExtReclaim {
            node,
            memcg: MemcgId(a as u16),
            nr_wanted: n!(),
            nr_offered: n!(),
            nr_reclaimed: n!(),
        },
        K::MarkVictim => E::MarkVictim { process: AsId(a as u16), pages: n!() },
        K::MmFilemapAddToPageCache => {
            E::MmFilemapAddToPageCache { file: FileId(n!() as u32), index: n!() as u32, pfn, page }
        }
        K::MmCompactionBegin => {
            E::MmCompactionBegin { zone, migrate_pfn: pfn, free_pfn: Pfn(n!() as u32), sync: yes }
        }
        K::MmCompactionMigratepages => {
            E::MmCompactionMigratepages { nr_migrated: n!(), nr_failed: n!() }
        }
        K::MmCompactionEnd => {
            use CompactResult::{
                Complete, Contended, Continue, Deferred, PartialSkipped, Skipped, Success,
            };
            let all = [Skipped, Deferred, Continue, Complete, PartialSkipped, Contended, Success];
            E::MmCompactionEnd {
                zone,
                migrate_pfn: pfn,
                free_pfn: Pfn(n!() as u32),
                sync: yes,
                status: all[of(7)],
            }
        }
        K::SimMigrate => E::SimMigrate { pfn, target: Pfn(n!() as u32), page: some_page },
        K::SchedSwitch => E::SchedSwitch { cpu: CpuId(b as u16), thread: yes.then_some(thread) },
    }
}

/// Events of all kinds, mostly of a few, at times that mostly go on.
fn some(n: usize, seed: u64) -> Vec<(SimTime, TraceEvent)> {
    let rng = &mut Rng::for_purpose(seed, "events");
    let mut time = 0_u64;
    let one = |_| {
        time = match rng.below(20) {
            0 => number(rng),
            1 => time.wrapping_sub(rng.below(1000)),
            _ => time.wrapping_add([0, 300, 1600][rng.below(3) as usize]),
        };
        let kinds = if rng.below(3) == 0 { TraceKind::ALL.len() } else { 3 };
        (SimTime(time), drawn(TraceKind::ALL[rng.below(kinds as u64) as usize], rng))
    };
    (0..n).map(one).collect()
}

#[test]
fn bytes_give_the_lines_of_the_same_events() {
    // Few, so that all end in one block; and many, of drawn numbers that need a shape each.
    for (n, seed) in [(0, 1), (1, 2), (50, 3), (20_000, 4)] {
        let events = some(n, seed);
        let lines = recorded(EventForm::Lines, None, &events);
        let bytes = recorded(EventForm::Bytes, None, &events);
        assert_eq!(lines.events, Some(n as u64));
        assert_eq!(bytes.events, Some(n as u64));
        let (read, end) = read(&bytes.bytes);
        assert_eq!(end, Ok(()));
        assert!(read.as_bytes() == lines.bytes, "{n} events of seed {seed}");
    }
}

/// Events in the steps of reclaim take few bytes, one shape for each kind, and several blocks.
#[test]
fn events_that_go_on_take_few_bytes() {
    let step = |i: u64| {
        let (pfn, page) = (Pfn(i as u32), Some(PageIdx(1000 + i as u32)));
        let slot = Some(SwapSlot(i as u32));
        let evict =
            TraceEvent::SimEvict { eviction: i, pfn, page, file: false, slot, written: true };
        let outcome = ScanOutcome::Reclaimed;
        let scan = TraceEvent::SimScanFolio { pfn, page, file: false, outcome };
        let at = |t: u64| SimTime(1900 * i + t);
        [(at(0), TraceEvent::MmVmscanWriteFolio { pfn, file: false }), (at(1600), evict), {
            (at(1600), scan)
        }]
    };
    let events: Vec<_> = (0..100_000).flat_map(step).collect();
    let bytes = recorded(EventForm::Bytes, None, &events).bytes;
    // A byte each for the shape, and one for each of frame, page, eviction and slot.
    let (least, most) = (7 * 100_000, 7 * 100_000 + 5_000);
    assert!((least..most).contains(&bytes.len()), "{} bytes", bytes.len());
    let lines = recorded(EventForm::Lines, None, &events).bytes;
    assert!(read(&bytes).0.as_bytes() == lines);
}

#[test]
fn a_file_that_is_cut_off_is_read_to_its_last_whole_block() {
    let events = some(15_000, 5);
    let all = String::from_utf8(recorded(EventForm::Lines, None, &events).bytes).unwrap();
    let bytes = recorded(EventForm::Bytes, None, &events).bytes;
    let mut seen = std::collections::BTreeSet::new();
    for cut in (0..bytes.len()).step_by(997).chain([bytes.len() - 1, bytes.len() - 22]) {
        let (lines, end) = read(&bytes[..cut]);
        let end = end.expect_err("something is missing");
        assert!(end.contains("found the end") || end.contains("nothing at all"), "{end}");
        assert!(all.starts_with(&lines) && (lines.is_empty() || lines.ends_with('\n')));
        seen.insert(lines.len());
    }
    assert!(seen.len() > 3 && seen.contains(&all.len()), "{seen:?}");
    // A byte that is another one is noticed before anything of its block is believed.
    for at in (0..bytes.len()).step_by(1009) {
        let mut other = bytes.clone();
        other[at] ^= 0x10;
        let (lines, end) = read(&other);
        assert!(end.is_err() && all.starts_with(&lines), "byte {at}");
    }
}

#[test]
fn runs_come_one_after_the_other() {
    let (a, b) = (some(100, 6), some(200, 7));
    let form = |form, events: &[_]| recorded(form, None, events).bytes;
    let both = [form(EventForm::Bytes, &a), form(EventForm::Bytes, &b)].concat();
    let lines = [form(EventForm::Lines, &a), form(EventForm::Lines, &b)].concat();
    let (read_, end) = read(&both);
    assert_eq!((end, read_.as_bytes() == lines), (Ok(()), true));
    let mut reader = EventReader::new(&both[..]).unwrap();
    let expected = EventRun { place: Some(7), ..run() };
    assert_eq!((reader.advance().unwrap(), reader.run()), (Step::Run, &expected));
    assert_eq!(expected.threads_of("a"), [ThreadId(0), ThreadId(2)]);
    assert_eq!(expected.threads_of("b/0"), [ThreadId(1)]);
    assert_eq!(expected.threads_of("c"), []);
}

#[test]
fn at_the_limit_one_event_says_so() {
    let events = some(5_000, 8);
    let all = String::from_utf8(recorded(EventForm::Lines, None, &events).bytes).unwrap();
    for limit in [0, 10_000, 70_000] {
        let Seen { bytes, full, events } = recorded(EventForm::Bytes, Some(limit), &events);
        let (lines, end) = read(&bytes);
        assert_eq!(end, Ok(()));
        let (before, last) = lines.trim_end().rsplit_once('\n').unwrap_or(("", lines.trim_end()));
        let t = full.expect("the limit was reached").0;
        assert_eq!(last, format!(r#"{{"t_ns":{t},"event":"{LIMIT}","run":7}}"#));
        assert!(all.starts_with(before));
        let next = all[before.len()..].trim_start().lines().next().unwrap();
        assert!(next.starts_with(&format!("{{\"t_ns\":{t},")), "{next}");
        assert_eq!(events, Some(lines.lines().count() as u64));
        // No run is without its head, a block for the last event, and one for the end.
        let least = recorded(EventForm::Bytes, None, &[]).bytes.len() + BLOCK_HEAD + 40;
        assert!(bytes.len() as u64 <= limit.max(least as u64), "{} of {limit}", bytes.len());
    }
}

#[test]
fn the_table_of_kinds_comes_back() {
    let here = kinds();
    assert_eq!(here.len(), TraceKind::ALL.len() + 1);
    assert_eq!(decode_kinds(&encode_kinds(&here), 0).unwrap(), here);
    for (kind, file) in TraceKind::ALL.iter().zip(&here) {
        assert_eq!(kind_of(&file.name), Some(*kind));
    }
    let field = FileField {
        name: "x".into(),
        what: form::What::Number,
        nullable: false,
        words: Vec::new(),
    };
    let fields = vec![field; 14];
    let wide = FileKind { name: "wide".into(), fields };
    let error = decode_kinds(&encode_kinds(&[wide]), 0).unwrap_err().to_string();
    assert!(error.contains("56 bits in wide"), "{error}");
    let quoted = FileKind { name: "a\"b".into(), fields: Vec::new() };
    let error = decode_kinds(&encode_kinds(&[quoted]), 0).unwrap_err().to_string();
    assert!(error.contains("a\\\"b") && error.contains("of letters"), "{error}");
}

#[test]
fn a_version_that_comes_later_is_refused() {
    let mut bytes = recorded(EventForm::Bytes, None, &some(3, 9)).bytes;
    bytes[8] = 9;
    let error = read(&bytes).1.unwrap_err();
    let latest = "found version 9, expected version 1, the latest that this program knows";
    assert!(error.contains(latest), "{error}");
}
