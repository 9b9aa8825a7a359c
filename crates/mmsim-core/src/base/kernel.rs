//! Kernels whose memory management is modelled.
//!
//! A kernel is a version and nothing else: what it does is the table in [`super::rules`].

/// A release of Linux: `6.12.117`.
#[derive(Clone, Copy)]
struct Release([u16; 3]);

impl Release {
    /// The release that stands in `text` between two bytes: `6.12`, or `6.12.117`.
    const fn of(text: &str, from: usize, to: usize) -> Release {
        let (bytes, mut parts, mut nth, mut i) = (text.as_bytes(), [0; 3], 0, from);
        while i < to {
            match bytes[i] {
                b'.' => nth += 1,
                digit @ b'0'..=b'9' => parts[nth] = parts[nth] * 10 + (digit - b'0') as u16,
                _ => panic!("a release is written \"6.12\" or \"6.12.117\""),
            }
            i += 1;
        }
        assert!(nth > 0, "a release has a minor number");
        Release(parts)
    }

    const fn at_least(self, than: Release) -> bool {
        let ([a, b, c], [x, y, z]) = (self.0, than.0);
        a > x || a == x && (b > y || b == y && c >= z)
    }

    const fn same_series(self, other: Release) -> bool {
        self.0[0] == other.0[0] && self.0[1] == other.0[1]
    }
}

/// The kernels from their table, a line each, oldest first: the version and, where it matters which
/// patches were taken back, the stable release.
macro_rules! kernels {
    ($($(#[$doc:meta])+ $kernel:ident = $version:literal $(, $stable:literal)?;)+) => {
        /// A kernel whose memory management is modelled. Ordered by age.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Kernel {
            $($(#[$doc])+ $kernel,)+
        }

        /// Number of kernels.
        pub(crate) const NR_KERNELS: usize = [$(Kernel::$kernel),+].len();

        impl Kernel {
            /// All kernels, oldest first.
            pub const ALL: [Kernel; NR_KERNELS] = [$(Kernel::$kernel),+];
            /// `5.5`, `6.12`, ...
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kernel::$kernel => $version,)+
                }
            }
            /// The name of its rules in lists: `rules-v5.5`, ...
            pub const fn name_of_rules(self) -> &'static str {
                match self {
                    $(Kernel::$kernel => concat!("rules-v", $version),)+
                }
            }
            /// The release whose behaviour it is.
            const fn release(self) -> Release {
                let text = match self {
                    $(Kernel::$kernel => concat!($version $(, ".", $stable)?),)+
                };
                Release::of(text, 0, text.len())
            }
        }
    };
}

kernels! {
    /// Linux 4.1, as far as allocation and compaction go; elsewhere like 5.5.
    V4_1 = "4.1";
    /// Linux 5.5.
    V5_5 = "5.5";
    /// Linux 5.8.
    V5_8 = "5.8";
    /// Linux 5.9.
    V5_9 = "5.9";
    /// Linux 5.10.
    V5_10 = "5.10", 223;
    /// Linux 6.1.
    V6_1 = "6.1", 177;
    /// Linux 6.6. Nothing of it is recorded: its rules follow from the releases of their patches.
    V6_6 = "6.6";
    /// Linux 6.12.
    V6_12 = "6.12", 117;
    /// Linux 6.18.
    V6_18 = "6.18", 15;
    /// Linux 7.3.
    V7_3 = "7.3", 4;
}

/// The same text, if it says releases as [`Kernel::has`] takes them; else it does not compile.
#[doc(hidden)]
pub const fn checked(since: &'static str) -> &'static str {
    Kernel::ALL[0].has(since);
    since
}

/// The newest kernel.
pub(crate) const NEWEST: Kernel = Kernel::ALL[NR_KERNELS - 1];

impl Kernel {
    /// The newest one.
    pub const LAST: Kernel = NEWEST;

    /// The kernel of that name.
    pub fn from_name(s: &str) -> Option<Kernel> {
        Kernel::ALL.into_iter().find(|k| k.name() == s)
    }

    /// True if it has what came with `since`: a release of mainline, then the stable releases that
    /// took the patch, as in `"6.13, 6.12.9"`. Every kernel has what came with `""`.
    #[inline(never)]
    pub const fn has(self, since: &str) -> bool {
        let (bytes, own) = (since.as_bytes(), self.release());
        let (mut from, mut mainline, mut has) = (0, true, bytes.is_empty());
        while from < bytes.len() {
            let mut to = from;
            while to < bytes.len() && bytes[to] != b',' {
                to += 1;
            }
            let release = Release::of(since, from, to);
            has |= own.at_least(release) && (mainline || own.same_series(release));
            mainline = false;
            from = to + 2;
        }
        has
    }

    /// True if it is of a later series than `last`; none is later than `""`.
    pub(super) const fn is_after(self, last: &str) -> bool {
        if last.is_empty() {
            return false;
        }
        let (own, last) = (self.release(), Release::of(last, 0, last.len()));
        own.at_least(last) && !own.same_series(last)
    }

    /// The first kernel that has what came with `since`.
    pub fn first_with(since: &str) -> Option<Kernel> {
        Kernel::ALL.into_iter().find(|k| k.has(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_in_order_of_age() {
        assert!(Kernel::ALL.is_sorted());
        assert!(Kernel::ALL.map(|k| k.release().0).is_sorted());
        assert_eq!(Kernel::from_name("6.12"), Some(Kernel::V6_12));
        let since = |release| Kernel::ALL.map(|k| k.has(release));
        assert_eq!(since("5.8"), [false, false, true, true, true, true, true, true, true, true]);
        let since_6_2 = [false, false, false, false, false, false, true, true, true, true];
        assert_eq!(since("6.2"), since_6_2);
        assert_eq!(since(""), [true; NR_KERNELS]);
        let first = |release| Kernel::first_with(release);
        let v6_1 = Some(Kernel::V6_1);
        assert_eq!([first("6.0"), first("6.1"), first("9.0")], [v6_1, v6_1, None]);
    }

    #[test]
    fn stable_releases_take_patches_back() {
        let with = |since: &str| {
            Kernel::ALL.into_iter().filter(|k| k.has(since)).map(Kernel::name).collect::<Vec<_>>()
        };
        assert_eq!(with("6.13, 6.12.9"), ["6.12", "6.18", "7.3"]);
        assert_eq!(with("6.13, 6.12.118"), ["6.18", "7.3"]);
        assert_eq!(with("6.19, 6.12.100, 6.1.150"), ["6.1", "6.12", "7.3"]);
        let up_to = |last: &str| Kernel::ALL.into_iter().filter(|k| !k.is_after(last)).count();
        assert_eq!([up_to(""), up_to("5.13"), up_to("6.12")], [NR_KERNELS, 5, 8]);
    }

    #[test]
    #[should_panic(expected = "a release is written")]
    fn a_bad_release_is_refused() {
        checked("v6.12");
    }
}
