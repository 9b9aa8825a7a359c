//! Kernels whose memory management is modelled.
//!
//! A kernel is a version and nothing else: what it does is the table in [`super::rules`].

/// The kernels from their table, a line each, oldest first.
macro_rules! kernels {
    ($($(#[$doc:meta])+ $kernel:ident $major:literal $minor:literal;)+) => {
        /// A kernel whose memory management is modelled. Ordered by age.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Kernel {
            $($(#[$doc])+ $kernel,)+
        }

        /// Number of kernels.
        pub const NR_KERNELS: usize = [$(Kernel::$kernel),+].len();

        impl Kernel {
            /// All kernels, oldest first.
            pub const ALL: [Kernel; NR_KERNELS] = [$(Kernel::$kernel),+];
            /// `5.5`, `6.12`, ...
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kernel::$kernel => concat!($major, ".", $minor),)+
                }
            }
            /// The name of its rules in lists: `rules-v5.5`, ...
            pub const fn name_of_rules(self) -> &'static str {
                match self {
                    $(Kernel::$kernel => concat!("rules-v", $major, ".", $minor),)+
                }
            }
            /// Major and minor version.
            const fn version(self) -> (u8, u8) {
                match self {
                    $(Kernel::$kernel => ($major, $minor),)+
                }
            }
        }
    };
}

kernels! {
    /// Linux 4.1, as far as allocation and compaction go; elsewhere like 5.5.
    V4_1 4 1;
    /// Linux 5.5.
    V5_5 5 5;
    /// Linux 5.8.
    V5_8 5 8;
    /// Linux 5.9.
    V5_9 5 9;
    /// Linux 5.10.
    V5_10 5 10;
    /// Linux 6.1.
    V6_1 6 1;
    /// Linux 6.6. Nothing of it is recorded: its rules follow from the releases of their patches.
    V6_6 6 6;
    /// Linux 6.12.
    V6_12 6 12;
    /// Linux 6.18.
    V6_18 6 18;
    /// Linux 7.3.
    V7_3 7 3;
}

impl Kernel {
    /// The newest one.
    pub const LAST: Kernel = Kernel::ALL[NR_KERNELS - 1];

    /// The kernel of that name.
    pub fn from_name(s: &str) -> Option<Kernel> {
        Kernel::ALL.into_iter().find(|k| k.name() == s)
    }

    /// True for this release of Linux and later ones: for the table of rules alone.
    pub(super) const fn is_since(self, major: u8, minor: u8) -> bool {
        let own = self.version();
        own.0 > major || own.0 == major && own.1 >= minor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_in_order_of_age() {
        assert!(Kernel::ALL.is_sorted());
        assert!(Kernel::ALL.map(Kernel::version).is_sorted());
        assert_eq!(Kernel::from_name("6.12"), Some(Kernel::V6_12));
        let since = |major, minor| Kernel::ALL.map(|k| k.is_since(major, minor));
        assert_eq!(since(5, 8), [false, false, true, true, true, true, true, true, true, true]);
        let since_6_2 = [false, false, false, false, false, false, true, true, true, true];
        assert_eq!(since(6, 2), since_6_2);
    }
}
