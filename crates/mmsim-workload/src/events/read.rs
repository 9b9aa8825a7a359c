//! Reading events of bytes, block by block, in bounded memory.
//!
//! Every value of the file is checked before it is used, as with [traces](crate::trace). The file's
//! own table of kinds defines its events.

use std::io::Read;

use mmsim_core::base::id::ThreadId;
use mmsim_core::base::time::SimTime;
use mmsim_core::memory::trace::{TraceKind, TraceKinds};

use super::LIMIT;
use super::form::{KIND_BITS, LENGTH_BITS, NEW_SHAPE, NEW_TEXT, ONE_BYTE, TWO_BYTES, What};
use super::kinds::kind_of;
use super::layout::{
    EventRun, FileKind, KIND_END, KIND_EVENTS, KIND_KINDS, KIND_RUN, MMEV, decode_kinds, plain,
};
use super::record::Wanted;
use crate::trace::error::TraceError;
use crate::trace::source::Source;
use crate::trace::wire::{Cursor, get_varint};

/// A value of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// It does not apply.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(u64),
    /// A word.
    Text(&'a str),
    /// Numbers.
    List(&'a [u64]),
}

/// A value in the reader: texts and numbers of lists by their places.
#[derive(Clone, Copy)]
enum Kept {
    Null,
    Bool(bool),
    Number(u64),
    Word(u32),
    Text(u32),
    List(u32, u32),
}

/// A kind of a file, and the kind of this program that has its name.
struct Kind {
    of_file: FileKind,
    here: Option<TraceKind>,
}

/// A field of a shape.
#[derive(Clone, Copy)]
struct Part {
    what: What,
    /// False: the value is null.
    there: bool,
    /// The value, or the number of bytes that it has.
    bits: u64,
}

/// A shape, taken apart.
struct Shape {
    kind: usize,
    /// Bytes of the time.
    time: usize,
    /// Where its fields are among the parts.
    parts: (usize, usize),
}

/// State of the reader within a block.
#[derive(Default)]
struct Block {
    payload: Vec<u8>,
    /// Where the payload begins in the file.
    base: u64,
    at: usize,
    shapes: Vec<Shape>,
    parts: Vec<Part>,
    texts: Vec<String>,
    frame: u64,
    page: u64,
    time: u64,
    steps: Vec<u64>,
    near: Vec<Vec<u64>>,
}

/// Next step of a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The beginning of a run.
    Run,
    /// An event.
    Event,
    /// The end of the file, which was whole.
    End,
}

/// Events being read: runs, one after the other, and their events.
pub struct EventReader<'a> {
    source: Source<Box<dyn Read + Send + 'a>>,
    kinds: Vec<Kind>,
    run: EventRun,
    /// The caller does not know of the run yet.
    new_run: bool,
    /// Events of the run so far.
    events: u64,
    block: Block,
    kind: usize,
    values: Vec<Kept>,
    lists: Vec<u64>,
    done: bool,
}

/// An event of a file.
pub struct Event<'a> {
    /// Simulated time.
    pub time: SimTime,
    /// The run.
    pub run: &'a EventRun,
    kind: &'a Kind,
    values: &'a [Kept],
    lists: &'a [u64],
    texts: &'a [String],
}

impl<'a> EventReader<'a> {
    /// Reads the prelude, the table of kinds and what the first run is.
    ///
    /// # Errors
    ///
    /// It is no file of events, of another version, or it cannot be read.
    pub fn new(input: impl Read + Send + 'a) -> Result<Self, TraceError> {
        let input: Box<dyn Read + Send + 'a> = Box::new(input);
        let source = Source::open(input, &MMEV)?;
        let mut reader = EventReader {
            source,
            kinds: Vec::new(),
            run: EventRun::default(),
            new_run: false,
            events: 0,
            block: Block::default(),
            kind: 0,
            values: Vec::new(),
            lists: Vec::new(),
            done: false,
        };
        reader.begin()?;
        Ok(reader)
    }

    /// The run whose events are read.
    pub fn run(&self) -> &EventRun {
        &self.run
    }

