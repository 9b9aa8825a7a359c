//! Commands that set the machine up, map memory and begin children.

use super::{FILES, MAX_PAGES, MAX_RANKS, MAX_TABLES, Parser, Region};
use crate::script::lines::Words;
use crate::script::setup::{LruGen, ScriptSwap, SwapDevice};
use crate::script::{Child, Command, NotYet, RegionKind, ScriptError, Sweep, TableSpec};
use mmsim_core::base::time::SimDuration;
use mmsim_core::config::ZswapConfig;
use mmsim_core::workload::{Note, RegionId, ShmemSpec};

impl Parser {
    /// `write path value`.
    pub(super) fn write(&mut self, line: usize, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let path = w.usage("write path value").word("the path")?;
        let first = w.word("the value")?;
        let mut value = first.to_string();
        while let Some(more) = w.optional() {
            value.push(' ');
            value.push_str(more);
        }
        if path.starts_with("/cg/") {
            return self.write_group(path, &value, w);
        }
        if path.ends_with("/compact_memory") {
            self.script.commands.push(Command::CompactMemory);
            self.touched = true;
            return match first {
                "1" => Ok(()),
                other => Err(w.error(other, "write 1, all that compact_memory takes")),
            };
        }
        if let Some(file) = damon_file(path) {
            return self.damon(file, value, w);
        }
        let why =
            if self.touched { Some("a knob that changes while the workload runs") } else { None };
        if let Some(why) = why {
            self.script.not_yet.push(NotYet { line, command: format!("write {path}"), why });
        } else if let Some(parameter) = path.strip_prefix("/sys/module/zswap/parameters/") {
            self.zswap(parameter, first, w)?;
        } else if path.ends_with("/lru_gen/enabled") {
            self.script.setup.lru_gen = Some(match first {
                "0" => LruGen::Classic,
                "1" => LruGen::NoWalk,
                "3" => LruGen::NoNonLeaf,
                "7" => LruGen::Full,
                other => return Err(w.error(other, "write 0 (classic), 1, 3 or 7 (MGLRU in full)")),
            });
        } else {
            match path.strip_prefix("/sys/block/nullb0/queue/") {
                Some("rotational") => self.null_blk.rotational = first == "1",
                Some("wbt_lat_usec") => {
                    let us = first.parse().ok().filter(|&us| us <= 10_000_000);
                    let us = us.ok_or_else(|| w.error(first, "write µs from 0 to 10000000"))?;
                    self.null_blk.wbt_lat_usec = Some(us);
                }
                _ => {}
            }
            self.script.setup.sysctls.insert(path.into(), value);
        }
        Ok(())
    }

    /// A parameter of zswap.
    fn zswap(&mut self, name: &str, value: &str, w: &Words<'_>) -> Result<(), ScriptError> {
        let percent = |least: u32| {
            let n = value.parse().ok().filter(|n| (least..=100).contains(n));
            n.ok_or_else(|| w.error(value, format!("write per cent from {least} to 100")))
        };
        let flag = || match value {
            "Y" | "N" => Ok(value == "Y"),
            _ => Err(w.error(value, "write Y or N")),
        };
        let off = || ZswapConfig { enabled: false, ..ZswapConfig::linux() };
        let zswap = self.script.setup.zswap.get_or_insert_with(off);
        match name {
            "enabled" => zswap.enabled = flag()?,
            "shrinker_enabled" => zswap.shrinker = flag()?,
            "max_pool_percent" => zswap.max_pool_percent = percent(0)?,
            "accept_threshold_percent" => zswap.accept_threshold_percent = percent(0)?,
            // Lengths of pages are known of lzo alone, the compressor of distributions.
            "compressor" if value == "lzo" => {}
            "compressor" => return Err(w.error(value, "write lzo")),
            _ => {
                let what = "write enabled, compressor, max_pool_percent, shrinker_enabled or \
                            accept_threshold_percent";
                return Err(w.error(name, what));
            }
        }
        Ok(())
    }

    /// `trywrite path value`: as `write`, but may fail.
    pub(super) fn try_write(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let path = w.usage("trywrite path value").word("the path")?;
        match path.strip_prefix("/sys/module/null_blk/parameters/") {
            Some("hw_queue_depth") => {
                self.null_blk.queue_depth = w.number("requests at once", 1..=10_240)?;
                return Ok(());
            }
            Some("completion_nsec") => {
                self.null_blk.ns = w.number("ns", 1..=1_000_000_000)?;
                return Ok(());
            }
            _ => {}
        }
        let value = w.word("the value")?;
        if path.starts_with("/cg/") {
            return self.write_group(path, value, w);
        }
        match damon_file(path) {
            Some(file) => self.damon(file, value.into(), w),
            None => Err(w.error(
                path,
                "write a file of DAMON, hw_queue_depth or completion_nsec of null_blk, or \
                 `write` for others",
            )),
        }
    }

