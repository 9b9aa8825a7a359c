//! Lists of folios with the verbs and the rules of cache_ext: the part of a policy's world that is
//! the same in every language.
//!
//! A folio has a *slot*, a small number, and one node, so it is on at most one list. The owner of
//! [`Lists`] says which slots hold a folio ([`Lists::fill`], [`Lists::clear`]). Verbs get raw
//! numbers, as programs hand them over, and refuse what is no list or no folio.
//!
//! An iteration is a value ([`Walk`], [`Sample`]), so that its callback can run anywhere: in Rust, or in
//! an interpreter that stops for it. A kernel iterates under the lock of the lists, and a verb in a
//! callback would wait for its own lock. Here it is refused ([`Refusal::Locked`]). The scores of a sample
//! are taken without the lock.
//!
//! Rules and numbers are those of the artefact of cache_ext (SOSP '25, Linux 6.6.8).

use crate::links::Links;

/// Lists of a policy.
pub const MOST_LISTS: u32 = 5;
/// Folios that a call can offer.
pub const ROOM: usize = 32;
/// Callbacks of an iteration. (The kernel asks for more than 4,096 after the callback.)
pub const MOST_VISITS: u32 = 4097;
/// Folios that a sample looks at.
pub const MOST_SAMPLED: u64 = 2048;

/// The place of no list.
const NONE: u8 = u8::MAX;
/// The list of the folios that a sample took off: the one behind those of the policy.
const SAMPLED: u8 = MOST_LISTS as u8;
/// Numbers of links before those of slots: a head for each list.
const HEADS: u32 = MOST_LISTS + 1;

/// The number of a folio.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// No folio: what stands for a pointer that is none to a folio.
    pub const NONE: Slot = Slot(u32::MAX);
}

/// An end of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Where iterations begin.
    Head,
    /// Where they end.
    Tail,
}

/// Reason for which a verb did nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// There are [`MOST_LISTS`] lists already.
    #[error("there are {MOST_LISTS} lists already")]
    TooManyLists,
    /// No list has this number.
    #[error("no list has this number")]
    NoList,
    /// It is no folio of the group.
    #[error("it is no folio of the group")]
    NoFolio,
    /// It cannot be taken off: it is no folio of the group.
    #[error("it is no folio of the group, so it cannot be taken off")]
    Absent,
    /// It is on a list.
    #[error("it is on a list already")]
    Listed,
    /// It is on no list.
    #[error("it is on no list")]
    Unlisted,
    /// There is no such mode, or another list comes with the mode that moves nothing.
    #[error("there is no such mode, or it names a list and moves nothing")]
    Mode,
    /// A sample of more than [`MOST_SAMPLED`] folios.
    #[error("a sample has at most {MOST_SAMPLED} folios")]
    TooLarge,
    /// The list has fewer folios than the sample.
    #[error("the list has fewer folios than the sample")]
    Short,
    /// A callback of an iteration runs.
    #[error("a callback of an iteration runs, and a kernel would wait for its own lock")]
    Locked,
}

impl Refusal {
    /// The value that the kernel's function returns: -ENOENT or -1.
    pub const fn code(self) -> i32 {
        match self {
            Refusal::Absent => -2,
            _ => -1,
        }
    }
}

/// End of an iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The list ended, or the callback stopped it.
    Done = 0,
    /// After [`MOST_VISITS`] callbacks (`CACHE_EXT_MAX_ITER_REACHED`).
    TooLong = 8,
    /// There are [`ROOM`] offers (`CACHE_EXT_EVICT_ARRAY_FILLED`).
    Full = 9,
}

/// Answer of a callback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Go on.
    Continue,
    /// Stop.
    Stop,
    /// Offer this folio, and go on.
    Offer,
}

impl Verdict {
    /// The verdict of a number; all but 0 and 2 stop.
    pub const fn of(number: i32) -> Verdict {
        match number {
            0 => Verdict::Continue,
            2 => Verdict::Offer,
            _ => Verdict::Stop,
        }
    }
}

