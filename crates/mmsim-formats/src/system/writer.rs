//! From facts about a machine to the text of a scenario.

use std::fmt::Write as _;

use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::base::id::{NodeId, Pfn};
use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::base::rules::KernelRules;
use mmsim_core::config::{Kernel, MachineConfig, ZoneKind};
use mmsim_core::machine::snapshot::ZoneSnapshot;
use mmsim_core::memory::{FrameUse, Layout};
use mmsim_core::phys::zones::Zones;
use mmsim_lru::MglruConfig;
use mmsim_lru::config::Settings as _;

use super::compressed;
use super::copies::{Copies, Text};
use super::facts::Facts;
use super::groups::Groups;
use super::note::{Note, Weight};
use super::options::{Options, Programs, Sizes};
use super::place::{self, Contents, Shape};
use super::release;
use super::sysctls;
use super::zoneinfo::Zone;
use mmsim_base::error::{Error, ErrorKind};
use mmsim_language::machines::Catalogue;
use mmsim_language::scenario::{RunSpec, Scenario};

/// Frames of a layout at most: 256 GiB.
const MOST_FRAMES: u64 = 1 << 26;

/// A task that never runs, for a scenario that has none.
pub(super) const ANY_TASK: &str = "\n[[task]]\nworkload = \"sequential\"\nmemory = \"1 page\"\n";
/// The rows of a zone that do not follow from formulas.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// Watermarks without a boost.
    marks: Option<[u64; 3]>,
    reserve: Option<u64>,
    pcp: Option<[u64; 2]>,
    free: Option<u64>,
}

