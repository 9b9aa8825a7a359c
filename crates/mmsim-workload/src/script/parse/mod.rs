//! From lines to commands. Every number is checked against the regions, files and tables
//! that exist at that point of the list, so that a script that parses cannot go wrong
//! when it runs.

mod calls;
mod group;
mod operands;
mod set_up;

use super::lines::Words;
use super::setup::{ScriptSetup, SwapDevice};
use super::{
    Command, Ebizzy, Lazy, PageRange, ReadOnly, RegionKind, Script, ScriptError, TableRef, Via,
};
use crate::sampler::LinearMap;
use mmsim_core::base::time::SimDuration;
use mmsim_core::phys::gfp::MAX_PAGE_ORDER;
use mmsim_core::workload::{Advice, RegionId};
use std::collections::BTreeMap;

/// Files of the reference machine and their sizes in pages.
const FILES: [(&str, u32); 2] = [("/mnt/z", 131_072), ("/mnt/s", 65_536)];
/// No number of pages may be larger, be it of one region or of all that are mapped: it is the most
/// that a machine can number.
const MAX_PAGES: u32 = mmsim_core::workload::MOST_PAGES;
/// Ranks of all tables together at most. A rank takes up to 24 bytes as soon as the script is
/// carried out: 96 MiB, of which one line of a file could otherwise make gigabytes.
const MAX_RANKS: u64 = 1 << 22;
/// Different tables at most; they are looked for one after the other.
const MAX_TABLES: usize = 1000;
/// Snapshots at most: they are numbered in 16 bits.
const MAX_SNAPS: usize = u16::MAX as usize;

/// A region that is mapped at this point of the list.
#[derive(Clone, Copy)]
struct Region {
    pages: u32,
    kind: RegionKind,
}

/// State of the parse.
struct Parser {
    script: Script,
    regions: BTreeMap<u16, Region>,
    /// Tables by slot: position in `script.tables`.
    tables: BTreeMap<u16, u16>,
    null_blk: NullBlk,
    processes: group::Processes,
    /// True if memory has been touched: knobs that change afterwards are events.
    touched: bool,
}

/// The module null_blk and its queue, as far as they are set up.
struct NullBlk {
    rotational: bool,
    queue_depth: u32,
    ns: u64,
    wbt_lat_usec: Option<u64>,
}

impl NullBlk {
    fn device(&self) -> SwapDevice {
        let &NullBlk { rotational, queue_depth, ns, wbt_lat_usec } = self;
        SwapDevice::NullBlock { rotational, queue_depth, ns, wbt_lat_usec }
    }
}

/// Parses a command list.
pub(super) fn parse<S: AsRef<str>>(lines: &[S]) -> Result<Script, ScriptError> {
    let script = Script {
        setup: ScriptSetup::default(),
        commands: Vec::new(),
        child: None,
        processes: Vec::new(),
        contents: Vec::new(),
        files: Vec::new(),
        tables: Vec::new(),
        phases: Vec::new(),
        read_only: Vec::new(),
        not_yet: Vec::new(),
    };
    let mut p = Parser {
        script,
        regions: BTreeMap::new(),
        tables: BTreeMap::new(),
        null_blk: NullBlk { rotational: false, queue_depth: 64, ns: 50_000, wbt_lat_usec: None },
        processes: group::Processes::default(),
        touched: false,
    };
    for (i, line) in lines.iter().enumerate() {
        p.line(i, line.as_ref())?;
    }
    p.last_turn();
    for swap in &mut p.script.setup.swap {
        if swap.device != SwapDevice::Zram {
            swap.device = p.null_blk.device();
        }
    }
    Ok(p.script)
}

impl Parser {
    fn line(&mut self, line: usize, text: &str) -> Result<(), ScriptError> {
        if let Some("on" | "start") = text.split_whitespace().next() {
            return self.in_process(line, text);
        }
        if self.script.processes.is_empty() {
            return self.command(line, text);
        }
        // The first process does nothing before its turn.
        let before = self.script.commands.len();
        self.command(line, text)?;
        if self.script.commands.len() > before {
            let own = self.script.commands.split_off(before);
            self.turn_to(None);
            self.script.commands.extend(own);
        }
        Ok(())
    }

