//! Memory that programs and caches hold by the files of a machine: anonymous, files, shared, locked.
//!
//! Shared memory is in three sums of `/proc/meminfo`: in Shmem, in Cached, and on the anonymous lists.
//! What is locked or otherwise unevictable is in Unevictable, and again in the sum of its kind. No file
//! tells of which kind it is, nor whose swap it is. So locked memory counts as anonymous first, other
//! unevictable memory as shared first, and swap is split by what is in memory.

use mmsim_base::error::{Error, ErrorKind};

use super::copies::{Copies, Text};
use super::facts::meminfo;
use super::note::{Note, Weight};
use super::options::Programs;

/// Kinds of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Programs,
    Shared,
    Files,
}

impl Of {
    pub(super) const ALL: [Of; 3] = [Of::Programs, Of::Shared, Of::Files];

    /// Its task, and its region in the task of locked memory.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Of::Programs => "programs",
            Of::Shared => "shared",
            Of::Files => "files",
        }
    }

    /// The kind of a region that is locked.
    pub(super) const fn region(self) -> &'static str {
        match self {
            Of::Programs => "anon",
            Of::Shared => "shmem",
            Of::Files => "file-shared",
        }
    }
}

/// Pages of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Pages {
    /// In memory, and reclaim may take them.
    pub(super) resident: u64,
    /// In swap.
    pub(super) swapped: u64,
    /// In memory, and unevictable.
    pub(super) locked: u64,
}

/// Memory of a machine or of a group, by kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pages: [Pages; 3],
    /// Sources of the sizes, by kind, and of what is locked.
    from: [&'static str; 3],
    pub(super) locked_from: &'static str,
}

/// Pages by kind, with what is locked still in them.
struct Sums {
    resident: [u64; 3],
    swapped: u64,
    /// Locked, and unevictable for another reason.
    unevictable: [u64; 2],
}

impl Sums {
    fn split(mut self) -> [Pages; 3] {
        let mut locked = [0; 3];
        let orders = [[Of::Programs, Of::Files, Of::Shared], [Of::Shared, Of::Files, Of::Programs]];
        for (mut left, order) in self.unevictable.into_iter().zip(orders) {
            for kind in order {
                let part = left.min(self.resident[kind as usize]);
                self.resident[kind as usize] -= part;
                locked[kind as usize] += part;
                left -= part;
            }
        }
        let [anon, shared, _] = self.resident;
        let part = u128::from(self.swapped) * u128::from(shared);
        let of_shared = part.checked_div(u128::from(anon) + u128::from(shared)).unwrap_or(0) as u64;
        let swapped = [self.swapped - of_shared, of_shared, 0];
        Of::ALL.map(|kind| {
            let i = kind as usize;
            Pages { resident: self.resident[i], swapped: swapped[i], locked: locked[i] }
        })
    }
}

impl Held {
    /// Memory of the group of a copy, or else of the machine.
    pub(super) fn of(copies: &Copies, notes: &mut Vec<Note>) -> Result<Held, Error> {
        if let Some(stat) = copies.get("group/memory.stat") {
            return of_group(copies, stat, notes);
        }
        let Some(text) = copies.get("proc/meminfo") else {
            let title = format!("`{}` has no proc/meminfo", copies.origin());
            let help = "it says how much anonymous memory and page cache there is: copy the machine \
                        by `mmsim import-system --script --workload`";
            return Err(Error::new(ErrorKind::File, title).help(help));
        };
        let of = |name: &str| Ok::<u64, Error>(meminfo(text, name)?.unwrap_or(0) / 4);
        let swapped = of("SwapTotal")?.saturating_sub(of("SwapFree")?);
        let (shmem, locked) = (of("Shmem")?, of("Mlocked")?);
        let files = (of("Cached")? + of("Buffers")?).saturating_sub(shmem);
        let others = of("Unevictable")?.saturating_sub(locked);
        let sums = Sums {
            resident: [of("AnonPages")?, shmem, files],
            swapped: swapped.saturating_sub(of("SwapCached")?),
            unevictable: [locked, others],
        };
        if of("ShmemHugePages")? > 0 {
            let why = "huge pages of shared memory are not modelled: it has pages of 4 KiB";
            notes.push(Note::new("proc/meminfo", "ShmemHugePages", why).weighing(Weight::Machine));
        }
        Ok(Held {
            pages: sums.split(),
            from: [
                "AnonPages and used swap of proc/meminfo",
                "Shmem and used swap of proc/meminfo",
                "Cached and Buffers less Shmem of proc/meminfo",
            ],
            locked_from: "Mlocked and Unevictable of proc/meminfo",
        })
    }

    /// Pages of a kind.
    pub(super) fn pages(&self, kind: Of) -> Pages {
        self.pages[kind as usize]
    }

