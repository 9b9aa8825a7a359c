//! Where a kernel has left memory free, read out of the physical memory of its machine.
//!
//! Nothing in it is looked up by name: a kernel as it is packaged has no symbols, and may lie anywhere.
//! The array of `struct page` is found by the marks of free blocks in it, the lists by their links, the types
//! of pageblocks by the sections that name the array. Whatever does not fit together is an error.
//!
//! Known are kernels for x86-64 with a virtual memory map, one node and one CPU. Source of the forms: Linux 6.1, 6.12,
//! 6.18 and 7.3 include/linux/mm_types.h (`struct page`), include/linux/mmzone.h (`free_area`, `per_cpu_pages`,
//! `mem_section`), include/linux/page-flags.h, include/linux/pageblock-flags.h.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::zoneinfo;

/// Bytes of a `struct page`, and where in it what is.
const PAGE: usize = 64;
const NEXT: usize = 8;
const PREV: usize = 16;
const MAPPING: usize = 24;
const PRIVATE: usize = 40;
const PAGE_TYPE: usize = 48;
const REFCOUNT: usize = 52;

/// Frames of a section, of which the array has 2 MiB; a pageblock has 512.
const SECTION: usize = 1 << 15;
const SECTION_BYTES: usize = SECTION * PAGE;
const BLOCKS: usize = SECTION / 512;

/// Kernel addresses begin at a multiple of this, wherever they begin.
const GIB: u64 = 1 << 30;

/// Orders of free blocks, and how many types a list is kept of: without `CONFIG_CMA`, and with.
const ORDERS: usize = 11;
const NR_TYPES: [usize; 2] = [5, 6];
/// The types that there is memory of.
const TYPE_NAMES: [&str; 4] = ["Unmovable", "Movable", "Reclaimable", "HighAtomic"];

/// A zone, as `/proc/zoneinfo` has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// DMA, DMA32, Normal, ..
    pub name: String,
    /// Managed pages.
    pub managed: u64,
    /// First frame.
    pub first: usize,
    /// Frames from it on.
    pub spanned: usize,
}

impl Span {
    /// Zones with managed pages, of the first `/proc/zoneinfo` that an output has. The zone of frame 1
    /// begins with frame 0 here.
    ///
    /// # Errors
    /// The output has none, or one that no kernel prints.
    pub fn parse(output: &str) -> Result<Vec<Span>, String> {
        let lines = output.lines().skip_while(|l| !l.starts_with("Node "));
        let lines: Vec<&str> = lines.take_while(|l| !l.starts_with('@')).collect();
        let all = zoneinfo::parse(&lines.join("\n"))
            .map_err(|e| format!("/proc/zoneinfo, line {}: write {}", e.line, e.write))?;
        let of = |z: zoneinfo::Zone| Span {
            name: z.name,
            managed: z.managed,
            first: z.start_pfn as usize,
            spanned: z.spanned as usize,
        };
        let mut all: Vec<Span> = all.into_iter().filter(|z| z.managed > 0).map(of).collect();
        if let Some(z) = all.first_mut().filter(|z| z.first == 1) {
            (z.first, z.spanned) = (0, z.spanned + 1);
        }
        Ok(all)
    }
}

/// Physical memory, from address 0.
struct Memory<'a>(&'a [u8]);

impl Memory<'_> {
    fn u64(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }
    fn u32(&self, at: usize) -> u32 {
        let bytes = self.0.get(at..at + 4).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u32::from_le_bytes)
    }
    /// True if the frame here is marked as a free block (of 6.12, of 6.1).
    fn is_buddy(&self, at: usize) -> bool {
        let mark = self.u32(at + PAGE_TYPE);
        (mark >> 24 == 0xF0 || mark == 0xFFFF_FF7F)
            && self.u32(at + REFCOUNT) == 0
            && self.u64(at + PRIVATE) < ORDERS as u64
            && [NEXT, PREV].iter().all(|&l| self.u64(at + l) >> 47 == (1 << 17) - 1)
    }
}

/// The most frequent of some values.
fn mode<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut votes: BTreeMap<T, usize> = BTreeMap::new();
    all.for_each(|v| *votes.entry(v).or_default() += 1);
    votes.into_iter().max_by_key(|&(_, n)| n).map(|(v, _)| v)
}

/// The array of `struct page`: where it begins in kernel addresses, and where the part of each section is in memory.
struct Map<'a> {
    memory: Memory<'a>,
    base: u64,
    parts: Vec<usize>,
    frames: usize,
}