/// A move of folios that an iteration passes: `cache_ext_iterate_opts` has two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moves {
    /// The list that they go to; 0: this one.
    pub list: u64,
    /// 0: they stay; 1: to its head; 2: to its tail.
    pub mode: u64,
}

/// The lists of a policy.
#[derive(Clone, Debug)]
pub struct Lists {
    links: Links,
    /// By slot: the list that it is on.
    on: Vec<u8>,
    /// By slot: it holds a folio.
    filled: Vec<bool>,
    made: u32,
    locked: bool,
}

impl Default for Lists {
    fn default() -> Lists {
        let mut links = Links::default();
        links.grow(HEADS);
        Lists { links, on: Vec::new(), filled: Vec::new(), made: 0, locked: false }
    }
}

impl Lists {
    /// A folio comes into a slot, on no list.
    pub fn fill(&mut self, slot: Slot) {
        let need = slot.0 as usize + 1;
        if self.on.len() < need {
            self.on.resize(need, NONE);
            self.filled.resize(need, false);
            self.links.grow(HEADS + slot.0 + 1);
        }
        self.filled[slot.0 as usize] = true;
    }

    /// The folio of a slot goes, and leaves its list.
    pub fn clear(&mut self, slot: Slot) {
        if self.holds(slot) {
            self.take(slot);
            self.filled[slot.0 as usize] = false;
        }
    }

    /// True if a folio is in the slot.
    pub fn holds(&self, slot: Slot) -> bool {
        self.filled.get(slot.0 as usize).is_some_and(|filled| *filled)
    }

    /// The list that a folio is on.
    pub fn list_of(&self, slot: Slot) -> Option<u64> {
        let on = *self.on.get(slot.0 as usize)?;
        (on < SAMPLED).then_some(u64::from(on) + 1)
    }

    /// The folios of a list from its head on.
    pub fn folios(&self, list: u64) -> Vec<Slot> {
        let Ok(head) = self.head(list) else { return Vec::new() };
        let mut at = self.links.next(head);
        let mut found = Vec::new();
        while at != head {
            found.push(Slot(at - HEADS));
            at = self.links.next(at);
        }
        found
    }

    /// The folio at the head of a list.
    pub fn first(&self, list: u64) -> Option<Slot> {
        let head = self.head(list).ok()?;
        self.folio_at(self.links.next(head))
    }

    /// The folio behind another one on its list.
    pub fn after(&self, slot: Slot) -> Option<Slot> {
        self.list_of(slot)?;
        self.folio_at(self.links.next(HEADS + slot.0))
    }

    /// The folio of a number of links; none: it is the head of a list, and so its end.
    fn folio_at(&self, link: u32) -> Option<Slot> {
        link.checked_sub(HEADS).map(Slot)
    }

    /// Makes a list (`bpf_cache_ext_ds_registry_new_list`); the first is number 1.
    ///
    /// # Errors
    /// There are [`MOST_LISTS`].
    pub fn new_list(&mut self) -> Result<u64, Refusal> {
        if self.made == MOST_LISTS {
            return Err(Refusal::TooManyLists);
        }
        self.made += 1;
        Ok(self.made.into())
    }

    /// Puts a folio that is on no list on one (`bpf_cache_ext_list_add`, `.._add_tail`).
    ///
    /// # Errors
    /// No list, no folio, on a list already, or in a callback.
    pub fn add(&mut self, list: u64, slot: Slot, end: End) -> Result<(), Refusal> {
        let head = self.usable(list, slot)?;
        if self.on[slot.0 as usize] != NONE {
            return Err(Refusal::Listed);
        }
        self.put(head, slot, end);
        Ok(())
    }

    /// Puts a folio on a list, wherever it was (`bpf_cache_ext_list_move`).
    ///
    /// # Errors
    /// No list, no folio, or in a callback.
    pub fn move_to(&mut self, list: u64, slot: Slot, end: End) -> Result<(), Refusal> {
        let head = self.usable(list, slot)?;
        self.take(slot);
        self.put(head, slot, end);
        Ok(())
    }