    /// A command of the process whose turn it is.
    fn command(&mut self, line: usize, text: &str) -> Result<(), ScriptError> {
        let mut w = Words::new(line, text);
        let Some(name) = w.optional() else {
            return Err(w.error(text, "an empty line; write one command a line"));
        };
        match name {
            "write" => self.write(line, &mut w)?,
            "trywrite" => self.try_write(&mut w)?,
            "spawn" => self.spawn(line, &mut w)?,
            // Its memory goes with the script's, which ends then.
            "killchild" => {}
            "zram" | "swapon" | "mount" | "mlockself" | "ballast" => {
                self.set_up(name, line, &mut w)?
            }
            "mkdir" => self.mkdir(&mut w)?,
            "process" => self.process(&mut w)?,
            "join" => self.join(&mut w)?,
            "wait" => self.wait(),
            "table" => self.table(&mut w)?,
            "contents" => self.contents(&mut w)?,
            "anon" | "file" | "shmem" | "unmap" => self.mapping(name, &mut w)?,
            "thp" => self.huge_pieces(&mut w)?,
            "snap" | "snapx" => self.snap(&mut w)?,
            "layout" | "resid" | "cached" | "val" | "childrss" | "damonregions" => {
                w.skip_rest();
                self.script.read_only.push(ReadOnly { line, text: text.into() });
            }
            "seed" => {
                let seed = w.usage("seed k").number("the seed", 0..=u64::MAX)?;
                self.script.commands.push(Command::Seed(seed));
            }
            "sleepms" => {
                let t = w.usage("sleepms t").number("milliseconds", 0..=1_000_000_000)?;
                self.script.commands.push(Command::Sleep(SimDuration::from_millis(t)));
            }
            _ => {
                let command = self.access(name, &mut w)?;
                self.script.commands.push(command);
                self.touched = true;
            }
        }
        w.end()
    }

