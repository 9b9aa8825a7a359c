//! From a resolved run to a machine.

use std::path::Path;

use mmsim_core::base::settings::Settings as _;
use mmsim_core::base::time::SimTime;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::machine::TaskConfig;
use mmsim_core::memory::Memory;
use mmsim_core::policy::ReclaimPolicy;
use mmsim_core::policy::daemon::Daemon;
use mmsim_core::workload::{LruGen, Op, Workload};
use mmsim_lru::config::{self as lru_config, ClassicConfig};
use mmsim_lru::{Classic, Mglru, MglruConfig, Random};

use crate::registry::{KnobError, PolicySpec, RANDOM, no_preset, program, resolve};
use crate::scenario::groups::instances;
use crate::scenario::{CodeSpec, RunSpec, TaskSpec};
use misplaced::{Misplaced, of_task};
use mmsim_base::error::Error;
use mmsim_report::RunReport;

/// A policy with all its knobs, ready to be put on a machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Policy {
    /// The classic LRU.
    Classic(ClassicConfig),
    /// MGLRU.
    Mglru(MglruConfig),
    /// Random eviction.
    Random,
}

impl Policy {
    /// The policy that a kernel shipped.
    pub fn of_kernel(kernel: Kernel) -> Policy {
        Policy::Classic(lru_config::preset_for_kernel(kernel))
    }

    /// The shipped policy of a preset with knobs set on top of it.
    ///
    /// # Errors
    /// There is no such preset, or a knob does not fit it or the others.
    pub fn resolve(spec: &PolicySpec) -> Result<Policy, KnobError> {
        if ClassicConfig::preset(&spec.preset).is_some() {
            return resolve(spec).map(Policy::Classic);
        }
        if MglruConfig::preset(&spec.preset).is_some() {
            return resolve(spec).map(Policy::Mglru);
        }
        match spec.preset == RANDOM {
            true => Catalogue.values(spec).map(|_| Policy::Random),
            false => Err(no_preset(&spec.preset)),
        }
    }

    /// Creates the policy on a machine's memory.
    pub fn create(self, mem: &mut Memory, seed: u64) -> Box<dyn ReclaimPolicy> {
        match self {
            Policy::Classic(c) => Classic::create(c, mem, seed),
            Policy::Mglru(c) => Mglru::create(c, mem, seed),
            Policy::Random => Box::new(Random::new(mem, seed)),
        }
    }
}

mod check;
mod choosers;
mod compaction;
mod compressed;
mod damon;
mod figures;
mod followed;
mod misplaced;
mod workloads;

pub use crate::registry::{Catalogue, ConfiguredPolicy, Registry};
pub use crate::scenario::groups::overlooked;
pub use check::{askable, shape, sound};
pub use check::{spec_above, specs, specs_of};
pub use compaction::compaction_knobs;
pub use damon::truth;
pub use damon::{damon_knobs, kdamond_of, monitored};
pub use followed::engine;
pub use mmsim_core::machine::Machine;
pub use workloads::{assumed, maps_files, processes, threads};

/// Builds the machine of one run.
pub fn machine(run: &RunSpec) -> Result<Machine, Error> {
    machine_of(run, &workloads::threads)
}

/// Builds the machine of one run whose threads do not do what its tasks say: `threads` makes those
/// of a process of a task, given the seed.
pub fn machine_of(run: &RunSpec, threads: &MakeThreads<'_>) -> Result<Machine, Error> {
    let policy = run.registry.policy(&run.policy);
    let policy = policy.map_err(|e| Error::plain(format!("reclaim.{}: {}", e.key, e.message)))?;
    let mut machine = build(run, threads, |mem| policy(mem, run.seed)).map_err(|m| m.error)?;
    other_lru(run, &mut machine);
    Ok(machine)
}

/// Makes the threads of a process of a task, given the seed and the number of the process.
pub type MakeThreads<'a> =
    dyn Fn(&TaskSpec, u64, usize) -> Result<Vec<Box<dyn Workload>>, Error> + 'a;

/// Builds the machine of one run with a policy of the caller's own instead of the one that
/// the run names. `policy` gets the memory to create its lists in.
pub fn machine_with(
    run: &RunSpec,
    policy: impl FnOnce(&mut Memory) -> Box<dyn ReclaimPolicy>,
) -> Result<Machine, Error> {
    build(run, &workloads::threads, policy).map_err(|m| m.error)
}

