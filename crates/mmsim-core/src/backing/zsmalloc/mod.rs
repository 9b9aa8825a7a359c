//! zsmalloc: memory for compressed pages.
//!
//! A compressed page is an object of some bytes. Objects of about one size share zspages, which are
//! a few frames each, so what an object takes depends on its neighbours. A zspage stays as long as
//! one object lives in it, and [`Zsmalloc::compact`] moves objects together.
//!
//! The pool keeps which objects a zspage holds, in the kernel's order, and not their bytes. Frames
//! come from its owner and go back to him.
//!
//! Source: Linux 6.12 mm/zsmalloc.c (`zs_malloc`, `zs_free`, `get_fullness_group`,
//! `find_get_zspage`, `__zs_compact`); 6.18 and 7.3 have the same.

mod classes;

use crate::base::id::Pfn;
use classes::Classes;
pub use classes::{CHAIN_SIZE, SizeClass};

/// The shortest length whose object takes a whole frame (`zs_huge_class_size`).
pub const HUGE: u16 = 3625;

/// Groups of zspages by how much of each is in use: none, up to each tenth, and all.
const GROUPS: usize = 12;
/// The group of zspages whose objects are all in use.
const FULL: u8 = GROUPS as u8 - 1;
const NONE: u32 = u32::MAX;
/// In place of the owner of an object that is free; the rest is the next free one of its zspage.
const FREE: u32 = 1 << 31;

/// Where an object lies among those of its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(pub u32);

#[derive(Clone, Debug)]
struct Zspage {
    /// Neighbours in the list of its group.
    prev: u32,
    next: u32,
    in_use: u16,
    /// The free object that is taken next.
    free: u16,
    group: u8,
}

/// The zspages of one class.
#[derive(Clone, Debug)]
struct Class {
    of: SizeClass,
    zspages: Vec<Zspage>,
    /// Numbers of zspages that were given up.
    vacant: Vec<u32>,
    /// First zspage of each group.
    heads: [u32; GROUPS],
    /// Groups that have any, a bit each.
    populated: u16,
    /// The group of a zspage by its objects in use.
    group_of: Box<[u8]>,
    /// Owner of each object, or the next free one.
    owners: Vec<u32>,
    /// Frames of each zspage, one after the other.
    frames: Vec<Pfn>,
    in_use: u64,
}

/// A pool of compressed pages.
#[derive(Clone, Debug)]
pub struct Zsmalloc {
    classes: Classes,
    of_class: Vec<Class>,
    nr_frames: u64,
    nr_zspages: u64,
    nr_objects: u64,
}

impl Default for Zsmalloc {
    fn default() -> Self {
        Zsmalloc::new(CHAIN_SIZE)
    }
}

impl Zsmalloc {
    /// An empty pool whose zspages have up to `chain` frames, 4..=16.
    pub fn new(chain: u8) -> Self {
        let classes = Classes::new(chain);
        let of_class = classes.kept.iter().map(|&of| Class::new(of)).collect();
        Zsmalloc { classes, of_class, nr_frames: 0, nr_zspages: 0, nr_objects: 0 }
    }

    /// Frames that it holds (`zs_get_total_pages`).
    #[inline]
    pub fn nr_frames(&self) -> u64 {
        self.nr_frames
    }

    /// Zspages that it holds.
    pub fn nr_zspages(&self) -> u64 {
        self.nr_zspages
    }

    /// Objects that it holds.
    pub fn nr_objects(&self) -> u64 {
        self.nr_objects
    }

    /// The class of objects of `length` bytes, 1..=4096.
    pub fn class_of(&self, length: u32) -> SizeClass {
        self.classes.kept[self.classes.of(length)]
    }

    /// Frames that the next object of `length` bytes needs besides those that are here: 0, or those
    /// of a zspage.
    #[inline]
    pub fn wants(&self, length: u32) -> usize {
        let class = &self.of_class[self.classes.of(length)];
        if class.with_room().is_some() { 0 } else { class.of.frames.into() }
    }