    /// Source of the size of a task. `back`: pages of files come back.
    pub(super) fn source_of(&self, kind: Of, back: bool) -> String {
        let mib = |pages: u64| pages.div_ceil(256);
        let (Pages { resident, swapped, .. }, from) = (self.pages(kind), self.from[kind as usize]);
        match (kind, back) {
            (Of::Files, false) => format!("{} MiB: {from}.", mib(resident)),
            (Of::Files, true) => format!(
                "{} MiB in the cache: {from}. Pages come back, so the files are larger; assumed: by a \
                 quarter.",
                mib(resident)
            ),
            _ => {
                let size =
                    format!("{} MiB in memory and {} MiB in swap", mib(resident), mib(swapped));
                match self.pages(Of::Shared).swapped {
                    0 => format!("{size}: {from}."),
                    _ => format!("{size}: {from}, split by what is in memory."),
                }
            }
        }
    }
}

fn of_group(copies: &Copies, stat: &Text, notes: &mut Vec<Note>) -> Result<Held, Error> {
    let of = |name: &str| stat.item(name).map(|bytes| bytes / 4096);
    let (Some(anon), Some(file)) = (of("anon"), of("file")) else {
        return Err(stat.bad(1, "no `anon` or `file`", "all of memory.stat of cgroup v2"));
    };
    let swap = copies.get("group/memory.swap.current");
    let swapped = swap.and_then(|t| t.word().parse::<u64>().ok()).map(|bytes| bytes / 4096);
    if swapped.is_none() {
        let why = "what the group has in swap is not known: taken as nothing";
        let note = Note::new("group/memory.swap.current", "missing", why);
        notes.push(note.weighing(Weight::Machine));
    }
    if of("shmem_thp").unwrap_or(0) > 0 {
        let why = "huge pages of shared memory are not modelled: it has pages of 4 KiB";
        notes.push(Note::new("group/memory.stat", "shmem_thp", why).weighing(Weight::Machine));
    }
    let shmem = of("shmem").unwrap_or(0);
    let sums = Sums {
        resident: [anon, shmem, file.saturating_sub(shmem)],
        swapped: swapped.unwrap_or(0),
        unevictable: [of("unevictable").unwrap_or(0), 0],
    };
    Ok(Held {
        pages: sums.split(),
        from: [
            "`anon` of memory.stat and memory.swap.current of the group",
            "`shmem` of memory.stat and memory.swap.current of the group",
            "`file` less `shmem` of memory.stat of the group",
        ],
        locked_from: "`unevictable` of memory.stat of the group",
    })
}

/// Remarks on shared and locked memory, of which a machine without tasks has nothing.
pub(super) fn remarks(
    copies: &Copies,
    (programs, tasks): (Programs, bool),
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let file = "proc/meminfo";
    let Some(text) = copies.get(file) else { return Ok(()) };
    let of = |name: &str| Ok::<u64, Error>(meminfo(text, name)?.unwrap_or(0));
    let (total, shmem, unevictable) = (of("MemTotal")?, of("Shmem")?, of("Unevictable")?);
    for (name, kib) in [("Shmem", shmem), ("Unevictable", unevictable)] {
        if kib > total {
            let is = |l: &str| l.split(':').next() == Some(name);
            let line = text.text().lines().position(is).unwrap_or(0) + 1;
            let found = format!("{name} is {kib} kB, and MemTotal {total} kB");
            return Err(text.bad(line, found, "copies of one machine"));
        }
    }
    if programs == Programs::Held || tasks {
        return Ok(());
    }
    let mut note = |item: String, why: &str| {
        notes.push(Note::new(file, &item, why).weighing(Weight::Device));
    };
    if shmem > 0 {
        let why = "free here as all memory of programs, although files of tmpfs outlive these: \
                   `--workload` writes a task with shared memory";
        note(format!("Shmem {shmem} kB"), why);
    }
    if unevictable > 0 {
        let why = "free here as all memory of programs: `--workload` writes a task that locks its \
                   memory";
        note(format!("Unevictable {unevictable} kB"), why);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: 100 pages of 400 anonymous ones are locked, and 30 more are unevictable than are
    /// locked: 20 of shared memory and 10 of files. Swap is split as what is left in memory: all of it is
    /// of one kind, or 22 of 90 pages are of the 100 shared ones of 400.
    #[test]
    fn locked_memory_is_of_one_kind_and_swap_of_two() {
        let sums = Sums { resident: [400, 20, 50], swapped: 90, unevictable: [100, 30] };
        let of = |resident, swapped, locked| Pages { resident, swapped, locked };
        assert_eq!(sums.split(), [of(300, 90, 100), of(0, 0, 20), of(40, 0, 10)]);
        let sums = Sums { resident: [300, 100, 50], swapped: 90, unevictable: [310, 0] };
        assert_eq!(sums.split(), [of(0, 0, 300), of(100, 90, 0), of(40, 0, 10)]);
        let sums = Sums { resident: [300, 100, 50], swapped: 90, unevictable: [0, 0] };
        assert_eq!(sums.split(), [of(300, 68, 0), of(100, 22, 0), of(50, 0, 0)]);
    }
}