    /// Commands that make accesses.
    fn access(&mut self, name: &str, w: &mut Words<'_>) -> Result<Command, ScriptError> {
        Ok(match name {
            "fill" => {
                let range = self.range(w.usage("fill region first count"))?;
                self.writable(range.region, w)?;
                Command::Fill(range)
            }
            "scan" => {
                let range = self.range(w.usage("scan region first count r|w [times]"))?;
                let write = match w.word("r or w")? {
                    "r" => false,
                    "w" => true,
                    other => return Err(w.error(other, "write r (read) or w (write)")),
                };
                if write {
                    self.writable(range.region, w)?;
                }
                let times = match w.optional() {
                    None => 1,
                    Some(t) => match t.parse() {
                        Ok(n) if n > 0 => n,
                        _ => return Err(w.error(t, "write how many times as a number from 1")),
                    },
                };
                Command::Scan { range, write, times }
            }
            "zipf" => {
                w.usage("zipf region table accesses write-permille mul add");
                let region = self.region(w)?;
                let table = self.table_slot(w)?;
                let accesses = w.number("accesses", 0..=u64::MAX)?;
                let write_permille = w.number("writes per thousand", 0..=1000)?;
                if write_permille > 0 {
                    self.writable(region, w)?;
                }
                let draw = self.draw(region, table, w)?;
                Command::Zipf { region, draw, accesses, write_permille }
            }
            "mixscan" => self.mixscan(w)?,
            "mix2" => {
                w.usage("mix2 rA tableA mulA addA rB tableB mulB addB accesses permille-B write-permille");
                let first = self.region(w)?;
                let table = self.table_slot(w)?;
                let first_draw = self.draw(first, table, w)?;
                let second = self.region(w)?;
                let table = self.table_slot(w)?;
                let second_draw = self.draw(second, table, w)?;
                let accesses = w.number("accesses", 0..=u64::MAX)?;
                let second_permille =
                    w.number("share of the second region in permille", 0..=1000)?;
                let write_permille = w.number("writes per thousand", 0..=1000)?;
                if write_permille > 0 {
                    self.writable(first, w)?;
                }
                Command::Mix2 {
                    first,
                    first_draw,
                    second,
                    second_draw,
                    accesses,
                    second_permille,
                    write_permille,
                }
            }
            "preadscan" => {
                let range = self.range(w.usage("preadscan region first count"))?;
                let file = self.file_behind(range.region, w)?;
                Command::PreadScan { file, first: range.first, count: range.count }
            }
            "direct" | "dontcache" | "fadvise" | "mlock" | "munlock" => self.call(name, w)?,
            "madvise" => {
                let usage = "madvise region first count populate_read|pageout|free|dontneed|remove";
                let range = self.range(w.usage(usage))?;
                let advice = match w.word("the advice")? {
                    "populate_read" => Advice::PopulateRead,
                    "pageout" => Advice::PageOut,
                    "remove" => Advice::Remove,
                    "free" => Advice::Free,
                    "dontneed" => Advice::DontNeed,
                    other => {
                        let known = "write populate_read, pageout, free, dontneed or remove";
                        return Err(w.error(other, known));
                    }
                };
                Command::Madvise(range, advice)
            }
            "lazy" => Command::Lazy(self.lazy(w)?),
            "ebizzy" => Command::Ebizzy(self.ebizzy(w)?),
            "punch" => {
                let region = self.region(w.usage("punch region period keep"))?;
                self.writable(region, w)?;
                let pages = self.regions[&region.0].pages;
                let period = w.number("the period", 1..=MAX_PAGES)?;
                let keep = w.number("pages to keep of a period", 0..=period)?;
                Command::Punch { region, pages, period, keep }
            }
            "hugepool" => {
                let most = MAX_PAGES >> 9;
                Command::HugePool(w.usage("hugepool pages").number("huge pages", 0..=most)?)
            }
            "pipes" => {
                let max = w.usage("pipes pages floor per").number("pages", 0..=MAX_PAGES.into())?;
                let floor = w.number("free pages to leave", 0..=u64::MAX)?;
                w.number("pages of a pipe", 1..=MAX_PAGES)?;
                Command::Pipes { max, floor }
            }
            "pring" => {
                let blocks =
                    w.usage("pring blocks order per hold").number("blocks", 0..=MAX_PAGES)?;
                let order = w.number("the order", 1..=MAX_PAGE_ORDER)?;
                let per = w.number("blocks of a socket", 1..=MAX_PAGES)?;
                let hold = w.number("0 (close) or 1 (hold)", 0..=1)? == 1;
                Command::Pring { blocks, order, per, hold }
            }
            "grow" => {
                w.usage("grow region max floor");
                let region = self.region(w)?;
                self.writable(region, w)?;
                let pages = self.regions[&region.0].pages;
                let max = w.number("the most pages (not above those of the region)", 0..=pages)?;
                let floor = w.number("free pages to leave", 0..=u64::MAX)?;
                Command::Grow { region, max, floor }
            }
            other => {
                return Err(w.error(
                    other,
                    "which is no command; write one of anon, file, unmap, table, seed, fill, scan, \
                     zipf, mixscan, mix2, preadscan, direct, dontcache, fadvise, mlock, \
                     munlock, madvise, lazy, ebizzy, grow, punch, hugepool, \
                     pipes, pring, sleepms, snap, snapx, write, zram, swapon, mount, mlockself, \
                     ballast, mkdir, process, on",
                ));
            }
        })
    }

    fn mixscan(&mut self, w: &mut Words<'_>) -> Result<Command, ScriptError> {
        w.usage("mixscan rZ table accesses mul add rS start len permille mmap|pread");
        let region = self.region(w)?;
        let table = self.table_slot(w)?;
        let accesses = w.number("accesses", 0..=u64::MAX)?;
        let draw = self.draw(region, table, w)?;
        let scanned = self.region(w)?;
        let first = w.number("the start of the pass", 0..=MAX_PAGES)?;
        let count = w.number("the cycle of the pass", 1..=self.regions[&scanned.0].pages)?;
        if first >= count {
            let found = first.to_string();
            return Err(
                w.error(&found, format!("a start beyond the cycle; write one below {count}"))
            );
        }
        let scan_permille = w.number("share of the pass in permille", 0..=1000)?;
        let via = match w.word("mmap or pread")? {
            "mmap" => Via::Mapping,
            "pread" => Via::Pread(self.file_behind(region, w)?, self.file_behind(scanned, w)?),
            other => return Err(w.error(other, "write mmap or pread")),
        };
        let scan = PageRange { region: scanned, first, count };
        Ok(Command::MixScan { region, draw, accesses, scan, scan_permille, via })
    }

