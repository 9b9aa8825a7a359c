//! A machine of the swarm that makes no progress.

use super::*;

/// Threads that read files and take from each other what was read: direct reclaim frees pages each
/// time, and no operation is done. The run ends within 0.6 s of the last one.
#[test]
fn threads_that_take_each_others_pages_are_stuck() {
    let mut rules = KernelRules::of(Kernel::V4_1);
    let rule = |rules: &mut KernelRules, name, value| rules.set(name, value).expect("its value");
    for name in ["highatomic", "avoid-fragmentation", "pcp-orders", "pcp-high-of-zone"] {
        rule(&mut rules, name, "yes");
    }
    // The machine that was found stuck read swap as later kernels do.
    for (name, value) in [
        ("kswapd-by-zone", "no"),
        ("high-retries", "yes"),
        ("swapin-by-slot", "no"),
        ("sync-swapin-skips-cache", "yes"),
    ] {
        rule(&mut rules, name, value);
    }
    let given = Some((Kernel::V4_1, rules, "classic-v5.9"));
    let (about, mut machine) = build_of(658, Also::Nothing, given);
    let r = machine.run(Watch::default());
    let Outcome::Stuck(stuck) = &r.outcome else { panic!("{:?} of {about}", r.outcome) };
    assert_eq!(stuck.why, Stuck::NoProgress);
    let last = stuck.waiting.iter().map(|t| t.since).max().expect("threads wait");
    assert!(stuck.at.since(last) < SimDuration::from_millis(600), "{stuck:?}");
}