    /// Takes a folio off its list (`bpf_cache_ext_list_del`).
    ///
    /// # Errors
    /// No folio, on no list, or in a callback.
    pub fn delete(&mut self, slot: Slot) -> Result<(), Refusal> {
        self.unlocked()?;
        match self.holds(slot) {
            false => Err(Refusal::Absent),
            true if self.on[slot.0 as usize] == NONE => Err(Refusal::Unlisted),
            true => {
                self.take(slot);
                Ok(())
            }
        }
    }

    /// Begins an iteration from the head of a list. `continued` and `offered` say where the
    /// folios go that it passes, and `full` how many offers there are already.
    ///
    /// # Errors
    /// No list, a mode that does not exist or does not fit, or in a callback.
    pub fn walk(
        &mut self,
        list: u64,
        continued: Moves,
        offered: Moves,
        full: usize,
    ) -> Result<Walk, Refusal> {
        self.unlocked()?;
        let head = self.head(list)?;
        let mut to = [(head, None); 2];
        for (to, moves) in to.iter_mut().zip([continued, offered]) {
            to.1 = match moves.mode {
                0 if moves.list == 0 => None,
                1 => Some(End::Head),
                2 => Some(End::Tail),
                _ => return Err(Refusal::Mode),
            };
            if moves.list != 0 {
                to.0 = self.head(moves.list)?;
            }
        }
        let at = self.links.next(head);
        Ok(Walk { head, to, at, visits: 0, full, counts: [0; 2], ended: None })
    }

    /// Iterates in Rust (`bpf_cache_ext_list_iterate_extended`): calls `visit` with the number of the
    /// call and the folio, and adds the folios that it offers to `offers`.
    ///
    /// # Errors
    /// As [`Lists::walk`].
    pub fn iterate(
        &mut self,
        list: u64,
        [continued, offered]: [Moves; 2],
        offers: &mut Vec<Slot>,
        mut visit: impl FnMut(u32, Slot) -> Verdict,
    ) -> Result<Ended, Refusal> {
        let mut walk = self.walk(list, continued, offered, offers.len())?;
        while let Some((i, slot)) = walk.next(self) {
            let verdict = visit(i, slot);
            if walk.judge(self, slot, verdict).is_some() {
                offers.push(slot);
            }
        }
        Ok(walk.ended(self))
    }

    /// Takes the first `wanted * size` folios off a list, to be scored
    /// (`bpf_cache_ext_list_sample`). If there are fewer, all go to its tail.
    ///
    /// # Errors
    /// No list, a large sample, a short list, or in a callback.
    pub fn sample(&mut self, list: u64, wanted: u64, size: u64) -> Result<Sample, Refusal> {
        self.unlocked()?;
        let head = self.head(list)?;
        let n = wanted.saturating_mul(size);
        if n > MOST_SAMPLED {
            return Err(Refusal::TooLarge);
        }
        let mut taken = Vec::with_capacity(n as usize);
        while (taken.len() as u64) < n {
            let first = self.links.next(head);
            if first == head {
                break;
            }
            let slot = Slot(first - HEADS);
            self.take(slot);
            self.put(SAMPLED.into(), slot, End::Tail);
            taken.push(slot);
        }
        let short = (taken.len() as u64) < n;
        let sample = Sample { head, taken, size: size as usize, scored: 0, best: None };
        if short {
            sample.end(self);
            return Err(Refusal::Short);
        }
        Ok(sample)
    }

    fn unlocked(&self) -> Result<(), Refusal> {
        if self.locked { Err(Refusal::Locked) } else { Ok(()) }
    }

    fn head(&self, list: u64) -> Result<u32, Refusal> {
        match (1..=u64::from(self.made)).contains(&list) {
            true => Ok(list as u32 - 1),
            false => Err(Refusal::NoList),
        }
    }

