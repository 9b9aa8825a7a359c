//! The lines in which init prints a recording on the serial console:
//!
//! ```text
//! @kernel 6.12.117+deb12-amd64
//! @cpus 1                                            its CPUs
//! @script seed 1                                     a line of the script
//! @snap access1 759357516 pgfault=31727 ..           a phase: its nanoseconds, what was counted
//! @gauges access1 nr_free_pages=1238 ..              values at its end
//! @result hugepool got=102                           what a command returned
//! @look t1 child 66069 0 24945                       the child's resident and swapped, free pages
//! @look t1 numbers 7 4096                            numbers that stand in files
//! @look t1 regions 1082 0:2072:20:13 ..              milliseconds; DAMON's regions by first page
//! @group start a/b memory.current=9 | pgscan=4      a group: sizes at its end, what was counted
//! @zone start DMA32 82768 61736 555 693 831 201 82 15 0 0   managed, free, watermarks, the
//!                                                    CPU's list (count high batch), reserve
//! @error ..                                          what stopped it
//! @done                                              or @held, where the machine is looked at
//! ```
//!
//! The firmware and the kernel print on the same line; what does not begin with `@` is theirs.

use std::fmt;

use crate::counters::COUNTERS;
use crate::groups::{Group, Groups};
use crate::vmstat::Vmstat;
use crate::zones::Zone;

/// Values that are recorded at the end of a phase.
pub const GAUGES: [&str; 19] = [
    "nr_free_pages",
    "nr_inactive_anon",
    "nr_active_anon",
    "nr_inactive_file",
    "nr_active_file",
    "nr_unevictable",
    "nr_shmem",
    "nr_file_pages",
    "nr_mapped",
    "nr_page_table_pages",
    "nr_slab_reclaimable",
    "nr_slab_unreclaimable",
    "nr_swapcached",
    "workingset_nodes",
    "nr_kernel_stack",
    "nr_zspages",
    "zswap_pool_pages",
    "zswap_stored_pages",
    "zswap_stored_incompressible_pages",
];

/// Files of zswap in debugfs, by which name their number is recorded, and how much is one of it.
pub const ZSWAP: [(&str, &str, u64); 7] = [
    ("pool_total_size", "zswap_pool_pages", 4096),
    ("stored_pages", "zswap_stored_pages", 1),
    ("stored_incompressible_pages", "zswap_stored_incompressible_pages", 1),
    ("pool_limit_hit", "zswap_pool_limit_hit", 1),
    ("reject_compress_fail", "zswap_reject_compress_fail", 1),
    ("reject_alloc_fail", "zswap_reject_alloc_fail", 1),
    ("reject_reclaim_fail", "zswap_reject_reclaim_fail", 1),
];

/// Contents of one snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Nanoseconds since the snapshot before.
    pub ns: u64,
    /// By how much counters rose; those that did not are left out.
    pub counters: Vmstat,
    /// Values at its end; those that are 0 are left out.
    pub gauges: Vmstat,
    /// Zones at its end, if requested.
    pub zones: Vec<Zone>,
    /// Groups by path, if there are any.
    pub groups: Groups,
}

impl Phase {
    /// Difference of two readings.
    pub fn between(name: &str, ns: u64, before: &Vmstat, after: &Vmstat) -> Phase {
        let value = |all: &Vmstat, k: &str| all.get(k).copied().unwrap_or(0);
        let some = |names: &[&str], f: &dyn Fn(&str) -> u64| {
            let pairs = names.iter().map(|k| (k.to_string(), f(k)));
            pairs.filter(|(_, n)| *n > 0).collect()
        };
        Phase {
            name: name.into(),
            ns,
            counters: some(COUNTERS, &|k| value(after, k).saturating_sub(value(before, k))),
            gauges: some(&GAUGES, &|k| value(after, k)),
            zones: Vec::new(),
            groups: Groups::new(),
        }
    }
    /// A counter.
    pub fn counted(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Phase { name, ns, counters, gauges, zones, groups } = self;
        write!(f, "@snap {name} {ns}")?;
        counters.iter().try_for_each(|(k, n)| write!(f, " {k}={n}"))?;
        write!(f, "\n@gauges {name}")?;
        gauges.iter().try_for_each(|(k, n)| write!(f, " {k}={n}"))?;
        writeln!(f)?;
        groups.iter().try_for_each(|(p, g)| writeln!(f, "@group {name} {p}{}", g.words()))?;
        zones.iter().try_for_each(|z| writeln!(f, "@zone {name} {z}"))
    }
}

