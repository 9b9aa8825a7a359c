//! Why pages come back: runs that are followed page by page.

pub mod difference;
pub mod life;

use mmsim_core::machine::Watch;
use mmsim_core::machine::result::RunResult;
pub use mmsim_why::{
    Cell, Class, Counted, Engine, Logged, Names, Settings, Shown, Told, TroubleCell, Verdicts,
};

pub use mmsim_language::machines::engine;

use crate::run::{RunError, run_one};
use mmsim_language::machines::Machine;
use mmsim_language::scenario::RunSpec;
use mmsim_report::RunMeta;

/// Makes a run and follows it, with the access of each refault.
///
/// # Errors
///
/// The input is wrong, or the run panicked.
pub fn explain(spec: &RunSpec) -> Result<(RunMeta, RunResult, Verdicts), RunError> {
    let told = std::sync::Mutex::new(Told::default());
    let watch = |_: usize, machine: &Machine| {
        let (engine, tells) = engine(machine, Settings::default().with_log(true).with_exact(true));
        *told.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = tells;
        Watch::default().with_follower(engine)
    };
    let (meta, result) = run_one(0, spec, &watch)?;
    let told = told.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok((meta, result, told.take().unwrap_or_default()))
}
