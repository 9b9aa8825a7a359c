//! The row of a counter: its name with all attributes, and its place in the files of the kernel.

use super::VmEvent;
use crate::base::rules::KernelRules;

/// Unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Pages of memory.
    Pages,
    /// KiB.
    KiB,
    /// Events, such as faults, calls and requests.
    Events,
    /// Blocks of pages of one order.
    Blocks,
    /// Pageblocks.
    Pageblocks,
    /// Objects of slabs.
    Objects,
    /// Simulated nanoseconds.
    Nanos,
}

impl Unit {
    /// As lists show it.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Pages => "pages",
            Unit::KiB => "KiB",
            Unit::Events => "events",
            Unit::Blocks => "blocks",
            Unit::Pageblocks => "pageblocks",
            Unit::Objects => "objects",
            Unit::Nanos => "ns",
        }
    }
}

/// The relation between a counter of a machine and that of a miniature, whose pages stand for several
/// each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
    /// It counts pages: times the pages that a page stands for.
    Pages,
    /// It counts pages that a scan meets, whose length depends on batches of pages.
    Scanned,
    /// None: it depends on who reclaims.
    Who,
    /// None: it counts batches and passes.
    Batches,
    /// None: it counts pages on their second look.
    Active,
    /// None: it counts blocks.
    Blocks,
    /// None: it is a time of single threads.
    Time,
    /// None: it counts draws of a workload.
    Drawn,
    /// None: it counts single events.
    Events,
}

/// A file of the kernel that has counters among other items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelFile {
    /// `/proc/vmstat`.
    Vmstat,
    /// `memory.stat` of a group.
    MemoryStat,
}

/// The place of a counter in a file of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// It is not there.
    Absent,
    /// It follows the row above it that is there, too.
    Next,
    /// It follows this item.
    After(&'static str),
}

/// A counter with its attributes.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The name in `/proc/vmstat`; `sim_` in front if Linux has none.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Relation of the counter of a miniature to that of the whole machine.
    pub transfer: Transfer,
    /// The counter that it never exceeds, and why: the kernel's function, or the model's rule.
    pub within: Option<(VmEvent, &'static str)>,
    /// True if only a policy that leaves shadows behind can count it: refaults and the events that
    /// follow from them.
    pub needs_shadows: bool,
    /// True of counters that recorded digests do not have. A digest leaves them out while they are
    /// zero, so that a counter that is added moves none.
    pub younger_than_digests: bool,
    /// True if lists for people leave it out beside others of its kind.
    pub minor: bool,
    /// True if groups have it in reports.
    pub of_groups: bool,
    /// True if charts over time keep it.
    pub in_series: bool,
    /// Place among the counters that comparisons show beside the figures; 0: it is not there.
    pub notable: u8,
    /// Place among the counters that people see of a trace; 0: it is not there.
    pub bench: u8,
    /// The rule of kernels that count it; `None`: all do.
    rule: Option<fn(&KernelRules) -> bool>,
    vmstat: Place,
    memory_stat: Place,
}

impl Counter {
    pub(super) const fn new(
        name: &'static str,
        doc: &'static str,
        unit: Unit,
        transfer: Transfer,
    ) -> Counter {
        let ours = matches!(name.as_bytes(), [b's', b'i', b'm', b'_', ..]);
        Counter {
            name,
            doc: doc.trim_ascii(),
            unit,
            transfer,
            within: None,
            needs_shadows: false,
            younger_than_digests: false,
            minor: false,
            of_groups: false,
            in_series: false,
            notable: 0,
            bench: 0,
            rule: None,
            vmstat: if ours { Place::Absent } else { Place::Next },
            memory_stat: Place::Absent,
        }
    }
    pub(super) const fn after(self, item: &'static str) -> Counter {
        Counter { vmstat: Place::After(item), ..self }
    }
    pub(super) const fn memory_stat(self) -> Counter {
        Counter { memory_stat: Place::Next, ..self }
    }
    pub(super) const fn memory_stat_after(self, item: &'static str) -> Counter {
        Counter { memory_stat: Place::After(item), ..self }
    }
    pub(super) const fn rule(self, counts: fn(&KernelRules) -> bool) -> Counter {
        Counter { rule: Some(counts), ..self }
    }
    pub(super) const fn within(self, whole: VmEvent, source: &'static str) -> Counter {
        Counter { within: Some((whole, source)), ..self }
    }
    pub(super) const fn shadows(self) -> Counter {
        Counter { needs_shadows: true, ..self }
    }
    pub(super) const fn younger(self) -> Counter {
        Counter { younger_than_digests: true, ..self }
    }
    pub(super) const fn minor(self) -> Counter {
        Counter { minor: true, ..self }
    }
    pub(super) const fn groups(self) -> Counter {
        Counter { of_groups: true, ..self }
    }
    pub(super) const fn series(self) -> Counter {
        Counter { in_series: true, ..self }
    }
    pub(super) const fn notable(self, place: u8) -> Counter {
        Counter { notable: place, ..self }
    }
    pub(super) const fn bench(self, place: u8) -> Counter {
        Counter { bench: place, ..self }
    }

    /// True if it has an item in that file of the kernel, on kernels that count it.
    pub fn is_in(&self, file: KernelFile) -> bool {
        match file {
            KernelFile::Vmstat => self.vmstat != Place::Absent,
            KernelFile::MemoryStat => self.memory_stat != Place::Absent,
        }
    }

    /// True if kernels with these rules count it.
    pub fn is_of(&self, rules: &KernelRules) -> bool {
        self.rule.is_none_or(|counts| counts(rules))
    }
}

/// Items of a file that are no counters, with blanks between them. They follow a counter, or stand at
/// the beginning.
pub type Others = (Option<VmEvent>, &'static str);

impl KernelFile {
    /// The items of the file in its order, counters and others. Those that follow the same item
    /// stand in order: others, then counters.
    ///
    /// # Panics
    /// A counter follows an item that is not there.
    pub fn items(self, others: &[Others]) -> Vec<&'static str> {
        let mut last = "";
        let mut counters = Vec::new();
        for row in VmEvent::ALL.iter().map(|e| e.row()) {
            let place = match self {
                KernelFile::Vmstat => row.vmstat,
                KernelFile::MemoryStat => row.memory_stat,
            };
            let after = match place {
                Place::Absent => continue,
                Place::Next => last,
                Place::After(item) => item,
            };
            counters.push((after, row.name));
            last = row.name;
        }
        let others: Vec<(&str, &'static str)> = others
            .iter()
            .flat_map(|(after, items)| {
                items.split(' ').map(|item| (after.map_or("", VmEvent::name), item))
            })
            .collect();
        // Items whose followers are still to be found, the next one on top.
        let (mut items, mut rest) = (Vec::new(), vec![""]);
        while let Some(item) = rest.pop() {
            if !item.is_empty() {
                items.push(item);
            }
            let following = others.iter().chain(&counters).filter(|(after, _)| *after == item);
            rest.extend(following.map(|(_, item)| *item).rev());
        }
        let all = others.len() + counters.len();
        assert_eq!(items.len(), all, "a counter follows an item that is not in the file");
        items
    }
}