/// Writer of a machine.
pub(super) struct Writer<'a> {
    copies: &'a Copies,
    facts: &'a Facts,
    options: &'a Options,
    notes: &'a mut Vec<Note>,
    /// Keys of `[machine.vm]`.
    vm: Vec<(&'static str, String)>,
    swap: Option<String>,
    zswap: Option<String>,
    file_device: Option<String>,
    reclaim: Option<String>,
    groups: Groups,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        copies: &'a Copies,
        facts: &'a Facts,
        options: &'a Options,
        notes: &'a mut Vec<Note>,
    ) -> Result<Self, Error> {
        let (vm, swap, zswap, file_device, reclaim) = (Vec::new(), None, None, None, None);
        let groups = Groups::default();
        let mut w =
            Writer { copies, facts, options, notes, vm, swap, zswap, file_device, reclaim, groups };
        w.vm = sysctls::read(copies, facts.kernel, w.notes)?;
        w.devices()?;
        w.zswap = compressed::zswap(copies, (facts, w.swap.is_some()), w.notes)?;
        w.groups = Groups::of(copies, (facts.pages(), w.zswap.is_some()), w.notes)?;
        w.lru()?;
        w.others();
        Ok(w)
    }

    fn note(&mut self, file: &str, item: impl AsRef<str>, why: impl Into<String>) {
        self.weighing(Weight::Detail, file, item.as_ref(), why);
    }

    fn weighing(&mut self, weight: Weight, file: &str, item: &str, why: impl Into<String>) {
        self.notes.push(Note::new(file, item, why).weighing(weight));
    }

    /// The LRU: of the two that kernels have, the one that is on.
    fn lru(&mut self) -> Result<(), Error> {
        let file = "sys/kernel/mm/lru_gen/enabled";
        let Some(text) = self.copies.get(file) else {
            self.classic("proc/version", "the LRU");
            return Ok(());
        };
        let word = text.word();
        let bits = match word {
            "y" | "Y" => Some(7),
            "n" | "N" => Some(0),
            _ => u32::from_str_radix(word.trim_start_matches("0x"), 16).ok(),
        };
        let Some(bits) = bits.filter(|b| *b < 0x1_0000) else {
            return Err(text.bad(1, "no state of MGLRU", "a number such as 0x0007, or y, or n"));
        };
        if bits & 1 == 0 {
            self.classic(file, word);
            return Ok(());
        }
        let (major, minor) = self.facts.version;
        let (preset, own) = release::mglru(self.facts.version);
        if !own {
            let about = MglruConfig::preset(preset).map_or("", |p| p.about);
            let why =
                format!("there is no MGLRU of {major}.{minor}: {preset}, the nearest ({about})");
            self.weighing(Weight::Machine, file, word, why);
        }
        let mut reclaim = format!("preset = \"{preset}\"");
        for (bit, knob) in [(2, "walk-mmu"), (4, "nonleaf-young")] {
            if bits & bit == 0 {
                reclaim += &format!(", {knob} = false");
            }
        }
        if bits & 2 == 0 && bits & 4 != 0 {
            // Without walks these bits are not read.
            reclaim += ", nonleaf-young = false";
        }
        if let Some(text) = self.copies.get("sys/kernel/mm/lru_gen/min_ttl_ms") {
            match text.word().parse::<u64>() {
                Ok(0) => {}
                Ok(ms @ 1..=3_600_000) => reclaim += &format!(", min-ttl-ms = {ms}"),
                _ => return Err(text.bad(1, "no time that is modelled", "0 to 3600000 ms")),
            }
        }
        self.reclaim = Some(format!("{{ {reclaim} }}"));
        Ok(())
    }

    /// The classic LRU is that of the scenario's kernel, which has one of its own or none.
    fn classic(&mut self, file: &str, item: &str) {
        let (preset, own) = release::classic(self.facts.kernel);
        if !own {
            let name = self.facts.kernel.name();
            self.weighing(
                Weight::Machine,
                file,
                item,
                format!("there is no LRU of {name}: {preset}, the nearest"),
            );
        }
    }

    /// Compaction and DAMON, which a scenario has only where it asks for them.
    fn others(&mut self) {
        let (facts, file) = (self.facts, "proc/version");
        let (major, minor) = facts.version;
        let release = format!("{major}.{minor}");
        let modelled = release::of_kernel(facts.kernel) == facts.version;
        if facts.kernel != Kernel::V4_1
            && let Some(preset) = release::compaction(facts.version)
        {
            let near = if modelled { "its own" } else { "the nearest" };
            let why = format!(
                "off as in any scenario: {near} is `compaction = {{ preset = \"{preset}\" }}`"
            );
            self.note(file, format!("compaction of {release}"), why);
        }
        let own = Catalogue.default_damon(facts.kernel);
        if let Some(preset) = release::damon(facts.version).filter(|_| !modelled) {
            let why = match preset == own {
                true => format!("not modelled: a [[damon]] has {preset}, the nearest"),
                false => format!(
                    "not modelled: the nearest is `rules = {{ preset = \"{preset}\" }}` of a [[damon]]"
                ),
            };
            self.note(file, format!("DAMON of {release}"), why);
        }
    }

    /// Swap, and the device under files.
    fn devices(&mut self) -> Result<(), Error> {
        let files = self.device_of_files();
        if let Some(name) = &files {
            let device = self.device(name, "sys/block")?;
            self.file_device = Some(device);
            self.read_ahead(name)?;
        }
        let file = "proc/swaps";
        let facts = self.facts;
        let (mut swaps, mut disks) = (Vec::new(), Vec::<(String, &str)>::new());
        for area in &facts.swaps {
            let disk = match area.file {
                true => files.clone().unwrap_or_default(),
                false => self.disk_of(area.path.rsplit('/').next().unwrap_or_default()),
            };
            if let Some((_, other)) = disks.iter().find(|(d, _)| *d == disk) {
                let why = format!(
                    "on the same disk as {other}; here each has a device of its own, so neither waits \
                     for the other"
                );
                self.weighing(Weight::Device, file, &area.path, why);
            }
            disks.push((disk, &area.path));
            let device = match (area.file, &files) {
                (true, Some(name)) => self.device(&name.clone(), file)?,
                (true, None) => {
                    let why = "a file on a device that sys/block does not have: preset ssd, as a \
                               guess; write `device` of `swap`";
                    self.weighing(Weight::Device, file, &area.path, why);
                    "\"ssd\"".into()
                }
                (false, _) => self.device(&area.path, file)?,
            };
            // Negative priorities are those that the kernel chooses.
            let priority = match area.priority {
                0.. => format!(", priority = {}", area.priority),
                _ => String::new(),
            };
            swaps.push(format!(
                "{{ size = \"{} pages\", device = {device}{priority} }}",
                area.pages
            ));
            if area.used > 0 {
                let why = format!(
                    "{} pages are in use there; a run begins with swap that is empty",
                    area.used
                );
                self.weighing(Weight::Device, file, &area.path, why);
            }
        }
        let given = facts.swaps.iter().filter(|s| s.priority < 0).map(|s| s.priority);
        let equal = given.clone().all(|p| Some(p) == given.clone().next());
        if given.clone().nth(1).is_some()
            && equal != KernelRules::of(facts.kernel).swap_priorities_equal
        {
            let [there, here] = if equal { ["-1", "-2, -3"] } else { ["-2, -3", "-1"] };
            let why = format!(
                "default priorities are {there} there, and {here} on the kernel of the scenario: write \
                 `rules = {{ swap-priorities-equal = {equal} }}`"
            );
            self.note(file, "Priority", why);
        }
        self.swap = match &swaps[..] {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        };
        Ok(())
    }

    /// Readahead of files is that of the device under them.
    fn read_ahead(&mut self, disk: &str) -> Result<(), Error> {
        let file = format!("sys/block/{disk}/queue/read_ahead_kb");
        let Some(text) = self.copies.get(&file) else { return Ok(()) };
        match text.word().parse::<u64>() {
            Ok(kib) if kib <= 1 << 20 && kib.is_multiple_of(4) => {
                self.vm.push(("read_ahead_kb", kib.to_string()));
                Ok(())
            }
            _ => Err(text.bad(
                1,
                "no readahead that is modelled",
                "a multiple of 4, at most 1048576",
            )),
        }
    }

    /// The disk that most files are probably on: that of `root=`, or the only one.
    fn device_of_files(&mut self) -> Option<String> {
        let mut disks: Vec<String> = Vec::new();
        for (name, _) in self.copies.under("sys/block") {
            let name = name.split('/').next().unwrap_or_default();
            let virtual_ = ["zram", "loop", "ram", "sr", "fd", "nbd"].iter().any(|v| {
                name.strip_prefix(v).is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
            });
            if !virtual_ && disks.last().is_none_or(|d| d != name) {
                disks.push(name.to_string());
            }
        }
        let cmdline = self.copies.get("proc/cmdline").map_or("", Text::word);
        let root = cmdline.split_whitespace().find_map(|w| w.strip_prefix("root=/dev/"));
        let of_root = root.and_then(|r| disks.iter().find(|d| r.starts_with(d.as_str())).cloned());
        let all = disks.len();
        let chosen = of_root.or_else(|| disks.into_iter().next())?;
        if all > 1 {
            let why = format!(
                "taken for all files; one device under files is modelled, there are {all} disks"
            );
            self.weighing(Weight::Device, "sys/block", &chosen, why);
        }
        Some(chosen)
    }

    /// A device as a scenario has it: a preset by its name, with the settings of its queue.
    fn device(&mut self, path: &str, file: &str) -> Result<String, Error> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let disk = self.disk_of(name);
        let copies = self.copies;
        let setting =
            |what: &str| copies.get(&format!("sys/block/{disk}/queue/{what}")).map(Text::word);
        let rotational = setting("rotational") == Some("1");
        let digits = |prefix: &str| {
            disk.strip_prefix(prefix).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
        };
        let lettered = ["sd", "vd", "xvd", "hd"].iter().any(|p| disk.starts_with(p));
        let numbered = ["mmcblk", "dm-", "md", "bcache"].iter().any(|p| digits(p));
        let preset = if digits("zram") {
            let algorithm = copies.get(&format!("sys/block/{disk}/comp_algorithm"));
            compressed::zram_preset(&disk, algorithm, self.notes)
        } else if digits("nvme") {
            "nvme"
        } else if digits("ram") || digits("pmem") {
            "ramdisk"
        } else {
            let preset = if rotational { "hdd" } else { "ssd" };
            let why = if lettered || numbered {
                format!(
                    "no file tells how fast it is: preset {preset}; write `read` and `write` as measured"
                )
            } else {
                format!(
                    "a kind of device that is not known: preset {preset} as a guess; write `device`"
                )
            };
            self.weighing(Weight::Device, file, path, why);
            preset
        };
        let of_preset = DeviceConfig::preset(preset, self.facts.cpus as u32);
        let mut config = of_preset.clone().expect("a preset");
        if digits("zram") {
            compressed::zram(copies, &disk, &mut config, self.notes)?;
        } else if !config.synchronous {
            self.queue(&disk, &mut config)?;
        }
        if Some(&config) == of_preset.as_ref() {
            return Ok(format!("\"{preset}\""));
        }
        config.name = disk;
        let settings = mmsim_language::scenario::tables::device_settings(&config);
        // Numbers and flags are what they are, all else is text.
        let toml = |v: &str| match v.parse::<i64>().is_ok() || ["true", "false"].contains(&v) {
            true => v.to_string(),
            false => toml::Value::from(v).to_string(),
        };
        let given =
            settings.iter().filter_map(|(key, v)| Some(format!("{key} = {}", toml(v.as_deref()?))));
        Ok(format!("{{ {} }}", given.collect::<Vec<_>>().join(", ")))
    }

    /// The disk that a partition is of: the longest name in sys/block that begins its own.
    fn disk_of(&self, name: &str) -> String {
        let disks = self.copies.under("sys/block").filter_map(|(n, _)| n.split('/').next());
        let of = disks.filter(|d| name.starts_with(d)).max_by_key(|d| d.len());
        of.unwrap_or(name).to_string()
    }

    /// Further settings of the queue of a disk.
    fn queue(&mut self, disk: &str, config: &mut DeviceConfig) -> Result<(), Error> {
        let copies = self.copies;
        let file = |what: &str| format!("sys/block/{disk}/queue/{what}");
        let number = |what: &str, most: u64| match copies.get(&file(what)) {
            None => Ok(None),
            Some(text) => match text.word().parse::<u64>() {
                Ok(n) if n <= most => Ok(Some(n)),
                _ => Err(text.bad(1, "no number that is modelled", format!("0 to {most}"))),
            },
        };
        if let Some(us) = number("wbt_lat_usec", 10_000_000)? {
            config.wbt_lat = mmsim_core::base::time::SimDuration::from_micros(us);
        }
        if let Some(text) = copies.get(&file("write_cache")) {
            config.write_cache = text.word() == "write back";
        }
        if let Some(kib) = number("max_sectors_kb", 1 << 20)? {
            config.max_sectors_kb = kib as u32;
        }
        let Some(requests) = number("nr_requests", u64::from(u32::MAX))? else { return Ok(()) };
        let scheduler = copies.get(&file("scheduler")).and_then(|s| sysctls::chosen(s.text()));
        match scheduler {
            Some("none") | None if (1..=65_536).contains(&requests) => {
                config.queue_depth = requests as u32
            }
            _ => {
                let scheduler = scheduler.unwrap_or("none").to_string();
                let depth = config.queue_depth;
                let why = format!(
                    "{requests} are requests of the scheduler {scheduler}, which is not modelled; \
                     the preset's {depth} at once"
                );
                self.note(&file("nr_requests"), disk, why);
            }
        }
        Ok(())
    }

    /// Writes the scenario; `rows` are of the zones, in order, `load` names a layout.
    fn text(&self, rows: &[Rows], load: Option<&str>) -> String {
        let (facts, mut t) = (self.facts, String::new());
        let release = if facts.release.is_empty() { "of no known release" } else { &facts.release };
        let plain: String = release.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(t, "# A machine with Linux {plain}, as its own files tell of it.\n");
        let _ =
            writeln!(t, "[machine]\nkernel = \"{}\"\ncpus = {}", facts.kernel.name(), facts.cpus);
        if let Some(order) = facts.pageblock_order.filter(|&o| o != 9) {
            let _ = writeln!(t, "pageblock-order = {order}");
        }
        if facts.nodes.is_empty() {
            let _ = writeln!(t, "memory = \"{} pages\"", facts.total.unwrap_or(0));
        }
        for (key, value) in [("swap", &self.swap), ("file-device", &self.file_device)] {
            if let Some(value) = value {
                let _ = writeln!(t, "{key} = {value}");
            }
        }
        t += &self.groups.mount;
        let mut rows = rows.iter();
        for zones in &facts.nodes {
            let table = if facts.nodes.len() > 1 {
                let _ = writeln!(t, "\n[[machine.node]]");
                "[[machine.node.zone]]"
            } else {
                "[[machine.zone]]"
            };
            for (kind, zone) in zones {
                let row = rows.next().cloned().unwrap_or_default();
                write_zone(&mut t, table, (*kind, zone.managed), &row);
            }
        }
        if !self.vm.is_empty() {
            let _ = writeln!(t, "\n[machine.vm]");
        }
        for (key, value) in &self.vm {
            let _ = writeln!(t, "{key} = {value}");
        }
        t += self.zswap.as_deref().unwrap_or_default();
        t += &self.groups.entries;
        if let Some(reclaim) = &self.reclaim {
            let _ = writeln!(t, "\n[[variant]]\nname = \"as imported\"\nreclaim = {reclaim}");
        }
        match load {
            Some(load) => {
                let _ = writeln!(t, "\n# Memory as it was in use; add the work as further tasks.");
                let _ = writeln!(
                    t,
                    "[[task]]\nname = \"memory\"\nworkload = \"fragment\"\nload = {load}"
                );
            }
            None => {
                let _ = writeln!(t, "\n# Add the work: a scenario needs a [[task]].");
            }
        }
        t
    }

    /// The machine of a text.
    fn run(&self, rows: &[Rows]) -> Result<RunSpec, Error> {
        run_of(&(self.text(rows, None) + ANY_TASK), self.copies.origin())
    }

    /// Differences from the formulas, zone by zone.
    fn rows(&mut self) -> Result<Vec<Rows>, Error> {
        let machine = self.run(&[])?.machine;
        let zones = Zones::new(&machine);
        let file = "proc/zoneinfo";
        let tuned = self.facts.kernel >= Kernel::V6_12;
        let mut all = Vec::new();
        let facts = self.facts;
        let own: Vec<&(ZoneKind, Zone)> = facts.nodes.iter().flatten().collect();
        for (id, (kind, zone)) in zones.ids().zip(own) {
            let mut row = Rows::default();
            let z = &zones[id];
            let item = format!("Node {}, zone {}", zone.node, zone.name);
            let marks = zone.marks.map(|m| m - zone.boost);
            if zone.boost > 0 {
                let why = "a boost of its watermarks, which ends with time: taken off";
                self.note(file, format!("{item}: boost {}", zone.boost), why);
            }
            let shown = |m: [u64; 3]| m.map(|n| n.to_string()).join(", ");
            if marks != z.watermark {
                let by = shown(z.watermark);
                let (why, taken) = self.taken(format!("by formula they are {by}"));
                self.note(file, format!("{item}: min, low, high {}", shown(marks)), why);
                row.marks = taken.then_some(marks);
            }
            self.reserve(&mut row, *kind, zone, &z.lowmem_reserve, &item);
            let lists = ZoneSnapshot::of(z).pcp.first().copied().unwrap_or_default();
            self.lists(&mut row, zone, [lists.high.into(), lists.batch.into()], tuned, &item);
            all.push(row);
        }
        Ok(all)
    }

    /// True if sizes of the copies are taken in place of those of a formula, and the remark on it.
    fn taken(&self, formula: String) -> (String, bool) {
        match self.options.sizes {
            Sizes::Copied => (format!("{formula}: taken as they stand"), true),
            Sizes::Formula => (format!("{formula}: these are taken, as asked"), false),
        }
    }

    fn reserve(&mut self, row: &mut Rows, kind: ZoneKind, zone: &Zone, own: &[u64; 4], item: &str) {
        let file = "proc/zoneinfo";
        // Columns are of the zones that the kernel was built with: DMA, DMA32, Normal, Movable, Device.
        let above: Vec<u64> = zone.protection.iter().copied().skip(kind as usize + 1).collect();
        let formula = &own[kind as usize + 1..];
        if above.iter().zip(formula).all(|(a, b)| a == b) {
            return;
        }
        let shown = |all: &[u64]| all.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let item = format!("{item}: protection ({})", shown(&zone.protection));
        let differ: Vec<u64> = above.iter().copied().filter(|&n| n > 0).collect();
        let by = shown(formula);
        match differ.first() {
            Some(&n) if differ.iter().all(|&d| d == n) && n <= zone.managed => {
                row.reserve = Some(n);
                self.note(
                    file,
                    item,
                    format!("by formula {by}: {n} pages against all zones above"),
                );
            }
            None => {
                row.reserve = Some(0);
                self.note(file, item, format!("by formula {by}: no pages against any zone"));
            }
            _ => self.note(
                file,
                item,
                format!("one reserve of a zone is modelled: by formula, {by}"),
            ),
        }
    }

    /// Sizes of per-CPU lists.
    fn lists(&mut self, row: &mut Rows, zone: &Zone, own: [u64; 2], tuned: bool, item: &str) {
        let file = "proc/zoneinfo";
        let least = zone.pcp.iter().map(|p| p.high_min.unwrap_or(p.high)).min().unwrap_or(0);
        let batch = zone.pcp.first().map_or(1, |p| p.batch);
        let [high, of_batch] = own;
        let least_is_known = !tuned || zone.pcp.iter().all(|p| p.high_min.is_some());
        let least = if least_is_known { least } else { high };
        let in_range = [least, batch].iter().all(|&n| n <= u64::from(u32::MAX));
        if [least, batch] != own && in_range {
            let (why, taken) = self.taken(format!("by formula {high} and {of_batch}"));
            row.pcp = taken.then_some([least, batch]);
            let lists = format!("{item}: per-CPU lists of {least}, batches of {batch}");
            self.note(file, lists, why);
        }
        if tuned && zone.pcp.iter().any(|p| p.high != least) {
            let highs = zone.pcp.iter().map(|p| p.high.to_string()).collect::<Vec<_>>().join(", ");
            let highs: String = highs.chars().take(60).collect();
            let why = format!("the kernel tunes `high` as it goes: {least} all the time");
            self.note(file, format!("{item}: high {highs}"), why);
        }
    }

    /// Free memory of zones by their sizes alone.
    fn by_size(&self, rows: &mut [Rows]) {
        for (row, (_, zone)) in rows.iter_mut().zip(self.facts.nodes.iter().flatten()) {
            let listed: u64 = zone.pcp.iter().map(|p| p.count).fold(0, u64::saturating_add);
            let more = match self.options.programs {
                Programs::Ended => Facts::on_lru(zone),
                Programs::Held => 0,
            };
            let free = zone.free.saturating_add(listed).saturating_add(more);
            row.free = Some(free.min(zone.managed));
        }
    }

    /// Where memory is free.
    fn layout(&mut self, machine: &MachineConfig) -> Option<Layout> {
        let facts = self.facts;
        let pages = facts.pages();
        let blocks = facts.blocks.as_ref()?;
        if facts.nodes.is_empty() {
            let why =
                "zones are not known without zoneinfo: what is free is free in the largest blocks";
            self.note("proc/buddyinfo", "where memory is free", why);
            return None;
        }
        if pages > MOST_FRAMES {
            self.note(
                "proc/buddyinfo",
                "where memory is free",
                "layouts have at most 256 GiB: free memory by zone",
            );
            return None;
        }
        if facts.pageblock_order.is_none() {
            let why = "the types of free blocks are not known (only root can read pagetypeinfo): \
                       movable, all of them";
            self.note("proc/buddyinfo", "types", why);
        }
        let zones = Zones::new(machine);
        let rules = machine.kernel_rules();
        let program = match self.options.programs {
            Programs::Ended => FrameUse::Program,
            Programs::Held => FrameUse::Held(Migratetype::Movable),
        };
        let mut layout = Layout::default();
        let mut own = facts.nodes.iter().flatten();
        for (id, (kind, zone)) in zones.ids().zip(own.by_ref()) {
            let first = zones[id].first;
            let node = zones[id].node;
            let shape = shape(*kind, node, first, zone, rules.pageblock_order, rules.max_order);
            let of = |b: &&super::blocks::Blocks| (b.node, &b.zone) == (zone.node, &zone.name);
            let blocks = blocks.iter().find(of)?;
            let (pcp, programs) = (Facts::listed(zone), Facts::on_lru(zone));
            let contents = Contents { blocks, pcp: &pcp, programs, program };
            let (zone_layout, remarks) = place::zone(&shape, &contents);
            for remark in remarks {
                self.note(
                    "proc/pagetypeinfo",
                    format!("Node {}, zone {}", zone.node, zone.name),
                    remark,
                );
            }
            layout.zones.push(zone_layout);
        }
        Some(layout)
    }

    /// The scenario, with a layout of this name beside it if there is enough to make one.
    pub(super) fn write(&mut self, load: Option<&str>) -> Result<(String, Option<Layout>), Error> {
        let mut rows = self.rows()?;
        let machine = self.run(&rows)?.machine;
        let layout = match load {
            Some(_) => self.layout(&machine),
            None => None,
        };
        if layout.is_none() {
            self.by_size(&mut rows);
            if load.is_none() && self.facts.blocks.is_some() {
                let why = "a layout needs a file beside the scenario: write `-o FILE`; free memory by zone";
                self.note("proc/buddyinfo", "where memory is free", why);
            }
        }
        let quoted = load.map(|l| toml::Value::from(l).to_string());
        let load = quoted.as_deref().filter(|_| layout.is_some());
        Ok((self.text(&rows, load), layout))
    }
}

