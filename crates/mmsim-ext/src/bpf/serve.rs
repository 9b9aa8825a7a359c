//! Answers to the verbs that call back: iterations, samples, loops, elements of maps.

use crate::bpf::access::{Halt, bytes, put, word};
use crate::bpf::host::{Ask, map_at, value_of};
use crate::bpf::imports::locked;
use crate::bpf::instance::{Instance, Look};
use crate::bpf::mirror::{MOST_KEY, at, kernel_flags};
use crate::lists::{Ended, MOST_SAMPLED, Moves, ROOM, Refusal, Slot, Verdict};

/// Offsets within `struct cache_ext_eviction_ctx`.
pub(crate) mod ctx {
    pub(crate) const WANTED: u64 = 0;
    pub(crate) const OFFERED: u64 = 8;
    pub(crate) const FOLIOS: u64 = 16;
    pub(crate) const SCORES: u64 = FOLIOS + 8 * super::ROOM as u64;
    pub(crate) const BYTES: u64 = SCORES + 8 * super::ROOM as u64;
}

/// The offset of the two counts within `struct cache_ext_iterate_opts`.
const COUNTS: u64 = 32;

impl Instance {
    /// Answers a verb.
    pub(crate) fn serve(&mut self, ask: Ask, look: Look<'_>) -> Result<i64, Halt> {
        match ask {
            Ask::Iterate(list, visit, opts, ctx) => self.iterate(list, visit, opts, ctx, look),
            Ask::Sample(list, score, opts, ctx) => self.sample(list, score, opts, ctx, look),
            Ask::Loop(turns, f, ctx) => {
                for i in 0..turns {
                    if self.call_back(f, &[i64::from(i), ctx as i64], look)? != 0 {
                        return Ok(i64::from(i) + 1);
                    }
                }
                Ok(turns.into())
            }
            Ask::Elements(map, f, ctx) => self.elements(map, f, ctx, look),
        }
    }

    /// Shows a folio to the module: its flags are those of the moment. Gives its address.
    pub(crate) fn show(&mut self, slot: Slot, look: Look<'_>) -> Result<u64, Halt> {
        let mirror = &self.store.data().mirror;
        let (at, flags) = (mirror.address(slot), kernel_flags(look(mirror.folio_in(slot))));
        self.put_word(at, flags)?;
        Ok(at)
    }

    fn iterate(
        &mut self,
        list: u64,
        visit: u64,
        opts: u64,
        ctx: u64,
        look: Look<'_>,
    ) -> Result<i64, Halt> {
        let mut moves = [Moves::default(); 2];
        if opts != 0 {
            for (i, moves) in moves.iter_mut().enumerate() {
                let at = opts + 16 * i as u64;
                *moves = Moves { list: self.word(at)?, mode: self.word(at + 8)? };
            }
        }
        let full = self.word(ctx + ctx::OFFERED)?.min(ROOM as u64) as usize;
        let [continued, offered] = moves;
        let mut walk = match self.store.data_mut().lists.walk(list, continued, offered, full) {
            Ok(walk) => walk,
            Err(Refusal::Locked) => return Err(locked("list_iterate")),
            Err(refusal) => return Ok(refusal.code().into()),
        };
        let mut offers = full as u64;
        while let Some((i, slot)) = walk.next(&mut self.store.data_mut().lists) {
            let folio = self.show(slot, look)?;
            let said = self.call_back(visit, &[i.into(), (folio + at::NODE) as i64], look)?;
            let verdict = Verdict::of(said as i32);
            let lists = &mut self.store.data_mut().lists;
            if let Some(place) = walk.judge(lists, slot, verdict) {
                self.put_word(ctx + ctx::FOLIOS + 8 * place as u64, folio)?;
                offers = place as u64 + 1;
            }
        }
        if offers > full as u64 {
            self.put_word(ctx + ctx::OFFERED, offers)?;
        }
        if opts != 0 {
            for (i, count) in walk.counts().into_iter().enumerate() {
                let at = opts + COUNTS + 8 * i as u64;
                self.put_word(at, self.word(at)?.wrapping_add(count))?;
            }
        }
        let host = self.store.data_mut();
        let ended = walk.ended(&mut host.lists);
        host.counts.too_long += u64::from(ended == Ended::TooLong);
        Ok(ended as i64)
    }

    fn sample(
        &mut self,
        list: u64,
        score: u64,
        opts: u64,
        ctx: u64,
        look: Look<'_>,
    ) -> Result<i64, Halt> {
        let size = self.word(opts)? & u64::from(u32::MAX);
        let wanted = self.word(ctx + ctx::WANTED)?;
        self.pay(wanted.saturating_mul(size).min(MOST_SAMPLED))?;
        let host = self.store.data_mut();
        let mut sample = match host.lists.sample(list, wanted, size) {
            Ok(sample) => sample,
            Err(Refusal::Locked) => return Err(locked("list_sample")),
            Err(refusal) => {
                host.counts.short += u64::from(refusal == Refusal::Short);
                return Ok(refusal.code().into());
            }
        };
        let mut offers = 0;
        while let Some(slot) = sample.next() {
            let folio = self.show(slot, look)?;
            let worth = self.call_back(score, &[(folio + at::NODE) as i64], look)?;
            let Some((best, slot)) = sample.score(worth) else { continue };
            // A kernel would write behind the array here.
            if offers == ROOM as u64 {
                break;
            }
            let folio = self.store.data().mirror.address(slot);
            self.put_word(ctx + ctx::FOLIOS + 8 * offers, folio)?;
            self.put_word(ctx + ctx::SCORES + 8 * offers, best as u64)?;
            offers += 1;
        }
        self.put_word(ctx + ctx::OFFERED, offers)?;
        sample.end(&mut self.store.data_mut().lists);
        Ok(0)
    }

    fn elements(&mut self, map: u64, f: u64, ctx: u64, look: Look<'_>) -> Result<i64, Halt> {
        let at_key = self.store.data().mirror.single + at::KEY;
        let numbers = map_at(self.store.data_mut(), map)?.numbers();
        let mut n = 0;
        for element in 0..numbers {
            self.pay(1)?;
            let Some(key) = map_at(self.store.data_mut(), map)?.key(element) else { continue };
            if key.len() as u64 <= MOST_KEY {
                self.put(at_key, &key)?;
            }
            let value = value_of(&mut self.store, map, element)?;
            n += 1;
            let given = [map as i64, at_key as i64, value as i64, ctx as i64];
            if self.call_back(f, &given, look)? != 0 {
                break;
            }
        }
        Ok(n)
    }

    /// The folios that the context offers, in order: first `n` numbers of its array.
    pub(crate) fn offers(&self) -> Result<(u64, Vec<u64>), Halt> {
        let data = self.memory.data(&self.store);
        let ctx = self.ctx();
        let n = word(data, ctx + ctx::OFFERED)?;
        let all = bytes(data, ctx + ctx::FOLIOS, 8 * n.min(ROOM as u64))?;
        let addresses = all.chunks(8).map(|c| word(c, 0)).collect::<Result<_, _>>()?;
        Ok((n, addresses))
    }

    /// An empty context that asks for `wanted` folios.
    pub(crate) fn ask_for(&mut self, wanted: u64) -> Result<(), Halt> {
        let at = self.ctx();
        let data = self.memory.data_mut(&mut self.store);
        put(data, at, &[0; ctx::BYTES as usize])?;
        put(data, at + ctx::WANTED, &wanted.to_le_bytes())
    }
}
