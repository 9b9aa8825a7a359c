//! Settings of compressed memory that say nothing of their run.

use super::misplaced::Misplaced;
use crate::scenario::RunSpec;
use crate::scenario::daemon::Program;
use mmsim_base::error::{Error, ErrorKind};

/// Refuses contents of tasks without anonymous memory, and rules of zram without a zram.
pub(super) fn check(run: &RunSpec) -> Result<(), Misplaced> {
    let refuse = |at: String, what: &str, help: &str| {
        let error = Error::new(ErrorKind::Scenario, format!("{at}: {what}")).help(help);
        Err(Misplaced::new(at, error))
    };
    let without = |i: &usize| run.tasks[*i].contents.is_some() && !run.tasks[*i].work.has_anon();
    if let Some(i) = (0..run.tasks.len()).find(without) {
        let what = "no page of this task goes to swap, since it has files alone";
        return refuse(format!("task[{i}].contents"), what, "leave it out");
    }
    let zram = run.machine.swap.iter().any(|s| s.device.stored_bytes_per_page > 0);
    let asks = |program: &Program| matches!(program, Program::Nohang(of) if of.zram);
    match run.daemons.iter().position(|d| asks(&d.program)) {
        Some(i) if !zram => {
            let help = "write `machine.swap.device = \"zram\"`, or leave it out";
            refuse(format!("daemon[{i}].nohang.zram"), "this machine has no zram", help)
        }
        _ => Ok(()),
    }
}