fn shape(
    kind: ZoneKind,
    node: NodeId,
    first: Pfn,
    zone: &Zone,
    pageblock_order: u8,
    max_order: u8,
) -> Shape {
    let frames = zone.managed as u32;
    Shape { kind, node, first, frames, pageblock_order, max_order }
}

/// The first run of a scenario.
pub(super) fn run_of(text: &str, origin: &str) -> Result<RunSpec, Error> {
    let of = |e: Error| {
        let title = format!("`{origin}`: no scenario has such a machine: {}", e.title());
        Error::new(ErrorKind::File, title)
    };
    let scenario = Scenario::from_str(text, origin).map_err(of)?;
    let runs = scenario.expand(&Catalogue).map_err(of)?;
    runs.into_iter().next().ok_or_else(|| Error::plain("a scenario without a run"))
}

/// A zone as a table of the scenario. Writing into a string cannot fail.
fn write_zone(t: &mut String, table: &str, (kind, managed): (ZoneKind, u64), row: &Rows) {
    let name = kind.name();
    let _ = writeln!(t, "\n{table}\nkind = \"{name}\"\nmanaged = \"{managed} pages\"");
    if let Some(free) = row.free {
        let _ = writeln!(t, "free-at-start = \"{free} pages\"");
    }
    for (name, n) in ["min", "low", "high"].iter().zip(row.marks.iter().flatten()) {
        let _ = writeln!(t, "{name} = \"{n} pages\"");
    }
    if let Some(n) = row.reserve {
        let _ = writeln!(t, "lowmem-reserve = \"{n} pages\"");
    }
    if let Some([high, batch]) = row.pcp {
        let _ = writeln!(t, "pcp = {{ high = {high}, batch = {batch} }}");
    }
}
