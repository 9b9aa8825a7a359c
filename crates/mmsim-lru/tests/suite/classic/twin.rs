//! The real policy beside its naive twin: the same operations, the same state after each.
//!
//! [`classic::KernelModel`] was written from the rules, with vectors for lists, and shares no
//! code with the policy. Random operations drive both: faults, accesses, reads, writes, advice,
//! passes of kswapd and of direct reclaim at any priority, in one piece and in steps. After every
//! operation all that can be seen is compared: the order of the four lists, every flag and accessed
//! bit, ages, costs, scan statistics, shadows, counters, what the pass reported, and the order in
//! which pages left.

use super::drawn::{START, near_a_preset, op};
use crate::harness::memory::Bench;
use crate::model::classic::{Counters, KernelModel, Kind, Op, Page, Pass, Shadow, State};
use mmsim_core::base::id::PageIdx;
use mmsim_core::base::time::SimTime;
use mmsim_core::base::vmstat::VmEvent;
use mmsim_core::memory::trace::{Observer, TraceEvent};
use mmsim_core::phys::frames::flag;
use mmsim_core::policy::{ReclaimRequest, Reclaimer};
use mmsim_lru::Classic;
use mmsim_lru::config::{AgeModel, ClassicConfig, PRESETS};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SLOTS: u32 = 120;

/// State of the policy, in the words of the twin. `known`: pages that exist, and whether they are
/// the file's.
fn state_of(b: &Bench, known: &BTreeMap<u32, bool>, config: &ClassicConfig) -> State {
    let mut pages = BTreeMap::new();
    let mut shadows = BTreeMap::new();
    for (&id, &file) in known {
        if let Some(f) = b.folio(id, file) {
            let has = |bits| b.mem.frames.has(f, bits);
            let mapping = b.mapping_bits(id, file);
            assert_eq!(mapping.is_some(), b.is_mapped(f));
            let page = Page {
                file,
                active: has(flag::ACTIVE),
                referenced: has(flag::REFERENCED),
                workingset: has(flag::WORKINGSET),
                mapped: mapping.is_some(),
                young: mapping.is_some_and(|m| m.0),
                exec: mapping.is_some_and(|m| m.1),
                // Anonymous pages are always written: the twin does not keep the flag.
                dirty: file && has(flag::DIRTY),
                lazy: !file && b.lazy_bits(id).0,
                rewritten: !file && b.lazy_bits(id).1,
            };
            pages.insert(id, page);
        }
        if let Some(s) = b.shadow(id, file) {
            let (age, workingset) = Classic::shadow_says(&b.mem, s);
            shadows.insert(id, Shadow { age, workingset });
        }
    }
    let ages = [b.value("age_anon"), b.value("age_file")];
    let age = match config.age_model {
        AgeModel::Unified => [ages[0]; 2],
        AgeModel::FileOnly => [ages[1]; 2],
        AgeModel::PerType => ages,
    };
    let n = |e| b.count(e);
    use VmEvent::*;
    let counters = Counters {
        pgscan_kswapd: n(PgScanKswapd),
        pgscan_direct: n(PgScanDirect),
        pgsteal_kswapd: n(PgStealKswapd),
        pgsteal_direct: n(PgStealDirect),
        pgscan: [n(PgScanAnon), n(PgScanFile)],
        pgsteal: [n(PgStealAnon), n(PgStealFile)],
        pgactivate: n(PgActivate),
        pgdeactivate: n(PgDeactivate),
        pgrefill: n(PgRefill),
        pswpin: n(PswpIn),
        pswpout: n(PswpOut),
        refault: [n(WorkingsetRefaultAnon), n(WorkingsetRefaultFile)],
        activate: [n(WorkingsetActivateAnon), n(WorkingsetActivateFile)],
        restore: [n(WorkingsetRestoreAnon), n(WorkingsetRestoreFile)],
        kept: n(SimScanKeep),
        // What was scanned was freed, kept or activated.
        scan_activated: n(PgScanKswapd) + n(PgScanDirect)
            - n(PgStealKswapd)
            - n(PgStealDirect)
            - n(SimScanKeep),
        vmscan_immediate: n(NrVmscanImmediateReclaim),
        pglazyfree: n(PgLazyFree),
        pglazyfreed: n(PgLazyFreed),
    };
    State {
        lists: [0, 1, 2, 3].map(|l| b.list(l).into_iter().map(|f| b.page_of(f).0).collect()),
        pages,
        shadows,
        age,
        cost: [b.value("anon_cost"), b.value("file_cost")],
        scanned: [b.value("recent_scanned_anon"), b.value("recent_scanned_file")],
        rotated: [b.value("recent_rotated_anon"), b.value("recent_rotated_file")],
        swap_used: b.mem.swap.as_ref().unwrap().in_use_count().into(),
        counters,
    }
}

