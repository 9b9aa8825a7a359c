//! Maps of BPF. Keys are with the host; values lie in the memory of the module, where its pointers
//! to them are good for as long as it likes.
//!
//! Values come in chunks, which are made when they are first needed and never move. The value of a
//! deleted element keeps its bytes until the element is used again, so a program that looks at a value
//! after its deletion sees what it sees in a kernel without concurrency.
//!
//! LRU maps drop the element that was looked up or updated longest ago. In kernels that is an
//! approximation with batches for each CPU. Maps for each CPU have the values of one CPU.

use std::collections::VecDeque;

use crate::bpf::index::Index;
use crate::links::Links;
use crate::module::MapType;

/// Errors of maps, as the kernel's numbers.
pub(crate) mod errno {
    pub(crate) const ENOENT: i64 = -2;
    pub(crate) const E2BIG: i64 = -7;
    pub(crate) const EFAULT: i64 = -14;
    pub(crate) const EEXIST: i64 = -17;
    pub(crate) const EINVAL: i64 = -22;
}
use errno::{E2BIG, EEXIST, EINVAL, ENOENT};

/// Elements of all maps of a module.
pub(crate) const MOST_ELEMENTS: u64 = 16 << 20;
/// Bytes of a chunk of values, unless one value is larger.
const CHUNK: u64 = 64 << 10;

/// A kind of map. Numbers are those of `enum bpf_map_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Hash,
    LruHash,
    Array,
    Queue,
    Stack,
    Ring,
    TaskStorage,
}

impl Kind {
    pub(crate) fn of(number: u64) -> Option<Kind> {
        Some(match number {
            1 | 5 => Kind::Hash,
            2 | 6 => Kind::Array,
            9 | 10 => Kind::LruHash,
            22 => Kind::Queue,
            23 => Kind::Stack,
            27 => Kind::Ring,
            29 => Kind::TaskStorage,
            _ => return None,
        })
    }

    /// Its name, by the number of its type.
    pub(crate) fn name(self, number: u64) -> &'static str {
        match (self, number) {
            (Kind::Hash, 1) => "HASH",
            (Kind::Hash, _) => "PERCPU_HASH",
            (Kind::Array, 2) => "ARRAY",
            (Kind::Array, _) => "PERCPU_ARRAY",
            (Kind::LruHash, 9) => "LRU_HASH",
            (Kind::LruHash, _) => "LRU_PERCPU_HASH",
            (Kind::Queue, _) => "QUEUE",
            (Kind::Stack, _) => "STACK",
            (Kind::Ring, _) => "RINGBUF",
            (Kind::TaskStorage, _) => "TASK_STORAGE",
        }
    }

    /// True if elements have keys that the program chooses.
    fn by_key(self) -> bool {
        matches!(self, Kind::Hash | Kind::LruHash | Kind::TaskStorage)
    }
}

/// A map.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub name: String,
    pub kind: Kind,
    pub of: MapType,
    index: Index,
    /// Elements that were used once and are free.
    free: Vec<u32>,
    /// Elements that were ever used.
    used: u32,
    /// Where chunks of values are.
    chunks: Vec<u64>,
    /// Elements of an LRU map by use: a ring that begins at number 0, where element `i` is `i + 1`.
    order: Links,
    /// Values of a queue or stack.
    line: VecDeque<Vec<u8>>,
    /// Elements that an LRU map dropped.
    pub drops: u64,
    /// Updates that found no room.
    pub full: u64,
}

impl Map {
    pub(crate) fn new(name: String, kind: Kind, of: MapType) -> Map {
        let mut order = Links::default();
        order.grow(1);
        Map {
            name,
            kind,
            of,
            index: Index::new(if kind == Kind::TaskStorage { 4 } else { of.key }),
            free: Vec::new(),
            used: 0,
            chunks: Vec::new(),
            order,
            line: VecDeque::new(),
            drops: 0,
            full: 0,
        }
    }

    /// Elements that it holds.
    pub(crate) fn len(&self) -> usize {
        match self.kind {
            Kind::Queue | Kind::Stack => self.line.len(),
            _ => self.index.len(),
        }
    }

    /// The element of a key, which counts as a use.
    pub(crate) fn find(&mut self, key: &[u8]) -> Option<u32> {
        if self.kind == Kind::Array {
            let number = key.try_into().map(u32::from_le_bytes).ok()?;
            return (u64::from(number) < self.of.entries).then_some(number);
        }
        let element = self.index.find(key)?;
        if self.kind == Kind::LruHash {
            self.touch(element);
        }
        Some(element)
    }

    /// The element that an update with `flags` writes to.
    pub(crate) fn element(&mut self, key: &[u8], flags: u64) -> Result<u32, i64> {
        let old = self.find(key);
        match (old, flags & 3) {
            (_, 3) => Err(EINVAL),
            (Some(_), 1) => Err(EEXIST),
            (Some(old), _) => Ok(old),
            (None, _) if self.kind == Kind::Array => Err(E2BIG),
            (None, 2) => Err(ENOENT),
            (None, _) if !self.kind.by_key() => Err(EINVAL),
            (None, _) => self.insert(key),
        }
    }

