//! The kernel's own selftests of memory control, with their sizes and tolerances: test_memcontrol.c of
//! tools/testing/selftests/cgroup, Linux 6.18.
//!
//! Each runs under both LRUs of 6.12. Not applicable here: `test_memcg_subtree_control`, since all
//! groups have the controller; `test_memcg_sock`, since there are no sockets; and what others say of
//! `memory.peak`, which is left out. `test_memcg_high_sync` needs no tree.

use crate::support::*;
use mmsim::base::id::{AsId, MemcgId};
use mmsim::base::rng::Rng;
use mmsim::base::time::SimTime;
use mmsim::config::{Kernel, MachineConfig, NodeConfig, SwapConfig};
use mmsim::machine::{Machine, TaskConfig, Watch};
use mmsim::memory::{MemcgEvent, Memory};
use mmsim::policy::ReclaimPolicy;
use mmsim::workload::{FileSpec, Op, Workload, WorkloadCx};
use mmsim_lru::{Classic, ClassicConfig, Mglru, MglruConfig};

type Policy = fn(&mut Memory) -> Box<dyn ReclaimPolicy>;

const LRUS: [(&str, Policy); 2] = [
    ("classic", |mem| Box::new(Classic::new(ClassicConfig::V6_12, mem))),
    ("mglru", |mem| Box::new(Mglru::new(MglruConfig::V6_12, mem, 1))),
];

/// Pages of `n` MiB.
const fn mb(n: u32) -> u32 {
    n * 256
}

/// True if two values differ by no more than `err` hundredths of their sum.
fn close(a: u64, b: u32, err: u64) -> bool {
    a.abs_diff(b.into()) <= (a + u64::from(b)) / 100 * err
}

/// A list of operations, beside a file of 200 MiB.
struct Steps(std::vec::IntoIter<Op>);

impl Workload for Steps {
    fn files(&self) -> Vec<FileSpec> {
        vec![FileSpec::new("file", mb(200))]
    }
    fn fill(&mut self, _: &WorkloadCx, _: &mut Rng, ops: &mut Vec<Op>) {
        ops.extend(self.0.next());
    }
}

/// A machine of 512 MiB under test.
struct Bench(Machine);

impl Bench {
    fn new(groups: &[&str], lru: Policy, set: impl Fn(&mut MachineConfig)) -> Bench {
        let mut c = config(Kernel::V6_12, "ramdisk");
        c.nodes = vec![NodeConfig { zones: vec![zone(mb(512))] }];
        c.swap = vec![SwapConfig::new(mb(200), device("ramdisk"))];
        c.memcgs = groups.iter().map(|&g| group(g)).collect();
        set(&mut c);
        let mut m = Machine::new(&c, vec![in_group("idle", None, vec![sleep_ms(1 << 30)])], 1, lru);
        m.begin(Watch::default());
        Bench(m)
    }
    /// Starts a process and lets a minute pass.
    fn run(&mut self, name: &str, group: usize, ops: Vec<Op>) {
        self.spawn(name, group, ops, 0);
    }
    fn spawn(&mut self, name: &str, group: usize, ops: Vec<Op>, adj: i16) {
        let now = self.0.mem.acting.now;
        let task = in_group(name, Some(group), ops).with_start(now).with_oom_score_adj(adj);
        self.0.spawn(task, 1);
        assert!(self.0.go_on(SimTime(now.0 + 60_000_000_000)));
    }
    fn usage(&self, group: usize) -> u64 {
        self.0.mem.memcgs[id(group)].usage
    }
    fn swap(&self, group: usize) -> u64 {
        self.0.mem.memcgs[id(group)].swap
    }
    fn events(&self, group: usize, event: MemcgEvent) -> u64 {
        self.0.mem.memcgs[id(group)].events.all[event as usize]
    }
    /// Resident anonymous pages of a process, and true if it lives.
    fn process(&self, name: &str) -> (u64, bool) {
        let spaces = &self.0.mem.virt.spaces;
        let found: Vec<AsId> = spaces.ids().filter(|&a| spaces[a].name == name).collect();
        let s = &spaces[found[0]];
        (s.rss_anon, !s.dead)
    }
    fn lives(&self, name: &str) -> bool {
        self.process(name).1
    }
    /// Writes to `memory.reclaim` until a group uses `goal` pages: true if it did.
    fn reclaim_until(&mut self, group: usize, goal: u32) -> bool {
        let at_goal = |b: &Bench| b.usage(group) < goal.into() || close(b.usage(group), goal, 3);
        for nth in 0..5 {
            if at_goal(self) {
                return nth > 0;
            }
            let pages = self.usage(group) - u64::from(goal);
            self.run(&format!("reclaim {nth}"), group, vec![reclaim(pages as u32)]);
        }
        at_goal(self)
    }
}

fn id(group: usize) -> MemcgId {
    MemcgId(group as u16 + 1)
}

