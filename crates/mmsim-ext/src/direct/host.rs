//! The verbs and facts that a module of the direct interface imports.

use std::fmt;

use mmsim::base::id::{Idx, PAGE_SIZE};
use mmsim::base::rng::Rng;
use mmsim::phys::frames::FolioId;
use mmsim::policy::chooser::ChooserOptions;
use wasmi::errors::{HostError, LinkerError};
use wasmi::{Caller, Engine, Error, Linker, Memory, StoreLimits};

use crate::bpf::limits;
use crate::bpf::print::{MOST_LINES, Prints};
use crate::lists::{End, Lists, ROOM, Refusal, Slot};
use crate::module::shape::FROM;
use crate::world::FileFacts;

/// The longest text of `print`.
const MOST_TEXT: usize = 256;
const NO_SLOT: u32 = u32::MAX;
/// The answer of a verb that names no folio.
const NO_FOLIO: i32 = -1;

/// A folio that a module knows.
#[derive(Clone, Copy, Debug)]
struct Known {
    folio: FolioId,
    inode: u64,
    index: u32,
    /// Bytes of its file.
    size: u64,
    flags: u64,
    /// The call in which the flags were looked up.
    seen: u64,
}

/// Everything that belongs to one policy in one run.
pub(super) struct Host {
    pub limits: StoreLimits,
    pub memory: Option<Memory>,
    pub lists: Lists,
    pub prints: Prints,
    /// Time of the event, in nanoseconds.
    pub now: u64,
    pub process: u32,
    pub thread: u32,
    /// Offers that named no folio.
    pub no_folio: u64,
    random: Rng,
    /// `max` of the group in pages; 0: it has none.
    cache_size: u64,
    known: Vec<Known>,
    /// By folio.
    slots: Vec<u32>,
    free: Vec<u32>,
    offers: Vec<Slot>,
    /// Offers are taken: `evict_folios` runs.
    offering: bool,
    /// The number of the call, and true if it sees flags of the moment.
    call: u64,
    looks: bool,
}

/// The way out of the interpreter for the flags of a folio.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask(pub Slot);

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flags of folio {}", self.0.0)
    }
}

impl HostError for Ask {}

/// Reason for which a call ended, as what it does.
pub(super) fn why(e: &Error, fuel: u64) -> String {
    mmsim_score::engine::why(e, fuel)
}

impl Host {
    pub(super) fn new(random: Rng, options: &ChooserOptions) -> Host {
        Host {
            limits: limits(),
            memory: None,
            lists: Lists::default(),
            prints: Prints::default(),
            now: 0,
            process: 0,
            thread: 0,
            no_folio: 0,
            random,
            cache_size: options.max_pages.unwrap_or(0),
            known: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            offers: Vec::new(),
            offering: false,
            call: 0,
            looks: false,
        }
    }

    /// The number of a folio that has one.
    pub(super) fn slot_of(&self, folio: FolioId) -> Option<Slot> {
        let slot = *self.slots.get(folio.index())?;
        (slot != NO_SLOT).then_some(Slot(slot))
    }

    pub(super) fn folio_in(&self, slot: Slot) -> FolioId {
        self.known[slot.0 as usize].folio
    }

    /// Gives a folio a number: the one that came free last, or the next.
    pub(super) fn enter(&mut self, folio: FolioId, facts: &FileFacts<'_>) -> Slot {
        let size = u64::from(facts.pages) * PAGE_SIZE;
        let (inode, index) = (facts.ino(), facts.index);
        let known = Known { folio, inode, index, size, flags: 0, seen: 0 };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.known[slot as usize] = known;
                slot
            }
            None => {
                self.known.push(known);
                self.known.len() as u32 - 1
            }
        };
        if self.slots.len() <= folio.index() {
            self.slots.resize(folio.index() + 1, NO_SLOT);
        }
        self.slots[folio.index()] = slot;
        self.lists.fill(Slot(slot));
        Slot(slot)
    }

    /// Takes the number of a folio back; it leaves its list.
    pub(super) fn leave(&mut self, slot: Slot) {
        self.lists.clear(slot);
        let folio = self.folio_in(slot);
        self.slots[folio.index()] = NO_SLOT;
        self.free.push(slot.0);
    }

    /// The flags of a folio are these now.
    pub(super) fn show(&mut self, slot: Slot, flags: u64) {
        let known = &mut self.known[slot.0 as usize];
        (known.flags, known.seen) = (flags, self.call);
    }

    /// The flags of a folio when it was last shown.
    pub(super) fn flags_of(&self, slot: Slot) -> u64 {
        self.known[slot.0 as usize].flags
    }

    /// A call begins, which sees flags of the moment or does not.
    pub(super) fn begin_call(&mut self, looks: bool) {
        self.call += 1;
        self.looks = looks;
    }

    pub(super) fn begin_offers(&mut self) {
        self.offers.clear();
        self.offering = true;
    }

    pub(super) fn end_offers(&mut self) -> Vec<Slot> {
        self.offering = false;
        std::mem::take(&mut self.offers)
    }

    fn known(&self, folio: u32) -> Option<&Known> {
        self.lists.holds(Slot(folio)).then(|| &self.known[folio as usize])
    }

    /// Takes an offer. The places that are left, or -1: it is none.
    fn offer(&mut self, folio: u32) -> i32 {
        if !self.offering || !self.lists.holds(Slot(folio)) || self.offers.len() == ROOM {
            self.no_folio += 1;
            return NO_FOLIO;
        }
        self.offers.push(Slot(folio));
        (ROOM - self.offers.len()) as i32
    }
}

type C<'a> = Caller<'a, Host>;