    /// Places an object of `length` bytes, 1..=4096, in the fullest zspage with room. `frames` are
    /// as many as [`Zsmalloc::wants`] says, and `owner`, below 2^31, is who learns of its moves.
    ///
    /// # Panics
    /// If the number of frames is another.
    pub fn alloc(&mut self, length: u32, owner: u32, frames: &[Pfn]) -> Place {
        debug_assert!(owner & FREE == 0, "owner {owner} is too large");
        let class = &mut self.of_class[self.classes.of(length)];
        let zspage = match class.with_room() {
            Some(zspage) => {
                assert!(frames.is_empty(), "there is room for {length} bytes");
                zspage
            }
            None => {
                self.nr_frames += frames.len() as u64;
                self.nr_zspages += 1;
                class.add_zspage(frames)
            }
        };
        let place = class.take(zspage, owner);
        class.regroup(zspage);
        self.nr_objects += 1;
        place
    }

    /// Frees an object of `length` bytes. A zspage that is empty then gives its frames to `freed`.
    #[inline]
    pub fn free(&mut self, length: u32, place: Place, freed: &mut Vec<Pfn>) {
        let class = &mut self.of_class[self.classes.of(length)];
        let zspage = class.give(place);
        self.nr_objects -= 1;
        if class.zspages[zspage as usize].in_use == 0 {
            self.nr_frames -= u64::from(class.of.frames);
            self.nr_zspages -= 1;
            class.drop_zspage(zspage, freed);
        } else {
            class.regroup(zspage);
        }
    }

    /// Frames that compaction could give back (`zs_can_compact`, summed over classes).
    pub fn compactable(&self) -> u64 {
        let used = self.of_class.iter().filter(|c| c.nr_zspages() > 0);
        used.map(|c| c.spare_zspages() * u64::from(c.of.frames)).sum()
    }

    /// Moves objects from the emptiest zspages to the fullest, in each class as long as a zspage's
    /// worth of objects is free. `moved` gets the owner of each object that moves, and its new place.
    /// Zspages that become empty give their frames to `freed`. Returns objects that moved.
    pub fn compact(&mut self, mut moved: impl FnMut(u32, Place), freed: &mut Vec<Pfn>) -> u64 {
        let before = freed.len();
        let compacted = self.of_class.iter_mut().rev().map(|c| c.compact(&mut moved, freed));
        let moves = compacted.sum();
        self.nr_frames -= (freed.len() - before) as u64;
        self.nr_zspages = self.of_class.iter().map(Class::nr_zspages).sum();
        moves
    }

    /// Host bytes in use.
    pub fn host_bytes(&self) -> u64 {
        let of = |c: &Class| {
            c.zspages.len() * size_of::<Zspage>() + (c.owners.len() + c.frames.len()) * 4
        };
        self.of_class.iter().map(of).sum::<usize>() as u64
    }

    /// All frames that it holds.
    pub fn frames(&self) -> impl Iterator<Item = Pfn> + '_ {
        self.of_class.iter().flat_map(Class::live_frames)
    }

    /// # Panics
    /// If counts, groups or lists contradict one another.
    pub fn check(&self) {
        self.of_class.iter().for_each(Class::check);
        assert_eq!(self.frames().count() as u64, self.nr_frames, "frames of zspages");
        let objects: u64 = self.of_class.iter().map(|c| c.in_use).sum();
        assert_eq!(objects, self.nr_objects, "objects of classes");
        let zspages: u64 = self.of_class.iter().map(Class::nr_zspages).sum();
        assert_eq!(zspages, self.nr_zspages, "zspages of classes");
    }
}

/// The group of a zspage (`get_fullness_group`).
fn group_of(in_use: u16, objects: u16) -> u8 {
    match in_use {
        0 => 0,
        n if n == objects => FULL,
        n => (100 * u32::from(n) / u32::from(objects) / 10 + 1) as u8,
    }
}

impl Class {
    fn new(of: SizeClass) -> Self {
        Class {
            of,
            zspages: Vec::new(),
            vacant: Vec::new(),
            heads: [NONE; GROUPS],
            populated: 0,
            group_of: (0..=of.objects).map(|in_use| group_of(in_use, of.objects)).collect(),
            owners: Vec::new(),
            frames: Vec::new(),
            in_use: 0,
        }
    }