    /// Reads what is before the events of a run, behind the prelude.
    fn begin(&mut self) -> Result<(), TraceError> {
        let (kind, base) = self.source.block(&mut self.block.payload)?;
        if kind != KIND_KINDS {
            return Err(unexpected(kind, base, "the table of kinds ('K') first"));
        }
        let here = |of_file: FileKind| Kind { here: kind_of(&of_file.name), of_file };
        let kinds = decode_kinds(&self.block.payload, base)?;
        self.kinds = kinds.into_iter().map(here).collect();
        let (kind, base) = self.source.block(&mut self.block.payload)?;
        if kind != KIND_RUN {
            return Err(unexpected(kind, base, "what the run is ('R')"));
        }
        self.run = EventRun::decode(&self.block.payload, base)?;
        (self.new_run, self.events) = (true, 0);
        self.block.payload.clear();
        self.block.at = 0;
        Ok(())
    }

    /// Goes on to the next event or run, or the end.
    ///
    /// # Errors
    ///
    /// The file ends early, or is not what it should be. All events before were right.
    pub fn advance(&mut self) -> Result<Step, TraceError> {
        while !std::mem::take(&mut self.new_run) {
            if self.done {
                return Ok(Step::End);
            }
            if self.block.at < self.block.payload.len() {
                self.read_event().inspect_err(|_| self.done = true)?;
                self.events += 1;
                return Ok(Step::Event);
            }
            self.next_block().inspect_err(|_| self.done = true)?;
        }
        Ok(Step::Run)
    }

    /// The event that it has come to.
    pub fn event(&self) -> Event<'_> {
        Event {
            time: SimTime(self.block.time),
            run: &self.run,
            kind: &self.kinds[self.kind],
            values: &self.values,
            lists: &self.lists,
            texts: &self.block.texts,
        }
    }

    /// Goes on to the next block of events, the next run, or the end.
    fn next_block(&mut self) -> Result<(), TraceError> {
        let (kind, base) = self.source.block(&mut self.block.payload)?;
        match kind {
            KIND_EVENTS => {
                self.block.begin(base, &self.kinds);
                return Ok(());
            }
            KIND_END => {
                let mut cursor = Cursor::new(&self.block.payload, base);
                let all = cursor.bounded("events of the run", 0, u64::MAX)?;
                cursor.finish("the end of the block")?;
                if all != self.events {
                    let (found, expected) = (format!("{all} events"), self.events.to_string());
                    return Err(TraceError::format(base, found, expected));
                }
            }
            _ => return Err(unexpected(kind, base, "events ('V') or the end ('E')")),
        }
        self.block.payload.clear();
        self.block.at = 0;
        match self.source.prelude()? {
            true => self.begin(),
            false => {
                self.done = true;
                Ok(())
            }
        }
    }

    /// Reads an event: its kind and its values.
    fn read_event(&mut self) -> Result<(), TraceError> {
        let block = &mut self.block;
        let shape = block.shape(&self.kinds)?;
        let &Shape { kind, time, parts } = &block.shapes[shape];
        self.kind = kind;
        self.values.clear();
        self.lists.clear();
        let step = unzigzag(block.bytes(time)?).wrapping_add(block.steps[kind]);
        block.steps[kind] = step;
        block.time = block.time.wrapping_add(step);
        for nth in 0..parts.1 - parts.0 {
            let part = block.parts[parts.0 + nth];
            let value = match (part.there, part.what) {
                (false, _) => Kept::Null,
                (_, What::Bit) => Kept::Bool(part.bits == 1),
                (_, What::Byte) => Kept::Number(part.bits),
                (_, What::Word) => Kept::Word(part.bits as u32),
                (_, What::List(n)) => {
                    let from = self.lists.len() as u32;
                    for _ in 0..n {
                        self.lists.push(block.number()?);
                    }
                    Kept::List(from, self.lists.len() as u32)
                }
                (_, what) => {
                    let value = block.value(what, part.bits as usize, (kind, nth))?;
                    match what {
                        What::Text => Kept::Text(block.known_text(value)?),
                        _ => Kept::Number(value),
                    }
                }
            };
            self.values.push(value);
        }
        Ok(())
    }
}