    fn lazy(&mut self, w: &mut Words<'_>) -> Result<Lazy, ScriptError> {
        w.usage(
            "lazy arena pages chunk lag region table reads turns mul add free|dontneed|none first",
        );
        let arena = self.region(w)?;
        self.writable(arena, w)?;
        let pages = w.number("the pages of the arena", 1..=self.regions[&arena.0].pages)?;
        let chunk = w.number("the pages of a chunk", 1..=pages)?;
        let lag = w.number("the lag in turns", 0..=u64::from(u32::MAX))?;
        let region = self.region(w)?;
        let table = self.table_slot(w)?;
        let reads = w.number("reads a turn", 0..=u32::MAX)?;
        let turns = w.number("turns", 0..=u64::from(u32::MAX))?;
        let draw = self.draw(region, table, w)?;
        let advice = match w.word("free, dontneed or none")? {
            "free" => Some(Advice::Free),
            "dontneed" => Some(Advice::DontNeed),
            "none" => None,
            other => return Err(w.error(other, "write free, dontneed or none")),
        };
        let first = w.number("the number of the first turn", 0..=u64::from(u32::MAX))?;
        let chunks = pages / chunk;
        Ok(Lazy { arena, chunk, chunks, lag, region, draw, reads, first, turns, advice })
    }

    fn ebizzy(&mut self, w: &mut Words<'_>) -> Result<Ebizzy, ScriptError> {
        w.usage("ebizzy region table chunk turns mul buffer");
        let region = self.region(w)?;
        let table = self.table_slot(w)?;
        let (ranks, pages) =
            (self.script.tables[table as usize].ranks, self.regions[&region.0].pages);
        if ranks > pages {
            let found = format!("table of {ranks}");
            return Err(w.error(&found, format!("more ranks than the {pages} pages of the region")));
        }
        let chunk = w.number("the pages of a chunk", 1..=pages / ranks)?;
        let turns = w.number("turns", 0..=u64::from(u32::MAX))?;
        let map = LinearMap { mul: w.number("the multiplier", 0..=1 << 31)?, add: 0, n: ranks };
        let buffer = RegionId(self.new_region(w)?);
        Ok(Ebizzy { region, draw: TableRef { table, map }, chunk, turns, buffer })
    }