    /// A value for a file of DAMON: a command of its own, or set-up of the monitor.
    pub(super) fn damon(
        &mut self,
        file: String,
        value: String,
        w: &Words<'_>,
    ) -> Result<(), ScriptError> {
        let command = match (file.as_str(), value.as_str()) {
            ("state", "on") | ("damon_reclaim/enabled", "Y" | "y" | "1") => Command::KdamondOn,
            ("state", "update_schemes_tried_regions") => Command::KdamondNote(Note::Regions),
            ("state", "update_schemes_stats") => Command::KdamondNote(Note::Stats),
            ("state", other) => {
                let instead = "write on, update_schemes_stats or update_schemes_tried_regions";
                return Err(w.error(other, instead));
            }
            _ => {
                self.script.setup.damon.insert(file, value);
                return Ok(());
            }
        };
        self.script.commands.push(command);
        Ok(())
    }

    /// `spawn n tick_us ticks (start count every)...`.
    pub(super) fn spawn(&mut self, line: usize, w: &mut Words<'_>) -> Result<(), ScriptError> {
        w.usage("spawn pages tick_us ticks start count every ...");
        let pages = w.number("pages", 1..=MAX_PAGES)?;
        let tick = SimDuration::from_micros(w.number("us of a tick", 1..=1_000_000_000)?);
        let ticks = w.number("ticks (0: without end)", 0..=u64::from(u32::MAX))?;
        let mut sweeps = Vec::new();
        while let Some(word) = w.optional() {
            let Some(start) = word.parse().ok().filter(|&s: &u32| s < pages) else {
                return Err(w.error(word, format!("write the first page, below {pages}")));
            };
            let count = w.number("pages (within the region)", 1..=pages - start)?;
            let every = w.number("ticks of a pass", 1..=u32::MAX)?;
            sweeps.push(Sweep { start, count, every });
        }
        if self.script.child.is_some() {
            let why = "a second child";
            self.script.not_yet.push(NotYet { line, command: "spawn".into(), why });
            return Ok(());
        }
        self.script.child = Some(Child { pages, tick, ticks, sweeps });
        self.script.commands.push(Command::Spawn);
        self.touched = true;
        Ok(())
    }

    /// The other commands that prepare the machine.
    pub(super) fn set_up(
        &mut self,
        name: &str,
        line: usize,
        w: &mut Words<'_>,
    ) -> Result<(), ScriptError> {
        // What a child takes is no part of the ballast: it is left as much as it is left here.
        if self.touched && !(name == "ballast" && self.script.child.is_some()) {
            let why = "set-up after the workload has begun";
            self.script.not_yet.push(NotYet { line, command: name.into(), why });
            w.skip_rest();
            return Ok(());
        }
        let setup = &mut self.script.setup;
        match name {
            "zram" => {
                w.usage("zram bytes [priority]");
                let bytes: u64 = w.number("bytes", 8192..=u64::from(u32::MAX) << 12)?;
                let (slots, priority) =
                    ((bytes / 4096) as u32, w.optional_number("the priority", 0..=32_767)?);
                setup.swap.push(ScriptSwap { slots, priority, device: SwapDevice::Zram });
            }
            "swapon" => {
                match w.usage("swapon /dev/nullb0 slots [priority]").word("the device")? {
                    "/dev/nullb0" if setup.swap.iter().all(|s| s.device == SwapDevice::Zram) => {}
                    other @ "/dev/nullb0" => {
                        return Err(w.error(other, "it is in use; write zram for another device"));
                    }
                    other => return Err(w.error(other, "write /dev/nullb0, the only device here")),
                }
                let slots = w.number("slots", 2..=u32::MAX)?;
                let priority = w.optional_number("the priority", 0..=32_767)?;
                let device = self.null_blk.device();
                setup.swap.push(ScriptSwap { slots, priority, device });
            }
            "mount" => {
                let fs = w.usage("mount type device directory options").word("the type")?;
                let device = w.word("the device")?;
                if fs == "cgroup2" {
                    w.word("the folder")?;
                    let known = ["memory_recursiveprot", "memory_localevents", "none"];
                    let options = w.word("the options")?;
                    if !known.contains(&options) {
                        return Err(w.error(options, format!("write {}", known.join(" or "))));
                    }
                    setup.cgroup2 = Some(options.into());
                } else {
                    setup.mount = Some((fs.into(), device.into()));
                    w.skip_rest();
                }
            }
            "ballast" => {
                let free = w.usage("ballast free-pages").number("free pages", 0..=u64::MAX)?;
                setup.ballast_free_pages = Some(free);
            }
            _ => setup.mlock_self = true,
        }
        Ok(())
    }

