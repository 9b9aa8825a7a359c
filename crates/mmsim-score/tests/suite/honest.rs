//! Abilities of score functions.

use std::sync::{Arc, Mutex};

use mmsim::evaluate::{Author, Candidate, Meter};
use mmsim::memory::Memory;
use mmsim::policy::ReclaimPolicy;
use mmsim_score::{Facts, Score, Scored, Stopped};

use super::{Folder, Policy, Suite, evaluated, evaluator, heap, module, score, suite_of};

/// A function of this program.
struct Native(fn(&Facts) -> i64, Arc<Mutex<Vec<Facts>>>);

impl Score for Native {
    fn score(&mut self, facts: &Facts) -> Result<i64, Stopped> {
        self.1.lock().expect("no thread panicked").push(*facts);
        Ok((self.0)(facts))
    }
}

/// The same for all runs, with the facts that it got.
struct Natives(fn(&Facts) -> i64, Arc<Mutex<Vec<Facts>>>);

impl Author for Natives {
    fn name(&self) -> &str {
        "p"
    }
    fn create(&self, mem: &mut Memory, meter: Arc<Meter>) -> Box<dyn ReclaimPolicy> {
        Box::new(Scored::new(mem, Native(self.0, Arc::clone(&self.1)), meter))
    }
}

const LRU: &str = "(i64.sub (i64.const 0) (local.get $age))";

/// A module and the same function in Rust decide alike. What they cost differs by fuel alone.
#[test]
fn a_module_is_the_function_that_it_says() {
    let (_folder, suite) = heap();
    let natives = Natives(|f| -f.age, Arc::default());
    let one = evaluator(&suite, 1);
    let native = one.evaluate(&Candidate::Own(&natives)).unwrap_or_else(|e| panic!("{e}"));
    let module = evaluated(&one, &score(LRU)).unwrap_or_else(|e| panic!("{e}"));
    assert!(module.cost.fuel >= 3 * module.cost.calls && module.cost.calls > 1000);
    let mut same = module.clone();
    same.cost.fuel = 0;
    assert_eq!(same, native);
    let three = evaluated(&evaluator(&suite, 3), &score(LRU));
    assert_eq!(three.as_ref(), Ok(&module), "jobs decide nothing");
}

/// Every parameter is the fact of its name, in that order.
#[test]
fn parameters_are_facts_in_their_order() {
    let facts = Facts {
        age: 1,
        seen: 2,
        looks: 3,
        used: 4,
        file: 5,
        dirty: 6,
        distance: 7,
        size: 8,
        group: 9,
    };
    assert_eq!(facts.values(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (name, value) in Facts::NAMES.iter().zip(facts.values()) {
        let text = module(&format!("(local.get ${name})"));
        let module = mmsim_score::Module::from_bytes(text.as_bytes(), "p.wat");
        let mut function = module.expect("a module").function().expect("its function");
        assert_eq!(function.score(&facts), Ok(value), "{name}");
    }
}

/// The arguments of a function are figures of a kernel: within the history and the size of the
/// machine.
#[test]
fn facts_are_what_a_kernel_has() {
    let (_folder, suite) = mixed();
    let told = Arc::default();
    let natives = Natives(|f| f.seen * f.size - f.age, Arc::clone(&told));
    let e = evaluator(&suite, 2).evaluate(&Candidate::Own(&natives));
    let e = e.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((e.unfinished.len(), e.below_min.len()), (0, 0), "{e:?}");
    let told = told.lock().expect("no thread panicked");
    assert_eq!(told.len() as u64, e.cost.calls);
    for f in told.iter() {
        assert!(f.looks >= 1 && f.seen <= f.looks && f.used <= f.seen, "{f}");
        assert!(f.age >= 0 && (f.used == 0 || f.age == 0), "{f}");
        assert!(f.distance >= -1 && (0..=2048).contains(&f.size) && f.group <= 1, "{f}");
        assert!([f.used, f.file, f.dirty].iter().all(|b| [0, 1].contains(b)), "{f}");
    }
    let some = |of: fn(&Facts) -> bool| told.iter().any(of) && !told.iter().all(of);
    assert!(some(|f| f.used == 1) && some(|f| f.file == 1) && some(|f| f.dirty == 1));
    assert!(some(|f| f.distance >= 0) && some(|f| f.group == 1) && some(|f| f.looks > 2));
}

/// A group with a limit, a file that is written, devices with queues and huge pages.
fn mixed() -> (Folder, Suite) {
    let mixed = "\
name = \"mixed\"
[machine]
memory = \"8MiB\"
cpus = 2
swap = { size = \"32MiB\", device = \"nvme\" }
file-device = \"ssd\"
vm = { transparent_hugepage = \"always\" }
[[machine.memcg]]
name = \"limited\"
max = \"3MiB\"
[[task]]
name = \"heap\"
workload = \"zipf\"
memory = \"6MiB\"
accesses = 4000
write-permille = 500
[[task]]
name = \"limited\"
memcg = \"limited\"
workload = \"zipf\"
memory = \"4MiB\"
accesses = 3000
[[task]]
name = \"file\"
workload = \"zipf\"
region = \"read\"
memory = \"6MiB\"
accesses = 3000
write-permille = 300
";
    let suite = "\
version = 1
seeds = 1
held-out = 0
[[scenario]]
file = \"mixed.toml\"
";
    suite_of("mixed.toml", mixed, suite)
}

/// The policies that are shipped as modules can be read, and do as their first lines say: on a heap
/// by a zipf law frequency is worth something.
#[test]
fn shipped_modules_are_sound() {
    let (_folder, suite) = heap();
    let beside = evaluator(&suite, 2);
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/suites");
    let mut nr = 0;
    for entry in std::fs::read_dir(shipped).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "wat") {
            nr += 1;
            let policy = Policy::Score(std::fs::read(&path).expect("a module"));
            let e = evaluated(&beside, &policy).unwrap_or_else(|e| panic!("{e}"));
            assert!(e.own.score.is_some() && e.held_out.score.is_some(), "{e:?}");
        }
    }
    assert!(nr >= 2, "{nr}");
}
