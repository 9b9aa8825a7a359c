//! Linux has not always had what a scenario may ask for: the release that brought it, and an error
//! at the key where the machine's kernel is older. Sysctls have a table of their own, since some of
//! them went again (`not_of_kernel`), and what a DAMON lacks follows from its rules as well.

use mmsim_core::config::Kernel;

use super::read::Reader;
use mmsim_base::error::Error;

/// A release of Linux that brought something.
#[derive(Clone, Copy)]
pub(super) struct Since {
    /// The first kernel that is modelled and has it.
    pub(super) first: Kernel,
    /// The release, for people.
    pub(super) linux: &'static str,
}

pub(super) const fn since(first: Kernel, linux: &'static str) -> Since {
    Since { first, linux }
}

impl Since {
    /// The error of a key that asks for `what` of a kernel that does not have it.
    pub(super) fn check(
        self,
        r: &Reader<'_>,
        key: &str,
        kernel: Kernel,
        what: &str,
    ) -> Result<(), Error> {
        self.check_or(r, key, kernel, what, "leave it out")
    }

    /// The same where something else does instead of the other kernel.
    pub(super) fn check_or(
        self,
        r: &Reader<'_>,
        key: &str,
        kernel: Kernel,
        what: &str,
        other: &str,
    ) -> Result<(), Error> {
        match kernel >= self.first {
            true => Ok(()),
            false => Err(r.error(key, self.found(kernel, what), self.instead(other))),
        }
    }

    fn found(self, kernel: Kernel, what: &str) -> String {
        format!("kernel {} has no {what} (Linux has it since {})", kernel.name(), self.linux)
    }

    fn instead(self, other: &str) -> String {
        format!("kernel = \"{}\", or {other}", self.first.name())
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

/// The release that brought an advice, if a modelled kernel lacks it.
pub(super) fn of_advice(word: &str) -> Option<Since> {
    ADVICE.iter().find(|a| a.0 == word).map(|a| a.1)
}

/// The advice in a line of a script that a kernel does not have: why not, and what to write instead.
pub(crate) fn advice_of_line(line: &str, kernel: Kernel) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let word = match words.next()? {
        "madvise" if words.any(|w| w == "populate_read") => "populate-read",
        "lazy" if words.any(|w| w == "free") => "free",
        _ => return None,
    };
    let since = of_advice(word).filter(|s| kernel < s.first)?;
    Some((since.found(kernel, &format!("advice \"{word}\"")), since.instead("leave it out")))
}
