//! Folio lists as chunked deques.
//!
//! A list scan that follows links runs at the latency of memory: each folio is a miss that depends
//! on the one before. Hardware reads a sequence ahead. So a list is a chain of chunks, each with
//! room for 64 folio numbers. Every folio knows its position.
//!
//! ```text
//!            head                                                          tail
//!   new folios |                                                             | reclaim takes
//!   enter here v                                                             v from here
//!        +-----------------+      +-----------------+      +-----------------+
//!        | .  .  .  f9  f8 | <--> | f7  x  f6   f5  | <--> | f4  x  f2  f1 . |
//!        +-----------------+      +-----------------+      +-----------------+
//!                   ^                     ^                            ^
//!               head_slot             tombstone: its folio         tail_slot
//!                                     left from the middle
//! ```
//!
//! The kernel's order is kept exactly: push and pop at both ends, removal anywhere, iteration from
//! the tail. The modelled policies never insert in the middle. A removal leaves a tombstone. Lengths
//! do not count tombstones, and scans pass them for free. A list whose chunks are mostly tombstones
//! is packed anew.
//!
//! A folio's position is valid only while its `LRU` flag is set. A folio has one position, so it
//! cannot be on two lists. Only this file changes lengths, so they cannot drift.
//!
//! Lengths are in pages. A folio counts as one page until the caller says that it weighs more
//! (`count_extra`, `count_zone`).
//!
//! A list belongs to a tally, which counts the pages of all its lists. Linux keeps such sums per
//! node (`NR_INACTIVE_ANON` and the like), so reading them needs no walk over memory cgroups.

use crate::base::host;
use crate::base::id::{IndexVec, ListId, Pfn, TallyId, ZoneId};

const CHUNK: usize = 64;
/// A run of folios that [`Lists::pop_tail_batch`] hands over has no more.
pub(crate) const MOST_IN_RUN: usize = CHUNK;
const NONE: u32 = u32::MAX;
/// Zones that one list may span: those of one node, of which there are four kinds. Zones of a node
/// are numbered one after the other, so their numbers modulo this differ.
pub(crate) const MAX_ZONES: usize = 8;

/// Where a list counts the folios of a zone.
#[inline(always)]
const fn counter(zone: ZoneId) -> usize {
    zone.0 as usize % MAX_ZONES
}

#[derive(Clone)]
struct Chunk {
    headward: u32,
    tailward: u32,
    /// The number of its list, low byte first: three bytes keep a chunk's head at 12.
    list: [u8; 3],
    live: u8,
}

impl Chunk {
    #[inline(always)]
    fn list(&self) -> ListId {
        let [a, b, c] = self.list;
        ListId(u32::from_le_bytes([a, b, c, 0]))
    }
}

#[derive(Clone)]
struct List {
    /// Chunk that holds the head; `NONE` if the list is empty.
    head: u32,
    tail: u32,
    /// First used slot of the head chunk: as many as still fit at the head. 0 without a chunk.
    head_slot: u8,
    /// Last used slot of the tail chunk.
    tail_slot: u8,
    tally: TallyId,
    chunks: u32,
    /// Folios.
    len: u64,
    /// Pages of these beyond one each.
    extra: u64,
    len_zone: [u64; MAX_ZONES],
}

/// Pages of the lists that are counted together.
#[derive(Clone)]
struct Tally {
    pages: u64,
    /// The tally that counts them as well; 0: none.
    above: TallyId,
}

/// Adds a change, modulo 2^64, to a tally and to those above it.
#[inline(always)]
fn count(tallies: &mut IndexVec<TallyId, Tally>, first: TallyId, change: u64) {
    let mut at = first;
    loop {
        let tally = &mut tallies[at];
        tally.pages = tally.pages.wrapping_add(change);
        at = tally.above;
        if at.0 == 0 {
            return;
        }
    }
}

/// All lists of a machine, in one arena.
#[derive(Clone)]
pub struct Lists {
    chunks: Vec<Chunk>,
    entries: Vec<[u32; CHUNK]>,
    free: Vec<u32>,
    lists: IndexVec<ListId, List>,
    tallies: IndexVec<TallyId, Tally>,
    /// Position of each folio: chunk and slot.
    pos: IndexVec<Pfn, u32>,
}

