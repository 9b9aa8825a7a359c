//! Records in the order of their times, in bounded memory.
//!
//! A bounded number of records at a time is sorted and put into a temporary file; at the end the
//! files are merged. When there are as many files as are merged at once, they become one of the
//! next level, so no more are open than that many for each level. Equal times stay in the order of
//! their lines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};

use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use super::Request;
use super::values::Op;
use crate::trace::error::TraceError;

/// Records that are sorted in memory: 32 MiB of them.
const RECORDS: usize = 1 << 19;

/// Files that are merged at once.
const FAN_IN: usize = 32;

/// Bytes of a record in a file.
const BYTES: usize = 46;

/// A request with a time, and its line.
type Timed = (u64, u64, Request);

/// Takes requests and gives them back in order.
pub(super) struct Sorter {
    limit: usize,
    records: Vec<Timed>,
    /// Sorted files; those of level `i` were merged `i` times.
    levels: Vec<Vec<Run>>,
}

/// A sorted file that is read from its beginning.
type Run = io::Take<Decoder<'static, io::BufReader<File>>>;

impl Sorter {
    pub(super) fn new() -> Self {
        Self::of(RECORDS)
    }

    fn of(limit: usize) -> Self {
        Sorter { limit, records: Vec::new(), levels: Vec::new() }
    }

    /// Adds a request of a line.
    pub(super) fn push(&mut self, line: u64, request: Request) -> Result<(), TraceError> {
        self.records.push((request.time.unwrap_or(0), line, request));
        if self.records.len() >= self.limit {
            self.spill().map_err(TraceError::io(doing()))?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        // Stable, so several requests of a line stay in order.
        self.records.sort_by_key(|r| (r.0, r.1));
        let mut file = Writing::new()?;
        for record in self.records.drain(..) {
            file.put(&record)?;
        }
        let mut run = file.run()?;
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(run);
            if self.levels[level].len() < FAN_IN {
                break;
            }
            let runs = std::mem::take(&mut self.levels[level]);
            let mut file = Writing::new()?;
            merge(runs, |record| file.put(&record).map_err(Failed::Io))
                .map_err(|(Failed::Io(e) | Failed::Each(e))| e)?;
            run = file.run()?;
        }
        Ok(())
    }

    /// Hands all requests to `each`, with their lines.
    pub(super) fn finish(
        mut self,
        mut each: impl FnMut(u64, Request) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if self.levels.is_empty() {
            self.records.sort_by_key(|r| (r.0, r.1));
            return self.records.into_iter().try_for_each(|(_, line, r)| each(line, r));
        }
        self.spill().map_err(TraceError::io(doing()))?;
        // Older ones first: of equal records they are the earlier lines anyway.
        let runs = self.levels.into_iter().rev().flatten().collect();
        merge(runs, |(_, line, r)| each(line, r).map_err(Failed::Each)).map_err(|e| match e {
            Failed::Io(e) => TraceError::io(doing())(e),
            Failed::Each(e) => e,
        })
    }
}

fn doing() -> String {
    format!("sorting by time in {}", std::env::temp_dir().display())
}

/// Failure of a merge.
enum Failed<E> {
    Io(io::Error),
    Each(E),
}

/// A sorted file in the making.
struct Writing {
    out: Encoder<'static, BufWriter<File>>,
    bytes: u64,
}

impl Writing {
    fn new() -> io::Result<Self> {
        let out = Encoder::new(BufWriter::new(tempfile::tempfile()?), 1)?;
        Ok(Writing { out, bytes: 0 })
    }

    fn put(&mut self, (time, line, r): &Timed) -> io::Result<()> {
        let mut bytes = [0; BYTES];
        for (i, n) in [*time, *line, r.page, r.count].into_iter().enumerate() {
            bytes[8 * i..8 * i + 8].copy_from_slice(&n.to_le_bytes());
        }
        bytes[32..40].copy_from_slice(&r.repeats.to_le_bytes());
        bytes[40..44].copy_from_slice(&r.pid.to_le_bytes());
        bytes[44] = match r.op {
            None => 0,
            Some(Op::Read) => 1,
            Some(Op::Write) => 2,
            Some(Op::Other) => 3,
            Some(Op::Unknown) => 4,
        };
        bytes[45] = u8::from(r.time.is_some());
        self.bytes += BYTES as u64;
        self.out.write_all(&bytes)
    }

    fn run(self) -> io::Result<Run> {
        let mut file = self.out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Decoder::new(file)?.take(self.bytes))
    }
}

/// The next record of a file.
fn get(run: &mut Run) -> io::Result<Option<Timed>> {
    if run.limit() == 0 {
        return Ok(None);
    }
    let mut bytes = [0; BYTES];
    run.read_exact(&mut bytes)?;
    let word = |i: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[8 * i..8 * i + 8]);
        u64::from_le_bytes(word)
    };
    let request = Request {
        op: match bytes[44] {
            0 => None,
            1 => Some(Op::Read),
            2 => Some(Op::Write),
            3 => Some(Op::Other),
            _ => Some(Op::Unknown),
        },
        page: word(2),
        count: word(3),
        repeats: word(4),
        pid: u32::from_le_bytes([bytes[40], bytes[41], bytes[42], bytes[43]]),
        time: (bytes[45] == 1).then(|| word(0)),
    };
    Ok(Some((word(0), word(1), request)))
}

fn merge<E>(
    mut runs: Vec<Run>,
    mut each: impl FnMut(Timed) -> Result<(), Failed<E>>,
) -> Result<(), Failed<E>> {
    let mut heads: Vec<Option<Timed>> = Vec::with_capacity(runs.len());
    let mut heap = BinaryHeap::new();
    for (i, run) in runs.iter_mut().enumerate() {
        let head = get(run).map_err(Failed::Io)?;
        heap.extend(head.map(|h| Reverse((h.0, h.1, i))));
        heads.push(head);
    }
    while let Some(Reverse((_, _, i))) = heap.pop() {
        let next = get(&mut runs[i]).map_err(Failed::Io)?;
        heap.extend(next.map(|h| Reverse((h.0, h.1, i))));
        if let Some(record) = std::mem::replace(&mut heads[i], next) {
            each(record)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order is that of a stable sort, however many files there are.
    #[test]
    fn many_files_are_merged_in_order() {
        for nr in [0_u64, 5, 7, 8, 500, 20_000] {
            let mut sorter = Sorter::of(7);
            let mut model = Vec::new();
            for line in 1..=nr {
                let time = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
                let request = Request {
                    op: [None, Some(Op::Read), Some(Op::Write)][(line % 3) as usize],
                    page: line << 20,
                    count: 1 + line % 5,
                    repeats: 1 + line % 2,
                    pid: line as u32,
                    time: Some(time),
                };
                sorter.push(line, request).unwrap();
                model.push((line, request));
            }
            model.sort_by_key(|(_, r)| r.time);
            let mut back = Vec::new();
            sorter
                .finish(|line, r| {
                    back.push((line, r));
                    Ok(())
                })
                .unwrap();
            assert!(back == model, "{nr} records");
        }
    }
}
