//! Choosers of groups: made by the registry or in Rust, and put on the machine.

use std::path::Path;

use mmsim_core::machine::Machine;
use mmsim_core::policy::chooser::{
    ChooserOptions, ChooserThread, FileChooser, NotAttached, matches,
};
use mmsim_core::workload::{LruGen, Op};
use mmsim_lru::chooser::{BUILTIN, builtin};

use super::misplaced::{Misplaced, of_task};
use super::{Policy, RunSpec};
use crate::scenario::ChooserSpec;
use mmsim_base::error::{Error, ErrorKind};

/// Gives the groups of a machine their choosers.
pub(super) fn attach(run: &RunSpec, machine: &mut Machine) -> Result<(), Misplaced> {
    if run.choosers.is_empty() {
        return Ok(());
    }
    let mut names: Vec<ChooserThread> =
        machine.thread_names().map(|n| ChooserThread { name: n.into(), task: n.into() }).collect();
    for (task, threads) in machine.tasks() {
        threads.iter().for_each(|t| names[t.0 as usize].task = task.to_string());
    }
    for spec in &run.choosers {
        watches_files(spec, machine)?;
        let options = spec.options(run.seed, names.clone());
        let options = options.map_err(|(path, name)| no_thread(&path, &name))?;
        let chooser = chooser(run, spec, &options)?;
        machine.attach_chooser(spec.memcg, chooser).map_err(|why| match why {
            NotAttached::Refused(why) => refused(&format!("{}.module", spec.path), &why),
            NotAttached::NotAsked => not_asked(spec),
        })?;
    }
    Ok(())
}

/// Checks that each pattern of `watch` is one of a file.
fn watches_files(spec: &ChooserSpec, machine: &Machine) -> Result<(), Misplaced> {
    let files = machine.file_names();
    for pattern in &spec.options.watch {
        if !files.iter().any(|name| matches(pattern, name)) {
            let path = format!("{}.watch", spec.path);
            let title = format!("{path}: no file matches `{pattern}`");
            let known = if files.is_empty() { "none".to_string() } else { files.join(", ") };
            let error = Error::new(ErrorKind::Scenario, title).help(format!("files: {known}"));
            return Err(Misplaced::new(path, error));
        }
    }
    Ok(())
}

fn chooser(
    run: &RunSpec,
    spec: &ChooserSpec,
    options: &ChooserOptions,
) -> Result<Box<dyn FileChooser>, Misplaced> {
    let path = format!("{}.module", spec.path);
    if let Some(name) = spec.module.strip_prefix(BUILTIN) {
        return builtin(name, options).map_err(|bad| {
            let path = format!("{}.{}", spec.path, bad.key);
            refused(&path, &format!("{}, write {}", bad.found, bad.write))
        });
    }
    let Some(choosers) = run.registry.choosers() else {
        let why = format!("modules are not run here, write a name with `{BUILTIN}`");
        return Err(refused(&path, &why));
    };
    let made = choosers.create(&spec.module, file_of(run, spec, &path), options);
    made.map_err(|why| refused(&path, &why))
}

/// The file of a module.
fn file_of<'a>(run: &'a RunSpec, spec: &'a ChooserSpec, path: &str) -> &'a Path {
    run.files.iter().find(|f| f.0 == path).map_or(Path::new(&spec.module), |f| &f.1)
}

fn refused(path: &str, why: &str) -> Misplaced {
    Misplaced::new(path, Error::new(ErrorKind::Scenario, format!("{path}: {why}")))
}

fn no_thread(path: &str, name: &str) -> Misplaced {
    refused(path, &format!("there is no task or thread `{name}`, write a name of one"))
}

/// True if a name may be that of a process, or of a thread of one: `task`, `task-1`, `task/0`.
fn is_of_run(run: &RunSpec, name: &str) -> bool {
    let tasks = run.tasks.iter().map(|t| &t.name);
    let mut all = tasks.chain(run.daemons.iter().map(|d| &d.process.name));
    let is_of = |rest: &str| rest.is_empty() || rest.starts_with(['-', '/']);
    all.any(|task| name.strip_prefix(task.as_str()).is_some_and(is_of))
}

fn not_asked(spec: &ChooserSpec) -> Misplaced {
    let path = &spec.path;
    let title = format!("{path}: only the classic LRU asks a policy of cache_ext");
    let help = "name a preset of `classic-`; cache_ext itself asks no policy while MGLRU is on";
    Misplaced::new(path, Error::new(ErrorKind::Scenario, title).help(help))
}

/// Mistakes about choosers that need no machine to be found.
pub(super) fn check(run: &RunSpec) -> Result<(), Misplaced> {
    let Some(first) = run.choosers.first() else { return Ok(()) };
    if matches!(Policy::resolve(&run.policy), Ok(Policy::Mglru(_) | Policy::Random)) {
        return Err(not_asked(first));
    }
    let switches = |op: &Op| matches!(op, Op::LruGen(LruGen::Enabled(_)));
    if let Some(i) = run.tasks.iter().position(|task| task.work.makes(switches)) {
        let what = "a machine with `cache-ext` keeps the LRU that asks its policy";
        let error = Error::new(ErrorKind::Scenario, what).help("leave one of them out");
        return Err(of_task(run, i, error));
    }
    for spec in &run.choosers {
        for (map, names) in &spec.threads {
            if let Some(name) = names.iter().find(|name| !is_of_run(run, name)) {
                return Err(no_thread(&format!("{}.maps.{map}.threads", spec.path), name));
            }
        }
    }
    for spec in &run.choosers {
        let path = format!("{}.module", spec.path);
        if spec.module.starts_with(BUILTIN) {
            chooser(run, spec, &spec.options)?;
        } else if let Some(choosers) = run.registry.choosers() {
            let checked = choosers.check(&spec.module, file_of(run, spec, &path));
            checked.map_err(|why| refused(&path, &why))?;
        }
    }
    Ok(())
}