impl Lists {
    /// Room for the folios of `nr_frames` frames; no list yet.
    pub fn new(nr_frames: usize) -> Self {
        Lists {
            chunks: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
            lists: IndexVec::new(),
            tallies: IndexVec::filled(1, Tally { pages: 0, above: TallyId(0) }),
            pos: IndexVec::filled(nr_frames, 0),
        }
    }

    /// The word of a frame in the column of positions; of a frame on no list it says nothing.
    #[inline(always)]
    pub(crate) fn word(&self, f: Pfn) -> u32 {
        self.pos[f]
    }

    /// A new, empty list for folios of one node, in an unused tally.
    ///
    /// # Panics
    ///
    /// There are 2^24 lists already.
    pub fn create(&mut self) -> ListId {
        self.create_in(TallyId(0))
    }

    /// A new tally, without a list. `above` counts its pages as well.
    pub fn create_tally(&mut self, above: Option<TallyId>) -> TallyId {
        self.tallies.push(Tally { pages: 0, above: above.unwrap_or(TallyId(0)) })
    }

    /// A new, empty list for folios of one node, whose pages a tally counts.
    ///
    /// # Panics
    ///
    /// There are 2^24 lists already.
    pub fn create_in(&mut self, tally: TallyId) -> ListId {
        assert!(self.lists.len() < 1 << 24, "2^24 lists of folios are the most");
        self.lists.push(List {
            head: NONE,
            tail: NONE,
            head_slot: 0,
            tail_slot: 0,
            tally,
            chunks: 0,
            len: 0,
            extra: 0,
            len_zone: [0; MAX_ZONES],
        })
    }

    /// Pages of the folios on a list.
    #[inline]
    pub fn len(&self, list: ListId) -> u64 {
        self.lists[list].len + self.lists[list].extra
    }

    /// Pages of the folios on all lists of a tally.
    #[inline]
    pub fn tally(&self, tally: TallyId) -> u64 {
        self.tallies[tally].pages
    }

    /// Pages of the folios on a list beyond one for each: 0 if all are of one page.
    #[inline]
    pub fn extra(&self, list: ListId) -> u64 {
        self.lists[list].extra
    }

    /// Counts pages beyond one each of folios that came to a list, or left it; the caller reports
    /// those of their zones by [`Lists::count_zone`].
    pub(crate) fn count_extra(&mut self, list: ListId, came: u64, left: u64) {
        let l = &mut self.lists[list];
        l.extra = l.extra + came - left;
        count(&mut self.tallies, l.tally, came.wrapping_sub(left));
    }

    /// Number of folios at the tail of a list that a scan for `n` pages takes: as many as are
    /// needed to reach that. `pages` tells the pages of a folio.
    #[inline]
    pub(crate) fn folios_for(&self, list: ListId, n: u64, pages: impl Fn(Pfn) -> u64) -> u64 {
        if self.lists[list].extra == 0 {
            return n;
        }
        let (mut folios, mut sum) = (0, 0);
        for folio in self.iter_from_tail(list) {
            if sum >= n {
                break;
            }
            (folios, sum) = (folios + 1, sum + pages(folio));
        }
        folios
    }

    /// Pages of the folios of one zone on a list, which holds folios of that zone's node alone.
    #[inline]
    pub fn len_in(&self, list: ListId, zone: ZoneId) -> u64 {
        self.lists[list].len_zone[counter(zone)]
    }

    /// The list that a listed folio is on.
    #[inline]
    pub fn list_of(&self, folio: Pfn) -> ListId {
        self.chunks[(self.pos[folio] >> 6) as usize].list()
    }

    fn new_chunk(&mut self, list: ListId) -> u32 {
        let [a, b, c, _] = list.0.to_le_bytes();
        let chunk = Chunk { headward: NONE, tailward: NONE, list: [a, b, c], live: 0 };
        self.lists[list].chunks += 1;
        if let Some(c) = self.free.pop() {
            self.chunks[c as usize] = chunk;
            self.entries[c as usize] = [NONE; CHUNK];
            c
        } else {
            self.chunks.push(chunk);
            host::push(&mut self.entries, [NONE; CHUNK]);
            (self.chunks.len() - 1) as u32
        }
    }