fn build(
    run: &RunSpec,
    threads: &MakeThreads<'_>,
    policy: impl FnOnce(&mut Memory) -> Box<dyn ReclaimPolicy>,
) -> Result<Machine, Misplaced> {
    let (mut tasks, mut disks) = (Vec::new(), check::Disks::of(run));
    for (nth, task) in run.tasks.iter().enumerate() {
        let at = |error| of_task(run, nth, error);
        workloads::check_monitor(task, !run.damon.is_empty()).map_err(at)?;
        workloads::check_kernel(task, run.machine.kernel).map_err(at)?;
        let n = workloads::processes(task).map_err(at)?;
        let all = tasks.len() as u64 + u64::from(n);
        check::count(task, all).map_err(at)?;
        let path = task.memcg.as_deref();
        let groups = path.map_or_else(Vec::new, |path| instances(&run.machine.memcgs, path));
        for i in 0..n {
            let memcg = (!groups.is_empty()).then(|| groups[i as usize % groups.len()]);
            let threads = threads(task, run.seed, i as usize).map_err(at)?;
            let config = TaskConfig::new(process_name(task, i, n), threads)
                .with_memcg(memcg)
                .with_oom_score_adj(task.oom_score_adj)
                .with_memlock_limit(task.memlock_limit.map(u64::from))
                .with_disks(task.disks.clone())
                .with_contents(task.contents.clone())
                .with_start(SimTime(task.start.0));
            disks.add(task, config.files().collect()).map_err(at)?;
            tasks.push(config);
        }
    }
    let needed = tasks.iter().flat_map(|t| &t.threads).map(|w| w.minimum_pages()).max();
    check_size(&run.machine, needed.unwrap_or(0))?;
    let mut machine = Machine::new(&run.machine, tasks, run.seed, policy);
    check_pool(run, &machine)?;
    for (nth, task) in run.tasks.iter().enumerate() {
        let at = |error| of_task(run, nth, error);
        workloads::load(task, &mut machine).map_err(at)?;
    }
    choosers::attach(run, &mut machine)?;
    let strategy = compaction::strategy(run, &machine.mem).map_err(|e| {
        let path = format!("compaction.{}", e.key);
        Misplaced::new(&path, Error::plain(format!("{path}: {}", e.message)))
    })?;
    if let Some(strategy) = strategy {
        machine.set_compaction(strategy);
    }
    damon::attach(run, &mut machine)?;
    let groups: Vec<String> = run.machine.memcgs.iter().map(|m| m.name.clone()).collect();
    for (i, d) in run.daemons.iter().enumerate() {
        let path = format!("daemon[{i}].program");
        let code = |spec: &CodeSpec| code(run, i, &path, spec);
        let daemon = d.program.daemon(&groups, code);
        let daemon = daemon.map_err(|error| Misplaced::new(&path, error))?;
        machine.add_daemon(d.process.clone(), daemon, run.seed);
    }
    Ok(machine)
}

/// True if code from elsewhere runs on the machine: choosers of groups, or daemons.
fn has_code(run: &RunSpec) -> bool {
    !run.choosers.is_empty() || run.daemons.iter().any(|d| d.program.is_code())
}

/// The daemon of a run that is code.
fn code(run: &RunSpec, i: usize, path: &str, spec: &CodeSpec) -> Result<Box<dyn Daemon>, Error> {
    let refused = |why: String| Error::plain(format!("{path}: {why}"));
    let Some(programs) = run.registry.programs() else {
        let help = "commands of mmsim run modules, and `Scenario.run` of Python classes";
        return Err(refused("programs of one's own are not run here".into()).help(help));
    };
    let file = run.files.iter().find(|f| f.0 == path).map_or(Path::new(&spec.name), |f| &f.1);
    let code = programs.create(&spec.name, file, spec.fuel_time).map_err(refused)?;
    // Two daemons of one module draw different numbers.
    let seed = run.seed ^ (i as u64) << 56;
    Ok(Box::new(program::Running::new(code, run.machine.memcgs.len(), seed)))
}

/// A run whose tasks switch `lru_gen` has both LRUs of its kernel: its own, and the other one in the
/// kernel's preset.
fn other_lru(run: &RunSpec, machine: &mut Machine) {
    let switches = |op: &Op| matches!(op, Op::LruGen(LruGen::Enabled(_)));
    if !run.tasks.iter().any(|t| t.work.makes(switches)) {
        return;
    }
    let (kernel, seed) = (run.machine.kernel, run.seed);
    match (Policy::resolve(&run.policy), MglruConfig::of_kernel(kernel)) {
        (Ok(Policy::Classic(_)), Some(config)) => {
            machine.set_other_lru(true, |mem| Policy::Mglru(config).create(mem, seed));
        }
        (Ok(Policy::Mglru(_)), _) => {
            machine.set_other_lru(false, |mem| Policy::of_kernel(kernel).create(mem, seed));
        }
        _ => {}
    }
}

/// The name of a process of a task that stands for `n`.
fn process_name(task: &TaskSpec, i: u32, n: u32) -> String {
    if n > 1 { format!("{}-{i}", task.name) } else { task.name.clone() }
}

/// A machine that cannot hold what its workloads need at the same time is refused.
fn check_size(machine: &MachineConfig, needed: u64) -> Result<(), Misplaced> {
    let managed: u64 = managed_pages(machine);
    if needed > managed {
        let error = Error::plain(format!(
            "machine: {managed} pages of memory, and a workload needs {needed} at the same time; \
             give the machine more memory"
        ));
        return Err(Misplaced::new("machine.memory", error));
    }
    Ok(())
}

/// A machine that has not as much free memory as its pool of huge pages is to take is refused.
fn check_pool(run: &RunSpec, machine: &Machine) -> Result<(), Misplaced> {
    let (asked, got) = (run.machine.vm.nr_hugepages, machine.nr_huge_pages());
    if got < u64::from(asked) {
        let error = Error::plain(format!(
            "machine.vm.nr_hugepages: free memory has room for {got} huge pages of {asked}; write \
             {got}, or give the machine more memory"
        ));
        return Err(Misplaced::new("machine.vm.nr_hugepages", error));
    }
    Ok(())
}

/// Pages that the allocator of a machine manages.
pub fn managed_pages(m: &MachineConfig) -> u64 {
    m.nodes.iter().flat_map(|n| &n.zones).map(|z| u64::from(z.managed)).sum()
}

/// The policy of a run: its preset, and the knobs whose values are not the preset's.
pub fn policy(run: &RunReport) -> String {
    let mut text = run.policy.clone();
    for knob in Catalogue.knobs(&run.policy) {
        if let Some(value) = run.knobs.get(&format!("reclaim.{}", knob.key))
            && value.to_string() != knob.value
        {
            text += &format!(", {} = {value}", knob.key);
        }
    }
    text
}