    fn insert(&mut self, key: &[u8]) -> Result<u32, i64> {
        let element = match self.free.pop() {
            Some(element) => element,
            None if u64::from(self.used) < self.room() => {
                self.used += 1;
                self.order.grow(self.used + 1);
                self.used - 1
            }
            None if self.kind == Kind::LruHash => self.drop_oldest(),
            None => {
                self.full += 1;
                return Err(E2BIG);
            }
        };
        self.index.insert(key, element);
        if self.kind == Kind::LruHash {
            self.touch(element);
        }
        Ok(element)
    }

    /// Elements that it may hold. Storage of tasks has no bound of its own.
    fn room(&self) -> u64 {
        if self.kind == Kind::TaskStorage { MOST_ELEMENTS } else { self.of.entries }
    }

    fn touch(&mut self, element: u32) {
        self.order.take(element + 1);
        self.order.put_before(0, element + 1);
    }

    fn drop_oldest(&mut self) -> u32 {
        let element = self.order.next(0) - 1;
        self.order.take(element + 1);
        let key = self.index.key(element).to_vec();
        self.index.remove(&key);
        self.drops += 1;
        element
    }

    pub(crate) fn delete(&mut self, key: &[u8]) -> Result<(), i64> {
        if !self.kind.by_key() {
            return Err(EINVAL);
        }
        let element = self.index.remove(key).ok_or(ENOENT)?;
        self.order.take(element + 1);
        self.free.push(element);
        Ok(())
    }

    /// Numbers of elements, used or free: they lie below this.
    pub(crate) fn numbers(&self) -> u32 {
        if self.kind == Kind::Array { self.of.entries as u32 } else { self.used }
    }

    /// The key of an element that is in use.
    pub(crate) fn key(&self, element: u32) -> Option<Vec<u8>> {
        if self.kind == Kind::Array {
            return Some(element.to_le_bytes().to_vec());
        }
        let key = self.index.key(element);
        (self.index.find(key) == Some(element)).then(|| key.to_vec())
    }

    /// The bytes from one value to the next.
    fn step(&self) -> u64 {
        self.of.value.next_multiple_of(8).max(8)
    }

    fn in_chunk(&self) -> u64 {
        (CHUNK / self.step()).max(1)
    }

    /// The place of a value, if its chunk exists.
    pub(crate) fn address(&self, element: u32) -> Option<u64> {
        let element = u64::from(element);
        let chunk = *self.chunks.get((element / self.in_chunk()) as usize)?;
        (chunk != 0).then(|| chunk + element % self.in_chunk() * self.step())
    }

    /// The bytes of a chunk, which is to be made for a value without a place.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.in_chunk() * self.step()
    }

    /// The chunk of a value lies at `at`.
    pub(crate) fn put_chunk(&mut self, element: u32, at: u64) {
        let chunk = (u64::from(element) / self.in_chunk()) as usize;
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk + 1, 0);
        }
        self.chunks[chunk] = at;
    }

    /// Puts a value into a queue or on a stack. `BPF_EXIST` makes room.
    pub(crate) fn push(&mut self, value: Vec<u8>, flags: u64) -> Result<(), i64> {
        if !matches!(self.kind, Kind::Queue | Kind::Stack) || flags & 1 != 0 {
            return Err(EINVAL);
        }
        if self.line.len() as u64 == self.of.entries {
            if flags & 2 == 0 {
                self.full += 1;
                return Err(E2BIG);
            }
            // The oldest makes room; a stack has its newest in front.
            if self.kind == Kind::Queue {
                self.line.pop_front()
            } else {
                self.line.pop_back()
            };
        }
        match self.kind {
            Kind::Queue => self.line.push_back(value),
            _ => self.line.push_front(value),
        }
        Ok(())
    }

    /// The next value of a queue or stack, which goes if `take`.
    pub(crate) fn front(&mut self, take: bool) -> Result<Vec<u8>, i64> {
        if !matches!(self.kind, Kind::Queue | Kind::Stack) {
            return Err(EINVAL);
        }
        let value = if take { self.line.pop_front() } else { self.line.front().cloned() };
        value.ok_or(ENOENT)
    }
}

/// The maps of a module, by the addresses of their variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Maps(Vec<(u64, Map)>);

impl Maps {
    pub(crate) fn add(&mut self, at: u64, map: Map) {
        self.0.push((at, map));
    }

    pub(crate) fn at(&mut self, at: u64) -> Option<&mut Map> {
        self.0.iter_mut().find(|m| m.0 == at).map(|m| &mut m.1)
    }

    /// A map by name, with the address of its variable.
    pub(crate) fn named(&self, name: &str) -> Option<(u64, &Map)> {
        self.0.iter().find(|m| m.1.name == name).map(|m| (m.0, &m.1))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Map> {
        self.0.iter().map(|m| &m.1)
    }
}