    #[inline(always)]
    fn place(&mut self, chunk: u32, slot: u8, folio: Pfn) {
        self.entries[chunk as usize][slot as usize & (CHUNK - 1)] = folio.0;
        self.chunks[chunk as usize].live += 1;
        self.pos[folio] = chunk << 6 | u32::from(slot);
    }

    /// Puts a folio at the head.
    #[inline(always)] // Half of it would be the call.
    pub(crate) fn push_head(&mut self, list: ListId, folio: Pfn, zone: ZoneId) {
        if self.lists[list].head_slot == 0 {
            self.grow_head(list);
        }
        let l = &mut self.lists[list];
        l.len += 1;
        l.len_zone[counter(zone)] += 1;
        count(&mut self.tallies, l.tally, 1);
        l.head_slot -= 1;
        let (chunk, slot) = (l.head, l.head_slot);
        self.place(chunk, slot, folio);
    }

    /// Puts folios at the head, one after the other: as many calls of [`Lists::push_head`], but for
    /// their zones, which the caller reports by [`Lists::count_zone`]. `visit` names each once, in
    /// no particular order.
    #[inline]
    pub(crate) fn push_head_batch<T>(
        &mut self,
        list: ListId,
        folios: &[T],
        mut visit: impl FnMut(&T) -> Pfn,
    ) {
        let mut rest = folios;
        while !rest.is_empty() {
            if self.lists[list].head_slot == 0 {
                self.grow_head(list);
            }
            let l = &mut self.lists[list];
            let now;
            (now, rest) = rest.split_at(rest.len().min(l.head_slot.into()));
            l.len += now.len() as u64;
            count(&mut self.tallies, l.tally, now.len() as u64);
            l.head_slot -= now.len() as u8;
            let (chunk, first) = (l.head, usize::from(l.head_slot));
            self.chunks[chunk as usize].live += now.len() as u8;
            let slots = &mut self.entries[chunk as usize][first..first + now.len()];
            let (pos, mut at) = (self.pos.raw_mut(), chunk << 6 | first as u32);
            // The last one lies nearest to the head.
            for (slot, of) in slots.iter_mut().zip(now.iter().rev()) {
                let folio = visit(of);
                *slot = folio.0;
                pos[folio.0 as usize] = at;
                at += 1;
            }
        }
    }

    /// The same, of some of 64 folios: those whose bits `these` has, lowest first.
    #[inline]
    pub(crate) fn push_head_masked(&mut self, list: ListId, folios: &[u32; CHUNK], these: u64) {
        let mut rest = these;
        while rest != 0 {
            if self.lists[list].head_slot == 0 {
                self.grow_head(list);
            }
            let l = &mut self.lists[list];
            let now = u32::from(l.head_slot).min(rest.count_ones());
            l.len += u64::from(now);
            count(&mut self.tallies, l.tally, now.into());
            let (chunk, mut slot) = (l.head, l.head_slot);
            l.head_slot -= now as u8;
            self.chunks[chunk as usize].live += now as u8;
            let entries = &mut self.entries[chunk as usize];
            let pos = self.pos.raw_mut();
            for _ in 0..now {
                let folio = folios[rest.trailing_zeros() as usize % CHUNK];
                rest &= rest - 1;
                slot -= 1;
                entries[usize::from(slot) % CHUNK] = folio;
                pos[folio as usize] = chunk << 6 | u32::from(slot);
            }
        }
    }

    /// Pages that a batch brought to a list, or took off it, by their zone.
    #[inline]
    pub(crate) fn count_zone(&mut self, list: ListId, zone: ZoneId, came: u64, left: u64) {
        let n = &mut self.lists[list].len_zone[counter(zone)];
        *n = *n + came - left;
    }

    /// A new chunk at the head, all of it free.
    #[cold]
    #[inline(never)]
    fn grow_head(&mut self, list: ListId) {
        let old = self.lists[list].head;
        let c = self.new_chunk(list);
        self.chunks[c as usize].tailward = old;
        let l = &mut self.lists[list];
        l.head = c;
        l.head_slot = CHUNK as u8;
        if old == NONE {
            l.tail = c;
            l.tail_slot = CHUNK as u8 - 1;
        } else {
            self.chunks[old as usize].headward = c;
        }
    }

