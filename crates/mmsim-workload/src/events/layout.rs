//! Contents of the blocks of a file of events: the table of kinds, the run, its events, the end.
//!
//! The table of kinds says all that is needed to read events, so a file can be read by a program
//! that has other kinds.

use mmsim_core::base::id::ThreadId;
use mmsim_core::memory::trace::TraceKind;

use super::LIMIT;
use super::form::What;
use super::kinds::{EVENTS, forms_of, kind_of};
use crate::trace::error::TraceError;
use crate::trace::source::{Format, STORED, block_head};
use crate::trace::wire::{Cursor, put_text, put_varint};

/// Files of this kind: `.mmev`.
pub(super) static MMEV: Format = Format {
    magic: *b"MMEV\r\n\x1a\n",
    version: 1,
    what: "events of a run, `MMEV`",
    renew: "write it again by `mmsim run --events`",
    kinds: "'K', 'R', 'V' or 'E'",
    longest,
    reading: "reading events",
};

/// Kinds of blocks.
pub(super) const KIND_KINDS: u8 = b'K';
pub(super) const KIND_RUN: u8 = b'R';
pub(super) const KIND_EVENTS: u8 = b'V';
pub(super) const KIND_END: u8 = b'E';

/// Longest payload that a reader accepts, by kind.
fn longest(kind: u8) -> Option<usize> {
    match kind {
        KIND_KINDS => Some(1 << 20),
        KIND_RUN => Some(16 << 20),
        KIND_EVENTS => Some(2 << 20),
        KIND_END => Some(64),
        _ => None,
    }
}

/// Numbers that a list has at most, and fields that a kind has.
const MOST_FIELDS: u64 = 16;
/// Kinds, at most: their numbers have 6 bits, and 63 is none.
const MOST_KINDS: u64 = 63;
/// Words of a field, at most.
const MOST_WORDS: u64 = 16;
/// Bytes of a name, at most.
const NAME: usize = 64;
/// Bytes of a text that a user wrote, at most.
const TEXT: usize = 1 << 16;
/// Tasks, threads and axes, at most.
const MOST: u64 = 1 << 24;
/// The field may have no value.
const NULLABLE: u8 = 0x80;
/// Bits of a shape that are left for fields.
const FIELD_BITS: u32 = 54;

/// A field, as a file says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileField {
    pub name: String,
    pub what: What,
    pub nullable: bool,
    pub words: Vec<String>,
}

/// A kind of events, as a file says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileKind {
    pub name: String,
    pub fields: Vec<FileField>,
}

/// The kinds of this program, by their numbers in files.
pub(super) fn kinds() -> Vec<FileKind> {
    let of = |kind: &TraceKind| {
        let row = EVENTS.iter().find(|row| kind_of(row.name) == Some(*kind));
        let row = row.expect("each kind has a row");
        let field = |(name, form): (&&str, super::form::Form)| FileField {
            name: (*name).to_string(),
            what: form.what,
            nullable: form.nullable,
            words: form.words.iter().map(|word| (*word).to_string()).collect(),
        };
        let fields = row.fields.iter().zip(forms_of(*kind)).map(field).collect();
        FileKind { name: row.name.to_string(), fields }
    };
    let limit = FileKind { name: LIMIT.to_string(), fields: Vec::new() };
    TraceKind::ALL.iter().map(of).chain([limit]).collect()
}

/// The table of kinds as a payload.
pub(super) fn encode_kinds(kinds: &[FileKind]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, kinds.len() as u64);
    for kind in kinds {
        put_text(&mut out, &kind.name);
        put_varint(&mut out, kind.fields.len() as u64);
        for field in &kind.fields {
            put_text(&mut out, &field.name);
            out.push(field.what.code() | if field.nullable { NULLABLE } else { 0 });
            if field.what == What::Word {
                put_varint(&mut out, field.words.len() as u64);
                field.words.iter().for_each(|word| put_text(&mut out, word));
            }
        }
    }
    out
}

/// Refuses what JSON would have to escape.
pub(super) fn plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\')
}

fn name(cursor: &mut Cursor<'_>, what: &str) -> Result<String, TraceError> {
    let name = cursor.text(what, NAME)?;
    match plain(&name) && !name.is_empty() {
        true => Ok(name),
        false => Err(cursor.wrong(format!("{name:?} before here"), format!("{what} of letters"))),
    }
}

/// The table of kinds of a payload that begins at byte `base`.
pub(super) fn decode_kinds(payload: &[u8], base: u64) -> Result<Vec<FileKind>, TraceError> {
    let mut cursor = Cursor::new(payload, base);
    let mut kinds = Vec::new();
    for _ in 0..cursor.bounded("kinds of events", 1, MOST_KINDS)? {
        let kind = name(&mut cursor, "the name of a kind")?;
        let mut fields = Vec::new();
        for _ in 0..cursor.bounded("fields of a kind", 0, MOST_FIELDS)? {
            fields.push(decode_field(&mut cursor)?);
        }
        let bits: u32 = fields.iter().map(|f| f.what.bits() + u32::from(f.nullable)).sum();
        if bits > FIELD_BITS {
            let found = format!("fields of {bits} bits in {kind}");
            return Err(cursor.wrong(found, format!("at most {FIELD_BITS}")));
        }
        kinds.push(FileKind { name: kind, fields });
    }
    cursor.finish("the end of the table of kinds")?;
    Ok(kinds)
}

