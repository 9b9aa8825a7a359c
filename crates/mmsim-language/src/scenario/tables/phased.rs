//! `phased`: its regions and steps.

use std::ops::Deref;

use mmsim_core::base::id::{DiskId, MemcgId, NodeId};
use mmsim_core::base::settings::Formed as _;
use mmsim_core::config::{Kernel, MachineConfig};
use mmsim_core::policy::ANON_ONLY;
use mmsim_core::workload::{Advice, FileAdvice, LruGen, Op, ShmemSpec, Uncached, VmaFlags};
use mmsim_workload::generators::{MemoryKind, PhasedConfig, PhasedRegion, Step};
use mmsim_workload::sampler::RankMap;
use mmsim_workload::since::{check_advice, check_dontcache, since};

use super::key;
use super::laws::TIMES;
use super::sysctls;
use super::tasks::TASK;
use crate::scenario::fields::{TaskCx, disk_of};
use crate::scenario::keys::{Fallback, KeySpec, Kind, MANY, TableSpec, U32, Variants};
use crate::scenario::raw::{Node, Value};
use crate::scenario::read::{Reader, describe, unknown};
use crate::scenario::rows::{Words, names_of, rows, words};
use crate::scenario::units::show_pages;
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{Choice, Count, Flag, Number, Regions, Size, Steps, Text};

rows! {
    /// `phased`.
    PHASED: TASK,
    "workload = \"phased\"",
    "Regions, and a list of steps over them, carried out by one thread.";
    keys {
        ("regions", Regions(&REGION), Required, "regions by name, see below")
        ("steps", Steps(&STEP_TABLES), Required, "list of tables with `do`, see below")
    }
}

pub(in crate::scenario) fn phased(
    r: &Reader<'_>,
    task: &TaskCx<'_>,
) -> Result<PhasedConfig, Error> {
    r.need("regions")?;
    let mut regions = Vec::new();
    for e in r.table("regions")?.map_or(&[][..], |t| &t.entries) {
        let path = format!("{}.{}", r.name_of("regions"), e.key);
        let g = Reader::open(r.sources, &e.node, &REGION, &path)?;
        regions.push(region(&g, ((task.name, &e.key), task.machine))?);
    }
    if regions.is_empty() {
        return Err(r.error("regions", "no region at all", "at least one region"));
    }
    if regions.len() > usize::from(u16::MAX) {
        return Err(r.error("regions", "too many regions", "at most 65535"));
    }
    let names: Vec<&str> = regions.iter().map(|g| g.name.as_str()).collect();
    let scope = Scope { regions: &regions, names: &names, machine: task.machine };
    let steps = steps(r, scope)?;
    Ok(PhasedConfig { regions, steps })
}

/// The files of regions that name a disk themselves.
pub(in crate::scenario) fn disks_of_regions(
    r: &Reader<'_>,
    machine: &MachineConfig,
    task: &PhasedConfig,
) -> Result<Vec<(String, DiskId)>, Error> {
    let mut disks = Vec::new();
    let entries = r.table("regions")?.map_or(&[][..], |t| &t.entries);
    for (e, region) in entries.iter().zip(&task.regions) {
        let path = format!("{}.{}", r.name_of("regions"), e.key);
        let g = Reader::open(r.sources, &e.node, &REGION, &path)?;
        let Some(disk) = disk_of(&g, machine)? else { continue };
        let Some(file) = region.kind.file() else {
            let found = format!("`{}` is anonymous memory, which lies on no disk", region.name);
            return Err(g.error("disk", found, "a `kind` that is a file, or leave it out"));
        };
        disks.push((file.to_string(), disk));
    }
    Ok(disks)
}

/// Kinds of a region, each with the name of its file.
const REGION_KINDS: Words<fn(String) -> MemoryKind> = Words {
    names: names_of(MemoryKind::FORM),
    values: &[
        |_| MemoryKind::Anon,
        MemoryKind::FileShared,
        MemoryKind::FilePrivate,
        MemoryKind::FileRead,
        |name| MemoryKind::Shmem(name, ShmemSpec::default()),
    ],
};

/// Values of `huge=`, and what Linux does with those that are not modelled.
const HUGE: Words<Option<&str>> = words! {
    "never" => None,
    "always" => Some("gives a huge page wherever one fits"),
    "within_size" => Some("gives a huge page that ends within the file"),
    "advise" => Some("gives a huge page where MADV_HUGEPAGE asks for one"),
};