    /// Puts a folio at the tail.
    pub(crate) fn push_tail(&mut self, list: ListId, folio: Pfn, zone: ZoneId) {
        let l = &mut self.lists[list];
        l.len += 1;
        l.len_zone[counter(zone)] += 1;
        count(&mut self.tallies, l.tally, 1);
        let (chunk, slot) = if l.tail != NONE && usize::from(l.tail_slot) < CHUNK - 1 {
            l.tail_slot += 1;
            (l.tail, l.tail_slot)
        } else {
            let old = l.tail;
            let c = self.new_chunk(list);
            self.chunks[c as usize].headward = old;
            let l = &mut self.lists[list];
            l.tail = c;
            l.tail_slot = 0;
            if old == NONE {
                l.head = c;
                l.head_slot = 0;
            } else {
                self.chunks[old as usize].tailward = c;
            }
            (c, 0)
        };
        self.place(chunk, slot, folio);
    }

    /// The folio at the tail, left where it is.
    #[inline]
    pub fn tail(&mut self, list: ListId) -> Option<Pfn> {
        let l = &mut self.lists[list];
        if l.len == 0 {
            return None;
        }
        // Pass tombstones at the very end; each is passed once, then forgotten.
        loop {
            let e = self.entries[l.tail as usize][l.tail_slot as usize & (CHUNK - 1)];
            if e != NONE {
                return Some(Pfn(e));
            }
            debug_assert!(l.tail_slot > 0, "{list}: chunk {} of tombstones kept", l.tail);
            l.tail_slot -= 1;
        }
    }

    /// Has memory fetch the position of a folio.
    #[inline(always)]
    pub(crate) fn fetch(&self, folio: Pfn) {
        host::prefetch(self.pos.raw(), folio.0 as usize);
    }

    /// Takes up to `n` folios off the tail: as many calls of [`Lists::remove`], but for their
    /// zones, which the caller reports by [`Lists::count_zone`]. They are handed to `visit` in runs
    /// of frame numbers, to be read backwards: the tail comes first.
    #[inline]
    pub(crate) fn pop_tail_batch(&mut self, list: ListId, n: u64, mut visit: impl FnMut(&[u32])) {
        let mut left = n.min(self.lists[list].len);
        while left > 0 {
            let l = &mut self.lists[list];
            let c = l.tail as usize;
            let chunk = &mut self.chunks[c];
            let take = left.min(chunk.live.into());
            chunk.live -= take as u8;
            let empty = chunk.live == 0;
            l.len -= take;
            count(&mut self.tallies, l.tally, take.wrapping_neg());
            left -= take;
            // What lies behind the tail is not looked at again, so nothing is left there.
            let entries = &self.entries[c][..=usize::from(l.tail_slot) & (CHUNK - 1)];
            let first = match entries.len().checked_sub(take as usize) {
                // Few chunks have tombstones.
                Some(first) if !entries[first..].contains(&NONE) => {
                    visit(&entries[first..]);
                    first
                }
                _ => visit_sparse(entries, take, &mut visit),
            };
            if empty {
                self.drop_chunk(list, c as u32);
            } else {
                l.tail_slot = first as u8 - 1;
            }
        }
        self.pack_if_sparse(list);
    }

    /// The folios at the tail of a list, as far as they lie side by side: what
    /// `pop_tail_batch` is going to hand over next, as a guess. Some may be no folios.
    #[inline]
    pub fn ahead(&self, list: ListId) -> &[u32] {
        let l = &self.lists[list];
        let chunk = self.entries.get(l.tail as usize);
        chunk.map_or(&[], |entries| &entries[..=usize::from(l.tail_slot) % CHUNK])
    }

    /// Takes a folio off its list.
    #[inline]
    pub fn remove(&mut self, folio: Pfn, zone: ZoneId) {
        self.remove_all(&[folio], zone);
    }

