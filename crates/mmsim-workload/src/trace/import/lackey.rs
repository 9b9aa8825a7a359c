//! Valgrind's lackey: `I  04016b70,3`, ` L 1ffefff7e8,8`, ` S ..`, ` M ..` (modify).
//!
//! Addresses are hexadecimal, sizes decimal. Lines of valgrind itself begin with `==` or
//! `--` and are passed over. Each `I` is one instruction, which is all the time there is
//! in such a trace: we take it as one nanosecond, about what a 3 GHz machine needs with
//! its caches warm. The parser looks at every byte once and allocates nothing per line.
//!
//! Source: valgrind 3.19, lackey/lk_main.c (the same form in 3.2 to 3.24).

use std::io::Read;

use super::collapse::Collapse;
use super::lines::{Lines, show};
use super::regions::Reference;
use super::{FirstPass, ImportOptions};
use crate::trace::error::TraceError;
use crate::trace::table::{Process, TraceTable, USER_PAGES};

/// Values of hexadecimal digits; 255 for other bytes.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut i = 0;
    while i < 16 {
        table[b"0123456789abcdef"[i] as usize] = i as u8;
        table[b"0123456789ABCDEF"[i] as usize] = i as u8;
        i += 1;
    }
    table
};

/// Largest access: the widest that lackey prints are register saves of some kilobytes.
const MAX_SIZE: u64 = 1 << 20;

struct Parser {
    collapse: Collapse,
    fetches: bool,
    accesses: u64,
    /// References above the 47-bit user space (the vsyscall page).
    outside: u64,
}

/// Reads a lackey trace.
pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    options: &ImportOptions,
) -> Result<FirstPass, TraceError> {
    let mut parser = Parser {
        collapse: Collapse::new(options.window, options.refresh, options.tick),
        fetches: options.fetches,
        accesses: 0,
        outside: 0,
    };
    while let Some((first, piece)) = lines.next()? {
        let nr = parser.piece(first, piece)?;
        lines.used(nr);
    }
    parser.collapse.end_run();
    let mut table = TraceTable::empty("valgrind lackey");
    table.tick_ns = options.tick.max(1);
    table.assumptions = parser.assumptions(options);
    table.processes.push(Process { pid: 0, name: options.name.clone() });
    Ok(FirstPass {
        spool: parser.collapse.spool,
        touched: vec![parser.collapse.touched],
        table,
        lines: lines.lines(),
        accesses_read: parser.accesses,
    })
}

impl Parser {
    /// Parses a piece of whole lines, the first of which has number `first`. Returns the
    /// number of lines.
    fn piece(&mut self, first: u64, piece: &[u8]) -> Result<u64, TraceError> {
        let (mut at, mut line) = (0, first);
        while at < piece.len() {
            at = match self.line(piece, at) {
                Some(next) => next,
                None => other_line(piece, at, line)?,
            };
            line += 1;
        }
        Ok(line - first)
    }

    /// Parses the line at `at`; returns where the next begins. None: not a reference.
    #[inline(always)]
    fn line(&mut self, piece: &[u8], at: usize) -> Option<usize> {
        let Some(&[a, b, c]) = piece.get(at..at + 3) else { return None };
        let how = match (a, b, c) {
            (b'I', b' ', b' ') => Reference::Fetch,
            (b' ', b'L', b' ') => Reference::Load,
            (b' ', b'S' | b'M', b' ') => Reference::Store,
            _ => return None,
        };
        let mut i = at + 3;
        let mut address = 0u64;
        loop {
            let digit = HEX[usize::from(piece[i])];
            if digit == 255 {
                break;
            }
            address = address << 4 | u64::from(digit);
            i += 1;
        }
        if piece[i] != b',' || i == at + 3 || i > at + 3 + 16 {
            return None;
        }
        i += 1;
        let digits = i;
        let mut size = 0u64;
        while piece[i].wrapping_sub(b'0') < 10 {
            size = size.wrapping_mul(10).wrapping_add(u64::from(piece[i] - b'0'));
            i += 1;
        }
        if piece[i] == b'\r' {
            i += 1;
        }
        if piece[i] != b'\n' || size == 0 || i - digits > 8 || size > MAX_SIZE {
            return None;
        }
        self.reference(address, size, how);
        Some(i + 1)
    }

    #[inline(always)]
    fn reference(&mut self, address: u64, size: u64, how: Reference) {
        if how == Reference::Fetch {
            self.collapse.now += 1;
            if !self.fetches {
                return;
            }
        }
        self.accesses += 1;
        let page = address >> 12;
        let last = address.wrapping_add(size - 1) >> 12;
        if page == last && page < USER_PAGES {
            self.collapse.reference(page, how);
            return;
        }
        self.straddling(page, last, how);
    }

    /// An access across a page border, or outside of user space.
    #[inline(never)]
    fn straddling(&mut self, page: u64, last: u64, how: Reference) {
        if last >= USER_PAGES || last < page {
            self.outside += 1;
            return;
        }
        self.accesses += last - page;
        for p in page..=last {
            self.collapse.reference(p, how);
        }
    }

    fn assumptions(&self, options: &ImportOptions) -> Vec<String> {
        let mut all = vec![
            "one instruction takes 1 ns; time in system calls and waits is not known".into(),
            format!(
                "a repeated access to a page is left out if one at least as strong was kept \
                 fewer than {} kept accesses and fewer than {} instructions before",
                options.window, options.refresh
            ),
            "threads are one sequence, as valgrind runs them; memory that system calls read or \
             write is seen only when the program touches it"
                .into(),
            "all regions are mapped from the start; munmap and madvise are not seen".into(),
        ];
        if !options.fetches {
            all.push("instruction fetches are left out".into());
        }
        if self.outside > 0 {
            all.push(format!(
                "{} references above the 47-bit user space are left out",
                self.outside
            ));
        }
        all
    }
}

/// A line that is not a reference: valgrind's own, an empty one, or an error.
#[inline(never)]
fn other_line(piece: &[u8], at: usize, line: u64) -> Result<usize, TraceError> {
    let end = at + piece[at..].iter().position(|&b| b == b'\n').unwrap_or(piece.len() - at - 1);
    let text = piece[at..end].strip_suffix(b"\r").unwrap_or(&piece[at..end]);
    if text.is_empty() || text.starts_with(b"==") || text.starts_with(b"--") {
        return Ok(end + 1);
    }
    let known = matches!(text, [b'I', b' ', b' ', ..] | [b' ', b'L' | b'S' | b'M', b' ', ..]);
    let expected = if known {
        "a hexadecimal address of at most 16 digits, a comma, and a size from 1 to 2^20"
    } else {
        "`I`, `L`, `S` or `M` as lackey aligns them (`I  addr,size`, ` L addr,size`)"
    };
    Err(TraceError::line(line, show(piece, at), expected))
}