    fn snap(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let name = w.usage("snap name").word("the name")?;
        if self.script.phases.len() == MAX_SNAPS {
            return Err(w.error("one more snapshot", format!("write at most {MAX_SNAPS}")));
        }
        let i = self.script.phases.len() as u16;
        self.script.phases.push(name.into());
        self.script.commands.push(Command::Snap(i));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::setup::LruGen;

    fn error(lines: &[&str]) -> String {
        parse(lines).unwrap_err().to_string()
    }

    #[test]
    fn set_up_is_collected() {
        let s = parse(&[
            "write /sys/kernel/mm/lru_gen/enabled 7",
            "zram 4194304 5",
            "swapon /dev/nullb0 262144",
            "write /sys/block/nullb0/queue/rotational 1",
            "write /proc/sys/vm/lowmem_reserve_ratio 1 256 32 0 0",
            "write /proc/sys/vm/swappiness 60",
            "write /sys/kernel/mm/lru_gen/enabled 3",
            "mount ext4 /dev/pmem0 /mnt ro",
            "mlockself",
            "snapx boot",
            "ballast 65536",
        ])
        .unwrap();
        assert_eq!(s.setup.lru_gen, Some(LruGen::NoNonLeaf));
        let usual = SwapDevice::NullBlock {
            rotational: true,
            queue_depth: 64,
            ns: 50_000,
            wbt_lat_usec: None,
        };
        let [zram, null_blk] = &s.setup.swap[..] else { panic!("{:?}", s.setup.swap) };
        assert_eq!((zram.slots, zram.priority, zram.device), (1024, Some(5), SwapDevice::Zram));
        assert_eq!((null_blk.slots, null_blk.priority, null_blk.device), (262_144, None, usual));
        let twice = error(&["swapon /dev/nullb0 8", "swapon /dev/nullb0 8"]);
        assert!(twice.contains("it is in use"), "{twice}");
        assert_eq!(s.setup.ballast_free_pages, Some(65536));
        assert!(s.setup.mlock_self);
        assert_eq!(s.setup.sysctls["/proc/sys/vm/lowmem_reserve_ratio"], "1 256 32 0 0");
        assert_eq!(s.setup.sysctls["/proc/sys/vm/swappiness"], "60");
        assert_eq!(s.commands, [Command::Snap(0)]);
    }

    /// A tree, and two processes whose turns alternate with the first one's.
    #[test]
    fn processes_in_groups_take_turns() {
        let s = parse(&[
            "mount cgroup2 none /cg memory_recursiveprot",
            "mkdir /cg/a",
            "write /cg/a/cgroup.subtree_control +memory",
            "mkdir /cg/a/b",
            "write /cg/a/memory.max 409600",
            "write /cg/a/b/memory.low max",
            "process 1 /cg/a/b",
            "process 2 /cg/a",
            "on 2 write /proc/self/oom_score_adj -5",
            "snapx start",
            "on 1 anon 0 8",
            "on 1 fill 0 0 8",
            "on 2 anon 0 4",
            "sleepms 1",
            "write /cg/a/memory.reclaim 8192",
            "snap end",
        ])
        .unwrap();
        assert_eq!(s.setup.cgroup2.as_deref(), Some("memory_recursiveprot"));
        let [a, b] = &s.setup.groups[..] else { panic!("{:?}", s.setup.groups) };
        assert_eq!((a.path.as_str(), a.max, b.path.as_str()), ("a", Some(100), "a/b"));
        assert_eq!(b.low, mmsim_core::config::PAGE_COUNTER_MAX);
        let [first, second] = &s.processes[..] else { panic!("{:?}", s.processes) };
        assert_eq!((first.number, first.group, second.group), (1, Some(1), Some(0)));
        assert_eq!(second.oom_score_adj, -5);
        let map = |pages| Command::Map { region: RegionId(0), pages, kind: RegionKind::Anon };
        let fill = Command::Fill(PageRange { region: RegionId(0), first: 0, count: 8 });
        let meet = Command::Meet;
        assert_eq!(first.commands, [meet, map(8), fill, meet, meet, meet]);
        assert_eq!(second.commands, [meet, meet, map(4), meet, meet]);
        let reclaim = Command::Reclaim { memcg: mmsim_core::base::id::MemcgId(1), pages: 2 };
        let sleep = Command::Sleep(SimDuration::from_millis(1));
        let own = [Command::Snap(0), meet, meet, meet, sleep, reclaim, Command::Snap(1), meet];
        assert_eq!(s.commands, own);
        assert_eq!(s.pages().0, 2 * 512);
    }

    #[test]
    fn started_processes_go_on_until_the_first_waits() {
        let s = parse(&[
            "mount cgroup2 none /cg none",
            "mkdir /cg/a",
            "process 1 /cg/a",
            "process 2 -",
            "join /cg/a",
            "snapx start",
            "start 1 anon 0 8",
            "start 2 sleepms 1",
            "sleepms 2",
            "wait",
            "snapx end",
        ])
        .unwrap();
        assert_eq!(s.setup.joined, Some(0));
        let [first, second] = &s.processes[..] else { panic!("{:?}", s.processes) };
        assert_eq!((first.group, second.group), (Some(0), None));
        let map = Command::Map { region: RegionId(0), pages: 8, kind: RegionKind::Anon };
        let (meet, sleep) = (Command::Meet, |n| Command::Sleep(SimDuration::from_millis(n)));
        assert_eq!(first.commands, [meet, map, meet, meet]);
        assert_eq!(second.commands, [meet, sleep(1), meet, meet]);
        assert_eq!(s.commands, [Command::Snap(0), meet, sleep(2), meet, Command::Snap(1), meet]);
    }

    #[test]
    fn groups_that_cannot_be_are_refused() {
        let tree = ["mount cgroup2 none /cg none", "mkdir /cg/a", "process 1 /cg/a"];
        let said = |line: &str| error(&[&tree[..], &[line]].concat());
        for (line, what) in [
            ("mkdir /cg/b/c", "make /cg/b first"),
            ("mkdir /cg/a", "write a group that is not there yet"),
            ("mkdir /a", "write a path below /cg"),
            ("write /cg/b/memory.max 8192", "write a group that `mkdir` made"),
            ("write /cg/a/memory.peak 0", "write memory.reclaim, or before the first access"),
            ("write /cg/a/memory.max lots", "write bytes, or max"),
            ("process 1 /cg/a", "write another number"),
            ("on 2 anon 0 4", "write a process that `process` began"),
            ("on 1 snap a", "write anon, contents, file, shmem, unmap"),
            ("start 1 pin 0", "write anon, contents, file, shmem, unmap"),
            ("process 9 /cg/b", "write a group that `mkdir` made"),
            ("join /cg/b", "write a group that `mkdir` made"),
            ("on 1 fill 0 0 4", "a region that is not mapped here"),
            ("mount cgroup2 none /cg nsdelegate", "write memory_recursiveprot or"),
        ] {
            assert!(said(line).contains(what), "{line}: {}", said(line));
        }
        assert!(error(&["mkdir /cg/a"]).contains("where cgroup2 is mounted"));
    }

    #[test]
    fn what_is_not_modelled_is_listed() {
        let s = parse(&[
            "anon 0 160000",
            "grow 0 160000 2048",
            "layout 0 filled",
            "write /proc/sys/vm/swappiness 1",
            "spawn 2 400 0 0 2 1",
            "spawn 2 400 0",
        ])
        .unwrap();
        let commands: Vec<&str> = s.not_yet.iter().map(|n| n.command.as_str()).collect();
        let later = "write /proc/sys/vm/swappiness";
        assert_eq!(commands, [later, "spawn"]);
        assert_eq!(s.read_only, [ReadOnly { line: 2, text: "layout 0 filled".into() }]);
        let refused = s.workload().err().unwrap();
        assert_eq!(
            refused.to_string(),
            "script line 3: `write /proc/sys/vm/swappiness` is not modelled yet: a knob that \
             changes while the workload runs"
        );
    }

    #[test]
    fn commands_that_fragment_and_ask_for_blocks() {
        let s = parse(&[
            "anon 0 16",
            "punch 0 4 1",
            "pipes 40000 2048 256",
            "hugepool 400",
            "thp 2 400",
            "pring 3000 3 8 1",
            "write /proc/sys/vm/compact_memory 1",
        ])
        .unwrap();
        assert_eq!(
            s.commands[1..],
            [
                Command::Punch { region: RegionId(0), pages: 16, period: 4, keep: 1 },
                Command::Pipes { max: 40_000, floor: 2048 },
                Command::HugePool(400),
                Command::Thp { region: RegionId(2), pieces: 400 },
                Command::Pring { blocks: 3000, order: 3, per: 8, hold: true },
                Command::CompactMemory,
            ]
        );
        assert_eq!(
            error(&["anon 0 16", "punch 0 4 5"]),
            "script line 1: found `5`, write pages to keep of a period as a number from 0 to 4"
        );
        assert_eq!(
            error(&["anon 0 16", "thp 0 4"]),
            "script line 1: found `0`, a region that is mapped already; write another or unmap it"
        );
        assert_eq!(
            error(&["pring 8 11 8 1"]),
            "script line 0: found `11`, write the order as a number from 1 to 10"
        );
        assert_eq!(
            error(&["write /proc/sys/vm/compact_memory 2"]),
            "script line 0: found `2`, write 1, all that compact_memory takes"
        );
    }

    #[test]
    fn errors_say_where_and_what_to_write() {
        assert_eq!(
            error(&["anon 0 100", "fill 0 90 11"]),
            "script line 1: found `11`, write the number of pages as a number from 1 to 10"
        );
        assert_eq!(
            error(&["anon 0"]),
            "script line 0: found `anon 0`, which lacks pages; write `anon region pages`"
        );
        assert_eq!(
            error(&["seed 1 2"]),
            "script line 0: found `2`, which is too much; write `seed k`"
        );
        assert_eq!(
            error(&["fill 3 0 1"]),
            "script line 0: found `3`, a region that is not mapped here; map it with anon, file or shmem"
        );
        assert_eq!(
            error(&["file 0 /mnt/z 10 normal", "fill 0 0 1"]),
            "script line 1: found `0`, a file, which is mapped read-only; write an anon region"
        );
        assert_eq!(
            error(&["anon 0 10", "table 1 20 0.9", "zipf 0 1 5 0 1 0"]),
            "script line 2: found `table of 20`, more ranks than the 10 pages of the region"
        );
        let depth = "trywrite /sys/module/null_blk/parameters/hw_queue_depth";
        assert_eq!(
            error(&[&format!("{depth} 0")]),
            "script line 0: found `0`, write requests at once as a number from 1 to 10240"
        );
        assert_eq!(
            error(&[&format!("{depth} 8 9")]),
            "script line 0: found `9`, which is too much; write `trywrite path value`"
        );
        assert_eq!(
            error(&["trywrite /sys/module/null_blk/parameters/completion_nsec 2s"]),
            "script line 0: found `2s`, write ns as a number from 1 to 1000000000"
        );
        assert_eq!(
            error(&["trywrite /sys/module/null_blk/parameters/gb 1"]),
            "script line 0: found `/sys/module/null_blk/parameters/gb`, write a file of DAMON, \
             hw_queue_depth or completion_nsec of null_blk, or `write` for others"
        );
        assert_eq!(
            error(&["write /sys/block/nullb0/queue/wbt_lat_usec 2ms"]),
            "script line 0: found `2ms`, write µs from 0 to 10000000"
        );
        assert!(error(&["swap 3"]).starts_with("script line 0: found `swap`, which is no command"));
        assert!(error(&["table 0 10 warm"]).contains("write theta as a number from 0 to 100"));
        assert_eq!(
            error(&["table 0 4194303 0.5", "table 1 4194303 0.5", "table 1 2 0.5"]),
            "script line 2: found `2 ranks, with 4194303 before`, write at most 4194304 over all \
             tables"
        );
        let many = |line: &dyn Fn(u32) -> String| {
            let lines: Vec<String> = (0..65_536).map(line).collect();
            parse(&lines).unwrap_err().to_string()
        };
        assert_eq!(
            many(&|_| "snap a".into()),
            "script line 65535: found `one more snapshot`, write at most 65535"
        );
        assert_eq!(
            many(&|i| format!("table 0 1 {}", f64::from(i) / 1000.0)),
            "script line 1000: found `one more table`, write at most 1000 different ones"
        );
        assert!(error(&["anon 0 5", "unmap 0", "scan 0 0 1 r"]).contains("not mapped"));
        assert!(error(&["anon 0 5", "anon 0 5"]).contains("mapped already"));
        assert!(error(&["anon 0 5", "preadscan 0 0 5"]).contains("no descriptor"));
        assert!(error(&[""]).contains("empty line"));
        let lazy = |words: &str| {
            let last = format!("lazy {words}");
            error(&["anon 0 64", "file 1 /mnt/z 64 normal", "table 0 64 0.9", &last])
        };
        assert_eq!(
            lazy("0 32 33 0 1 0 4 10 1 0 free 0"),
            "script line 3: found `33`, write the pages of a chunk as a number from 1 to 32"
        );
        assert_eq!(
            lazy("1 32 8 0 1 0 4 10 1 0 free 0"),
            "script line 3: found `1`, a file, which is mapped read-only; write an anon region"
        );
        assert_eq!(
            lazy("0 32 8 0 1 0 4 10 1 0 cold 0"),
            "script line 3: found `cold`, write free, dontneed or none"
        );
        assert!(lazy("0 32 8 0 1 0 4 10 1 0 free").contains("which lacks"));
        let ebizzy =
            |words: &str| error(&["anon 0 64", "table 0 8 0.9", &format!("ebizzy {words}")]);
        assert_eq!(
            ebizzy("0 0 9 3 5 1"),
            "script line 2: found `9`, write the pages of a chunk as a number from 1 to 8"
        );
        assert_eq!(
            ebizzy("0 0 8 3 5 0"),
            "script line 2: found `0`, a region that is mapped already; write another or unmap it"
        );
        assert!(ebizzy("0 0 8 3 5").contains("write `ebizzy region table chunk turns mul buffer`"));
    }
}