fn in_group(name: &str, group: Option<usize>, ops: Vec<Op>) -> TaskConfig {
    let steps = Box::new(Steps(ops.into_iter())) as Box<dyn Workload>;
    TaskConfig::new(name, vec![steps]).with_memcg(group)
}

/// Writes `pages` of anonymous memory, and goes on living.
fn holds(pages: u32) -> Vec<Op> {
    vec![anon(pages), write(0, 0, pages), sleep_ms(1 << 30)]
}

/// Writes `pages` of anonymous memory, and ends.
fn allocates(pages: u32) -> Vec<Op> {
    vec![anon(pages), write(0, 0, pages)]
}

/// `test_memcg_current`: 50 MiB of either kind are 50 MiB of the group.
#[test]
fn current() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["g"], policy, |_| {});
        assert_eq!(b.usage(0), 0, "{lru}");
        b.run("anon", 0, holds(mb(50)));
        let (anon, _) = b.process("anon");
        assert!(b.usage(0) >= mb(50).into() && close(b.usage(0), mb(50), 3), "{lru}");
        assert!(close(anon, b.usage(0) as u32, 3), "{lru}: {anon}");
        let mut b = Bench::new(&["g"], policy, |_| {});
        b.run("file", 0, vec![pread(0, mb(50)), sleep_ms(1 << 30)]);
        assert!(b.usage(0) >= mb(50).into() && close(b.usage(0), mb(50), 10), "{lru}");
    }
}

/// `test_memcg_min` and `test_memcg_low`: of 50 MiB that B protects, C and D have shares by what they
/// declare and use. More than what is unprotected is refused by `memory.min` and had from
/// `memory.low`. At last C gives its own pages, whatever it had.
fn protection(min: bool, recursive: bool, (lru, policy): (&str, Policy)) {
    const GROUPS: [&str; 7] = ["A", "A/B", "A/G", "A/B/C", "A/B/D", "A/B/E", "A/B/F"];
    const B: usize = 1;
    const G: usize = 2;
    const LEAVES: [usize; 4] = [3, 4, 5, 6];
    let mut b = Bench::new(&GROUPS, policy, |c| {
        (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(mb(200).into()), Some(0));
        for (group, pages) in [(B, 50), (3, 75), (4, 25), (6, 500)] {
            let g = &mut c.memcgs[group];
            *(if min { &mut g.min } else { &mut g.low }) = mb(pages).into();
        }
        c.memcg_mount.recursive_protection = recursive;
    });
    for (nth, group) in LEAVES.into_iter().take(3).enumerate() {
        let ops = vec![pread(mb(50) * nth as u32, mb(50)), sleep_ms(1 << 30)];
        b.run(GROUPS[group], group, ops);
    }
    assert!(close(b.usage(B), mb(150), 3), "{lru}");
    b.run("148", G, allocates(mb(148)));
    assert_eq!(b.events(0, MemcgEvent::Oom), 0, "{lru}");
    assert!(close(b.usage(B), mb(50), 3), "{lru}: {}", b.usage(B));
    let used = LEAVES.map(|g| b.usage(g));
    assert!(close(used[0], mb(29), 15) && close(used[1], mb(21), 20), "{lru}: {used:?}");
    assert_eq!(used[3], 0);
    b.run("170", G, allocates(mb(170)));
    assert_eq!(b.events(0, MemcgEvent::OomKill) > 0, min, "{lru}");
    let left = if min { 50 } else { 30 };
    assert!(close(b.usage(B), mb(left), 3), "{lru}: {}", b.usage(B));
    assert!(b.reclaim_until(LEAVES[0], mb(10)), "{lru}");
    if !min {
        let low = LEAVES.map(|g| b.events(g, MemcgEvent::Low));
        assert!(low[0] > 0 && low[1] > 0 && low[3] == 0, "{lru}: {low:?}");
        assert!(recursive || low[2] == 0, "{lru}: {low:?}");
    }
}

#[test]
fn protection_of_a_subtree() {
    for of in LRUS {
        for min in [true, false] {
            protection(min, false, of);
        }
    }
}

/// `test_memcg_high`: 31 MiB of anonymous memory are had above 30; 50 MiB of page cache are not.
#[test]
fn high() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["g"], policy, |c| {
            (c.memcgs[0].high, c.memcgs[0].swap_max) = (Some(mb(30).into()), Some(0));
        });
        b.run("anon", 0, allocates(mb(31)));
        assert_eq!((b.events(0, MemcgEvent::Oom), b.usage(0)), (0, 0), "{lru}");
        b.run("file", 0, vec![pread(0, mb(50)), sleep_ms(1 << 30)]);
        assert!(close(b.usage(0), mb(30), 5), "{lru}: {}", b.usage(0));
        assert!(b.events(0, MemcgEvent::High) > 0, "{lru}");
    }
}