    /// The first zspage of the fullest group that has room.
    #[inline]
    fn with_room(&self) -> Option<u32> {
        let some = self.populated & !(1 << FULL);
        (some != 0).then(|| self.heads[some.ilog2() as usize])
    }

    /// A new zspage with all objects free, the first to be taken first. It is in no list.
    fn add_zspage(&mut self, frames: &[Pfn]) -> u32 {
        let SizeClass { frames: nr, objects, .. } = self.of;
        assert_eq!(frames.len(), usize::from(nr), "frames of a zspage of {} bytes", self.of.size);
        let new = Zspage { prev: NONE, next: NONE, in_use: 0, free: 0, group: 0 };
        let zspage = self.vacant.pop().unwrap_or_else(|| {
            self.owners.resize(self.owners.len() + usize::from(objects), FREE);
            self.frames.resize(self.frames.len() + usize::from(nr), Pfn(0));
            self.zspages.push(new.clone());
            (self.zspages.len() - 1) as u32
        });
        self.zspages[zspage as usize] = new;
        let (at, first) = (zspage as usize, zspage as usize * usize::from(objects));
        self.frames[at * usize::from(nr)..][..usize::from(nr)].copy_from_slice(frames);
        let free = self.owners[first..][..usize::from(objects)].iter_mut();
        free.zip(1..).for_each(|(owner, next)| *owner = FREE | next);
        self.link(zspage, 0);
        zspage
    }

    /// Gives up an empty zspage.
    fn drop_zspage(&mut self, zspage: u32, freed: &mut Vec<Pfn>) {
        self.unlink(zspage);
        let nr = usize::from(self.of.frames);
        freed.extend_from_slice(&self.frames[zspage as usize * nr..][..nr]);
        self.vacant.push(zspage);
        self.zspages[zspage as usize].group = FULL + 1;
    }

    fn take(&mut self, zspage: u32, owner: u32) -> Place {
        let z = &mut self.zspages[zspage as usize];
        let place = zspage * u32::from(self.of.objects) + u32::from(z.free);
        z.free = (self.owners[place as usize] & !FREE) as u16;
        z.in_use += 1;
        self.in_use += 1;
        self.owners[place as usize] = owner;
        Place(place)
    }

    /// Frees an object; returns its zspage, which may belong to another group now.
    fn give(&mut self, Place(place): Place) -> u32 {
        let objects = u32::from(self.of.objects);
        let (zspage, nth) = (place / objects, place % objects);
        let z = &mut self.zspages[zspage as usize];
        debug_assert!(self.owners[place as usize] & FREE == 0, "object {place} is free twice");
        self.owners[place as usize] = FREE | u32::from(z.free);
        z.free = nth as u16;
        z.in_use -= 1;
        self.in_use -= 1;
        zspage
    }

    /// Moves a zspage to the head of the list of its group, if that is another than before.
    fn regroup(&mut self, zspage: u32) {
        let z = &self.zspages[zspage as usize];
        let group = self.group_of[usize::from(z.in_use)];
        if group != z.group {
            self.unlink(zspage);
            self.link(zspage, group);
        }
    }

    fn link(&mut self, zspage: u32, group: u8) {
        let next = std::mem::replace(&mut self.heads[group as usize], zspage);
        self.populated |= 1 << group;
        if let Some(z) = self.zspages.get_mut(next as usize) {
            z.prev = zspage;
        }
        let z = &mut self.zspages[zspage as usize];
        (z.prev, z.next, z.group) = (NONE, next, group);
    }

    fn unlink(&mut self, zspage: u32) {
        let Zspage { prev, next, group, .. } = self.zspages[zspage as usize];
        match self.zspages.get_mut(prev as usize) {
            Some(z) => z.next = next,
            None => {
                self.heads[group as usize] = next;
                self.populated &= !(u16::from(next == NONE) << group);
            }
        }
        if let Some(z) = self.zspages.get_mut(next as usize) {
            z.prev = prev;
        }
    }