fn decode_field(cursor: &mut Cursor<'_>) -> Result<FileField, TraceError> {
    let field = name(cursor, "the name of a field")?;
    let code = cursor.byte("the form of a field")?;
    let Some(what) = What::of_code(code & !NULLABLE) else {
        return Err(cursor.wrong(format!("form {code:#04x} before here"), "a form of fields"));
    };
    let (nullable, mut words) = (code & NULLABLE != 0, Vec::new());
    if nullable && matches!(what, What::List(_)) {
        return Err(cursor.wrong("a list that may be null".to_string(), "one that is there"));
    }
    if what == What::Word {
        for _ in 0..cursor.bounded("words of a field", 1, MOST_WORDS)? {
            words.push(name(cursor, "a word")?);
        }
    }
    Ok(FileField { name: field, what, nullable, words })
}

/// A run, and who its threads are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventRun {
    /// Its place in the report, where a file holds several runs: the field `run` of its lines.
    pub place: Option<u32>,
    /// Name of the scenario.
    pub scenario: String,
    /// The variant.
    pub variant: String,
    /// Values of axes.
    pub axes: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// Preset of the policy.
    pub policy: String,
    /// Tasks with their threads.
    pub tasks: Vec<(String, Vec<ThreadId>)>,
    /// Names of threads, by their numbers.
    pub threads: Vec<String>,
}

impl EventRun {
    /// Threads of a task by its name, or a thread by its number, as `task/0`.
    pub fn threads_of(&self, name: &str) -> Vec<ThreadId> {
        let task = self.tasks.iter().find(|(task, _)| task == name);
        task.map(|(_, threads)| threads.clone()).unwrap_or_else(|| {
            let named = (0..).zip(&self.threads).filter(|(_, thread)| *thread == name);
            named.map(|(nth, _)| ThreadId(nth)).collect()
        })
    }

    /// As a payload.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.place.map_or(0, |place| u64::from(place) + 1));
        for text in [&self.scenario, &self.variant, &self.policy] {
            put_text(&mut out, text);
        }
        put_varint(&mut out, self.seed);
        put_varint(&mut out, self.axes.len() as u64);
        for (axis, value) in &self.axes {
            put_text(&mut out, axis);
            put_text(&mut out, value);
        }
        put_varint(&mut out, self.tasks.len() as u64);
        for (task, threads) in &self.tasks {
            put_text(&mut out, task);
            put_varint(&mut out, threads.len() as u64);
            threads.iter().for_each(|thread| put_varint(&mut out, u64::from(thread.0)));
        }
        put_varint(&mut out, self.threads.len() as u64);
        self.threads.iter().for_each(|thread| put_text(&mut out, thread));
        out
    }

    /// That of a payload that begins at byte `base`.
    pub(super) fn decode(payload: &[u8], base: u64) -> Result<EventRun, TraceError> {
        let c = &mut Cursor::new(payload, base);
        let place = c.bounded("the place of a run", 0, 1 << 32)?.checked_sub(1);
        let mut run = EventRun {
            place: place.map(|place| place as u32),
            scenario: c.text("the name of a scenario", TEXT)?,
            variant: c.text("the name of a variant", TEXT)?,
            policy: c.text("the name of a policy", TEXT)?,
            seed: c.bounded("a seed", 0, u64::MAX)?,
            ..EventRun::default()
        };
        for _ in 0..c.bounded("axes", 0, MOST)? {
            run.axes.push((c.text("an axis", TEXT)?, c.text("the value of an axis", TEXT)?));
        }
        for _ in 0..c.bounded("tasks", 0, MOST)? {
            let (task, mut threads) = (c.text("the name of a task", TEXT)?, Vec::new());
            for _ in 0..c.bounded("threads of a task", 0, MOST)? {
                let thread = c.bounded("a thread", 0, u64::from(u32::MAX))?;
                threads.push(ThreadId(thread as u32));
            }
            run.tasks.push((task, threads));
        }
        for _ in 0..c.bounded("threads", 0, MOST)? {
            run.threads.push(c.text("the name of a thread", TEXT)?);
        }
        match c.offset() - base == payload.len() as u64 {
            true => Ok(run),
            false => Err(c.wrong("more bytes".to_string(), "the end of what a run is")),
        }
    }
}

/// A block with its head.
fn block(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&block_head(kind, STORED, payload, payload.len())[..], payload].concat()
}

/// The bytes before the events of a run.
pub(super) fn beginning(run: &EventRun) -> Vec<u8> {
    let kinds = block(KIND_KINDS, &encode_kinds(&kinds()));
    [&MMEV.prelude()[..], &kinds, &block(KIND_RUN, &run.encode())].concat()
}

/// The bytes behind them.
pub(super) fn ending(events: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    put_varint(&mut payload, events);
    block(KIND_END, &payload)
}
