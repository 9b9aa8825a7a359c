//! A plain text of page accesses, for traces from elsewhere.
//!
//! `<R|W> <page> [count] [pid] [time]` per line, fields apart by blanks or tabs: `page` is
//! a virtual page number, decimal or with `0x` hexadecimal; `count` consecutive pages
//! (1); `pid` tells processes apart (0); `time` in nanoseconds since the start, not
//! decreasing within a process. `#` begins a comment. Either all lines have a time, which
//! makes a trace of recorded arrivals, or none has, which makes a closed loop without
//! think time. Accesses are taken as they are, none is dropped.

use std::collections::BTreeMap;
use std::io::Read;

use super::collapse::Reference;
use super::lines::{Lines, show};
use super::regions::Touched;
use super::spool::{Spool, Spooled};
use super::{FirstPass, ImportOptions};
use crate::trace::error::TraceError;
use crate::trace::table::{
    MAX_PROCESSES, MAX_TOTAL_PAGES, Process, Timing, TraceTable, USER_PAGES,
};

struct Parser {
    spool: Spool,
    touched: Vec<Touched>,
    processes: Vec<Process>,
    by_pid: BTreeMap<u32, u16>,
    clocks: Vec<u64>,
    timed: Option<bool>,
    accesses: u64,
    /// Pages of all maps of touched pages.
    reserved: u64,
}

/// The fields of a line.
struct Fields {
    write: bool,
    page: u64,
    count: u64,
    pid: u32,
    time: Option<u64>,
}

/// Reads a text of pages.
pub(super) fn read<R: Read>(
    mut lines: Lines<R>,
    options: &ImportOptions,
) -> Result<FirstPass, TraceError> {
    let mut p = Parser {
        spool: Spool::new()?,
        touched: Vec::new(),
        processes: Vec::new(),
        by_pid: BTreeMap::new(),
        clocks: Vec::new(),
        timed: None,
        accesses: 0,
        reserved: 0,
    };
    while let Some((first, piece)) = lines.next()? {
        let (mut at, mut line) = (0, first);
        while at < piece.len() {
            let length = piece[at..].iter().position(|&b| b == b'\n').unwrap_or(piece.len() - at);
            p.line(piece, at, length, line, options)?;
            at += length + 1;
            line += 1;
        }
        let nr = line - first;
        lines.used(nr);
    }
    let mut table = TraceTable::empty("text of pages");
    table.timing = if p.timed == Some(true) { Timing::Arrivals } else { Timing::ThinkTime };
    table.processes = p.processes;
    if p.timed != Some(true) {
        table.assumptions.push("no times are given: there is no think time".into());
    }
    table.assumptions.push("all regions are mapped from the start".into());
    Ok(FirstPass {
        spool: p.spool,
        touched: p.touched,
        table,
        lines: lines.lines(),
        accesses_read: p.accesses,
    })
}

impl Parser {
    fn line(
        &mut self,
        piece: &[u8],
        at: usize,
        length: usize,
        line: u64,
        options: &ImportOptions,
    ) -> Result<(), TraceError> {
        let text = &piece[at..at + length];
        let text = text.split(|&b| b == b'#').next().unwrap_or_default();
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let wrong = |expected: &str| TraceError::line(line, show(piece, at), expected.to_string());
        let f = fields(text).map_err(wrong)?;
        if f.count == 0 || f.count > MAX_TOTAL_PAGES {
            return Err(wrong("a count from 1 to 2^28 pages"));
        }
        if f.page >= USER_PAGES || f.page + f.count > USER_PAGES {
            return Err(wrong("pages within the 47-bit address space (below 0x800000000)"));
        }
        if self.timed.is_some_and(|timed| timed != f.time.is_some()) {
            return Err(wrong("a time on every line, or on none"));
        }
        self.timed = Some(f.time.is_some());
        let Some(process) = self.process(f.pid, options) else {
            return Err(wrong("at most 4096 processes"));
        };
        let clock = &mut self.clocks[usize::from(process)];
        let Some(ticks) = f.time.unwrap_or(0).checked_sub(*clock) else {
            return Err(wrong("a time not before that of the process's access before"));
        };
        *clock += ticks;
        let touched = &mut self.touched[usize::from(process)];
        self.reserved -= touched.reserved_pages();
        let how = if f.write { Reference::Store } else { Reference::Load };
        for page in f.page..f.page + f.count {
            touched.touch(page, how);
        }
        self.reserved += touched.reserved_pages();
        if self.reserved > MAX_TOTAL_PAGES {
            return Err(wrong("at most 2^28 distinct pages"));
        }
        self.accesses += f.count;
        let run = Spooled { process, write: f.write, vpn: f.page, count: f.count, ticks };
        self.spool.push(&run)
    }

    /// The number of a process, new ones in order of appearance.
    fn process(&mut self, pid: u32, options: &ImportOptions) -> Option<u16> {
        if let Some(&nr) = self.by_pid.get(&pid) {
            return Some(nr);
        }
        if self.processes.len() == MAX_PROCESSES {
            return None;
        }
        let nr = self.processes.len() as u16;
        let name = if pid == 0 { options.name.clone() } else { format!("{}.{pid}", options.name) };
        self.processes.push(Process { pid, name });
        self.touched.push(Touched::default());
        self.clocks.push(0);
        self.by_pid.insert(pid, nr);
        Some(nr)
    }
}

fn fields(text: &[u8]) -> Result<Fields, &'static str> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let write = match words.next() {
        Some(b"R" | b"r") => false,
        Some(b"W" | b"w") => true,
        _ => return Err("`R` or `W`"),
    };
    let mut next = |expected| match words.next() {
        Some(word) => number(word).map(Some).ok_or(expected),
        None => Ok(None),
    };
    let page = next("a page number, decimal or 0x hexadecimal")?
        .ok_or("a page number after `R` or `W`")?;
    let count = next("a count of pages")?.unwrap_or(1);
    let pid = next("a process id")?.unwrap_or(0);
    let pid = u32::try_from(pid).map_err(|_| "a process id below 2^32")?;
    let time = next("a time in nanoseconds")?;
    if words.next().is_some() {
        return Err("at most five fields");
    }
    if time.is_some_and(|t| t > u64::MAX / 4) {
        return Err("a time below 2^62 ns");
    }
    Ok(Fields { write, page, count, pid, time })
}

/// A decimal or, after `0x`, hexadecimal number.
fn number(word: &[u8]) -> Option<u64> {
    let (digits, radix) = match word.strip_prefix(b"0x") {
        Some(hex) => (hex, 16),
        None => (word, 10),
    };
    if digits.is_empty() {
        return None;
    }
    let mut n = 0u64;
    for &b in digits {
        let d = char::from(b).to_digit(radix)?;
        n = n.checked_mul(u64::from(radix))?.checked_add(u64::from(d))?;
    }
    Some(n)
}
