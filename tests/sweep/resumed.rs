//! Plans that were stopped: given again with their store, they go on and find the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mmsim::ablate::{Depth, Trial, Wanted};
use mmsim::evaluate::{Candidate, Evaluator, KnobFile, Suite};
use mmsim::miniature::{Miniature, MiniatureReport, Share};
use mmsim::report::derived::Figure;
use mmsim::store::{Shard, Store};
use mmsim::tune::{TunePlan, tune};
use mmsim::{RunError, RunOptions, Runner, Scenario, Watcher};

use crate::harness::{Folder, specs};
use crate::support::SCENARIO;

/// Lets this number of runs begin, and no other.
struct StopsAfter {
    left: AtomicUsize,
    stop: Arc<AtomicBool>,
    made: AtomicUsize,
}

impl StopsAfter {
    fn runs(n: usize) -> StopsAfter {
        StopsAfter { left: n.into(), stop: Arc::default(), made: AtomicUsize::new(0) }
    }
}

impl Watcher for StopsAfter {
    fn progress(&self, _: usize, _: &mmsim::RunSpec) -> Option<mmsim::attend::ProgressFn> {
        self.made.fetch_add(1, Ordering::Relaxed);
        let last = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        self.stop.fetch_or(last, Ordering::Relaxed);
        None
    }

    fn stop(&self) -> Option<Arc<AtomicBool>> {
        Some(Arc::clone(&self.stop))
    }
}

/// A plan that is stopped after each of these numbers of runs, and then goes on, finds what it finds
/// at once; and the last time it makes no run.
fn goes_on(name: &str, stops: &[usize], plan: &dyn Fn(Runner<'_>) -> Result<String, RunError>) {
    let folder = Folder::new();
    let at_once = plan(Runner::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let store = || Some(Store::open(&folder.path("store"), name, Shard::ALL).expect("a store"));
    for &runs in stops {
        let watcher = StopsAfter::runs(runs);
        let options = RunOptions::default().with_jobs(1);
        let made = plan(Runner::watched(&options, &watcher).with_store(store()));
        assert!(matches!(made, Err(RunError::Cancelled)), "{name}, {runs} runs");
    }
    let all = usize::MAX;
    let (rest, none) = (StopsAfter::runs(all), StopsAfter::runs(all));
    for (watcher, jobs) in [(&rest, 3), (&none, 2)] {
        let options = RunOptions::default().with_jobs(jobs);
        let made = plan(Runner::watched(&options, watcher).with_store(store()));
        assert_eq!(made.unwrap_or_else(|e| panic!("{name}: {e}")), at_once, "{name}");
    }
    let made = |w: &StopsAfter| w.made.load(Ordering::Relaxed);
    assert!(made(&rest) > 0 && made(&none) == 0, "{name}: {} {}", made(&rest), made(&none));
}

/// A folder with the scenario, and this file beside it.
fn beside(name: &str, text: &str) -> (Folder, std::path::PathBuf) {
    let folder = Folder::with("small.toml", SCENARIO);
    let path = folder.write(name, text);
    (folder, path)
}

fn small() -> Vec<mmsim::RunSpec> {
    specs(&format!("seeds = 3\n{SCENARIO}"))
}

#[test]
fn runs_go_on() {
    goes_on("run", &[1, 2], &|runner| Ok(format!("{:?}", runner.run(small())?)));
}

#[test]
fn an_ablation_goes_on() {
    goes_on("ablate", &[2, 3], &|runner| {
        let scenario = Scenario::from_str(&format!("seeds = 3\n{SCENARIO}"), "small.toml")?;
        let seeds = small().into_iter().filter(|spec| spec.variant == "classic").collect();
        let switches = ["anon-workingset=no".to_string(), "anon-start=active".to_string()];
        let switches = Wanted::Switches(&switches);
        let trial = Trial::new(&scenario, seeds, Some("classic-v6.12"), switches, Depth::Usual)?;
        Ok(format!("{:?}", trial.run(Figure::SwapIns, &runner)?))
    });
}

#[test]
fn an_evaluation_goes_on() {
    let suite = "version = 1\nseeds = 2\nheld-out = 1\n\
                 [[scenario]]\nfile = \"small.toml\"\nvariant = \"classic\"\n";
    let (_dir, path) = beside("suite.toml", suite);
    let suite = Suite::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
    let random = KnobFile::from_str("version = 1\npolicy = \"random\"\n", "k.toml").unwrap();
    goes_on("evaluate", &[1, 3], &|runner| {
        let evaluator = Evaluator::new(&suite, runner)?;
        Ok(format!("{:?}", evaluator.evaluate(&Candidate::Knobs(&random))?))
    });
}

#[test]
fn miniatures_go_on() {
    let text = "[machine]\nzone = [{ kind = \"Normal\", managed = \"16500 pages\" }]\n\
                swap = { size = \"1GiB\", device = \"ramdisk\" }\n\
                [[task]]\nworkload = \"zipf\"\nmemory = \"30000 pages\"\naccesses = 20000\n";
    let spec = &specs(text)[0];
    goes_on("miniature", &[2, 1], &|runner| {
        let small = Miniature::new(spec, Share::OneIn(2), 4)?;
        let estimated = mmsim::miniature::run(vec![small], &runner)?;
        Ok(MiniatureReport::new("x", vec![estimated[0].report(None)]).to_json())
    });
}

/// A race too: which settings get more seeds follows from the figures, and these are the same.
#[test]
fn a_tuning_goes_on() {
    let plan = "version = 1\nscenario = \"small.toml\"\nvariant = \"classic\"\nbudget = 30\n\
                population = 4\nseeds = 3\n[knobs]\n\"machine.vm.swappiness\" = { from = 0, to = 200 }\n\
                \"machine.memory\" = { from = \"7MiB\", to = \"16MiB\" }\n\
                [[objective]]\nfigure = \"swap-ins\"\ngoal = \"min\"\n\
                [[objective]]\nfigure = \"peak_resident\"\ngoal = \"min\"\n";
    let (_dir, path) = beside("plan.toml", plan);
    let plan = TunePlan::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
    goes_on("tune", &[2, 7, 5, 9], &|runner| Ok(tune(&plan, &runner)?.to_json()));
}

/// A store is that of one plan.
#[test]
fn the_store_of_another_plan_is_refused() {
    let folder = Folder::new();
    drop(Store::open(&folder.path("store"), "tune a", Shard::ALL).expect("a store"));
    let error = Store::open(&folder.path("store"), "tune b", Shard::ALL).expect_err("another plan");
    assert!(error.title().contains("of the sweep `tune a`, not of `tune b`"), "{error}");
}
