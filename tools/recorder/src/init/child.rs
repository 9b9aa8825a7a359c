//! The child whose accesses DAMON watches, and what is read off it and off DAMON.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use mmsim_recorder::record::{Look, Region};
use mmsim_recorder::script::Reads;

use crate::sys::{self, Mapping, PAGE};

/// A process that reads pages at ticks.
pub struct Child {
    pid: i32,
    /// First address of its region, and pages.
    start: usize,
    pages: usize,
    /// The first reading of DAMON's regions.
    first: Option<Duration>,
}

impl Child {
    /// Starts it, and returns when its pages are written.
    pub fn spawn(pages: usize, tick_us: u64, ticks: u64, reads: &[Reads]) -> Result<Child, String> {
        let region = Mapping::aligned(pages)?;
        let (mut ready, mut written) = std::io::pipe().map_err(|e| format!("a pipe: {e}"))?;
        let start = region.start();
        match sys::fork()? {
            None => {
                (0..pages).for_each(|page| region.fill(page));
                let told = written.write_all(&[1]);
                sys::exit_unless(told.is_ok());
                let (begin, tick) = (sys::now(), Duration::from_micros(tick_us));
                let mut k = 0;
                while ticks == 0 || k < ticks {
                    reads.iter().flat_map(|r| r.at(k)).for_each(|page| region.read(page));
                    k += 1;
                    let next = begin + tick * k as u32;
                    std::thread::sleep(next.saturating_sub(sys::now()));
                }
                loop {
                    std::thread::park();
                }
            }
            Some(pid) => {
                drop(written);
                let mut byte = [0];
                ready
                    .read_exact(&mut byte)
                    .map_err(|_| "the child ended before its pages were written")?;
                Ok(Child { pid, start, pages, first: None })
            }
        }
    }

    /// `$pid`, `$addr` and `$end` in what is written to DAMON's files.
    pub fn named(&self, value: &str) -> String {
        let names = [
            ("$pid", self.pid as usize),
            ("$addr", self.start),
            ("$end", self.start + self.pages * PAGE),
        ];
        names.iter().fold(value.to_string(), |text, (name, n)| text.replace(name, &n.to_string()))
    }

    /// Its resident and swapped pages, and free pages.
    pub fn resident(&self) -> Result<Look, String> {
        let status = crate::read(&format!("/proc/{}/status", self.pid))?;
        let pages = |name: &str| {
            let line = status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
            let kb = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
            kb.map(|kb| kb / 4).ok_or_else(|| format!("no {name} in /proc/{}/status", self.pid))
        };
        let free = mmsim_recorder::vmstat::read(&crate::vmstat()?);
        let free = free.get("nr_free_pages").copied().ok_or("no nr_free_pages")?;
        Ok(Look::Child { resident: pages("RssAnon")?, swapped: pages("VmSwap")?, free })
    }

    /// The regions that DAMON's scheme tried.
    pub fn regions(&mut self, scheme: &str) -> Result<Look, String> {
        let now = sys::now();
        let ms = (now - *self.first.get_or_insert(now)).as_millis() as u64;
        let folder = format!("{scheme}/tried_regions");
        let entries = std::fs::read_dir(&folder).map_err(|e| format!("{folder}: {e}"))?;
        // Beside the regions, which have numbers, there is their sum.
        let name = |e: std::io::Result<std::fs::DirEntry>| {
            e.ok()?.file_name().into_string().ok()?.parse().ok()
        };
        let mut names: Vec<u32> = entries.filter_map(name).collect();
        names.sort_unstable();
        let region = |nr: u32| -> Result<Region, String> {
            let number = |name: &str| number(&format!("{folder}/{nr}/{name}"));
            let (start, end) = (number("start")?, number("end")?);
            Ok(Region {
                start: (start as i64 - self.start as i64) / PAGE as i64,
                pages: (end - start) / PAGE as u64,
                nr_accesses: number("nr_accesses")?,
                age: number("age")?,
            })
        };
        Ok(Look::Regions { ms, regions: names.into_iter().map(region).collect::<Result<_, _>>()? })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        sys::kill(self.pid);
    }
}

/// The number in a file.
pub fn number(path: &str) -> Result<u64, String> {
    let text = crate::read(path)?;
    text.trim().parse().map_err(|_| format!("{path}: `{}` is no number", text.trim()))
}