/// A region of DAMON's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// First page, counted from that of the child's region; it may lie before it.
    pub start: i64,
    /// Pages.
    pub pages: u64,
    /// Samples that found it accessed, in one aggregation.
    pub nr_accesses: u64,
    /// Aggregations.
    pub age: u64,
}

/// Observation of a command that only looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look {
    /// The child, in pages.
    Child {
        /// Its resident anonymous pages.
        resident: u64,
        /// Its swapped pages.
        swapped: u64,
        /// Free pages of the machine.
        free: u64,
    },
    /// Numbers that stand in files, in order.
    Numbers(Vec<u64>),
    /// DAMON's regions, with the milliseconds since the first look at them.
    Regions {
        /// Milliseconds.
        ms: u64,
        /// In order of address.
        regions: Vec<Region>,
    },
}

impl Look {
    /// Its line.
    pub fn labelled(&self, label: &str) -> String {
        let words = |all: &[u64]| all.iter().map(|n| format!(" {n}")).collect::<String>();
        match self {
            Look::Child { resident, swapped, free } => {
                format!("@look {label} child {resident} {swapped} {free}")
            }
            Look::Numbers(all) => format!("@look {label} numbers{}", words(all)),
            Look::Regions { ms, regions } => {
                let one =
                    |r: &Region| format!(" {}:{}:{}:{}", r.start, r.pages, r.nr_accesses, r.age);
                format!("@look {label} regions {ms}{}", regions.iter().map(one).collect::<String>())
            }
        }
    }

    fn read(rest: &str) -> Option<(String, Look)> {
        let mut words = rest.split_whitespace();
        let (label, kind) = (words.next()?.to_string(), words.next()?);
        let numbers = |all: std::str::SplitWhitespace<'_>| {
            all.map(|w| w.parse().ok()).collect::<Option<Vec<u64>>>()
        };
        let look = match kind {
            "child" => {
                let [resident, swapped, free] = numbers(words)?[..] else { return None };
                Look::Child { resident, swapped, free }
            }
            "numbers" => Look::Numbers(numbers(words)?),
            "regions" => {
                let ms = words.next()?.parse().ok()?;
                let one = |w: &str| {
                    let (start, rest) = w.split_once(':')?;
                    let all =
                        rest.split(':').map(|n| n.parse().ok()).collect::<Option<Vec<u64>>>()?;
                    let [pages, nr_accesses, age] = all[..] else { return None };
                    Some(Region { start: start.parse().ok()?, pages, nr_accesses, age })
                };
                Look::Regions { ms, regions: words.map(one).collect::<Option<_>>()? }
            }
            _ => return None,
        };
        Some((label, look))
    }
}

/// A whole run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// `uname -r`.
    pub kernel: String,
    /// Number of CPUs, 0 if it was not printed.
    pub cpus: u64,
    /// The commands.
    pub script: Vec<String>,
    /// The snapshots, in order.
    pub phases: Vec<Phase>,
    /// Results of commands, in order: the command, and values by name.
    pub results: Vec<(String, Vmstat)>,
    /// Observations of commands that only look, by label and in order.
    pub looks: Vec<(String, Look)>,
}

