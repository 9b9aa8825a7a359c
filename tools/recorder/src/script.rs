//! The commands of a script, as `evidence/reference/GENERATOR.md` lays them down.
//!
//! Host and machine read a script with this code. What cannot be, an unknown command, a number
//! that is none, a page outside its region, is refused with its line before anything runs.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::chance::Map;

/// Most pages of a region or ranks of a table (64 GiB).
const MAX_PAGES: u64 = 1 << 24;
/// Highest priority of swap (`SWAP_FLAG_PRIO_MASK`).
const MAX_PRIORITY: u32 = 0x7fff;

/// A run of pages of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pages {
    /// Region.
    pub region: usize,
    /// First page.
    pub at: usize,
    /// Number of chunks.
    pub count: usize,
}

/// Accesses to pages of a region that are drawn from a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// Region.
    pub region: usize,
    /// Table.
    pub table: usize,
    /// Number of accesses.
    pub accesses: u64,
    /// The page of a rank.
    pub map: Map,
}

/// Pages that a child reads, all of them in a number of ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reads {
    /// First page.
    pub start: usize,
    /// Number of chunks.
    pub count: usize,
    /// Ticks.
    pub every: u64,
}

impl Reads {
    /// The pages that are read at a tick.
    pub fn at(&self, tick: u64) -> std::ops::Range<usize> {
        let (ph, count) = (tick % self.every, self.count as u64);
        let part = |ph: u64| self.start + (ph * count / self.every) as usize;
        part(ph)..part(ph + 1)
    }
}

/// Way to read pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    /// Through the mapping.
    Mmap,
    /// 64 bytes, through the descriptor.
    Pread,
}

/// One command.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "names are those of evidence/reference/GENERATOR.md")]
pub enum Command {
    Write {
        path: String,
        value: String,
        may_fail: bool,
    },
    Zram {
        bytes: u64,
        priority: Option<u32>,
    },
    Swapon {
        device: String,
        pages: u64,
        priority: Option<u32>,
    },
    Table {
        table: usize,
        ranks: usize,
        theta: f64,
    },
    MlockSelf,
    Ballast {
        free: u64,
    },
    Seed(u64),
    Anon {
        region: usize,
        pages: usize,
    },
    /// Maps a file of the machine's tmpfs, to read and to write.
    Shmem {
        region: usize,
        name: String,
        pages: usize,
    },
    Mount {
        kind: String,
        device: String,
        folder: String,
        /// `ro`, options of cgroup2, or `none`.
        options: String,
    },
    Mkdir {
        path: String,
    },
    Process {
        process: usize,
        group: String,
    },
    On {
        process: usize,
        command: Box<Command>,
    },
    /// The same, and the first process does not wait.
    Start {
        process: usize,
        command: Box<Command>,
    },
    /// Until processes have done what they were started with.
    Wait,
    /// The first process goes to a group.
    Join {
        group: String,
    },
    Pin {
        cpu: usize,
    },
    /// Starts a program of the folder that `record.sh -x` brought, which prints to the console.
    Exec {
        words: Vec<String>,
    },
    File {
        region: usize,
        path: String,
        pages: usize,
        random: bool,
    },
    Unmap {
        region: usize,
    },
    /// Has writes to page i of a region write it in full: drawn bytes, as many as the i-th of
    /// these numbers in turn, and zeros.
    Contents {
        region: usize,
        bytes: Vec<usize>,
    },
    Fill(Pages),
    PreadScan(Pages),
    /// Reads with `O_DIRECT` or, if true, with `RWF_DONTCACHE`.
    Uncached(Pages, bool),
    /// Advice on the file of a region.
    Fadvise(Pages, FileAdvice),
    /// Locked, or else unlocked.
    Mlock(Pages, bool),
    Scan {
        pages: Pages,
        write: bool,
        times: u64,
    },
    Zipf {
        drawn: Drawn,
        write_permille: u64,
    },
    MixScan {
        drawn: Drawn,
        loop_: Pages,
        permille: u64,
        door: Door,
    },
    Mix2 {
        first: Drawn,
        second: Drawn,
        second_permille: u64,
        write_permille: u64,
    },
    Lazy {
        arena: Pages,
        chunk: usize,
        lag: u64,
        reads: Drawn,
        begin: u64,
        times: u64,
        advice: Option<Advice>,
    },
    /// `accesses` chunks of `chunk` pages, each read and then written into a buffer that is mapped
    /// for it. The draws are of chunks.
    Ebizzy {
        chunks: Drawn,
        chunk: usize,
    },
    Madvise {
        pages: Pages,
        advice: Advice,
    },
    Grow {
        region: usize,
        max: usize,
        floor: u64,
    },
    Punch {
        region: usize,
        period: usize,
        keep: usize,
    },
    HugePool {
        pages: u64,
    },
    Thp {
        region: usize,
        blocks: usize,
    },
    Pipes {
        pages: u64,
        floor: u64,
        per: u64,
    },
    Drain {
        pages: u64,
    },
    Pring {
        blocks: u64,
        order: u8,
        per: u64,
    },
    SleepMs(u64),
    Spawn {
        pages: usize,
        tick_us: u64,
        ticks: u64,
        reads: Vec<Reads>,
    },
    KillChild,
    ChildRss {
        label: String,
    },
    DamonRegions {
        scheme: String,
        label: String,
    },
    /// Prints numbers that stand in files, or without a label a whole file.
    Val {
        label: Option<String>,
        paths: Vec<String>,
    },
    Snap {
        name: String,
        zones: bool,
    },
    /// Prints something and changes nothing: passed over.
    Look,
}