    fn nr_zspages(&self) -> u64 {
        (self.zspages.len() - self.vacant.len()) as u64
    }

    /// Zspages that its objects could do without.
    fn spare_zspages(&self) -> u64 {
        let objects = u64::from(self.of.objects);
        (self.nr_zspages() * objects - self.in_use) / objects
    }

    /// Takes the first zspage of the first of these groups that has any, neither empty nor full, off
    /// its list.
    fn isolate(&mut self, mut groups: impl Iterator<Item = usize>) -> Option<u32> {
        let zspage = groups.find_map(|g| Some(self.heads[g]).filter(|&head| head != NONE))?;
        self.unlink(zspage);
        Some(zspage)
    }

    fn compact(&mut self, moved: &mut impl FnMut(u32, Place), freed: &mut Vec<Pfn>) -> u64 {
        let some = 1..FULL as usize;
        let (mut into, mut moves) = (None, 0);
        while self.spare_zspages() > 0 {
            let to = match into.take().or_else(|| self.isolate(some.clone().rev())) {
                Some(to) => to,
                None => break,
            };
            into = Some(to);
            let Some(from) = self.isolate(some.clone()) else { break };
            moves += self.empty_into(from, to, moved);
            self.put_back(from);
            if self.zspages[from as usize].in_use == 0 {
                self.drop_zspage(from, freed);
            }
            if self.zspages[to as usize].in_use == self.of.objects {
                self.put_back(to);
                into = None;
            }
        }
        if let Some(to) = into {
            self.put_back(to);
        }
        moves
    }

    /// Moves objects of a zspage, the first first, until it is empty or the other is full.
    fn empty_into(&mut self, from: u32, to: u32, moved: &mut impl FnMut(u32, Place)) -> u64 {
        let objects = u32::from(self.of.objects);
        let mut moves = 0;
        for place in from * objects..(from + 1) * objects {
            if self.zspages[to as usize].in_use == self.of.objects {
                break;
            }
            let owner = self.owners[place as usize];
            if owner & FREE == 0 {
                self.give(Place(place));
                let at = self.take(to, owner);
                moved(owner, at);
                moves += 1;
            }
        }
        moves
    }

    /// Puts a zspage that was isolated at the head of the list of its group.
    fn put_back(&mut self, zspage: u32) {
        let group = self.group_of[usize::from(self.zspages[zspage as usize].in_use)];
        self.link(zspage, group);
    }

    fn live_frames(&self) -> impl Iterator<Item = Pfn> + '_ {
        let nr = usize::from(self.of.frames);
        let live = self.zspages.iter().enumerate().filter(|(_, z)| z.group <= FULL);
        live.flat_map(move |(i, _)| self.frames[i * nr..][..nr].iter().copied())
    }

    fn check(&self) {
        let (size, objects) = (self.of.size, usize::from(self.of.objects));
        let mut listed = 0;
        for (group, &head) in self.heads.iter().enumerate() {
            let any = self.populated >> group & 1 != 0;
            assert_eq!(any, head != NONE, "class {size}: group {group} has zspages");
            let (mut at, mut prev) = (head, NONE);
            while let Some(z) = self.zspages.get(at as usize) {
                assert_eq!((usize::from(z.group), z.prev), (group, prev), "class {size}: {at}");
                assert_eq!(group_of(z.in_use, self.of.objects), z.group, "class {size}: {at}");
                let owners = &self.owners[at as usize * objects..][..objects];
                let used = owners.iter().filter(|&&owner| owner & FREE == 0).count();
                assert_eq!(used, usize::from(z.in_use), "class {size}: objects of zspage {at}");
                (prev, at) = (at, z.next);
                listed += 1;
            }
        }
        assert_eq!(listed, self.nr_zspages(), "class {size}: zspages on lists");
        let in_use: u64 = self.zspages.iter().map(|z| u64::from(z.in_use)).sum();
        assert_eq!(in_use, self.in_use, "class {size}: objects in use");
    }
}

#[cfg(test)]
mod tests;
