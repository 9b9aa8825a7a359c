//! Which contexts run: contexts are started in groups, and a group can be exclusive, as those of
//! the modules are.
//!
//! Linux 6.12 `mm/damon/core.c` (`damon_start()`), and `mm/damon/dbgfs.c` for targets. There a
//! group of which a member runs already is started up to that member; here none of it is.

use crate::context::Context;
use crate::error::DamonError;
use crate::operations::Operations;

/// Number of running contexts, and whether they keep others from running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kdamonds {
    nr_running: u32,
    exclusive: bool,
}

impl Kdamonds {
    /// Number of running contexts.
    pub fn nr_running(&self) -> u32 {
        self.nr_running
    }

    /// Starts a group of contexts, each with its operations.
    ///
    /// # Errors
    /// [`DamonError::NoTargets`] if one has nothing to watch. [`DamonError::Busy`] if one of them
    /// runs, if an exclusive group runs, or if this group is exclusive and anything runs. Nothing
    /// is started then.
    pub fn start(
        &mut self,
        group: &mut [(&mut Context, &mut dyn Operations)],
        exclusive: bool,
    ) -> Result<(), DamonError> {
        if group.iter().any(|(c, _)| c.targets().is_empty()) {
            return Err(DamonError::NoTargets);
        }
        let kept_out = if exclusive { self.nr_running > 0 } else { self.exclusive };
        if kept_out || group.iter().any(|(c, _)| c.is_running()) {
            return Err(DamonError::Busy);
        }
        for (c, ops) in group {
            c.start(*ops)?;
            self.nr_running += 1;
        }
        self.exclusive |= exclusive && self.nr_running > 0;
        Ok(())
    }

    /// A context has ended.
    ///
    /// # Panics
    /// None ran.
    pub fn ended(&mut self) {
        self.nr_running = self.nr_running.checked_sub(1).expect("a context ran");
        self.exclusive &= self.nr_running > 0;
    }
}