fn code(result: Result<(), Refusal>) -> i32 {
    result.map_or_else(Refusal::code, |()| 0)
}

fn number(slot: Option<Slot>) -> i32 {
    slot.map_or(NO_FOLIO, |slot| slot.0 as i32)
}

/// The imports. Folios and lists are i32; times, inodes and sizes are i64.
pub(super) fn linker(engine: &Engine) -> Result<Linker<Host>, LinkerError> {
    let mut all = Linker::<Host>::new(engine);
    verbs(&mut all)?;
    facts(&mut all)?;
    Ok(all)
}

fn verbs(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    all.func_wrap(FROM, "list_new", |mut c: C<'_>| {
        c.data_mut().lists.new_list().map_or(0, |list| list as i32)
    })?;
    all.func_wrap(FROM, "list_add", |mut c: C<'_>, list: u32, folio: u32| {
        code(c.data_mut().lists.add(list.into(), Slot(folio), End::Head))
    })?;
    all.func_wrap(FROM, "list_add_tail", |mut c: C<'_>, list: u32, folio: u32| {
        code(c.data_mut().lists.add(list.into(), Slot(folio), End::Tail))
    })?;
    all.func_wrap(FROM, "list_move", |mut c: C<'_>, list: u32, folio: u32, tail: u32| {
        let end = if tail != 0 { End::Tail } else { End::Head };
        code(c.data_mut().lists.move_to(list.into(), Slot(folio), end))
    })?;
    all.func_wrap(FROM, "list_del", |mut c: C<'_>, folio: u32| {
        code(c.data_mut().lists.delete(Slot(folio)))
    })?;
    all.func_wrap(FROM, "list_first", |c: C<'_>, list: u32| {
        number(c.data().lists.first(list.into()))
    })?;
    all.func_wrap(FROM, "list_next", |c: C<'_>, folio: u32| {
        number(c.data().lists.after(Slot(folio)))
    })?;
    all.func_wrap(FROM, "list_of", |c: C<'_>, folio: u32| {
        c.data().lists.list_of(Slot(folio)).map_or(0, |list| list as i32)
    })?;
    all.func_wrap(FROM, "offer", |mut c: C<'_>, folio: u32| c.data_mut().offer(folio))?;
    Ok(())
}

fn facts(all: &mut Linker<Host>) -> Result<(), LinkerError> {
    let flags = |c: C<'_>, folio: u32| -> Result<i32, Error> {
        match c.data().known(folio) {
            None => Ok(0),
            Some(known) if !c.data().looks || known.seen == c.data().call => Ok(known.flags as i32),
            Some(_) => Err(Error::host(Ask(Slot(folio)))),
        }
    };
    all.func_wrap(FROM, "folio_flags", flags)?;
    all.func_wrap(FROM, "folio_index", |c: C<'_>, folio: u32| {
        c.data().known(folio).map_or(0, |known| known.index as i32)
    })?;
    all.func_wrap(FROM, "folio_inode", |c: C<'_>, folio: u32| {
        c.data().known(folio).map_or(0, |known| known.inode as i64)
    })?;
    all.func_wrap(FROM, "folio_file_size", |c: C<'_>, folio: u32| {
        c.data().known(folio).map_or(0, |known| known.size as i64)
    })?;
    all.func_wrap(FROM, "cache_size", |c: C<'_>| c.data().cache_size as i64)?;
    all.func_wrap(FROM, "now", |c: C<'_>| c.data().now as i64)?;
    all.func_wrap(FROM, "process", |c: C<'_>| c.data().process as i32)?;
    all.func_wrap(FROM, "thread", |c: C<'_>| c.data().thread as i32)?;
    all.func_wrap(FROM, "random", |mut c: C<'_>| (c.data_mut().random.next_u64() >> 32) as i32)?;
    all.func_wrap(FROM, "print", |mut c: C<'_>, at: u32, bytes: u32| {
        let Some(memory) = c.data().memory else { return };
        let (data, host) = memory.data_and_store_mut(&mut c);
        host.prints.count += 1;
        if host.prints.lines.len() == MOST_LINES {
            return;
        }
        let rest = data.get(at as usize..).unwrap_or_default();
        let text = &rest[..rest.len().min(bytes as usize).min(MOST_TEXT)];
        host.prints.lines.push((host.now, String::from_utf8_lossy(text).into_owned()));
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::shape::IMPORTS;
    use wasmi::ValType;

    /// The table says what the functions are: a module that imports all of them links.
    #[test]
    fn imports_are_those_of_the_table() {
        let names = |kinds: &[ValType]| {
            let all = kinds.iter().map(|kind| format!("{kind:?} ").to_lowercase());
            all.collect::<String>()
        };
        let import = |(name, takes, gives): (&str, &[ValType], &[ValType])| {
            let (takes, gives) = (names(takes), names(gives));
            format!("(import \"{FROM}\" \"{name}\" (func (param {takes}) (result {gives})))")
        };
        let text = format!("(module {})", IMPORTS.map(import).concat());
        let kind = mmsim_score::engine::Kind { what: "", most: 1 << 16, length: "", shorten: "" };
        let binary = mmsim_score::engine::Binary::from_bytes(text.as_bytes(), "all.wat", kind);
        let engine = Engine::new(&mmsim_score::engine::config());
        let module = binary.expect("a module").translated(&engine).expect("a module");
        let host = Host::new(Rng::for_purpose(0, "test"), &ChooserOptions::default());
        let mut store = wasmi::Store::new(&engine, host);
        store.set_fuel(1000).expect("fuel");
        let linked = linker(&engine).expect("a linker").instantiate_and_start(&mut store, &module);
        assert!(linked.is_ok(), "{:?}", linked.err());
    }
}