/// Where popular pages lie.
const RANK_MAPS: Words<RankMap> = Words { names: names_of(RankMap::FORM), values: RankMap::ALL };

rows! {
    /// A region of `phased`.
    REGION,
    "Regions of `phased`",
    "`regions = { cold = { memory = \"512MiB\" }, log = { memory = \"64MiB\", kind = \"read\" } }`";
    fn region(r, cx: ((&str, &str), &MachineConfig)) -> PhasedRegion {
        name: {cx.0.1.to_string()};
        pages: {pages_of_region(r)?;
            ("memory", Size(1), Auto("`pages` decides"), "size"),
            ("pages", Count(1, U32), Auto("`memory` decides"),
                "size in pages, instead of `memory`")};
        kind: {kind_of_region(r, cx.0, cx.1)?;
            ("kind", one of REGION_KINDS, Is("\"anon\""),
                "anonymous memory, a mapped file, a file through read(), or shared memory"),
            ("object", Text, Auto("one of the task's own"),
                "shared memory of this name, which tasks have in common"),
            ("limit", Size(1), Auto("none"),
                "of shared memory: `size=` of its tmpfs; a touch of more ends the process (SIGBUS)"),
            ("stays", Flag, Is("false"),
                "of shared memory: it outlives its last mapping, as a file of tmpfs does"),
            ("noswap", Flag, Is("false"),
                "of shared memory: its tmpfs is mounted with `noswap`, so its pages are unevictable; from kernel 6.6 on (Linux 6.4)"),
            ("huge", one of HUGE, Is("\"never\""),
                "of shared memory: `huge=` of its tmpfs; only `never` is modelled, others are errors"),
            ("disk", Text, Auto("that of the task"), "disk of the file")};
        flags: {VmaFlags::default()};
    }
}

/// The kind of a region, with the keys of shared memory.
fn kind_of_region(
    r: &Reader<'_>,
    names: (&str, &str),
    machine: &MachineConfig,
) -> Result<MemoryKind, Error> {
    let mut kind = r.word("kind", &REGION_KINDS)?(format!("{}/{}", names.0, names.1));
    let MemoryKind::Shmem(name, spec) = &mut kind else {
        let written = |key: &&str| r.has(key) && !r.is_default(key);
        return match ["object", "limit", "stays", "noswap", "huge"].into_iter().find(written) {
            Some(key) => {
                let found = format!("`{}` is not shared memory", names.1);
                Err(r.error(key, found, "kind = \"shmem\", or leave it out"))
            }
            None => Ok(kind),
        };
    };
    if let Some(object) = r.opt_text("object")? {
        *name = format!("shm/{object}");
    }
    if r.has("noswap") {
        let option = since(Kernel::V6_6, "6.4");
        r.dated("noswap", option.check(machine.kernel, "noswap", "leave it out"))?;
    }
    if let Some(does) = r.word("huge", &HUGE)? {
        let found = format!("Linux {does}; huge pages of shared memory are not modelled");
        return Err(r.error("huge", found, "\"never\", the default of Linux"));
    }
    let (limit, stays, noswap) = (r.get("limit")?, r.get("stays")?, r.get("noswap")?);
    *spec = ShmemSpec { limit, stays, noswap };
    Ok(kind)
}

fn pages_of_region(r: &Reader<'_>) -> Result<u32, Error> {
    r.one_of("memory", "pages")?;
    match r.get("memory")? {
        Some(pages) => Ok(pages),
        None => r.get("pages"),
    }
}

const PART: &[KeySpec] = &[
    key("region", Text, Required, "name of the region"),
    key("first", Size(0), Is("\"0 pages\""), "where in the region it begins"),
    key("size", Size(1), Auto("to the end of the region"), "how much of it"),
];

const WHOLE: &[KeySpec] = &[key("region", Text, Required, "name of the region")];