fn unexpected(kind: u8, base: u64, expected: &str) -> TraceError {
    TraceError::format(base, format!("a block of kind {:?}", char::from(kind)), expected)
}

fn unzigzag(z: u64) -> u64 {
    (z >> 1) ^ (z & 1).wrapping_neg()
}

impl Block {
    /// Forgets the last block.
    fn begin(&mut self, base: u64, kinds: &[Kind]) {
        (self.base, self.at) = (base, 0);
        self.shapes.clear();
        self.parts.clear();
        self.texts.clear();
        (self.frame, self.page, self.time) = (0, 0, 0);
        self.steps.clear();
        self.steps.resize(kinds.len(), 0);
        self.near.clear();
        self.near.extend(kinds.iter().map(|kind| vec![0; kind.of_file.fields.len()]));
    }

    fn wrong(&self, found: impl Into<String>, expected: impl Into<String>) -> TraceError {
        TraceError::format(self.base + self.at as u64, found, expected)
    }

    fn byte(&mut self) -> Result<u8, TraceError> {
        let byte = self.payload.get(self.at).copied();
        let byte = byte.ok_or_else(|| self.wrong("the end of the block", "an event"))?;
        self.at += 1;
        Ok(byte)
    }

    /// A number of `n` bytes.
    fn bytes(&mut self, n: usize) -> Result<u64, TraceError> {
        let Some(bytes) = self.payload.get(self.at..self.at + n) else {
            return Err(self.wrong("the end of the block", format!("{n} bytes of a value")));
        };
        let mut word = [0; 8];
        word[..n].copy_from_slice(bytes);
        self.at += n;
        Ok(u64::from_le_bytes(word))
    }

    /// A number that says how many bytes it has.
    fn number(&mut self) -> Result<u64, TraceError> {
        get_varint(&self.payload, &mut self.at)
            .ok_or_else(|| self.wrong("no complete number", "a number of a list"))
    }

    /// The value of a field from its difference in the next bytes.
    fn value(
        &mut self,
        what: What,
        bytes: usize,
        (kind, nth): (usize, usize),
    ) -> Result<u64, TraceError> {
        let difference = unzigzag(self.bytes(bytes)?);
        let last = match what {
            What::Frame => &mut self.frame,
            What::Page => &mut self.page,
            _ => &mut self.near[kind][nth],
        };
        *last = last.wrapping_add(difference);
        if what.bytes() == 4 {
            *last &= u64::from(u32::MAX);
        }
        Ok(*last)
    }

    fn known_text(&self, nth: u64) -> Result<u32, TraceError> {
        match nth < self.texts.len() as u64 {
            true => Ok(nth as u32),
            false => Err(self.wrong(
                format!("text {nth} before here"),
                format!("one of the {} texts of the block", self.texts.len()),
            )),
        }
    }

    /// The shape of the event that begins here, by its number, and the texts that are before it.
    fn shape(&mut self, kinds: &[Kind]) -> Result<usize, TraceError> {
        loop {
            let first = self.byte()?;
            let number = match first {
                NEW_TEXT => {
                    self.text()?;
                    continue;
                }
                NEW_SHAPE => {
                    let bits = self.bytes(8)?;
                    self.new_shape(bits, kinds)?;
                    return Ok(self.shapes.len() - 1);
                }
                _ if u32::from(first) < ONE_BYTE => u32::from(first),
                _ => ONE_BYTE + ((u32::from(first) - ONE_BYTE) << 8) + u32::from(self.byte()?),
            } as usize;
            if number >= self.shapes.len() {
                return Err(self.wrong(
                    format!("shape {number} before here"),
                    format!("one of the {} shapes of the block", self.shapes.len()),
                ));
            }
            return Ok(number);
        }
    }

    fn text(&mut self) -> Result<(), TraceError> {
        let mut cursor = Cursor::new(&self.payload[self.at..], self.base + self.at as u64);
        let text = cursor.text("a text", self.payload.len())?;
        if !plain(&text) {
            return Err(cursor.wrong(format!("{text:?} before here"), "a text of letters"));
        }
        self.at = (cursor.offset() - self.base) as usize;
        self.texts.push(text);
        Ok(())
    }