impl Command {
    /// Accesses that it makes one by one, and pages that it fills.
    pub fn accesses(&self) -> (u64, u64) {
        match self {
            Command::Fill(p) => (0, p.count as u64),
            Command::Zipf { drawn, .. } | Command::MixScan { drawn, .. } => (drawn.accesses, 0),
            Command::Mix2 { first, .. } => (first.accesses, 0),
            _ => (0, 0),
        }
    }
}

/// Error in a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// Line, counted from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The error, and the allowed text.
    pub what: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: `{}`: {}", self.line, self.text, self.what)
    }
}

/// Reads all lines of a script. Empty ones are passed over.
///
/// # Errors
/// The first line that cannot be.
pub fn parse(text: &str) -> Result<Vec<Command>, BadLine> {
    let mut known = Known::default();
    let mut all = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let bad = |what| BadLine { line: i + 1, text: line.to_string(), what };
        let command = Words::of(line).command(&mut known).map_err(bad)?;
        all.push(command);
    }
    Ok(all)
}

/// Sizes of what has been set up.
#[derive(Default)]
struct Known {
    regions: BTreeMap<usize, usize>,
    tables: BTreeMap<usize, usize>,
    snaps: Vec<String>,
    child: bool,
    /// Regions and tables of each process.
    processes: BTreeMap<usize, Known>,
    /// Commands that processes were started with since the first one waited.
    under_way: usize,
}

impl Known {
    fn region(&self, r: usize) -> Result<usize, String> {
        self.regions.get(&r).copied().ok_or_else(|| format!("there is no region {r}"))
    }
    fn map(&mut self, region: usize, pages: usize) -> Result<(), String> {
        let there = self.regions.insert(region, pages);
        there.map_or(Ok(()), |_| Err(format!("there is a region {region} already")))
    }
    fn within(&self, p: Pages) -> Result<Pages, String> {
        let n = self.region(p.region)?;
        if p.at + p.count > n {
            let end = p.at + p.count;
            return Err(format!("up to page {end}, but region {} has {n} pages", p.region));
        }
        Ok(p)
    }
    fn drawn(&self, d: Drawn) -> Result<Drawn, String> {
        let n = self.region(d.region)?;
        let ranks =
            self.tables.get(&d.table).ok_or_else(|| format!("there is no table {}", d.table))?;
        if *ranks > n {
            return Err(format!("{ranks} ranks, but region {} has {n} pages", d.region));
        }
        Ok(d)
    }
}