impl Recording {
    /// Reads what the machine printed.
    ///
    /// # Errors
    /// It reports an error, did not come to its end, or prints what is not of this form.
    pub fn read(text: &str) -> Result<Recording, String> {
        let mut all = Recording::default();
        for (i, line) in text.lines().enumerate() {
            // The firmware's last line has no end.
            let Some(at) = line.find('@') else { continue };
            let line = line[at..].trim_end();
            let bad = || format!("line {}: `{line}` is not of the form of a recording", i + 1);
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            match kind {
                "@kernel" => all.kernel = rest.into(),
                "@cpus" => all.cpus = rest.parse().map_err(|_| bad())?,
                "@script" => all.script.push(rest.into()),
                "@snap" => all.phases.push(snap(rest).ok_or_else(bad)?),
                "@gauges" => {
                    let phase = all.phases.last_mut().ok_or_else(bad)?;
                    let mut words = rest.split_whitespace();
                    if words.next() != Some(&phase.name) {
                        return Err(bad());
                    }
                    phase.gauges = pairs(words).ok_or_else(bad)?;
                }
                "@zone" => {
                    let phase = all.phases.last_mut().ok_or_else(bad)?;
                    let (_, zone) = rest.split_once(' ').ok_or_else(bad)?;
                    phase.zones.push(Zone::read(zone).ok_or_else(bad)?);
                }
                "@group" => {
                    let phase = all.phases.last_mut().ok_or_else(bad)?;
                    let (_, rest) = rest.split_once(' ').ok_or_else(bad)?;
                    let (path, words) = rest.split_once(' ').ok_or_else(bad)?;
                    let group = Group::read(words).ok_or_else(bad)?;
                    phase.groups.insert(path.into(), group);
                }
                "@result" => {
                    let (command, values) = rest.split_once(' ').ok_or_else(bad)?;
                    let values = pairs(values.split_whitespace()).ok_or_else(bad)?;
                    all.results.push((command.into(), values));
                }
                "@look" => all.looks.push(Look::read(rest).ok_or_else(bad)?),
                "@error" => return Err(format!("the machine stopped: {rest}")),
                "@done" | "@held" => return Ok(all),
                _ => {}
            }
        }
        Err("the machine did not come to its end".into())
    }
}

fn snap(rest: &str) -> Option<Phase> {
    let mut words = rest.split_whitespace();
    let name = words.next()?.to_string();
    let ns = words.next()?.parse().ok()?;
    Some(Phase { name, ns, counters: pairs(words)?, ..Phase::default() })
}

fn pairs<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vmstat> {
    let pair = |w: &str| w.split_once('=').and_then(|(k, n)| Some((k.into(), n.parse().ok()?)));
    words.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vmstat;

    #[test]
    fn a_phase_is_what_lies_between_two_readings() {
        let before = vmstat::read("nr_free_pages 900\npgfault 10\npswpin 3\nnr_mlock 1\n");
        let after = vmstat::read("nr_free_pages 800\npgfault 15\npswpin 3\nnr_mlock 9\n");
        let phase = Phase::between("a", 7, &before, &after);
        assert_eq!(phase.to_string(), "@snap a 7 pgfault=5\n@gauges a nr_free_pages=800\n");
    }

    #[test]
    fn recordings_are_read_past_what_others_print() {
        let text = "\x1b[2JBooting from ROM..@kernel 6.12\r\n@script seed 1\r\n[ 1.0] noise\n\
                    @snap a 7 pgfault=5\n@gauges a nr_free_pages=800\n\
                    @zone a DMA 3840 3808 26 32 38 0 0 1 0 316\n\
                    @result thp tried=9 got=4\n@look t1 child 9 1 800\n@look t1 numbers 7 4096\n\
                    @look t1 regions 5 -8:2072:20:13 2072:3:0:1\n@done\n[ 4.2] Power down";
        let all = Recording::read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((all.kernel.as_str(), all.script.join("|")), ("6.12", "seed 1".into()));
        assert_eq!(all.phases[0].counted("pgfault"), 5);
        assert_eq!(all.phases[0].gauges["nr_free_pages"], 800);
        assert_eq!(all.phases[0].zones[0].reserve, [0, 316]);
        assert_eq!((all.results[0].0.as_str(), all.results[0].1["got"]), ("thp", 4));
        let lines: Vec<String> =
            all.looks.iter().map(|(label, look)| look.labelled(label)).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|l| text.contains(l)), "{lines:?}");
    }

    #[test]
    fn what_ended_early_is_no_recording() {
        for (text, what) in [
            ("@kernel 6.12\n", "did not come to its end"),
            ("@error line 3: no\n@done", "the machine stopped: line 3: no"),
            ("@snap a x\n@held", "line 1: `@snap a x` is not of the form"),
        ] {
            let said = Recording::read(text).expect_err(text);
            assert!(said.contains(what), "{said}");
        }
    }
}
