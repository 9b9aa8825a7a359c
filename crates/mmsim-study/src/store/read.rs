//! Reading a store, also while it is written.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufRead, BufReader, ErrorKind as Kind, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::path::Path;

use siphasher::sip::SipHasher13;

use super::id::{Numbered, UnitId};
use super::{FRAME, Files, Header, parts_of};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files::unreadable;

/// Bytes of a frame at most: a unit's line is a part of it.
const MOST: u64 = 1 << 30;

/// A fingerprint of bytes.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The tail of a shard: how long the frames were when it began, and its whole lines.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// `None`: it does not say.
    pub(super) base: Option<u64>,
    /// Lines with their ends.
    pub(super) lines: Vec<u8>,
}

impl Tail {
    /// Reads a tail up to the first line that is not whole.
    pub(super) fn read(path: &Path) -> io::Result<Tail> {
        let bytes = match std::fs::read(path) {
            Err(e) if e.kind() == Kind::NotFound => Vec::new(),
            read => read?,
        };
        let mut tail = Tail::default();
        for line in lines_of(&bytes) {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            let Some((sum, line)) = line.split_at_checked(17) else { break };
            let sum = std::str::from_utf8(sum).ok().map(str::trim_end);
            if sum.and_then(|s| u64::from_str_radix(s, 16).ok()) != Some(checksum(line)) {
                break;
            }
            match tail.base {
                None => {
                    let base = std::str::from_utf8(line).ok().and_then(|t| t.strip_prefix("from "));
                    tail.base = base.and_then(|t| t.parse().ok());
                    if tail.base.is_none() {
                        break;
                    }
                }
                Some(_) => {
                    tail.lines.extend_from_slice(line);
                    tail.lines.push(b'\n');
                }
            }
        }
        Ok(tail)
    }
}

/// Counts the bytes that were taken from a reader.
struct Counted<R> {
    inner: R,
    taken: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.taken += n as u64;
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }
    fn consume(&mut self, n: usize) {
        self.inner.consume(n);
        self.taken += n as u64;
    }
}

fn unpacked(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    // A frame ends behind the line that fills it.
    let mut bytes = Vec::with_capacity(FRAME + FRAME / 8);
    let frame = zstd::Decoder::with_buffer(reader)?.single_frame();
    frame.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Lines with their ends.
fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let line = rest;
        let length = rest.skip_until(b'\n').ok()?;
        (length > 0).then(|| &line[..length])
    })
}

/// Where a line is: which file, where its frame begins, and where in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    file: u32,
    start: u32,
    length: u32,
    /// `u64::MAX`: in the tail.
    frame: u64,
}

const IN_TAIL: u64 = u64::MAX;

/// Where a line of a shard was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Where its frame begins, or [`IN_TAIL`].
    frame: u64,
    /// Where it begins in its frame, or in the lines of the tail.
    start: usize,
}

impl Found {
    pub(super) fn is_in_tail(self) -> bool {
        self.frame == IN_TAIL
    }
}

/// A shard as it is now.
pub(super) struct Whole {
    /// Bytes of frames that are whole, and that count.
    pub(super) length: u64,
    pub(super) tail: Tail,
    /// The sweep that it is of.
    sweep: String,
}

/// Goes over all lines of a shard, those of frames first. Lines that are in frames and in the tail
/// come twice.
///
/// # Errors
///
/// It cannot be read, is damaged, or is not of this sweep; or what `each` says.
pub(super) fn scan(
    files: &Files,
    sweep: Option<&str>,
    mut each: impl FnMut(&[u8], Found) -> Result<(), Error>,
) -> Result<Whole, Error> {
    // The tail first: what leaves it meanwhile is in the frames.
    let tail = Tail::read(&files.tail).map_err(|e| unreadable(&files.tail, &e))?;
    let path = &files.frames;
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    let mut reader = Counted { inner: BufReader::with_capacity(1 << 16, file), taken: 0 };
    let damaged = |at: u64, why: &str| {
        let title = format!("`{}` is damaged behind byte {at}: {why}", path.display());
        let help = "copy it anew, or move it and its .tail away: its units run again";
        Error::new(ErrorKind::File, title).help(help)
    };
    let mut header = None;
    let mut length = 0;
    loop {
        let at = reader.taken;
        if reader.fill_buf().map_err(|e| unreadable(path, &e))?.is_empty() {
            break;
        }
        let bytes = match unpacked(&mut reader) {
            Ok(bytes) => bytes,
            // What is behind the tail's beginning is in the tail; a last frame may be under way.
            Err(e) if tail.base.is_some_and(|b| at >= b) || e.kind() == Kind::UnexpectedEof => {
                break;
            }
            Err(e) => return Err(damaged(at, &e.to_string())),
        };
        let mut start = 0;
        for line in lines_of(&bytes) {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            if header.is_none() {
                let read: Header =
                    serde_json::from_slice(text).map_err(|e| damaged(at, &e.to_string()))?;
                read.check(path, files.shard, sweep)?;
                header = Some(read);
            } else {
                each(text, Found { frame: at, start })?;
            }
            start += line.len();
        }
        length = reader.taken;
    }
    let Some(Header { sweep, .. }) = header else {
        return Err(damaged(0, "it does not say of which sweep it is"));
    };
    if let Some(base) = tail.base.filter(|b| *b > length) {
        return Err(damaged(length, &format!("there were {base} bytes before")));
    }
    let mut start = 0;
    for line in lines_of(&tail.lines) {
        each(&line[..line.len() - 1], Found { frame: IN_TAIL, start })?;
        start += line.len();
    }
    Ok(Whole { length, tail, sweep })
}

