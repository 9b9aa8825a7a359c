//! Names of results: hashes of all that decides them.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::hash::Hasher;

use mmsim_language::scenario::RunSpec;
use mmsim_workload::trace;
use siphasher::sip128::{Hasher128, SipHasher13};

/// The name of a unit: a hash of all that decides its result. That is its resolved scenario,
/// variant and seed, the version of mmsim, and what is in the files that it reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub(crate) u128);

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl UnitId {
    /// Number of its shard, of `of`.
    pub fn shard(self, of: u32) -> u32 {
        (self.0 % u128::from(of)) as u32
    }

    /// Reads 32 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<UnitId> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(UnitId)
    }
}

/// A unit by its number in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// Its name.
    pub id: UnitId,
    /// Its number.
    pub n: u64,
}

/// Hashes a text as it is written.
struct Hashed(SipHasher13);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// The name of the result of a run: a hash of all its settings, of what is in its files, and of the
/// version of mmsim. `with` is what decides the result besides, such as the sample of a miniature.
///
/// A unit of a sweep has its name from its plan, which knows it without making the run's settings.
pub(crate) fn id_of(spec: &RunSpec, with: &dyn fmt::Debug) -> UnitId {
    let mut hashed = Hashed(SipHasher13::new());
    // Files count by what is in them, and not by their places.
    let settings = RunSpec { files: [].into(), ..spec.clone() };
    write!(hashed, "{} {with:?} {settings:?}", env!("CARGO_PKG_VERSION"))
        .expect("a hash takes every text");
    for (key, path) in spec.files.iter() {
        let contents = File::open(path).and_then(trace::contents).ok();
        write!(hashed, " {key:?} {contents:?}").expect("a hash takes every text");
    }
    UnitId(hashed.0.finish128().into())
}