/// Both, side by side.
struct Pair {
    config: ClassicConfig,
    twin: KernelModel,
    bench: Bench,
    known: BTreeMap<u32, bool>,
    /// Pages that an observer saw leave; `None` without one.
    evictions: Option<std::sync::mpsc::Receiver<PageIdx>>,
}

struct Evictions(std::sync::mpsc::Sender<PageIdx>);

impl Observer for Evictions {
    fn event(&mut self, _now: SimTime, e: &TraceEvent) {
        if let TraceEvent::SimEvict { page, .. } = e {
            let _ = self.0.send(page.expect("every page has an owner"));
        }
    }
}

impl Pair {
    fn new(config: ClassicConfig, watched: bool) -> Pair {
        let mut bench = Bench::new(config, SLOTS, 0);
        let evictions = watched.then(|| {
            let (send, evictions) = std::sync::mpsc::channel();
            bench.mem.telling.tracer.set_observer(Some(Box::new(Evictions(send))));
            evictions
        });
        let twin = KernelModel::new(config, 60, SLOTS.into());
        Pair { config, twin, bench, known: BTreeMap::new(), evictions }
    }

    /// The same operation on both, then the comparison.
    fn apply(&mut self, op: Op, next: u32) {
        self.twin.slab_reclaimable = self.bench.mem.kernel.slab_frames.len() as u64;
        let subject = self.twin.subject(op, next);
        let Some(id) = subject else {
            match op {
                Op::Shrink(pass) => self.shrink(pass, next),
                Op::AgeNode => {
                    self.twin.age_node();
                    self.bench.age_node();
                }
                Op::FinishRun => {
                    self.twin.finish_run();
                    self.bench.finish_run();
                }
                _ => {}
            }
            return self.compare(op);
        };
        let file = self.known.get(&id).copied().unwrap_or(op == Op::NewFile);
        if let Op::Free(_) = op {
            return self.free(id, file);
        }
        let expected = self.twin.apply(op, subject);
        let b = &mut self.bench;
        match op {
            Op::NewAnon => b.new_anon(id),
            Op::NewFile => b.read_file(id),
            Op::Refault(_) if file => b.read_file(id),
            Op::Refault(_) => b.swap_in(id),
            Op::Touch(_) => b.touch(id, file),
            Op::Map { exec, .. } => b.map(id, exec),
            Op::Unmap(_) => b.unmap(id),
            Op::MarkAccessed(_) => b.mark_accessed(id, file),
            Op::Dirty(_) => b.dirty(id),
            Op::Clean(_) => b.clean(id),
            Op::Deactivate(_) => b.deactivate(id, file),
            Op::Write(_) => b.write(id),
            Op::FreeLazily(_) => b.free_lazily(id),
            Op::PageOut { ignore_references, .. } => b.page_out(id, file, ignore_references),
            Op::Free(_) | Op::AgeNode | Op::FinishRun | Op::Shrink(_) => unreachable!(),
        }
        self.known.insert(id, file);
        self.left_as(&expected.evicted, op);
        self.compare(op);
    }