/// Contents of a store, by unit.
pub struct Stored {
    files: Vec<Files>,
    tails: Vec<Vec<u8>>,
    sweep: Option<String>,
    units: BTreeMap<UnitId, Entry>,
}

/// Facts about a unit without its report.
#[derive(Clone, Copy, Debug)]
struct Entry {
    position: Position,
    checksum: u64,
    n: u64,
    completed: bool,
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stored({} shards, {} units)", self.files.len(), self.units.len())
    }
}

impl Stored {
    /// Looks through a store. `sweep`: its name, where a plan says it.
    ///
    /// # Errors
    ///
    /// There is no such store, a shard is damaged or of another sweep or version, or two shards
    /// hold different results of one unit.
    pub fn open(folder: &Path, sweep: Option<&str>) -> Result<Stored, Error> {
        let files = match folder.is_dir() {
            true => Files::all(folder)?,
            false => return Err(no_store(folder, "there is no such folder")),
        };
        if files.is_empty() {
            return Err(no_store(folder, "no shard is in it"));
        }
        let mut stored = Stored {
            files,
            tails: Vec::new(),
            sweep: sweep.map(str::to_string),
            units: BTreeMap::new(),
        };
        for i in 0..stored.files.len() {
            let files = stored.files[i].clone();
            let mut doubled: Vec<(Position, Position)> = Vec::new();
            let units = &mut stored.units;
            let sweep = stored.sweep.clone();
            let whole = scan(&files, sweep.as_deref(), |line, Found { frame, start }| {
                let (id, n, run) = parts_of(line).ok_or_else(|| no_line(&files.frames))?;
                if id.shard(files.shard.of) != files.shard.index {
                    let title = format!("`{}` holds {id}", files.frames.display());
                    let help = "that unit is of another shard: the file was changed, move it away";
                    return Err(Error::new(ErrorKind::File, title).help(help));
                }
                let position = Position {
                    file: i as u32,
                    start: start as u32,
                    length: line.len() as u32,
                    frame,
                };
                let completed = find(run, b"\"outcome\":\"completed\"");
                let entry = Entry { position, checksum: checksum(run), n, completed };
                match units.get(&id) {
                    None => {
                        units.insert(id, entry);
                    }
                    Some(old) if old.checksum == entry.checksum => {}
                    Some(old) => doubled.push((old.position, position)),
                }
                Ok(())
            })?;
            stored.tails.push(whole.tail.lines);
            stored.sweep = Some(whole.sweep);
            for (a, b) in doubled {
                stored.agree(a, b)?;
            }
        }
        Ok(stored)
    }

    /// The name of its sweep.
    pub fn sweep(&self) -> &str {
        self.sweep.as_deref().unwrap_or_default()
    }

    /// The shards that there are, as `(shard, of)`.
    pub fn shards(&self) -> Vec<(u32, u32)> {
        self.files.iter().map(|f| (f.shard.index, f.shard.of)).collect()
    }

