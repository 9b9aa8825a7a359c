//! One file that several runs write at the same time.
//!
//! A single run writes it directly. Of several, each has a piece of a spool: a file without a
//! name, so that nothing can be left behind. There are as many spools as runs at the same
//! time, whatever their number. In the end the pieces are put together in the order of the
//! runs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::place::{Place, folder_of};
use super::{AtomicFile, BUFFER, check};
use crate::exit::Failure;

/// A file in the making.
pub struct Parts {
    target: PathBuf,
    state: Mutex<State>,
}

/// State so far.
struct State {
    /// The file, if a single run writes it.
    whole: Option<AtomicFile>,
    /// Spools by their numbers; those that a run writes to are `None`.
    spools: Vec<Option<File>>,
    /// The piece of each run that has ended.
    pieces: Vec<Option<Piece>>,
}

/// Where a run's lines are.
#[derive(Clone, Copy)]
struct Piece {
    spool: usize,
    start: u64,
    end: u64,
}

/// Output of one run.
pub enum Part {
    /// All of the file.
    Whole(AtomicFile),
    /// A piece, in the spool of this number from this byte on.
    Piece(BufWriter<File>, usize, u64),
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Part::Whole(file) => file.write(bytes),
            Part::Piece(file, ..) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Part::Whole(file) => file.flush(),
            Part::Piece(file, ..) => file.flush(),
        }
    }
}

/// A file without a name, beside the target, where its room is needed anyway. A pipe or a device
/// has no such place.
fn spool(target: &Path) -> io::Result<File> {
    match Place::of(target)? {
        Place::File(path) => tempfile::tempfile_in(folder_of(&path)),
        _ => tempfile::tempfile(),
    }
}

impl Parts {
    /// Begins a file of `nr` parts. What cannot be written is known before the runs.
    pub fn create(target: &Path, nr: usize) -> Result<Parts, Failure> {
        let failed = |e: io::Error| Failure::file("write", target, &e);
        let (whole, spools) = match nr {
            1 => (Some(AtomicFile::create(target)?), Vec::new()),
            _ => {
                check(Some(target))?;
                (None, vec![Some(spool(target).map_err(failed)?)])
            }
        };
        let state = Mutex::new(State { whole, spools, pieces: vec![None; nr] });
        Ok(Parts { target: target.to_path_buf(), state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, e: &io::Error) -> Failure {
        Failure::file("write", &self.target, e)
    }

    /// A part to write to, for a run that begins.
    pub fn take(&self) -> Result<Part, Failure> {
        let mut state = self.state();
        if let Some(file) = state.whole.take() {
            return Ok(Part::Whole(file));
        }
        let number = match state.spools.iter().position(Option::is_some) {
            Some(number) => number,
            None => {
                let spool = spool(&self.target).map_err(|e| self.failed(&e))?;
                state.spools.push(Some(spool));
                state.spools.len() - 1
            }
        };
        let mut file = state.spools[number].take().expect("it is there");
        let start = file.seek(SeekFrom::End(0)).map_err(|e| self.failed(&e))?;
        Ok(Part::Piece(BufWriter::with_capacity(BUFFER, file), number, start))
    }

    /// Hands in the part of a run that has ended.
    pub fn put(&self, run: usize, part: Part) -> Result<(), Failure> {
        match part {
            Part::Whole(file) => self.state().whole = Some(file),
            Part::Piece(out, spool, start) => {
                let file = out.into_inner().map_err(|e| self.failed(e.error()))?;
                let end = (&file).stream_position().map_err(|e| self.failed(&e))?;
                let mut state = self.state();
                state.spools[spool] = Some(file);
                state.pieces[run] = Some(Piece { spool, start, end });
            }
        }
        Ok(())
    }

    /// Puts the parts together. `header_lines` at the start of every part but the first
    /// are left out.
    pub fn commit(self, header_lines: usize) -> Result<(), Failure> {
        let Parts { target, state } = self;
        let failed = |e: io::Error| Failure::file("write", &target, &e);
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(whole) = state.whole {
            return whole.commit();
        }
        let mut out = AtomicFile::create(&target)?;
        let mut skip = 0;
        for piece in state.pieces.into_iter().flatten() {
            let file = state.spools[piece.spool].as_ref().expect("all runs have ended");
            append(file, piece, skip, &mut out).map_err(failed)?;
            skip = header_lines;
        }
        out.commit()
    }
}

fn append(mut file: &File, piece: Piece, skip: usize, out: &mut AtomicFile) -> io::Result<()> {
    let mut start = piece.start;
    file.seek(SeekFrom::Start(start))?;
    let mut reader = BufReader::new(file.take(piece.end - start));
    for _ in 0..skip {
        start += reader.skip_until(b'\n')? as u64;
    }
    file.seek(SeekFrom::Start(start))?;
    out.append(file.take(piece.end - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn parts_come_in_order_and_with_one_header() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.csv");
        let parts = Parts::create(&path, 3).unwrap();
        for index in [1, 0, 2] {
            let mut part = parts.take().unwrap();
            write!(part, "header\nrow {index}\n").unwrap();
            parts.put(index, part).unwrap();
        }
        assert_eq!(parts.state().spools.len(), 1, "one run after the other needs one spool");
        assert_eq!(names(dir.path()), 0);
        parts.commit(1).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "header\nrow 0\nrow 1\nrow 2\n");
        assert_eq!(names(dir.path()), 1);
    }

    #[test]
    fn runs_at_the_same_time_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e");
        let parts = Parts::create(&path, 2).unwrap();
        let (mut a, mut b) = (parts.take().unwrap(), parts.take().unwrap());
        for i in 0..3 {
            writeln!(a, "a{i}").unwrap();
            writeln!(b, "b{i}").unwrap();
        }
        parts.put(1, a).unwrap();
        parts.put(0, b).unwrap();
        parts.commit(0).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b0\nb1\nb2\na0\na1\na2\n");
    }
}
