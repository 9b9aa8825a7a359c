//! Inputs of a score function: facts about a folio.

/// Makes the struct, its names and its values of one list.
macro_rules! facts {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// Facts that a kernel has about a folio at reclaim. There is nothing of the future in it,
        /// and nothing that tells a run from another: no address, no frame, no clock, no seed.
        ///
        /// Ages and distances are counted in evictions on the machine, as the kernel's own are
        /// (Linux 6.12 mm/workingset.c, `nonresident_age`).
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Facts {
            $($(#[$doc])* pub $name: i64,)*
        }

        impl Facts {
            /// The names, in the order of the function's parameters.
            pub const NAMES: [&'static str; Facts::COUNT] = [$(stringify!($name)),*];
            /// Number of facts.
            pub const COUNT: usize = [$(stringify!($name)),*].len();

            /// The values, in the same order.
            pub fn values(&self) -> [i64; Facts::COUNT] {
                [$(self.$name),*]
            }
        }
    };
}

facts! {
    /// Evictions since the folio came or was last found used.
    age;
    /// Looks that found it used since it came.
    seen;
    /// Looks since it came, this one included.
    looks;
    /// 1: this look found it used.
    used;
    /// 1: it is of a file, or lazily freed memory; 0: anonymous memory.
    file;
    /// 1: it has to be written before it is gone.
    dirty;
    /// Evictions between its own and its return; -1: it came for the first time, or its eviction
    /// was forgotten.
    distance;
    /// Pages on the lists of its group on its node.
    size;
    /// The group, in the order of the scenario; 0: the root.
    group;
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (nth, (name, value)) in Facts::NAMES.iter().zip(self.values()).enumerate() {
            let comma = if nth > 0 { ", " } else { "" };
            write!(f, "{comma}{name} {value}")?;
        }
        Ok(())
    }
}