/// A step by its name.
pub struct StepRow {
    /// The value of `do`.
    pub name: &'static str,
    /// Its keys.
    pub table: TableSpec,
    read: fn(&StepReader<'_>) -> Result<Step, Error>,
}

/// The tables of steps.
pub(in crate::scenario) static STEP_TABLES: Variants = Variants {
    by: "do",
    unknown: &STEPS[0].table,
    of: |name| STEPS.iter().find(|s| s.name == name).map(|s| &s.table),
};

macro_rules! steps {
    ($r:ident; $($name:literal, $doc:literal, $Step:ident {$($field:tt: $spec:tt;)*})*) => {
        const DO: &[KeySpec] =
            &[key("do", Choice(&[$($name),*]), Required, "which step this is")];

        /// The steps of `phased`.
        pub static STEPS: &[StepRow] = &[$(StepRow {
            name: $name,
            table: TableSpec {
                title: concat!("do = \"", $name, "\""),
                doc: $doc,
                groups: &[DO, $(rows!(@rows $spec)),*],
            },
            read: |$r| {
                let _ = $r;
                Ok(Step::$Step { $($field: rows!(@value $r $spec)),* })
            },
        }),*];
    };
}

steps! { r;
    "allocate", "Maps the region and, unless told otherwise, writes every page once.", Allocate {
        region: {r.mapped()?; ..WHOLE};
        populate: ("populate", Flag, Is("true"), "touch every page");
    }
    "touch", "Touches pages in ascending order.", Touch {
        region: {r.region()?.name.clone(); ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
        write: ("write", Flag, Is("false"), "write instead of read");
        repeat: ("passes", Count(1, U32), Is("1"), "how often");
    }
    "window", "Touches the next `size` of a region and remembers where it stopped; begins anew at its end.", Window {
        region: {r.region()?.name.clone(); ..WHOLE};
        count: {r.within("size")?; ("size", Size(1), Required, "how much at a time")};
        advance: {r.within(if r.has("advance") { "advance" } else { "size" })?;
            ("advance", Size(0), Auto("`size`"), "how far the window moves each time")};
        write: ("write", Flag, Is("false"), "write instead of read");
    }
    "zipf", "Touches pages of a region by a zipf law.", Zipf {
        region: {r.region()?.name.clone(); ..WHOLE};
        theta: ("theta", Number(0.0, 10.0), Is("0.99"), "exponent: 0 is uniform");
        accesses: ("accesses", Count(1, MANY), Required, "page accesses");
        write_permille: ("write-permille", Count(0, 1000), Is("0"), "writes per 1000 accesses");
        map: ("map", one of RANK_MAPS, Is("\"scatter\""), "whether popular pages lie scattered or in order");
    }
    "read", "Reads a file region through read().", Read {
        region: {r.file()?; ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
        into: {r.into()?; ("into", Text, Auto("a buffer that is not simulated"),
            "mapped region whose pages receive those of the file at the same place, 32 at a time")};
        uncached: {r.uncached()?; ("io", one of IO, Is("\"cached\""), IO_DOC)};
    }
    "write", "Writes a file region through write().", Write {
        region: {r.file()?; ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
        uncached: {r.uncached()?; ("io", one of IO, Is("\"cached\""), IO_DOC)};
    }
    "fadvise", "Calls posix_fadvise() on pages of a file region. Advice holds for all users of the file.", Fadvise {
        advice: {r.word("advice", &FILE_ADVICE)?; ("advice", one of FILE_ADVICE, Required,
            "which, named as POSIX_FADV_ in lower case; `noreuse` does nothing before kernel 6.12 (Linux 6.3)")};
        region: {r.file()?; ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
    }
    "fsync", "Calls fsync() for the file of a region: writes its dirty pages, and waits until all are written. The file system's own writes and the flush of the device's cache are left out.", Fsync {
        0: {r.file_of_region()?.name.clone(); ..WHOLE};
    }
    "madvise", "Gives advice on pages of a region.", Madvise {
        region: {r.mapped()?; ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
        advice: {r.advice()?; ("advice", one of ADVICE, Required,
            "which, named as MADV_ in lower case; `free` is for anonymous memory. `free`, `cold` and `pageout` from kernel 5.5 on, `populate-read` and `populate-write` from 6.1 on")};
    }
    "mlock", "Locks pages of a region into memory, and reads or fills those that are missing. `rlimit-memlock` of the task says how much may be locked.", Mlock {
        region: {r.mapped()?; ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
        onfault: ("onfault", Flag, Is("false"), "MLOCK_ONFAULT: lock pages as they come, and bring nothing in now");
    }
    "munlock", "Unlocks pages of a region.", Munlock {
        region: {r.mapped()?; ..PART};
        from: {r.part()?.0};
        count: {r.part()?.1};
    }
    "shm-lock", "Makes all of an object of shared memory unevictable (SHM_LOCK). Nothing is brought in; what is there goes to the unevictable list where reclaim meets it.", ShmLock {
        region: {r.shared()?; ..WHOLE};
        lock: {true};
    }
    "shm-unlock", "Makes an object of shared memory evictable again (SHM_UNLOCK).", ShmLock {
        region: {r.shared()?; ..WHOLE};
        lock: {false};
    }
    "mlockall", "Locks all mappings of the task.", MlockAll {
        current: {r.locks_something()?;
            ("current", Flag, Is("true"), "MCL_CURRENT: those that are there")};
        future: ("future", Flag, Is("false"), "MCL_FUTURE: those that are made later");
        onfault: ("onfault", Flag, Is("false"), "MCL_ONFAULT: lock pages as they come");
    }
    "munlockall", "Unlocks all mappings of the task, also those to come.", MunlockAll {}
    "free", "Unmaps the region.", Free { 0: {r.mapped()?; ..WHOLE}; }
    "sleep", "Sleeps.", Sleep { 0: ("time", TIMES, Required, "how long"); }
    "compute", "Uses the CPU without touching memory.", Compute { 0: ("time", TIMES, Required, "how long"); }
    "records", "Counts records as done.", Records { 0: ("count", Count(1, U32), Is("1"), "how many"); }
    "drop-caches", "Writes 1 to drop_caches.", DropCaches {}
    "memcg-reclaim", "Writes to memory.reclaim of the task's own group, from kernel 6.1 on (Linux 5.19).", MemcgReclaim {
        pages: {r.memcg_reclaim()?; ("memory", Size(1), Required,
            "how much; kernels before 6.6 take more, since each try asks for all that is left")};
        swappiness: {r.reclaim_swappiness()?; ("swappiness", Count(0, 200), Auto("`vm.swappiness`"),
            "`swappiness=` of the write, from kernel 6.12 on (Linux 6.9)"),
            ("anon_only", Flag, Is("false"),
            "`swappiness=max` of the write: anonymous memory alone, from kernel 6.18 on")};
    }
    "sysctl", "Writes sysctls while the machine runs: `{ do = \"sysctl\", vm.swappiness = 10 }`.", Writes {
        0: {sysctls::writes(r, r.scope.machine)?; [sysctls::WRITTEN]};
    }
    "lru-gen", "Writes to /sys/kernel/mm/lru_gen, from kernel 6.1 on. Give `enabled`, `min_ttl_ms` or both.", Writes {
        0: {r.lru_gen()?; ("enabled", Count(0, 7), Auto("not written"),
            "0x1: MGLRU, else the classic LRU of the kernel; 0x2: aging walks page tables; 0x4: it skips tables by their own accessed bits"),
            ("min_ttl_ms", Count(0, 3_600_000), Auto("not written"),
            "as the knob `min-ttl-ms` of MGLRU")};
    }
    "lru-gen-age", "Writes `+ memcg node max_gen can_swap force_scan` to /sys/kernel/debug/lru_gen: creates a generation.", Writes {
        0: {vec![Op::LruGen(r.aging()?)]; ("memcg", Text, Auto("the root"), "memory cgroup"),
            ("node", Count(0, 254), Is("0"), "node"),
            ("max_gen", Count(0, U32), Auto("the youngest generation"),
            "the youngest generation: with an older one nothing happens, one that does not exist is refused"),
            ("can_swap", Flag, Auto("by `vm.swappiness` and free swap"),
            "whether anonymous memory is looked at"),
            ("force_scan", Flag, Is("true"),
            "skip no page table; without it a group with four generations is refused")};
    }
    "lru-gen-evict", "Writes `- memcg node min_gen swappiness nr_to_reclaim` to /sys/kernel/debug/lru_gen: evicts generations, the oldest first.", Writes {
        0: {vec![Op::LruGen(r.eviction()?)]; ("memcg", Text, Auto("the root"), "memory cgroup"),
            ("node", Count(0, 254), Is("0"), "node"),
            ("min_gen", Count(0, U32), Auto("all but the two youngest"),
            "the last generation to evict; the two youngest are refused"),
            ("swappiness", Count(0, 200), Auto("`vm.swappiness`"), "0 evicts file pages alone"),
            ("nr_to_reclaim", Size(1), Auto("no bound"), "how much to evict, about")};
    }
    "phase", "A phase of this name ends here; it began where the phase before it ended. In a repetition, every turn adds to the same phase.", Phase {
        0: {r.name("name")?.to_string(); ("name", Text, Required, "name of the phase")};
    }
    "repeat", "Repeats steps.", Repeat {
        times: ("times", Count(1, U32), Required, "how often");
        steps: {steps(r, r.scope)?; ("steps", Steps(&STEP_TABLES), Required, "the steps")};
    }
}

/// The names of advice that the machine follows.
const ADVICE: Words<Advice> = words! {
    "dontneed" => Advice::DontNeed,
    "remove" => Advice::Remove,
    "free" => Advice::Free,
    "cold" => Advice::Cold,
    "pageout" => Advice::PageOut,
    "willneed" => Advice::WillNeed,
    "populate-read" => Advice::PopulateRead,
    "populate-write" => Advice::PopulateWrite,
    "sequential" => Advice::Sequential,
    "random" => Advice::Random,
    "normal" => Advice::Normal,
    "hugepage" => Advice::HugePage,
    "nohugepage" => Advice::NoHugePage,
};

/// The names of advice on files.
const FILE_ADVICE: Words<FileAdvice> = words! {
    "normal" => FileAdvice::Normal,
    "sequential" => FileAdvice::Sequential,
    "random" => FileAdvice::Random,
    "willneed" => FileAdvice::WillNeed,
    "noreuse" => FileAdvice::NoReuse,
    "dontneed" => FileAdvice::DontNeed,
};

/// Ways of file I/O.
const IO: Words<Option<Uncached>> = words! {
    "cached" => None,
    "direct" => Some(Uncached::Direct),
    "dontcache" => Some(Uncached::DontCache),
};
const IO_DOC: &str = "through the page cache; `direct`: O_DIRECT; `dontcache`: RWF_DONTCACHE, from \
                      kernel 6.18 on (Linux 6.14)";

/// The steps of a table.
fn steps(r: &Reader<'_>, scope: Scope<'_>) -> Result<Vec<Step>, Error> {
    let (path, node) = (r.name_of("steps"), r.need("steps")?);
    let Value::List(list) = &node.value else {
        let found = describe(&node.value);
        let title = format!("{path}: found {found}, write a list of tables");
        return Err(r.sources.error(node.at, title, "write a list of tables"));
    };
    if list.is_empty() {
        let title = format!("{path}: no step at all, write at least one");
        return Err(r.sources.error(node.at, title, "write at least one step"));
    }
    let step = |(i, n): (usize, &Node)| {
        let path = format!("{path}[{i}]");
        let r = Reader::open_by(r.sources, n, &STEP_TABLES, &path)?;
        (STEPS[r.position("do")?].read)(&StepReader { r, scope })
    };
    list.iter().enumerate().map(step).collect()
}

/// Names that steps may use, and the machine that carries them out.
#[derive(Clone, Copy)]
struct Scope<'a> {
    regions: &'a [PhasedRegion],
    names: &'a [&'a str],
    machine: &'a MachineConfig,
}

/// One step in its scope.
struct StepReader<'a> {
    r: Reader<'a>,
    scope: Scope<'a>,
}

impl<'a> Deref for StepReader<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        &self.r
    }
}

impl StepReader<'_> {
    /// `swappiness=` of a write to `memory.reclaim`, which kernels before 6.9 refuse.
    fn reclaim_swappiness(&self) -> Result<Option<u8>, Error> {
        let given: Option<u8> = self.get("swappiness")?;
        if given.is_some() && self.scope.machine.kernel < Kernel::V6_12 {
            let found = format!(
                "kernel {} takes no swappiness= in memory.reclaim (Linux has it since 6.9)",
                self.scope.machine.kernel.name()
            );
            return Err(self.error("swappiness", found, "kernel = \"6.12\", or leave it out"));
        }
        if !self.get::<bool>("anon_only")? {
            return Ok(given);
        }
        if self.scope.machine.kernel < Kernel::V6_18 {
            let name = self.scope.machine.kernel.name();
            let found = format!("kernel {name} takes no swappiness=max in memory.reclaim");
            return Err(self.error("anon_only", found, "kernel = \"6.18\", or leave it out"));
        }
        if given.is_some() {
            let found = "a swappiness of another value is given too";
            return Err(self.error("anon_only", found, "one of `anon_only` and `swappiness`"));
        }
        Ok(Some(ANON_ONLY))
    }

    fn kernel_has_lru_gen(&self) -> Result<(), Error> {
        let lru_gen = since(Kernel::V6_1, "6.1");
        self.dated("do", lru_gen.check(self.scope.machine.kernel, "lru_gen", "leave it out"))
    }

    fn lru_gen(&self) -> Result<Vec<Op>, Error> {
        self.kernel_has_lru_gen()?;
        let enabled: Option<u8> = self.get("enabled")?;
        let min_ttl: Option<u32> = self.get("min_ttl_ms")?;
        if enabled.is_none() && min_ttl.is_none() {
            let found = "neither of the files is written";
            return Err(self.error("do", found, "`enabled`, `min_ttl_ms` or both"));
        }
        let writes = [enabled.map(LruGen::Enabled), min_ttl.map(LruGen::MinTtl)];
        Ok(writes.into_iter().flatten().map(Op::LruGen).collect())
    }

    fn aging(&self) -> Result<LruGen, Error> {
        self.kernel_has_lru_gen()?;
        Ok(LruGen::Age {
            memcg: self.memcg()?,
            node: self.node()?,
            max_gen: self.get("max_gen")?,
            can_swap: self.get("can_swap")?,
            force_scan: self.get("force_scan")?,
        })
    }

    fn eviction(&self) -> Result<LruGen, Error> {
        self.kernel_has_lru_gen()?;
        Ok(LruGen::Evict {
            memcg: self.memcg()?,
            node: self.node()?,
            min_gen: self.get("min_gen")?,
            swappiness: self.get("swappiness")?,
            pages: self.get("nr_to_reclaim")?,
        })
    }

    /// The number of a group, of which the root is the first.
    fn memcg(&self) -> Result<MemcgId, Error> {
        let Some(name) = self.opt_name("memcg")? else { return Ok(MemcgId(0)) };
        let groups: Vec<&str> = self.scope.machine.memcgs.iter().map(|m| m.name.as_str()).collect();
        match groups.iter().position(|g| *g == name) {
            Some(i) => Ok(MemcgId(i as u16 + 1)),
            None => Err(self.unknown_word("memcg", "memory cgroup", name, &groups)),
        }
    }

    fn node(&self) -> Result<NodeId, Error> {
        let (node, nodes): (u8, usize) = (self.get("node")?, self.scope.machine.nodes.len());
        if usize::from(node) >= nodes {
            let found = format!("there is no node {node}");
            return Err(self.error("node", found, format!("at most {}", nodes - 1)));
        }
        Ok(NodeId(node))
    }

    /// Pages of a write to `memory.reclaim`.
    fn memcg_reclaim(&self) -> Result<u32, Error> {
        let file = since(Kernel::V6_1, "5.19");
        let kernel = self.scope.machine.kernel;
        self.dated("do", file.check(kernel, "memory.reclaim", "leave it out"))?;
        self.get("memory")
    }

    fn advice(&self) -> Result<Advice, Error> {
        let (advice, region) = (self.word("advice", &ADVICE)?, self.region()?);
        let word = self.opt_text("advice")?.unwrap_or_default();
        self.dated("advice", check_advice(word, self.scope.machine.kernel, "leave it out"))?;
        if advice == Advice::Remove && !matches!(region.kind, MemoryKind::Shmem(..)) {
            let found = format!("`remove` of `{}`, which is not shared memory", region.name);
            return Err(self.error("advice", found, "\"dontneed\", or kind = \"shmem\""));
        }
        if advice == Advice::Free && region.kind != MemoryKind::Anon {
            let found = format!(
                "`free` of `{}`, which is no private memory: Linux refuses it (EINVAL)",
                region.name
            );
            return Err(self.error("advice", found, "\"dontneed\" or \"pageout\""));
        }
        Ok(advice)
    }

    /// `current` of mlockall, which must lock something now or later.
    fn locks_something(&self) -> Result<bool, Error> {
        let (current, future) = (self.get::<bool>("current")?, self.get::<bool>("future")?);
        if !current && !future {
            let found = "nothing is locked, now or later: Linux refuses it (EINVAL)";
            return Err(self.error("current", found, "`future = true`, or leave it out"));
        }
        Ok(current)
    }

    /// The way of I/O, which must be of the kernel.
    fn uncached(&self) -> Result<Option<Uncached>, Error> {
        let how = self.word("io", &IO)?;
        if how == Some(Uncached::DontCache) {
            let dontcache = check_dontcache(self.scope.machine.kernel, "\"cached\" or \"direct\"");
            self.dated("io", dontcache)?;
            if let MemoryKind::Shmem(..) = self.region()?.kind {
                let found = "tmpfs refuses RWF_DONTCACHE (EOPNOTSUPP)";
                return Err(self.error("io", found, "\"cached\""));
            }
        }
        if how.is_some() && self.has("into") {
            let found = "what is read past the cache goes to no region";
            return Err(self.error("io", found, "\"cached\", or leave `into` out"));
        }
        Ok(how)
    }

    fn region(&self) -> Result<&PhasedRegion, Error> {
        self.region_by("region")
    }

    fn region_by(&self, key: &str) -> Result<&PhasedRegion, Error> {
        let name = self.name(key)?;
        self.scope.regions.iter().find(|g| g.name == name).ok_or_else(|| {
            let (at, prefix) = (self.need(key).map_or(self.at, |n| n.at), self.name_of(key));
            unknown(self.sources, at, &format!("{prefix}: "), "region", name, self.scope.names)
        })
    }

    /// A region that has a mapping.
    fn mapped(&self) -> Result<String, Error> {
        self.mapped_by("region").map(|g| g.name.clone())
    }

    /// A region of shared memory.
    fn shared(&self) -> Result<String, Error> {
        let region = self.region()?;
        if !matches!(region.kind, MemoryKind::Shmem(..)) {
            let found = format!("`{}` is not shared memory", region.name);
            return Err(self.error("region", found, "a region with kind = \"shmem\""));
        }
        Ok(region.name.clone())
    }

    fn mapped_by(&self, key: &str) -> Result<&PhasedRegion, Error> {
        let region = self.region_by(key)?;
        if matches!(region.kind, MemoryKind::FileRead(_)) {
            let found = format!("`{}` is never mapped (kind = \"read\")", region.name);
            return Err(self.error(key, found, "a region of another kind"));
        }
        Ok(region)
    }

    /// A region that is a file, and a part of it.
    fn file(&self) -> Result<String, Error> {
        // Errors in the part come first.
        self.part()?;
        self.file_of_region().map(|g| g.name.clone())
    }

    fn file_of_region(&self) -> Result<&PhasedRegion, Error> {
        let region = self.region()?;
        if region.kind == MemoryKind::Anon {
            let found = format!("`{}` is anonymous memory, not a file", region.name);
            return Err(self.error("region", found, "a region with kind = \"read\""));
        }
        Ok(region)
    }

    /// The region that receives what is read: it has the pages at the same place.
    fn into(&self) -> Result<Option<String>, Error> {
        if !self.has("into") {
            return Ok(None);
        }
        let (into, (first, pages)) = (self.mapped_by("into")?, self.part()?);
        let end = first + pages;
        if into.pages < end {
            let found = format!(
                "`{}` has {}, and what is read ends after {}",
                into.name,
                show_pages(u64::from(into.pages)),
                show_pages(u64::from(end))
            );
            return Err(self.error("into", found, "a region that is as long"));
        }
        Ok(Some(into.name.clone()))
    }

    /// A size that is not more than the region's.
    fn within(&self, key: &str) -> Result<u32, Error> {
        let (region, pages) = (self.region()?, self.get::<u64>(key)?);
        match u32::try_from(pages) {
            Ok(n) if n <= region.pages => Ok(n),
            _ => {
                let pages = show_pages(pages);
                let found = format!("{pages} is more than the region `{}`", region.name);
                let write = format!("at most \"{}\"", show_pages(u64::from(region.pages)));
                Err(self.error(key, found, write))
            }
        }
    }

    /// First page and number of pages of a part of the region.
    fn part(&self) -> Result<(u32, u32), Error> {
        let PhasedRegion { name, pages: all, .. } = self.region()?;
        let first: u64 = self.get("first")?;
        if first >= u64::from(*all) {
            let found = format!("{} is beyond the end of `{name}`", show_pages(first));
            let write = format!("less than \"{}\"", show_pages(u64::from(*all)));
            return Err(self.error("first", found, write));
        }
        let first = first as u32;
        match self.get("size")? {
            None => Ok((first, all - first)),
            Some(n) if n <= u64::from(all - first) => Ok((first, n as u32)),
            Some(n) => {
                let found = format!("{} reaches beyond the end of `{name}`", show_pages(n));
                let write = format!("at most \"{}\"", show_pages(u64::from(all - first)));
                Err(self.error("size", found, write))
            }
        }
    }
}