/// The words of a line that have not been read yet.
struct Words<'a> {
    rest: std::str::SplitWhitespace<'a>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Words<'a> {
        Words { rest: line.split_whitespace() }
    }
    fn word(&mut self, what: &str) -> Result<&'a str, String> {
        self.rest.next().ok_or_else(|| format!("{what} is missing"))
    }
    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.word(what)?;
        word.parse().map_err(|_| format!("{what} is `{word}`, write a number"))
    }
    fn up_to(&mut self, what: &str, min: u64, max: u64) -> Result<u64, String> {
        let n = self.number(what)?;
        if !(min..=max).contains(&n) {
            return Err(format!("{what} is {n}, write a number from {min} to {max}"));
        }
        Ok(n)
    }
    /// Priority of swap, where one is stated.
    fn priority(&mut self) -> Result<Option<u32>, String> {
        let Some(word) = self.rest.next() else { return Ok(None) };
        let all = format!("the priority is `{word}`, write a number from 0 to {MAX_PRIORITY}");
        word.parse().ok().filter(|p| *p <= MAX_PRIORITY).map(Some).ok_or(all)
    }
    fn size(&mut self, what: &str) -> Result<usize, String> {
        Ok(self.up_to(what, 1, MAX_PAGES)? as usize)
    }
    fn pages(&mut self) -> Result<Pages, String> {
        let region = self.number("the region")?;
        let at = self.up_to("the first page", 0, MAX_PAGES)? as usize;
        Ok(Pages { region, at, count: self.up_to("the number of pages", 0, MAX_PAGES)? as usize })
    }
    fn map(&mut self) -> Result<Map, String> {
        Ok(Map { mul: self.number("mul")?, add: self.number("add")? })
    }
    fn one_of<T: Copy>(&mut self, what: &str, all: &[(&str, T)]) -> Result<T, String> {
        let word = self.word(what)?;
        all.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            format!("{what} is `{word}`, write {}", names.join(" or "))
        })
    }
    fn command(mut self, known: &mut Known) -> Result<Command, String> {
        let name = self.word("a command")?;
        let mut command = None;
        for of in [
            Self::of_machine,
            Self::of_kernel,
            Self::of_group,
            Self::of_region,
            Self::of_access,
            Self::of_program,
            Self::of_look,
        ] {
            command = command.or(of(&mut self, name, known)?);
        }
        let command = command.ok_or("not a command of this recorder, see docs/recording.md")?;
        match self.rest.next() {
            Some(more) => Err(format!("`{more}` is too much")),
            None => Ok(command),
        }
    }

    /// Commands that set up the machine and the draws. `None`: it is none of them.
    fn of_machine(&mut self, name: &str, known: &mut Known) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "write" | "trywrite" => {
                let path = self.word("the path")?.to_string();
                let value: Vec<&str> = self.rest.by_ref().collect();
                if value.is_empty() {
                    return Err("the value is missing".into());
                }
                Command::Write { path, value: value.join(" "), may_fail: name == "trywrite" }
            }
            "swapon" => {
                let device = self.word("the device")?.to_string();
                let pages = self.up_to("the pages", 2, MAX_PAGES)?;
                Command::Swapon { device, pages, priority: self.priority()? }
            }
            "zram" => {
                let bytes = self.up_to("the size", 8192, MAX_PAGES * 4096)?;
                Command::Zram { bytes, priority: self.priority()? }
            }
            "table" => {
                let table = self.number("the table")?;
                let ranks = self.size("the number of ranks")?;
                let theta: f64 = self.number("theta")?;
                if !(0.0..=10.0).contains(&theta) {
                    return Err(format!("theta is {theta}, write a number from 0 to 10"));
                }
                known.tables.insert(table, ranks);
                Command::Table { table, ranks, theta }
            }
            "mlockself" => Command::MlockSelf,
            "seed" => Command::Seed(self.number("the seed")?),
            "mount" => self.mount()?,
            _ => return Ok(None),
        }))
    }

    /// Commands that take memory as the kernel does. `None`: it is none of them.
    fn of_kernel(&mut self, name: &str, _: &mut Known) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "ballast" => Command::Ballast { free: self.up_to("the free pages", 1, MAX_PAGES)? },
            "hugepool" => Command::HugePool { pages: self.up_to("the pages", 0, MAX_PAGES)? },
            "pipes" => {
                let pages = self.up_to("the pages", 1, MAX_PAGES)?;
                let floor = self.number("the floor")?;
                Command::Pipes { pages, floor, per: self.up_to("the pages of a pipe", 1, 256)? }
            }
            "drain" => Command::Drain { pages: self.up_to("the pages of a pipe", 1, 256)? },
            "pring" => {
                let blocks = self.up_to("the blocks", 1, MAX_PAGES)?;
                let order = self.up_to("the order", 0, 10)? as u8;
                let per = self.up_to("the blocks of a socket", 1, blocks)?;
                self.one_of("whether they stay", &[("1", ())])?;
                Command::Pring { blocks, order, per }
            }
            _ => return Ok(None),
        }))
    }

    /// Commands that map regions, change or drop them. `None`: it is none of them.
    fn of_region(&mut self, name: &str, known: &mut Known) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "anon" | "shmem" => {
                let region = self.number("the region")?;
                let file = if name == "shmem" { Some(self.word("the name")?) } else { None };
                let pages = self.size("the number of pages")?;
                known.map(region, pages)?;
                match file.map(str::to_string) {
                    Some(name) => Command::Shmem { region, name, pages },
                    None => Command::Anon { region, pages },
                }
            }
            "file" => {
                let region = self.number("the region")?;
                let path = self.word("the path")?.to_string();
                let pages = self.size("the number of pages")?;
                let random = self.one_of("the advice", &[("normal", false), ("random", true)])?;
                known.map(region, pages)?;
                Command::File { region, path, pages, random }
            }
            "unmap" => {
                let region = self.number("the region")?;
                known.region(region)?;
                known.regions.remove(&region);
                Command::Unmap { region }
            }
            "contents" => {
                let region = self.number("the region")?;
                known.region(region)?;
                let mut bytes = vec![self.up_to("the drawn bytes", 0, 4096)? as usize];
                while self.rest.clone().next().is_some() {
                    bytes.push(self.up_to("the drawn bytes", 0, 4096)? as usize);
                }
                Command::Contents { region, bytes }
            }
            "fadvise" => {
                let pages = known.within(self.pages()?)?;
                let all = [
                    ("normal", FileAdvice::Normal),
                    ("sequential", FileAdvice::Sequential),
                    ("random", FileAdvice::Random),
                    ("willneed", FileAdvice::WillNeed),
                    ("noreuse", FileAdvice::NoReuse),
                    ("dontneed", FileAdvice::DontNeed),
                ];
                Command::Fadvise(pages, self.one_of("the advice", &all)?)
            }
            "mlock" => Command::Mlock(known.within(self.pages()?)?, true),
            "munlock" => Command::Mlock(known.within(self.pages()?)?, false),
            "madvise" => {
                let pages = known.within(self.pages()?)?;
                let all = [
                    ("populate_read", Advice::PopulateRead),
                    ("pageout", Advice::Pageout),
                    ("free", Advice::Free),
                    ("dontneed", Advice::Dontneed),
                    ("remove", Advice::Remove),
                ];
                Command::Madvise { pages, advice: self.one_of("the advice", &all)? }
            }
            "grow" => {
                let region = self.number("the region")?;
                let max = self.size("the most pages")?;
                if max > known.region(region)? {
                    return Err(format!("{max} pages, but region {region} has less"));
                }
                Command::Grow { region, max, floor: self.up_to("the floor", 1, MAX_PAGES)? }
            }
            "punch" => {
                let region = self.number("the region")?;
                known.region(region)?;
                let period = self.size("the period")?;
                let keep = self.up_to("what is kept", 0, period as u64)? as usize;
                Command::Punch { region, period, keep }
            }
            "thp" => {
                let region = self.number("the region")?;
                let blocks = self.up_to("the huge pages", 1, MAX_PAGES / 512)? as usize;
                if known.regions.insert(region, blocks * 512).is_some() {
                    return Err(format!("there is a region {region} already"));
                }
                Command::Thp { region, blocks }
            }
            _ => return Ok(None),
        }))
    }

    /// Commands that touch pages. `None`: it is none of them.
    fn of_access(&mut self, name: &str, known: &mut Known) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "preadscan" => Command::PreadScan(known.within(self.pages()?)?),
            "direct" => Command::Uncached(known.within(self.pages()?)?, false),
            "dontcache" => Command::Uncached(known.within(self.pages()?)?, true),
            "mix2" => {
                let mut of = || -> Result<Drawn, String> {
                    let (region, table) = (self.number("the region")?, self.number("the table")?);
                    known.drawn(Drawn { region, table, accesses: 0, map: self.map()? })
                };
                let (mut first, second) = (of()?, of()?);
                first.accesses = self.number("the number of accesses")?;
                let second_permille = self.up_to("the share of a thousand", 0, 1000)?;
                let write_permille = self.up_to("the writes of a thousand", 0, 1000)?;
                Command::Mix2 { first, second, second_permille, write_permille }
            }
            "fill" => Command::Fill(known.within(self.pages()?)?),
            "scan" => {
                let pages = known.within(self.pages()?)?;
                let write = self.one_of("the kind", &[("r", false), ("w", true)])?;
                let times = match self.rest.next() {
                    None => 1,
                    Some(k) => k.parse().map_err(|_| format!("k is `{k}`, write a number"))?,
                };
                Command::Scan { pages, write, times }
            }
            "zipf" => {
                let (region, table) = (self.number("the region")?, self.number("the table")?);
                let accesses = self.number("the number of accesses")?;
                let write_permille = self.up_to("the writes of a thousand", 0, 1000)?;
                let drawn = Drawn { region, table, accesses, map: self.map()? };
                Command::Zipf { drawn: known.drawn(drawn)?, write_permille }
            }
            "mixscan" => {
                let (region, table) = (self.number("the region")?, self.number("the table")?);
                let accesses = self.number("the number of accesses")?;
                let drawn = known.drawn(Drawn { region, table, accesses, map: self.map()? })?;
                let mut loop_ = self.pages()?;
                let len = loop_.count;
                if loop_.at >= len {
                    return Err(format!("begins at page {} of {len}", loop_.at));
                }
                loop_.count = len - loop_.at;
                known.within(loop_)?;
                let permille = self.up_to("the share of a thousand", 0, 1000)?;
                let doors = [("mmap", Door::Mmap), ("pread", Door::Pread)];
                let door = self.one_of("the mode", &doors)?;
                Command::MixScan { drawn, loop_, permille, door }
            }
            _ => return Ok(None),
        }))
    }

    /// Commands that imitate a program. `None`: it is none of them.
    fn of_program(&mut self, name: &str, known: &mut Known) -> Result<Option<Command>, String> {
        Ok(Some(match name {
            "lazy" => {
                let region = self.number("the region")?;
                let count = self.size("the number of pages")?;
                let arena = known.within(Pages { region, at: 0, count })?;
                let chunk = self.size("the size of a chunk")?;
                if chunk > count {
                    return Err(format!("a chunk has {chunk} pages, the arena {count}"));
                }
                let lag = self.number("the lag")?;
                let (region, table) = (self.number("the region")?, self.number("the table")?);
                let accesses = self.number("the number of reads")?;
                let times = self.number("how often")?;
                let reads = known.drawn(Drawn { region, table, accesses, map: self.map()? })?;
                let modes = [
                    ("none", None),
                    ("free", Some(Advice::Free)),
                    ("dontneed", Some(Advice::Dontneed)),
                ];
                let advice = self.one_of("the mode", &modes)?;
                let begin = self.number("the first i")?;
                Command::Lazy { arena, chunk, lag, reads, begin, times, advice }
            }
            "ebizzy" => {
                let (region, table) = (self.number("the region")?, self.number("the table")?);
                let chunk = self.size("the size of a chunk")?;
                let accesses = self.number("how often")?;
                let map = Map { mul: self.number("mul")?, add: 0 };
                let buffer = self.number("the region of the buffer")?;
                if known.regions.contains_key(&buffer) {
                    return Err(format!("there is a region {buffer} already"));
                }
                let chunks = known.drawn(Drawn { region, table, accesses, map })?;
                let count = known.tables[&table].saturating_mul(chunk);
                known.within(Pages { region, at: 0, count })?;
                Command::Ebizzy { chunks, chunk }
            }
            "spawn" => {
                if std::mem::replace(&mut known.child, true) {
                    return Err("there is a child already".into());
                }
                let pages = self.size("the number of pages")?;
                let tick_us = self.up_to("the tick", 1, 60_000_000)?;
                let ticks = self.number("the number of ticks")?;
                let mut reads = Vec::new();
                while let Some(word) = self.rest.next() {
                    let start = word
                        .parse()
                        .map_err(|_| format!("the start is `{word}`, write a number"))?;
                    let count = self.size("the number of pages")?;
                    if start + count > pages {
                        let end = start + count;
                        return Err(format!("up to page {end}, but the child has {pages} pages"));
                    }
                    let every = self.up_to("the ticks of a pass", 1, 1 << 32)?;
                    reads.push(Reads { start, count, every });
                }
                Command::Spawn { pages, tick_us, ticks, reads }
            }
            "killchild" | "childrss" if !known.child => return Err("there is no child".into()),
            "killchild" => {
                known.child = false;
                Command::KillChild
            }
            "childrss" => Command::ChildRss { label: self.word("the label")?.to_string() },
            _ => return Ok(None),
        }))
    }
}

mod advice;
mod group;
mod look;
mod until;
pub use advice::{Advice, FileAdvice};
pub use until::until;
#[cfg(test)]
mod tests;