/// `test_memcg_max`: 100 MiB of anonymous memory end with the OOM killer; page cache stays within.
#[test]
fn max() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["g"], policy, |c| {
            (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(mb(30).into()), Some(0));
        });
        b.run("anon", 0, holds(mb(100)));
        assert!(!b.lives("anon"), "{lru}");
        // `test_memcg_oom_events`: one of each.
        assert_eq!([MemcgEvent::Oom, MemcgEvent::OomKill].map(|e| b.events(0, e)), [1, 1], "{lru}");
        b.run("file", 0, vec![pread(0, mb(50)), sleep_ms(1 << 30)]);
        assert!(close(b.usage(0), mb(30), 5) && b.usage(0) <= mb(30).into(), "{lru}");
        assert!(b.events(0, MemcgEvent::Max) > 0, "{lru}");
    }
}

/// `test_memcg_reclaim`: writes to `memory.reclaim` bring 50 MiB of each kind to 30 MiB.
#[test]
fn reclaim_of_both_kinds() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["g"], policy, |_| {});
        b.run("file", 0, vec![pread(0, mb(50)), sleep_ms(1 << 30)]);
        b.run("anon", 0, holds(mb(50)));
        assert!(close(b.usage(0), mb(100), 10), "{lru}");
        assert!(b.reclaim_until(0, mb(30)), "{lru}: {}", b.usage(0));
    }
}

/// `test_memcg_swap_max`: 60 MiB in memory and swap are not enough for 100, and are for 50.
#[test]
fn swap_max() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["g"], policy, |c| {
            (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(mb(30).into()), Some(mb(30).into()));
        });
        b.run("100", 0, holds(mb(100)));
        assert!(!b.lives("100"), "{lru}");
        assert_eq!([MemcgEvent::Oom, MemcgEvent::OomKill].map(|e| b.events(0, e)), [1, 1], "{lru}");
        b.run("50", 0, holds(mb(50)));
        assert!(b.lives("50") && close(b.usage(0), mb(30), 3), "{lru}: {}", b.usage(0));
        assert!(b.swap(0) > 0 && close(b.usage(0) + b.swap(0), mb(50), 3), "{lru}");
        assert!(b.events(0, MemcgEvent::Max) > 0, "{lru}");
    }
}

/// `test_memcg_oom_group_leaf_events`: all processes of the leaf die, the parent's own lives, and
/// the parent counts the kills unless the mount says `memory_localevents`.
#[test]
fn oom_group_of_a_leaf() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["p", "p/c"], policy, |c| {
            (c.memcgs[1].max, c.memcgs[1].swap_max) = (Some(mb(50).into()), Some(0));
            c.memcgs[1].oom_group = true;
        });
        b.run("parent", 0, holds(mb(60)));
        for name in ["a", "b"] {
            b.run(name, 1, holds(mb(1)));
        }
        b.run("large", 1, holds(mb(100)));
        assert_eq!(["a", "b", "large", "parent"].map(|p| b.lives(p)), [false, false, false, true]);
        assert!(b.events(1, MemcgEvent::OomKill) > 0, "{lru}");
        assert!(b.events(0, MemcgEvent::OomKill) > 0, "{lru}");
        let local = |g| b.0.mem.memcgs[id(g)].events.named(true);
        let kills = |g| local(g).find(|e| e.0 == "memory.events.oom_kill").map(|e| e.1);
        assert!(kills(0) == Some(0) && kills(1) > Some(0), "{lru}: memory_localevents");
    }
}

/// `test_memcg_oom_group_parent_events`: a limit of the parent, with the flag there, ends all.
#[test]
fn oom_group_of_a_parent() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["p", "p/c"], policy, |c| {
            (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(mb(80).into()), Some(0));
            c.memcgs[0].oom_group = true;
        });
        b.run("parent", 0, holds(mb(60)));
        for name in ["a", "b"] {
            b.run(name, 1, holds(mb(1)));
        }
        b.run("large", 1, holds(mb(100)));
        assert_eq!(["a", "b", "large", "parent"].map(|p| b.lives(p)), [false; 4], "{lru}");
    }
}

/// `test_memcg_oom_group_score_events`: a process with -1000 lives; the other two are three kills,
/// since the first victim counts twice.
#[test]
fn oom_group_spares_the_untouchable() {
    for (lru, policy) in LRUS {
        let mut b = Bench::new(&["g"], policy, |c| {
            (c.memcgs[0].max, c.memcgs[0].swap_max) = (Some(mb(50).into()), Some(0));
            c.memcgs[0].oom_group = true;
        });
        b.spawn("safe", 0, holds(mb(1)), -1000);
        b.run("other", 0, holds(mb(1)));
        b.run("large", 0, holds(mb(100)));
        assert_eq!(["safe", "other", "large"].map(|p| b.lives(p)), [true, false, false], "{lru}");
        assert_eq!(b.events(0, MemcgEvent::OomKill), 3, "{lru}");
    }
}