    pub(super) fn table(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let slot = w.usage("table slot ranks theta").number("the slot", 0..=u16::MAX)?;
        let ranks = w.number("the number of ranks", 1..=MAX_RANKS as u32)?;
        let theta = w.number("theta", 0.0..=100.0)?;
        let spec = TableSpec { ranks, theta };
        let tables = &mut self.script.tables;
        let known = tables.iter().position(|t| *t == spec);
        let before: u64 = tables.iter().map(|t| u64::from(t.ranks)).sum();
        if known.is_none() && before + u64::from(ranks) > MAX_RANKS {
            let found = format!("{ranks} ranks, with {before} before");
            return Err(w.error(&found, format!("write at most {MAX_RANKS} over all tables")));
        }
        if known.is_none() && tables.len() == MAX_TABLES {
            let instead = format!("write at most {MAX_TABLES} different ones");
            return Err(w.error("one more table", instead));
        }
        let at = known.unwrap_or_else(|| {
            tables.push(spec);
            tables.len() - 1
        });
        self.tables.insert(slot, at as u16);
        Ok(())
    }

    pub(super) fn mapping(&mut self, name: &str, w: &mut Words<'_>) -> Result<(), ScriptError> {
        w.usage(match name {
            "anon" => "anon region pages",
            "shmem" => "shmem region name pages",
            "file" => "file region path pages random|normal",
            _ => "unmap region",
        });
        if name == "unmap" {
            let region = self.region(w)?;
            self.regions.remove(&region.0);
            self.script.commands.push(Command::Unmap { region });
            return Ok(());
        }
        let number = self.new_region(w)?;
        let (pages, kind) = if name == "anon" {
            (w.number("pages", 1..=MAX_PAGES)?, RegionKind::Anon)
        } else if name == "shmem" {
            let path = format!("/shm/{}", w.word("the name")?);
            let pages = w.number("pages", 1..=MAX_PAGES)?;
            let file = self.file(&path, pages);
            let spec = &mut self.script.files[usize::from(file.0)];
            spec.pages = spec.pages.max(pages);
            spec.shmem = Some(ShmemSpec { stays: true, ..ShmemSpec::default() });
            (pages, RegionKind::Shmem(file))
        } else {
            let path = w.word("the path")?;
            let Some(&(_, size)) = FILES.iter().find(|(p, _)| *p == path) else {
                return Err(w.error(path, "which is no file here; write /mnt/z or /mnt/s"));
            };
            let pages = w.number("pages (not above the file's)", 1..=size)?;
            let random = match w.word("the advice")? {
                "random" => true,
                "normal" => false,
                other => return Err(w.error(other, "write random or normal")),
            };
            (pages, RegionKind::File { file: self.file(path, size), random })
        };
        self.map(number, Region { pages, kind }, w)?;
        self.script.commands.push(Command::Map { region: RegionId(number), pages, kind });
        Ok(())
    }

    /// Maps a region, if all that are mapped have numbers for their pages.
    fn map(&mut self, number: u16, region: Region, w: &Words<'_>) -> Result<(), ScriptError> {
        self.regions.insert(number, region);
        let all: u64 = self.regions.values().map(|r| u64::from(r.pages)).sum();
        if all > MAX_PAGES.into() {
            let found = region.pages.to_string();
            let what =
                format!("with which {all} pages are mapped; write at most {MAX_PAGES} in all");
            return Err(w.error(&found, what));
        }
        Ok(())
    }

    /// The number of a region that is to be mapped.
    pub(super) fn new_region(&self, w: &mut Words<'_>) -> Result<u16, ScriptError> {
        let number: u16 = w.number("the region", 0..=u16::MAX)?;
        if self.regions.contains_key(&number) {
            let found = number.to_string();
            return Err(
                w.error(&found, "a region that is mapped already; write another or unmap it")
            );
        }
        Ok(number)
    }

    /// `thp`.
    pub(super) fn huge_pieces(&mut self, w: &mut Words<'_>) -> Result<(), ScriptError> {
        let number = self.new_region(w.usage("thp region pieces"))?;
        let pieces = w.number("pieces of 2 MiB", 1..=MAX_PAGES >> 9)?;
        self.map(number, Region { pages: pieces << 9, kind: RegionKind::Anon }, w)?;
        self.script.commands.push(Command::Thp { region: RegionId(number), pieces });
        self.touched = true;
        Ok(())
    }
}

/// The file of DAMON behind a path: below the first monitor, or a module's parameter.
fn damon_file(path: &str) -> Option<String> {
    if let Some((_, file)) = path.split_once("/kdamonds/0/") {
        return Some(file.into());
    }
    if path.ends_with("/kdamonds/nr_kdamonds") {
        return Some("nr_kdamonds".into());
    }
    let (_, module) = path.split_once("/sys/module/")?;
    let (module, parameter) = module.split_once("/parameters/")?;
    module.starts_with("damon_").then(|| format!("{module}/{parameter}"))
}
