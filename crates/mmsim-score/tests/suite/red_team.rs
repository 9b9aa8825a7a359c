//! Policies that cheat. The table says the fate of each, before it runs: none gains.

use std::sync::Arc;

use mmsim::Runner;
use mmsim::evaluate::{Author, Candidate, Evaluator, Meter};
use mmsim::memory::Memory;
use mmsim::policy::ReclaimPolicy;
use mmsim_score::{Facts, Score, Scored, Stopped};

use super::{HEAP, Policy, evaluated, evaluator, heap, module, score};

/// Fate of a policy.
enum Fate {
    /// It is not taken: an error that says this.
    Refused(&'static str),
    /// The same, at this line and column of its file.
    RefusedAt(usize, usize, &'static str),
    /// Its run is ended: an error that names the call and says this.
    Stopped(&'static str),
    /// It runs and has no score, for this reason.
    NoScore(&'static str),
    /// It runs, and its score is below this.
    Below(f64),
    /// It decides just as a function with this body.
    As(&'static str),
}

fn set(line: &str) -> Policy {
    Policy::Knobs(format!("version = 1\n[set]\n{line}\n"))
}

/// A module with this beside its function, and this body.
fn beside(what: &str, body: &str) -> Policy {
    let text = module(body);
    let (head, rest) = text.split_at("(module ".len());
    Policy::Score(format!("{head}{what} {rest}").into_bytes())
}

fn cheats() -> Vec<(&'static str, Policy, Fate)> {
    use Fate::*;
    let zero = "(i64.const 0)";
    vec![
        // What is not a policy's.
        (
            "more memory",
            set("\"machine.memory\" = \"1GiB\""),
            RefusedAt(3, 1, "it is of the machine"),
        ),
        (
            "more memory in a table",
            set("machine = { memory = \"1GiB\" }"),
            RefusedAt(3, 1, "it is of the machine"),
        ),
        (
            "swap without end",
            set("\"machine.swap.size\" = \"1GiB\""),
            RefusedAt(3, 1, "it is of the machine"),
        ),
        (
            "a faster swap device",
            set("\"machine.swap.device\" = \"zram\""),
            RefusedAt(3, 1, "it is of the machine"),
        ),
        (
            "accesses that cost nothing",
            set("\"machine.cost.t_hit\" = \"0ns\""),
            RefusedAt(3, 1, "it is of the machine"),
        ),
        (
            "another kernel's rules",
            set("\"machine.kernel\" = \"7.3\""),
            RefusedAt(3, 1, "of the machine"),
        ),
        ("less work", set("\"task[0].accesses\" = 10"), RefusedAt(3, 1, "it is of the workload")),
        ("other work", set("task = []"), RefusedAt(3, 1, "it is of the workload")),
        ("an easier seed", set("seed = 9"), RefusedAt(3, 1, "which seeds are run")),
        ("a single seed", set("seeds = 1"), RefusedAt(3, 1, "which seeds are run")),
        (
            "an early end as expected",
            set("expect-oom = true"),
            RefusedAt(3, 1, "what its runs must show"),
        ),
        ("another baseline", set("variant = []"), RefusedAt(3, 1, "which variant is the baseline")),
        (
            "a knob twice, by two spellings",
            set("\"damon[0].min-age\" = \"1s\"\n\"damon[00].min-age\" = \"2s\""),
            RefusedAt(4, 1, "is the same key"),
        ),
        (
            "a knob out of range",
            set("\"machine.vm.watermark_scale_factor\" = 0"),
            RefusedAt(3, 39, "0 is out of range"),
        ),
        // What a function is not to have.
        (
            "a host's clock",
            beside("(import \"env\" \"time\" (func $time (result i64)))", "(call $time)"),
            Refused("it imports `env.time`"),
        ),
        (
            "a memory of the host",
            beside("(import \"env\" \"memory\" (memory 1))", "(i64.load (i32.const 0))"),
            Refused("it imports `env.memory`"),
        ),
        (
            "a start function",
            beside("(func $go) (start $go)", zero),
            Refused("it has a start function"),
        ),
        (
            "a count in a global",
            beside(
                "(global $n (mut i64) (i64.const 0))",
                "(global.set $n (i64.add (global.get $n) (i64.const 1))) (global.get $n)",
            ),
            Refused("writes a global, which would outlive the call"),
        ),
        (
            "a count in memory",
            beside("(memory 1)", "(i64.store (i32.const 0) (local.get $age)) (i64.const 0)"),
            Refused("writes a memory, which would outlive the call"),
        ),
        (
            "a count in the size of memory",
            beside("(memory 1)", "(i64.extend_i32_s (memory.grow (i32.const 1)))"),
            Refused("writes a memory, which would outlive the call"),
        ),
        (
            "a mark in a table",
            beside(
                "(table $t 2 funcref) (func $f) (elem declare func $f)",
                "(table.set $t (i32.const 0) (ref.func $f)) (i64.const 0)",
            ),
            Refused("writes a table, which would outlive the call"),
        ),
        ("all memory of the host", beside("(memory 60000)", zero), Refused("memory")),
        (
            "a module that is too big",
            Policy::Score(format!("{}{}", module(zero), " ".repeat(1 << 17)).into_bytes()),
            Refused("more than 65536 bytes"),
        ),
        (
            "other parameters",
            Policy::Score(
                b"(module (func (export \"score\") (result i64) (i64.const 0)))".to_vec(),
            ),
            Refused("`score` takes 0 parameters"),
        ),
        (
            "no function",
            Policy::Score(b"(module)".to_vec()),
            Refused("it exports no function `score`"),
        ),
        ("no module", Policy::Score(b"\0asm\x09\0\0\0".to_vec()), Refused("is no module")),
        // What a function does in a call.
        (
            "an endless loop",
            score("(loop $l (br $l)) (i64.const 0)"),
            Stopped("more than 10000 instructions"),
        ),
        (
            "a loop that grows with what it is told",
            score(
                "(local $n i64) (local.set $n (i64.mul (local.get $looks) (i64.const 900)))
                 (loop $l (local.set $n (i64.sub (local.get $n) (i64.const 1)))
                   (br_if $l (i64.gt_s (local.get $n) (i64.const 0)))) (i64.const 1)",
            ),
            Stopped("more than 10000 instructions"),
        ),
        (
            "recursion without end",
            beside("(func $f (result i64) (i64.add (call $f) (i64.const 1)))", "(call $f)"),
            Stopped("deep"),
        ),
        (
            "locals that take the host's time to clear",
            score(&format!("(local {}) (i64.const 0)", "i64 ".repeat(15_000))),
            Stopped("deep"),
        ),
        (
            "a text that is nested without end",
            score(&format!("{}(i64.const 0){}", "(i64.eqz ".repeat(6_000), ")".repeat(6_000))),
            Refused("p.wasm"),
        ),
        (
            "a trap that ends the run while it looks good",
            score(
                "(if (i64.gt_s (local.get $distance) (i64.const 0)) (then unreachable)) (i64.const 0)",
            ),
            Stopped("it traps"),
        ),
        (
            "a division by zero",
            score("(i64.div_s (i64.const 1) (local.get $file))"),
            Stopped("it traps"),
        ),
        // What is allowed and gains nothing.
        ("keep everything", score("(i64.const 0x7fffffffffffffff)"), As("(i64.const 1)")),
        ("keep everything, evicted or not", score("(i64.const 1)"), Below(0.0)),
        ("evict everything", score("(i64.const -0x8000000000000000)"), As("(i64.const -1)")),
        ("evict everything, wanted or not", score("(i64.const -1)"), Below(0.0)),
        (
            "a NaN whose bits tell the host",
            score(
                "(i64.sub (i64.const 0) (i64.and (i64.const 0xfff8000000000001)
                   (i64.reinterpret_f64 (f64.sqrt (f64.convert_i64_s
                     (i64.sub (i64.const -1) (local.get $seen)))))))",
            ),
            As("(i64.sub (i64.const 0) (i64.const 0x7ff8000000000000))"),
        ),
        (
            "memory runs out, and the rest is spared",
            set("\"machine.vm.min_free_kbytes\" = 3900"),
            NoScore("out of memory"),
        ),
        // Up to 5.8 anonymous memory has no refaults; its pages come back all the same.
        (
            "a policy that counts no refaults",
            Policy::Knobs("version = 1\npolicy = \"classic-v5.5\"\n".into()),
            Below(0.3),
        ),
    ]
}

#[test]
fn nobody_gains_by_cheating() {
    let (_folder, suite) = heap();
    let beside = evaluator(&suite, 2);
    let all = cheats();
    assert!(all.len() >= 20, "{}", all.len());
    for (name, policy, fate) in &all {
        let found = evaluated(&beside, policy);
        let said = || found.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let says = |what: &str| assert!(said().contains(what), "{name}: {what}: {found:?}");
        match fate {
            Fate::Refused(what) => says(what),
            Fate::RefusedAt(line, column, what) => {
                says(what);
                let place = found.as_ref().err().and_then(|e| e.position());
                assert_eq!(place, Some(("p.toml", *line, *column)), "{name}: {}", said());
            }
            Fate::Stopped(what) => {
                says(what);
                says("p: heap, seed 1: call ");
                says("of a folio with age ");
            }
            Fate::NoScore(why) => {
                let e = found.as_ref().unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!((e.own.score, e.held_out.score), (None, None), "{name}");
                assert!(e.unfinished[0].contains(why), "{name}: {:?}", e.unfinished);
            }
            Fate::Below(most) => {
                let e = found.as_ref().unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(e.own.score.is_some_and(|s| s.mean < *most), "{name}: {:?}", e.own);
                assert!(
                    e.held_out.score.is_some_and(|s| s.mean < *most),
                    "{name}: {:?}",
                    e.held_out
                );
            }
            Fate::As(body) => {
                let e = found.as_ref().unwrap_or_else(|e| panic!("{name}: {e}"));
                let other = evaluated(&beside, &score(body)).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(e.scenarios, other.scenarios, "{name}");
            }
        }
    }
}

/// Draws lots by its arguments, for pages that came back.
struct Lots(u64);

impl Score for Lots {
    fn score(&mut self, f: &Facts) -> Result<i64, Stopped> {
        // The middle, if it is not known when the page left.
        if f.distance < 0 {
            return Ok(i64::MAX / 2);
        }
        // The last step of MurmurHash3: of the order of distances nothing is left.
        let mut x = (f.distance as u64) << 32 ^ (f.age as u64) << 8 ^ self.0;
        for by in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53, 1] {
            x = (x ^ x >> 33).wrapping_mul(by);
        }
        Ok((x >> 1) as i64)
    }
}

impl Author for Lots {
    fn name(&self) -> &str {
        "lots"
    }
    fn create(&self, mem: &mut Memory, meter: Arc<Meter>) -> Box<dyn ReclaimPolicy> {
        Box::new(Scored::new(mem, Lots(self.0), meter))
    }
}

/// The best of many functions that draw lots by one seed owes that to the seed. A distance is met
/// hardly twice, so lots by distances have like merits; and scores are from 0 on, so none evicts
/// more than another. Said beforehand: of the gain over their mean less than half is left with
/// held-out seeds.
#[test]
fn luck_with_a_seed_does_not_hold() {
    let suite = "version = 1\nseeds = 1\nheld-out = 8\n[[scenario]]\nfile = \"heap.toml\"\n";
    let (_folder, suite) = super::suite_of("heap.toml", HEAP, suite);
    let beside = Evaluator::new(&suite, Runner::default());
    let beside = beside.unwrap_or_else(|e| panic!("{e}"));
    let of = |n: u64| {
        let e = beside.evaluate(&Candidate::Own(&Lots(n))).unwrap_or_else(|e| panic!("{e}"));
        (e.own.score.expect("a score").mean, e.held_out.score.expect("a score").mean)
    };
    let all: Vec<(f64, f64)> = (0..12).map(of).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let best = all.iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are some");
    let (own, held_out) = (best.0 - mean(|s| s.0), best.1 - mean(|s| s.1));
    assert!(own > 0.0 && held_out < own / 2.0, "{own} {held_out} {all:?}");
}