    /// Takes a shape apart.
    fn new_shape(&mut self, shape: u64, kinds: &[Kind]) -> Result<(), TraceError> {
        let mut bits = shape;
        let mut take = |width: u32| {
            let taken = bits & ((1 << width) - 1);
            bits >>= width;
            taken
        };
        let wrong = |block: &Block| {
            Err(block.wrong(format!("{shape:#x} before here"), "the shape of an event"))
        };
        if self.shapes.len() as u32 == ONE_BYTE + TWO_BYTES {
            return wrong(self);
        }
        let (kind, time) = (take(KIND_BITS) as usize, take(LENGTH_BITS) as usize);
        let Some(known) = kinds.get(kind).filter(|_| time <= 8) else { return wrong(self) };
        let from = self.parts.len();
        for field in &known.of_file.fields {
            let there = !field.nullable || take(1) == 1;
            let bits = take(field.what.bits());
            let fits = match field.what {
                What::Word => bits < field.words.len() as u64,
                What::Bit | What::Byte | What::List(_) => true,
                what => bits <= u64::from(what.bytes()),
            };
            if !fits {
                return wrong(self);
            }
            self.parts.push(Part { what: field.what, there, bits });
        }
        if bits != 0 {
            return wrong(self);
        }
        self.shapes.push(Shape { kind, time, parts: (from, self.parts.len()) });
        Ok(())
    }
}

impl<'a> Event<'a> {
    /// The name of its kind.
    pub fn name(&self) -> &'a str {
        &self.kind.of_file.name
    }

    /// Its fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.kind.of_file.fields.iter().zip(self.values).map(|(field, value)| {
            let value = match *value {
                Kept::Null => Value::Null,
                Kept::Bool(x) => Value::Bool(x),
                Kept::Number(x) => Value::Number(x),
                Kept::Word(nth) => Value::Text(&field.words[nth as usize]),
                Kept::Text(nth) => Value::Text(&self.texts[nth as usize]),
                Kept::List(from, to) => Value::List(&self.lists[from as usize..to as usize]),
            };
            (field.name.as_str(), value)
        })
    }

    /// The first number that a field of this sort has.
    fn first(&self, what: What) -> Option<u32> {
        self.kind.of_file.fields.iter().zip(self.values).find_map(|(field, value)| match value {
            Kept::Number(x) if field.what == what => Some(*x as u32),
            _ => None,
        })
    }

    /// True if it is one of these events, or the one at the limit. An event of a kind that this program
    /// does not know is wanted if all kinds are.
    pub fn is_of(&self, wanted: &Wanted) -> bool {
        let (thread, page) = (self.first(What::Thread), self.first(What::Page));
        let kind = |kind| wanted.kinds.has(kind);
        let of_kind = self.kind.here.map_or(wanted.kinds == TraceKinds::ALL, kind);
        of_kind && wanted.concerns(|| thread.map(ThreadId), || page) || self.name() == LIMIT
    }

    /// Appends the line that `--events` writes, with its end.
    pub fn write_line(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, text: &str| out.extend_from_slice(text.as_bytes());
        let number = |out: &mut Vec<u8>, n: u64| put(out, itoa::Buffer::new().format(n));
        put(out, "{\"t_ns\":");
        number(out, self.time.0);
        put(out, ",\"event\":\"");
        put(out, self.name());
        put(out, "\"");
        for (field, value) in self.fields() {
            put(out, ",\"");
            put(out, field);
            put(out, "\":");
            match value {
                Value::Null => put(out, "null"),
                Value::Bool(true) => put(out, "true"),
                Value::Bool(false) => put(out, "false"),
                Value::Number(n) => number(out, n),
                Value::Text(text) => {
                    put(out, "\"");
                    put(out, text);
                    put(out, "\"");
                }
                Value::List(list) => {
                    for (i, &n) in list.iter().enumerate() {
                        put(out, if i == 0 { "[" } else { "," });
                        number(out, n);
                    }
                    put(out, "]");
                }
            }
        }
        if let Some(place) = self.run.place {
            put(out, ",\"run\":");
            number(out, u64::from(place));
        }
        put(out, "}\n");
    }
}