impl<'a> Map<'a> {
    fn find(memory: Memory<'a>) -> Result<Map<'a>, String> {
        let frames = memory.0.len() / 4096;
        let buddies: Vec<usize> =
            (0..memory.0.len()).step_by(PAGE).filter(|&at| memory.is_buddy(at)).collect();
        // What a link names is the link of another page, or the head of a list.
        let index = |link: u64| (link % GIB / PAGE as u64) as usize;
        let is_link = |l: u64| l % PAGE as u64 == NEXT as u64 && index(l) < frames;
        let links = buddies.iter().map(|&at| memory.u64(at + NEXT));
        let base = mode(links.filter(|&l| is_link(l)).map(|l| l - l % GIB));
        let base = base.ok_or("no free block is linked to another")?;
        // A page and the one that it is linked to name each other, where the parts are in the right places.
        let nr = frames.div_ceil(SECTION);
        let fits = |parts: &Vec<usize>| {
            let place = |offset: usize| parts[offset / SECTION_BYTES] + offset % SECTION_BYTES;
            let linked = buddies.iter().filter_map(|&at| {
                let (link, part) = (memory.u64(at + NEXT), at - at % SECTION_BYTES);
                let own =
                    parts.iter().position(|&p| p == part)? * SECTION_BYTES + at % SECTION_BYTES;
                (link - link % GIB == base && is_link(link)).then_some((own, link))
            });
            let next = |l: u64| place((l - base) as usize - NEXT);
            let agrees =
                |(own, l): (usize, u64)| memory.u64(next(l) + PREV) == base + (own + NEXT) as u64;
            linked.clone().count() > 0 && linked.clone().all(agrees)
        };
        // One behind the other, in 7.3 in the opposite order.
        let ascending =
            |start: usize| (0..nr).map(|n| start + n * SECTION_BYTES).collect::<Vec<_>>();
        let starts = (0..=memory.0.len().saturating_sub(nr * SECTION_BYTES)).step_by(SECTION_BYTES);
        let all = starts.flat_map(|s| [ascending(s), ascending(s).into_iter().rev().collect()]);
        let mut found: Vec<Vec<usize>> = all.filter(fits).collect();
        found.dedup();
        let [parts] = &mut found[..] else {
            return Err(format!("pages may lie at any of {found:x?}"));
        };
        let parts = std::mem::take(parts);
        Ok(Map { memory, base, frames: nr * SECTION, parts })
    }

    /// Where the page of a frame is.
    fn at(&self, frame: usize) -> usize {
        self.parts[frame / SECTION] + frame % SECTION * PAGE
    }

    /// True if the page of a frame is anonymous (`PAGE_MAPPING_ANON`).
    fn is_anon(&self, frame: usize) -> bool {
        self.memory.u64(self.at(frame) + MAPPING) & 1 == 1
    }

    fn frame(&self, link: u64) -> Option<usize> {
        let i = link.checked_sub(self.base)? as usize;
        (i.is_multiple_of(PAGE) && i / PAGE < self.frames).then_some(i / PAGE)
    }

    /// The frames from one on up to the head of the list, and the head.
    fn list(&self, first: usize) -> Result<(u64, Vec<usize>), String> {
        let mut all = vec![first];
        loop {
            let next = self.memory.u64(self.at(all[all.len() - 1]) + NEXT);
            match self.frame(next - NEXT as u64) {
                None => return Ok((next, all)),
                Some(_) if all.len() > self.frames => {
                    return Err(format!("the list of frame {first} has no end"));
                }
                Some(f) => all.push(f),
            }
        }
    }

    /// Lists of frames that satisfy something and begin behind a head, by head.
    fn lists(
        &self,
        frames: std::ops::Range<usize>,
        of: impl Fn(usize) -> bool,
    ) -> Result<BTreeMap<u64, Vec<usize>>, String> {
        let mut all = BTreeMap::new();
        for f in frames.filter(|&f| of(self.at(f))) {
            let before = self.memory.u64(self.at(f) + PREV);
            if self.frame(before.wrapping_sub(NEXT as u64)).is_none() {
                let (head, list) = self.list(f)?;
                if head == before {
                    all.insert(head, list);
                }
            }
        }
        Ok(all)
    }

    /// The bits of pageblocks, by section: four each, and since 6.17 eight.
    fn block_bits(&self) -> Result<Vec<Vec<u8>>, String> {
        let n = self.frames / SECTION;
        let names_map = |at: usize| self.memory.u64(at) & !0x3F == self.base;
        let words = (0..self.memory.0.len().saturating_sub(32 * n)).step_by(8);
        for at in words.filter(|&at| names_map(at)) {
            for size in [16, 32] {
                if !(0..n).all(|s| names_map(at + s * size)) {
                    continue;
                }
                let usage = |s: usize| (self.memory.u64(at + s * size + 8) % GIB) as usize;
                let bits = |s: usize| {
                    // Since 6.6 something that is zero comes first.
                    let map = if self.memory.u64(usage(s)) == 0 { 16 } else { 0 };
                    let from = usage(s) + map + 8;
                    self.memory.0.get(from..from + BLOCKS)
                };
                if let Some(all) = (0..n).map(bits).collect::<Option<Vec<&[u8]>>>() {
                    // Of four bits each, the upper ones are types of blocks as well, mostly movable.
                    let wide = all.iter().all(|bits| bits.iter().all(|b| b >> 4 == 0));
                    let each = |bits: &[u8]| match wide {
                        true => bits.to_vec(),
                        false => bits[..BLOCKS / 2].iter().flat_map(|b| [b & 15, b >> 4]).collect(),
                    };
                    return Ok(all.into_iter().map(each).collect());
                }
            }
        }
        Err("the sections of memory were not found".into())
    }
}

/// Layout of memory, in the form that `mmsim-lab validate` takes for the `boot` of a point.
/// `unevictable` is the number of pages on the unevictable list, all of which are the program's.
///
/// # Errors
/// What was not found, or does not agree with what the kernel itself counted.
pub fn layout(memory: &[u8], zones: &[Span], unevictable: u64) -> Result<Value, String> {
    let map = Map::find(Memory(memory))?;
    let blocks = map.block_bits()?;
    let block_type = |b: usize| usize::from(blocks[b / BLOCKS][b % BLOCKS] & 7);
    let program = program(&map, zones, unevictable)?;
    let zone = |z: &Span| -> Result<Value, String> {
        let frames = z.first..z.first + z.spanned;
        let is_free = |at: usize| map.memory.is_buddy(at);
        let heads = map.lists(frames.clone(), is_free)?;
        let order = |f: usize| map.memory.u64(map.at(f) + PRIVATE) as usize;
        let (base, types) = free_area(&map, &heads, order)
            .ok_or_else(|| format!("zone {}: the free lists are not those of one zone", z.name))?;
        let mut free = Vec::new();
        for order in 0..ORDERS {
            for (mt, name) in TYPE_NAMES.iter().enumerate() {
                if let Some(list) = heads.get(&head_of(base, types, order, mt)) {
                    free.push(described(name, order, list, z.first));
                }
            }
        }
        let pcp = pcp(&map, z, &program)?;
        let here = || program.iter().filter(|f| frames.contains(f));
        let (anon, file): (Vec<usize>, Vec<usize>) = here().partition(|&&f| map.is_anon(f));
        let runs = |of: Vec<usize>| runs(of.into_iter().map(|f| f - z.first));
        let of_type = |mt: usize| -> Vec<usize> {
            let all = z.first / 512..(z.first + z.spanned).div_ceil(512);
            all.filter(|&b| block_type(b) == mt).map(|b| b - z.first / 512).collect()
        };
        Ok(json!({
            "kind": z.name, "managed": z.managed, "spanned": z.spanned,
            "program": runs(anon), "ramfs": runs(file),
            "unmovable-blocks": of_type(0), "reclaimable-blocks": of_type(2),
            "free": free, "pcp": pcp,
        }))
    };
    Ok(json!({ "zone": zones.iter().map(zone).collect::<Result<Vec<_>, _>>()? }))
}

fn described(name: &str, order: usize, list: &[usize], zone: usize) -> Value {
    let first: Vec<usize> = list.iter().map(|f| f - zone).collect();
    json!({ "type": name, "order": order, "first": first })
}

/// Where the head of a free list is.
fn head_of(base: u64, types: usize, order: usize, mt: usize) -> u64 {
    base + (order * (types * 16 + 8) + mt * 16) as u64
}

/// Where the free lists of a zone begin and of how many types they are, such that each list found is of its order, and
/// as many blocks were found as are counted.
fn free_area(
    map: &Map<'_>,
    heads: &BTreeMap<u64, Vec<usize>>,
    order: impl Fn(usize) -> usize,
) -> Option<(u64, usize)> {
    let (&head, list) = heads.iter().next()?;
    let forms = NR_TYPES.into_iter().flat_map(|types| (0..types).map(move |mt| (types, mt)));
    let mut forms =
        forms.map(|(types, mt)| (head.wrapping_sub(head_of(0, types, order(list[0]), mt)), types));
    forms.find(|&(base, types)| {
        (0..ORDERS).all(|o| {
            let of_order = (0..types).filter_map(|mt| heads.get(&head_of(base, types, o, mt)));
            let mut found = 0;
            let fits = of_order.clone().all(|list| list.iter().all(|&f| order(f) == o));
            of_order.for_each(|list| found += list.len() as u64);
            fits && map.memory.u64((head_of(base, types, o, types) % GIB) as usize) == found
        })
    })
}

/// The lists of the CPU: free pages that are linked and not marked as free blocks.
fn pcp(map: &Map<'_>, z: &Span, program: &[usize]) -> Result<Vec<Value>, String> {
    let held = |at: usize| {
        map.memory.u32(at + REFCOUNT) == 0
            && !map.memory.is_buddy(at)
            && [NEXT, PREV].iter().all(|&l| map.memory.u64(at + l) >> 47 == (1 << 17) - 1)
    };
    let heads = map.lists(z.first..z.first + z.spanned, held)?;
    let Some(&some) = heads.keys().next() else { return Ok(Vec::new()) };
    // All heads are neighbours; an empty one names itself.
    let is_head = |h: u64| {
        let at = (h % GIB) as usize;
        let link = map.memory.u64(at);
        link == h && map.memory.u64(at + 8) == h || heads.contains_key(&h)
    };
    let mut base = some;
    while is_head(base - 16) {
        base -= 16;
    }
    let mut lists = Vec::new();
    for (&head, list) in &heads {
        let at = (head.wrapping_sub(base) / 16) as usize;
        if head % 16 != base % 16 || at >= 12 {
            return Err(format!(
                "zone {}: a list of {} pages is not the CPU's",
                z.name,
                list.len()
            ));
        }
        if list.iter().any(|f| program.contains(f)) {
            return Err(format!("zone {}: a page of the program is on a CPU's list", z.name));
        }
        lists.push(described(TYPE_NAMES[at % 3], at / 3, list, z.first));
    }
    Ok(lists)
}

/// The frames of the program: those with the flag that as many pages have as are unevictable.
fn program(map: &Map<'_>, zones: &[Span], unevictable: u64) -> Result<Vec<usize>, String> {
    let all = || zones.iter().flat_map(|z| z.first..z.first + z.spanned);
    // 18 in 6.12, 20 in 6.1.
    let flagged = [18, 20].map(|bit: u32| -> Vec<usize> {
        let of = all().filter(|&f| {
            map.memory.u64(map.at(f)) >> bit & 1 == 1 && map.memory.u32(map.at(f) + REFCOUNT) > 0
        });
        of.collect()
    });
    let counts = [flagged[0].len(), flagged[1].len()];
    flagged.into_iter().find(|f| f.len() as u64 == unevictable).ok_or_else(|| {
        format!("{unevictable} pages are unevictable, but {counts:?} have one of the flags")
    })
}

/// Frames as runs: the first, and how many.
fn runs(frames: impl Iterator<Item = usize>) -> Vec<[usize; 2]> {
    let mut all: Vec<[usize; 2]> = Vec::new();
    for f in frames {
        match all.last_mut() {
            Some([first, n]) if *first + *n == f => *n += 1,
            _ => all.push([f, 1]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The array of pages is here, and the kernel's addresses begin there.
    const ARRAY: usize = 6 << 20;
    const PAGES: u64 = 0xFFFF_EA00_0000_0000;
    const DIRECT: u64 = 0xFFFF_8880_0000_0000;
    /// A zone's free lists, the CPU's, and the sections.
    const FREE: usize = 0x10_0938;
    const PCP: usize = 0x11_0040;
    const SECTIONS: usize = 0x12_0000;
    const USAGE: usize = 0x12_1000;

    struct Machine(Vec<u8>);

    impl Machine {
        fn put(&mut self, at: usize, value: u64) {
            self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        /// Links frames behind a head.
        fn link(&mut self, head: usize, frames: &[usize]) {
            let mut nodes = vec![(head, DIRECT + head as u64)];
            let page = |&f: &usize| (ARRAY + f * PAGE + NEXT, PAGES + (f * PAGE + NEXT) as u64);
            nodes.extend(frames.iter().map(page));
            for (i, &(at, name)) in nodes.iter().enumerate() {
                let (next, after) = nodes[(i + 1) % nodes.len()];
                self.put(at, after);
                self.put(next + 8, name);
            }
        }
        /// A list of free blocks, of 5 types.
        fn free(&mut self, order: usize, mt: usize, frames: &[usize]) {
            let area = FREE + order * 88;
            self.link(area + mt * 16, frames);
            for f in frames {
                self.put(ARRAY + f * PAGE + PRIVATE, order as u64);
                self.put(ARRAY + f * PAGE + PAGE_TYPE, 0xF000_0000);
            }
            let before = Memory(&self.0).u64(area + 80);
            self.put(area + 80, before + frames.len() as u64);
        }
        fn booted() -> Machine {
            let mut m = Machine(vec![0; SECTION * 4096]);
            m.free(0, 1, &[7, 2049, 5]);
            m.free(0, 0, &[600]);
            m.free(3, 1, &[1024, 1040]);
            (0..14).for_each(|list| m.link(PCP + list * 16, &[]));
            m.link(PCP, &[602, 601]);
            m.link(PCP + 4 * 16, &[2050]);
            for f in [3000, 3001, 3005] {
                m.put(ARRAY + f * PAGE, 1 << 18);
                m.put(ARRAY + f * PAGE + PAGE_TYPE, 1 << 32);
            }
            // Of the program's pages one is anonymous, two are of its file.
            m.put(ARRAY + 3005 * PAGE + MAPPING, DIRECT | 1);
            (3000..3002).for_each(|f| m.put(ARRAY + f * PAGE + MAPPING, DIRECT));
            m.put(SECTIONS, PAGES | 0x1F);
            m.put(SECTIONS + 8, DIRECT + USAGE as u64);
            m.put(USAGE + 16, 1);
            // Of pageblocks 0 and 2 to 5 are movable, 1 is unmovable, 3 is passed over by a scanner, 4 is reclaimable.
            m.put(USAGE + 24, 0x12_9101);
            m
        }
        fn layout(&self) -> Result<Value, String> {
            let info = "@snap boot 1\nNode 0, zone    DMA32\n  pages free     20\n        spanned  4095\n\
                        managed  4000\n  start_pfn:           1\nNode 0, zone   Normal\n        managed  0\n@held\n";
            layout(&self.0, &Span::parse(info)?, 3)
        }
    }

    #[test]
    fn lists_are_read_in_their_order() {
        let zone = &Machine::booted().layout().unwrap_or_else(|e| panic!("{e}"))["zone"][0];
        assert_eq!(
            *zone,
            json!({
                "kind": "DMA32", "managed": 4000, "spanned": 4096,
                "program": [[3005, 1]], "ramfs": [[3000, 2]],
                "unmovable-blocks": [1, 6, 7], "reclaimable-blocks": [4],
                "free": [
                    {"type": "Unmovable", "order": 0, "first": [600]},
                    {"type": "Movable", "order": 0, "first": [7, 2049, 5]},
                    {"type": "Movable", "order": 3, "first": [1024, 1040]},
                ],
                "pcp": [
                    {"type": "Unmovable", "order": 0, "first": [602, 601]},
                    {"type": "Movable", "order": 1, "first": [2050]},
                ],
            })
        );
    }

    #[test]
    fn what_does_not_fit_together_is_said() {
        let said = |change: &dyn Fn(&mut Machine)| {
            let mut m = Machine::booted();
            change(&mut m);
            m.layout().expect_err("a contradiction")
        };
        // A free block more than was linked.
        let error = said(&|m| m.put(FREE + 80, 9));
        assert!(error.contains("zone DMA32: the free lists are not those of one zone"), "{error}");
        let error = said(&|m| m.put(ARRAY + 3001 * PAGE, 0));
        assert!(error.contains("3 pages are unevictable, but [2, 0] have"), "{error}");
        let error = said(&|m| m.put(SECTIONS, 0));
        assert!(error.contains("the sections of memory were not found"), "{error}");
        assert!(Span::parse("@snap boot 1\n@held\n").is_err_and(|e| e.contains("zoneinfo")));
        assert!(layout(&[0; 1 << 20], &[], 0).is_err_and(|e| e.contains("no free block")));
    }
}
