//! Requests for memory of the kernel, by the words of the kernel's flags.

use crate::named::Misfit;
use mmsim_core::phys::gfp::{
    GFP_ATOMIC, GFP_KERNEL, GFP_NOFS, GFP_NOIO, GFP_NOWAIT, GFP_USER, GfpFlags,
};
use mmsim_core::words;

words! {
    /// Permissions of a request for memory of the kernel, by the names of the kernel.
    Gfp {
        Kernel = "kernel", "Memory of the kernel, which may sleep.";
        User = "user", "Memory on behalf of a process.";
        Nofs = "nofs", "No calls into file systems.";
        Noio = "noio", "No input and output.";
        Nowait = "nowait", "No sleeping, and no reserves.";
        Atomic = "atomic", "No sleeping, and access to reserves.";
    }
    /// Effort of such a request.
    Retry {
        Normal = "normal", "As hard as the order deserves.";
        Noretry = "noretry", "Gives up instead of trying hard.";
        Mayfail = "retry-mayfail", "Retries costly orders too, but fails in the end.";
        Nofail = "nofail", "Never fails.";
    }
}

/// The flags of a request.
pub fn flags(gfp: Gfp, retry: Retry) -> GfpFlags {
    let flags = match gfp {
        Gfp::Kernel => GFP_KERNEL,
        Gfp::User => GFP_USER,
        Gfp::Nofs => GFP_NOFS,
        Gfp::Noio => GFP_NOIO,
        Gfp::Nowait => GFP_NOWAIT,
        Gfp::Atomic => GFP_ATOMIC,
    };
    let effort = match retry {
        Retry::Normal => GfpFlags::NORMAL,
        Retry::Noretry => GfpFlags::NORETRY,
        Retry::Mayfail => GfpFlags::RETRY_MAYFAIL,
        Retry::Nofail => GfpFlags::NOFAIL,
    };
    flags.with(effort)
}

/// Checks that a request that never fails may sleep.
///
/// # Errors
/// It may not.
pub fn check(gfp: Gfp, retry: Retry) -> Result<(), Misfit> {
    if retry == Retry::Nofail && flags(gfp, retry).atomic() {
        let found = "a request that may not sleep can fail";
        return Err(Misfit::new("retry", found, "another `retry`, or `gfp = \"kernel\"`"));
    }
    Ok(())
}