    fn usable(&self, list: u64, slot: Slot) -> Result<u32, Refusal> {
        self.unlocked()?;
        let head = self.head(list)?;
        if self.holds(slot) { Ok(head) } else { Err(Refusal::NoFolio) }
    }

    fn take(&mut self, slot: Slot) {
        self.links.take(HEADS + slot.0);
        self.on[slot.0 as usize] = NONE;
    }

    fn put(&mut self, head: u32, slot: Slot, end: End) {
        match end {
            End::Head => self.links.put_after(head, HEADS + slot.0),
            End::Tail => self.links.put_before(head, HEADS + slot.0),
        }
        self.on[slot.0 as usize] = head as u8;
    }
}

/// An iteration under way. The lists are locked between [`Walk::next`] and [`Walk::judge`].
#[derive(Clone, Debug)]
pub struct Walk {
    head: u32,
    /// Where folios go that are continued, and that are offered.
    to: [(u32, Option<End>); 2],
    at: u32,
    visits: u32,
    /// Offers that there are.
    full: usize,
    counts: [u64; 2],
    ended: Option<Ended>,
}

impl Walk {
    /// The number of the next callback, and its folio; none at the end.
    pub fn next(&mut self, lists: &mut Lists) -> Option<(u32, Slot)> {
        if self.ended.is_none() {
            self.ended = match () {
                () if self.full >= ROOM => Some(Ended::Full),
                () if self.at == self.head => Some(Ended::Done),
                () if self.visits == MOST_VISITS => Some(Ended::TooLong),
                () => None,
            };
        }
        if self.ended.is_some() {
            return None;
        }
        lists.locked = true;
        self.visits += 1;
        Some((self.visits - 1, Slot(self.at - HEADS)))
    }

    /// Does as the callback for `slot`, the folio of [`Walk::next`], says. An offer has a place among the offers.
    pub fn judge(&mut self, lists: &mut Lists, slot: Slot, verdict: Verdict) -> Option<usize> {
        lists.locked = false;
        if verdict == Verdict::Stop {
            self.ended = Some(Ended::Done);
            return None;
        }
        // The next one is known before this one moves. So a list whose folios go to its own tail comes
        // round again.
        self.at = lists.links.next(HEADS + slot.0);
        let offered = usize::from(verdict == Verdict::Offer);
        let (head, end) = self.to[offered];
        if let Some(end) = end {
            lists.take(slot);
            lists.put(head, slot, end);
        }
        self.counts[offered] += 1;
        self.full += offered;
        (offered == 1).then(|| self.full - 1)
    }

    /// Folios that were continued, and that were offered.
    pub const fn counts(&self) -> [u64; 2] {
        self.counts
    }

    /// Reason for its end.
    pub fn ended(&self, lists: &mut Lists) -> Ended {
        lists.locked = false;
        self.ended.unwrap_or(Ended::Done)
    }
}

/// A sample under way: its folios are on no list of the policy until it ends.
#[derive(Clone, Debug)]
pub struct Sample {
    head: u32,
    taken: Vec<Slot>,
    size: usize,
    scored: usize,
    best: Option<(i64, Slot)>,
}

impl Sample {
    /// The folio to be scored next.
    pub fn next(&self) -> Option<Slot> {
        self.taken.get(self.scored).copied()
    }

    /// Takes the score of [`Sample::next`]. After each `size` of them the lowest, the first of
    /// equals, is an offer.
    pub fn score(&mut self, score: i64) -> Option<(i64, Slot)> {
        let slot = self.next()?;
        self.scored += 1;
        if self.best.is_none_or(|(best, _)| score < best) {
            self.best = Some((score, slot));
        }
        if self.scored.is_multiple_of(self.size) { self.best.take() } else { None }
    }

    /// Puts the folios at the tail of their list, in their order; those that were moved meanwhile
    /// stay where they are.
    pub fn end(self, lists: &mut Lists) {
        for slot in self.taken {
            if lists.on[slot.0 as usize] == SAMPLED {
                lists.take(slot);
                lists.put(self.head, slot, End::Tail);
            }
        }
    }
}