    /// Asserts the pages that an observer saw leave since the last call.
    fn left_as(&self, evicted: &[u32], op: impl std::fmt::Debug) {
        let Some(evictions) = &self.evictions else { return };
        let left: Vec<PageIdx> = evictions.try_iter().collect();
        let expected: Vec<PageIdx> =
            evicted.iter().map(|id| self.bench.place(*id, self.known[id])).collect();
        assert_eq!(left, expected, "order of evictions in {op:?}");
    }

    /// A file page is unmapped and cleaned first; core cannot forget one that is out.
    fn free(&mut self, id: u32, file: bool) {
        let resident = self.bench.folio(id, file).is_some();
        if file && !resident {
            return;
        }
        if file {
            let p = self.twin.flags(id);
            if p.mapped {
                self.twin.unmap(id);
                self.bench.unmap(id);
            }
            if p.dirty {
                self.twin.clean(id);
                self.bench.clean(id);
            }
        }
        self.twin.free(id);
        self.bench.free(id, file);
        self.known.remove(&id);
        self.compare(Op::Free(0));
    }

    fn shrink(&mut self, pass: Pass, steps: u32) {
        let free = self.bench.free_pages();
        // The operation says how far the free pages are from the mark.
        let high = (free + pass.high_watermarks).saturating_sub(pass.free);
        self.bench.set_high_watermark(high);
        let expected = self.twin.shrink_node(Pass { free, high_watermarks: high, ..pass });
        let by = match pass.kind {
            Kind::Kswapd => Reclaimer::Kswapd,
            Kind::Direct => Reclaimer::Direct,
        };
        let out = self.bench.reclaim(&ReclaimRequest {
            may_swap: pass.may_swap,
            may_io: true,
            force_deactivate: pass.force_deactivate,
            swappiness: None,
            no_cache_trim: pass.no_cache_trim,
            one_step: steps.is_multiple_of(2),
            ..Bench::request(by, pass.priority as u8, pass.target)
        });
        self.left_as(&expected.evicted, pass);
        assert_eq!(
            (out.scanned, out.reclaimed, out.skipped_deactivate, out.cache_trim_failed),
            (
                expected.scanned,
                expected.reclaimed,
                expected.skipped_deactivate,
                self.config.kswapd_retry_without_cache_trim
                    && expected.cache_trim_mode
                    && expected.reclaimed == 0
            ),
            "outcome of {pass:?}"
        );
    }

    fn compare(&self, op: Op) {
        let real = state_of(&self.bench, &self.known, &self.config);
        let twin = self.twin.state();
        if real != twin {
            // The parts one by one: the first that differs tells most.
            assert_eq!(real.counters, twin.counters, "policy, twin: counters after {op:?}");
            for l in 0..4 {
                assert_eq!(real.lists[l], twin.lists[l], "policy, twin: list {l} after {op:?}");
            }
            assert_eq!(real.age, twin.age, "policy, twin: ages after {op:?}");
            assert_eq!(real.cost, twin.cost, "policy, twin: costs after {op:?}");
            assert_eq!(real.shadows, twin.shadows, "policy, twin: shadows after {op:?}");
            assert_eq!(real, twin, "policy, twin: after {op:?}");
        }
    }
}

/// Runs both from 150 anonymous and 80 file pages: with an observer, and without one, when plain
/// folios are scanned and evicted by the fast path.
fn run(config: ClassicConfig, ops: &[Op]) {
    for watched in [true, false] {
        let mut pair = Pair::new(config, watched);
        for (next, op) in START.iter().chain(ops).enumerate() {
            pair.apply(*op, next as u32);
        }
        pair.bench.check();
    }
}

fn cases(n: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(n) }
}

proptest! {
    #![proptest_config(cases(64))]

    /// Every preset.
    #[test]
    fn presets_do_what_the_twin_does(
        preset in 0..PRESETS.len(),
        ops in prop::collection::vec(op(), 0..400),
    ) {
        run(PRESETS[preset].config, &ops);
    }
}

proptest! {
    #![proptest_config(cases(96))]

    /// And what lies between them.
    #[test]
    fn any_knobs_do_what_the_twin_does(
        config in near_a_preset(),
        ops in prop::collection::vec(op(), 0..400),
    ) {
        run(config, &ops);
    }
}
