//! Linux has not always had what a task may ask for: the release that brought it, and the words of
//! an error where the machine's kernel is older. Sysctls have their releases in their rows, and
//! what a DAMON lacks follows from its rules as well.

use mmsim_core::config::Kernel;

/// A release of Linux that brought something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Since {
    /// The first kernel that is modelled and has it.
    pub first: Kernel,
    /// The release, for people.
    pub linux: &'static str,
}

/// The release that brought something, and the first modelled kernel that has it.
pub const fn since(first: Kernel, linux: &'static str) -> Since {
    Since { first, linux }
}

impl Since {
    /// Checks that a kernel has `what`.
    ///
    /// # Errors
    /// It has not: what was found, and what to write, `other` being what does instead of another
    /// kernel.
    pub fn check(self, kernel: Kernel, what: &str, other: &str) -> Result<(), (String, String)> {
        match kernel >= self.first {
            true => Ok(()),
            false => Err((
                format!(
                    "kernel {} has no {what} (Linux has it since {})",
                    kernel.name(),
                    self.linux
                ),
                format!("kernel = \"{}\", or {other}", self.first.name()),
            )),
        }
    }
}

/// Advice that came while the modelled kernels did, by the word that follows `MADV_`.
const ADVICE: &[(&str, Since)] = &[
    ("free", since(Kernel::V5_5, "4.5")),
    ("cold", since(Kernel::V5_5, "5.4")),
    ("pageout", since(Kernel::V5_5, "5.4")),
    ("populate-read", since(Kernel::V6_1, "5.14")),
    ("populate-write", since(Kernel::V6_1, "5.14")),
];

/// Checks that a kernel has an advice.
///
/// # Errors
/// As for [`Since::check`].
pub fn check_advice(word: &str, kernel: Kernel, other: &str) -> Result<(), (String, String)> {
    let since = ADVICE.iter().find(|a| a.0 == word);
    since.map_or(Ok(()), |a| a.1.check(kernel, &format!("advice \"{word}\""), other))
}

/// Checks that a kernel has `RWF_DONTCACHE`.
///
/// # Errors
/// As for [`Since::check`].
pub fn check_dontcache(kernel: Kernel, other: &str) -> Result<(), (String, String)> {
    since(Kernel::V6_18, "6.14").check(kernel, "RWF_DONTCACHE", other)
}

/// Checks that a kernel has the advice in a line of a script.
///
/// # Errors
/// As for [`Since::check`].
pub fn check_line(line: &str, kernel: Kernel) -> Result<(), (String, String)> {
    let mut words = line.split_whitespace();
    let word = match words.next() {
        Some("dontcache") => return check_dontcache(kernel, "leave it out"),
        Some("madvise") if words.any(|w| w == "populate_read") => "populate-read",
        Some("lazy") if words.any(|w| w == "free") => "free",
        _ => return Ok(()),
    };
    check_advice(word, kernel, "leave it out")
}