    /// Takes folios of one zone off their lists: as many calls of [`Lists::remove`].
    #[inline]
    pub(crate) fn remove_all(&mut self, folios: &[Pfn], zone: ZoneId) {
        let mut rest = folios;
        while let Some(&first) = rest.first() {
            let list = self.list_of(first);
            let mut n = 0;
            for &folio in rest {
                let pos = self.pos[folio];
                let (c, slot) = (pos >> 6, (pos & 63) as usize);
                let chunk = &mut self.chunks[c as usize];
                if chunk.list() != list {
                    break;
                }
                debug_assert_eq!(self.entries[c as usize][slot], folio.0, "{folio} not at {pos}");
                self.entries[c as usize][slot] = NONE;
                chunk.live -= 1;
                n += 1;
                if chunk.live == 0 {
                    self.drop_chunk(list, c);
                }
            }
            let l = &mut self.lists[list];
            l.len -= n as u64;
            l.len_zone[counter(zone)] -= n as u64;
            count(&mut self.tallies, l.tally, (n as u64).wrapping_neg());
            self.pack_if_sparse(list);
            rest = &rest[n..];
        }
    }

    #[inline]
    fn pack_if_sparse(&mut self, list: ListId) {
        let l = &self.lists[list];
        if l.chunks > 8 && u64::from(l.chunks) * CHUNK as u64 > 4 * l.len {
            self.pack(list);
        }
    }

    #[cold]
    fn drop_chunk(&mut self, list: ListId, c: u32) {
        let (h, t) = (self.chunks[c as usize].headward, self.chunks[c as usize].tailward);
        let l = &mut self.lists[list];
        l.chunks -= 1;
        if h == NONE {
            l.head = t;
            l.head_slot = 0;
        } else {
            self.chunks[h as usize].tailward = t;
        }
        let l = &mut self.lists[list];
        if t == NONE {
            l.tail = h;
            l.tail_slot = CHUNK as u8 - 1;
        } else {
            self.chunks[t as usize].headward = h;
        }
        self.free.push(c);
    }

    /// Packs a list that is mostly tombstones, keeping its order.
    #[cold]
    fn pack(&mut self, list: ListId) {
        let folios: Vec<Pfn> = self.iter_from_tail(list).collect();
        let mut c = self.lists[list].head;
        while c != NONE {
            let next = self.chunks[c as usize].tailward;
            self.free.push(c);
            c = next;
        }
        let l = &mut self.lists[list];
        (l.head, l.tail, l.chunks, l.head_slot) = (NONE, NONE, 0, 0);
        let (len, len_zone) = (l.len, l.len_zone);
        count(&mut self.tallies, l.tally, len.wrapping_neg());
        for &f in &folios {
            self.push_head(list, f, ZoneId(0));
        }
        let l = &mut self.lists[list];
        (l.len, l.len_zone) = (len, len_zone);
    }

    /// The folios from the tail to the head.
    pub fn iter_from_tail(&self, list: ListId) -> impl Iterator<Item = Pfn> + '_ {
        let l = &self.lists[list];
        let mut chunk = l.tail;
        let mut slot = i32::from(l.tail_slot);
        let (head, head_slot) = (l.head, i32::from(l.head_slot));
        std::iter::from_fn(move || {
            loop {
                if chunk == NONE || (chunk == head && slot < head_slot) {
                    return None;
                }
                if slot < 0 {
                    chunk = self.chunks[chunk as usize].headward;
                    slot = CHUNK as i32 - 1;
                    continue;
                }
                let e = self.entries[chunk as usize][slot as usize];
                slot -= 1;
                if e != NONE {
                    return Some(Pfn(e));
                }
            }
        })
    }

    /// All lists.
    pub fn ids(&self) -> impl Iterator<Item = ListId> + use<> {
        self.lists.ids()
    }

    /// Host bytes in use.
    pub fn host_bytes(&self) -> u64 {
        (self.pos.len() * 4 + self.chunks.len() * (CHUNK * 4 + size_of::<Chunk>())) as u64
    }
}

/// Hands the last `take` folios among tombstones to `visit`. Returns where the first of them
/// is.
#[cold]
#[inline(never)]
fn visit_sparse(entries: &[u32], take: u64, visit: &mut impl FnMut(&[u32])) -> usize {
    let mut run = [NONE; CHUNK];
    let first = CHUNK - take as usize;
    let mut at = entries.len();
    for to in run[first..].iter_mut().rev() {
        at -= 1;
        while entries[at] == NONE {
            at -= 1;
        }
        *to = entries[at];
    }
    visit(&run[first..]);
    at
}

#[cfg(test)]
mod tests;