    /// Units.
    pub fn len(&self) -> u64 {
        self.units.len() as u64
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// True if a stored unit's run completed; `None` if the unit is not there.
    pub fn completed(&self, id: UnitId) -> Option<bool> {
        self.units.get(&id).map(|e| e.completed)
    }

    pub(crate) fn position(&self, id: UnitId) -> Option<Position> {
        self.units.get(&id).map(|e| e.position)
    }

    /// The units by the numbers that they had in the plan when they ran.
    pub(crate) fn by_number(&self) -> Vec<Numbered> {
        let mut all: Vec<Numbered> =
            self.units.iter().map(|(id, e)| Numbered { id: *id, n: e.n }).collect();
        all.sort_unstable_by_key(|unit| (unit.n, unit.id));
        all
    }

    /// Refuses two results of one unit that differ in more than where the plan has the unit.
    fn agree(&self, a: Position, b: Position) -> Result<(), Error> {
        let mut lines = Lines::new(self);
        let mut read = |p: Position| -> Result<(UnitId, serde_json::Value), Error> {
            let line = lines.line(p)?;
            let (id, _, run) = parts_of(&line).ok_or_else(|| no_line(&self.path(p)))?;
            let mut run: serde_json::Value =
                serde_json::from_slice(run).map_err(|_| no_line(&self.path(p)))?;
            if let Some(run) = run.as_object_mut() {
                run.remove("axes");
                run.remove("scenario");
            }
            Ok((id, run))
        };
        let ((id, first), (_, second)) = (read(a)?, read(b)?);
        if first == second {
            return Ok(());
        }
        let key = first.as_object().and_then(|f| f.iter().find(|(k, v)| second.get(k) != Some(*v)));
        let key = key.map_or("runs", |(k, _)| k);
        let title = format!(
            "`{}` and `{}` have different `{key}` of unit {id}",
            self.path(a).display(),
            self.path(b).display()
        );
        let help = "equal units give equal results: one was made by another build; move it away";
        Err(Error::new(ErrorKind::File, title).help(help))
    }

    pub(crate) fn path(&self, p: Position) -> std::path::PathBuf {
        let files = &self.files[p.file as usize];
        if p.frame == IN_TAIL { files.tail.clone() } else { files.frames.clone() }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> bool {
    // It stands near the end.
    bytes.windows(part.len()).rev().any(|w| w == part)
}

fn no_store(folder: &Path, why: &str) -> Error {
    let title = format!("`{}` is no store of a sweep: {why}", folder.display());
    Error::new(ErrorKind::File, title).help("`mmsim sweep PLAN --store DIR` makes one")
}

pub(crate) fn no_line(path: &Path) -> Error {
    let title = format!("`{}` holds a line that is no unit of a sweep", path.display());
    Error::new(ErrorKind::File, title).help("copy it anew, or move it away: its units run again")
}

/// Bytes of frames that are kept unpacked, at least and at most. Units are read about in the
/// order of each shard, so a few frames of each shard are enough.
const KEPT: [usize; 2] = [32 << 20, 256 << 20];

/// Frames of each shard that are kept, between those bounds.
const KEPT_EACH: usize = 8;

/// Lines of a store, in any order.
pub(crate) struct Lines<S> {
    stored: S,
    open: BTreeMap<u32, BufReader<File>>,
    /// Frames by file and place, with when each was used last.
    frames: BTreeMap<(u32, u64), (u64, Vec<u8>)>,
    used: BTreeMap<u64, (u32, u64)>,
    clock: u64,
    bytes: usize,
    most: usize,
}

/// Files that are open at the same time.
const OPEN: usize = 64;

impl<S: Deref<Target = Stored>> Lines<S> {
    pub(crate) fn new(stored: S) -> Lines<S> {
        let most = (stored.files.len() * KEPT_EACH * FRAME).clamp(KEPT[0], KEPT[1]);
        Lines {
            stored,
            open: BTreeMap::new(),
            frames: BTreeMap::new(),
            used: BTreeMap::new(),
            clock: 0,
            bytes: 0,
            most,
        }
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// The line at a place.
    ///
    /// # Errors
    ///
    /// The file changed since it was looked through.
    pub(crate) fn line(&mut self, p: Position) -> Result<Vec<u8>, Error> {
        let range = p.start as usize..(p.start + p.length) as usize;
        let bytes = match p.frame {
            IN_TAIL => &self.stored.tails[p.file as usize],
            _ => self.frame(p.file, p.frame)?,
        };
        let line = bytes.get(range).map(<[u8]>::to_vec);
        line.ok_or_else(|| no_line(&self.stored.path(p)))
    }

    fn frame(&mut self, file: u32, at: u64) -> Result<&Vec<u8>, Error> {
        self.clock += 1;
        let key = (file, at);
        if let Some((last, _)) = self.frames.get_mut(&key) {
            self.used.remove(last);
            *last = self.clock;
        } else {
            let path = &self.stored.files[file as usize].frames;
            if self.open.len() > OPEN && !self.open.contains_key(&file) {
                self.open.pop_first();
            }
            let reader = match self.open.entry(file) {
                std::collections::btree_map::Entry::Occupied(o) => o.into_mut(),
                std::collections::btree_map::Entry::Vacant(v) => {
                    v.insert(BufReader::new(File::open(path).map_err(|e| unreadable(path, &e))?))
                }
            };
            let read = reader.seek(SeekFrom::Start(at)).and_then(|_| unpacked(reader));
            let bytes = read.map_err(|e| unreadable(path, &e))?;
            self.bytes += bytes.capacity();
            self.frames.insert(key, (self.clock, bytes));
            while self.bytes > self.most
                && let Some((_, oldest)) = self.used.pop_first()
                && let Some((_, gone)) = self.frames.remove(&oldest)
            {
                self.bytes -= gone.capacity();
            }
        }
        self.used.insert(self.clock, key);
        Ok(&self.frames[&key].1)
    }
}
