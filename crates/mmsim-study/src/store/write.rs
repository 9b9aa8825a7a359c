//! Writing the shard of a store.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::read::{checksum, scan};
use super::{FRAME, Files, Header, LONGEST_TAIL, line_of, parts_of};
use super::{Shard, UnitId};
use mmsim_base::error::{Error, ErrorKind};

/// Longest time until results are durable. A killed process loses none of them; a machine that
/// loses its power may lose so much.
const DURABLE_AFTER: Duration = Duration::from_secs(5);

/// End of the name of a shard while its first line is written.
const BEGINNING: &str = ".jsonl.tmp";

/// A shard that is written. No other process writes it meanwhile.
#[derive(Debug)]
pub struct Writer {
    files: Files,
    frames: File,
    /// Bytes of frames.
    length: u64,
    tail: File,
    /// Bytes of the tail.
    tail_length: u64,
    /// Lines that are in no frame yet.
    pending: Vec<u8>,
    durable: Instant,
}

impl Writer {
    /// Opens a shard to go on, or begins it; gives the units that are there.
    ///
    /// # Errors
    ///
    /// It cannot be written, another process writes it, it is damaged, or it is of another sweep.
    pub fn open(
        folder: &Path,
        sweep: &str,
        shard: Shard,
    ) -> Result<(Writer, BTreeSet<UnitId>), Error> {
        let files = Files::of(folder, shard);
        if folder.exists() && !folder.is_dir() {
            let title = format!("`{}` is a file, and a store is a folder", folder.display());
            return Err(Error::new(ErrorKind::File, title).help("name a folder with --store DIR"));
        }
        fs::create_dir_all(folder).map_err(|e| failed(folder, &e))?;
        let broken = |e: io::Error| failed(&files.tail, &e);
        let tail = File::options().create(true).append(true).read(true).open(&files.tail);
        let tail = tail.map_err(broken)?;
        lock(&tail, &files.tail)?;
        remove_left(folder);
        if !files.frames.exists() {
            begin(&files.frames, &Header::of(sweep, shard))
                .map_err(|e| failed(&files.frames, &e))?;
        }
        // Done is what is kept: the frames that are whole, and lines of the tail that are in none of
        // them. After a power cut each of the two can have units that the other lacks.
        let (mut done, mut pending) = (BTreeSet::new(), Vec::new());
        let length = scan(&files, Some(sweep), |line, at| {
            let (id, ..) = parts_of(line).ok_or_else(|| super::read::no_line(&files.frames))?;
            if done.insert(id) && at.is_in_tail() {
                pending.extend_from_slice(line);
                pending.push(b'\n');
            }
            Ok(())
        })?
        .length;
        let frames = File::options().append(true).open(&files.frames);
        let frames = frames.and_then(|f| f.set_len(length).map(|()| f));
        let mut writer = Writer {
            frames: frames.map_err(|e| failed(&files.frames, &e))?,
            length,
            tail,
            tail_length: 0,
            pending,
            durable: now(),
            files,
        };
        writer.flush()?;
        Ok((writer, done))
    }

    /// Keeps the report of a unit, which is JSON on one line. It outlives this process when this
    /// returns.
    ///
    /// # Errors
    ///
    /// The disk is full, or fails. What was kept before is there.
    pub fn keep(&mut self, id: UnitId, n: u64, run: &[u8]) -> Result<(), Error> {
        let line = line_of(id, n, run);
        self.write_tail(&line)?;
        self.pending.extend_from_slice(&line);
        self.pending.push(b'\n');
        if self.pending.len() >= FRAME {
            self.write_frame()?;
        }
        if self.tail_length >= LONGEST_TAIL || self.durable.elapsed() >= DURABLE_AFTER {
            self.flush()?;
        }
        Ok(())
    }

    /// Packs what is left, and makes all durable.
    ///
    /// # Errors
    ///
    /// As [`Writer::keep`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()
    }

    fn write_tail(&mut self, line: &[u8]) -> Result<(), Error> {
        let mut whole = format!("{:016x} ", checksum(line)).into_bytes();
        whole.extend_from_slice(line);
        whole.push(b'\n');
        if let Err(e) = self.tail.write_all(&whole) {
            // A part of a line would hide those that come after it.
            let _ = self.tail.set_len(self.tail_length);
            return Err(failed(&self.files.tail, &e));
        }
        self.tail_length += whole.len() as u64;
        Ok(())
    }

    fn write_frame(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = frame(&self.pending).and_then(|bytes| {
            self.frames.write_all(&bytes)?;
            Ok(bytes.len() as u64)
        });
        self.length += written.map_err(|e| failed(&self.files.frames, &e))?;
        self.pending.clear();
        Ok(())
    }

    /// Makes the frames durable, and begins the tail anew behind them. Its first line is durable
    /// before another frame is written: so a tail without one means that all frames are whole, but
    /// for a last one that is cut off.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.write_frame()?;
        self.frames.sync_data().map_err(|e| failed(&self.files.frames, &e))?;
        self.tail.set_len(0).map_err(|e| failed(&self.files.tail, &e))?;
        self.tail_length = 0;
        self.write_tail(format!("from {}", self.length).as_bytes())?;
        self.tail.sync_data().map_err(|e| failed(&self.files.tail, &e))?;
        self.durable = now();
        Ok(())
    }
}

#[allow(clippy::disallowed_methods, reason = "when results become durable; no result hangs on it")]
fn now() -> Instant {
    Instant::now()
}

fn frame(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::with_capacity(lines.len() / 8), 1)?;
    encoder.include_checksum(true)?;
    encoder.write_all(lines)?;
    encoder.finish()
}

/// Makes the file of a shard with its first line, whole or not at all.
fn begin(path: &Path, header: &Header) -> io::Result<()> {
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    // Of `shard-I-of-N.jsonl.zst`: `shard-I-of-N.jsonl.tmp`.
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(&frame(&line)?)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // The folder's entry; not every system can.
    let _ = path.parent().map(File::open).and_then(Result::ok).map(|d| d.sync_all());
    Ok(())
}

/// Removes the beginnings of shards whose processes were killed: who makes one holds its tail.
fn remove_left(folder: &Path) {
    // A folder that cannot be read is no obstacle.
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten() {
        let tail = entry.file_name().into_string().ok().and_then(|name| {
            let stem = name.strip_suffix(BEGINNING)?;
            stem.starts_with("shard-").then(|| folder.join(format!("{stem}.tail")))
        });
        let held = |tail: &Path| File::open(tail).is_ok_and(|file| lock(&file, tail).is_err());
        if tail.is_some_and(|tail| !held(&tail)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Takes a file for this process, until it ends.
#[cfg(unix)]
fn lock(file: &File, path: &Path) -> Result<(), Error> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let title = format!("`{}` is being written by another process", path.display());
            Err(Error::new(ErrorKind::File, title).help("wait for it, or end it"))
        }
        // A file system without locks is no reason to stop.
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn lock(_: &File, _: &Path) -> Result<(), Error> {
    Ok(())
}

/// Error for a failed write. Nothing that was finished before is lost by it.
fn failed(path: &Path, e: &io::Error) -> Error {
    let title = format!("cannot write `{}`: {e}", path.display());
    let help = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "what was finished is kept: make room, and give the same command again"
        }
        _ => "what was finished is kept: give the same command again when it can be written",
    };
    Error::new(ErrorKind::File, title).help(help)
}
