//! Regions from touched pages.
//!
//! Where `/proc/PID/maps` is at hand it says what an address was. Elsewhere the pages themselves
//! must do: a page that was fetched from and never written is program text, other pages are data.
//! Text and data are cut into regions where they meet and where more than 16 MiB lie untouched. A
//! data region with any written page counts as anonymous memory; one that was only read is unknown
//! (read-only file data, or a heap never written: the trace cannot tell). Every guessed text region
//! is a file of its own.
//!
//! A region reaches from its first to its last touched page, also where the mapping was
//! larger: pages that are never touched make no difference to reclaim, and dense page
//! numbers stay small. (They would make one to DAMON's view of a target: it sees the
//! trimmed regions.)

use std::collections::BTreeMap;

use super::PageKind;
use super::maps::{Mapping, Maps, Nameless, Segment};
use crate::trace::table::{Backing, Region};

/// Kind of a reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Reference {
    /// An instruction was fetched.
    Fetch,
    /// Data was read.
    Load,
    /// Data was written (or read and written).
    Store,
}

/// Untouched pages that end a region: 16 MiB.
const GAP: u64 = 4096;

/// Pages of an area of the map of touched pages.
const AREA: u64 = 512;

/// A word of the maps of an area: bits by page.
#[derive(Clone, Copy, Default)]
struct Word {
    touched: u64,
    written: u64,
}

/// The maps of what is read or written, which are looked at for every line, lie apart from
/// the rest.
type Words = [Word; (AREA / 64) as usize];

#[derive(Clone, Default)]
struct Area {
    number: u64,
    fetched: [u64; (AREA / 64) as usize],
}

/// Which pages of a process were touched, and how.
///
/// Areas are found by number in a table with open addressing. Numbers are spread by the
/// golden ratio, which keeps neighbours apart better than chance would: in a table a quarter
/// full the areas of one stretch of memory all have places of their own.
#[derive(Clone, Default)]
pub(super) struct Touched {
    areas: Vec<Area>,
    words: Vec<Words>,
    /// Number of an area plus one in the upper half, its position in the lower; a power of
    /// two of them, or none yet.
    places: Vec<u64>,
    /// 64 less the bits of a place.
    shift: u32,
}

impl Touched {
    /// Notes that a page was read or written, if its area is known. Whether it is written may
    /// depend on whether it is touched for the first time. Returns whether it is written.
    #[inline(always)]
    pub(super) fn touch_known(
        &mut self,
        page: u64,
        write: impl FnOnce(bool) -> bool,
    ) -> Option<bool> {
        let at = self.known(page / AREA)?;
        let word = &mut self.words[at as usize][(page % AREA / 64) as usize];
        let write = write(word.touched >> (page % 64) & 1 == 0);
        word.touched |= 1 << (page % 64);
        word.written |= u64::from(write) << (page % 64);
        Some(write)
    }

    /// Notes a reference to a page.
    #[inline]
    pub(super) fn touch(&mut self, page: u64, how: Reference) {
        self.touch_bits(page, 1 << (page % 64), how);
    }

    /// Notes a reference to consecutive pages, a word of the map at a time: a short line
    /// may name a quarter of a billion pages.
    pub(super) fn touch_run(&mut self, first: u64, count: u64, how: Reference) {
        let (mut page, end) = (first, first + count);
        while page < end {
            let stop = end.min((page / 64 + 1) * 64);
            let bits = u64::MAX >> (64 - (stop - page)) << (page % 64);
            self.touch_bits(page, bits, how);
            page = stop;
        }
    }

    /// Notes a reference to pages around `page` that share a word of the map.
    #[inline]
    fn touch_bits(&mut self, page: u64, bits: u64, how: Reference) {
        let (area, i) = (self.area(page / AREA), (page % AREA / 64) as usize);
        let word = &mut self.words[area][i];
        word.touched |= bits;
        match how {
            Reference::Fetch => self.areas[area].fetched[i] |= bits,
            Reference::Load => {}
            Reference::Store => word.written |= bits,
        }
    }

    /// True if `page` was not touched so far, and the number of pages from it on for which the same
    /// holds: at least 1, at most up to `end` or the end of a word of the map.
    #[inline]
    pub(super) fn new_run(&mut self, page: u64, end: u64) -> (bool, u64) {
        let area = self.area(page / AREA);
        let word = self.words[area][(page % AREA / 64) as usize];
        let word = word.touched >> (page % 64);
        let new = word & 1 == 0;
        let same = if new { word.trailing_zeros() } else { word.trailing_ones() };
        (new, u64::from(same).min(64 - page % 64).min(end - page))
    }

    /// Where an area is if no other has its place.
    #[inline(always)]
    fn place(&self, number: u64) -> usize {
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (self.shift % 64)) as usize
    }

    /// The position of an area.
    #[inline(always)]
    fn known(&self, number: u64) -> Option<u32> {
        let mut at = self.place(number);
        loop {
            let place = *self.places.get(at)?;
            if place >> 32 == number + 1 {
                return Some(place as u32);
            }
            if place == 0 {
                return None;
            }
            at = (at + 1) % self.places.len();
        }
    }

    #[inline]
    fn area(&mut self, number: u64) -> usize {
        match self.known(number) {
            Some(at) => at as usize,
            None => self.add(number),
        }
    }

    #[inline(never)]
    fn add(&mut self, number: u64) -> usize {
        if 4 * self.areas.len() >= self.places.len() {
            self.grow();
        }
        let at = self.areas.len();
        self.put(number, at as u32);
        self.areas.push(Area { number, ..Area::default() });
        self.words.push(Words::default());
        at
    }

    fn put(&mut self, number: u64, position: u32) {
        let mut at = self.place(number);
        while self.places[at] != 0 {
            at = (at + 1) % self.places.len();
        }
        self.places[at] = (number + 1) << 32 | u64::from(position);
    }

    fn grow(&mut self) {
        let size = (2 * self.places.len()).max(64);
        self.places = vec![0; size];
        self.shift = 64 - size.trailing_zeros();
        for at in 0..self.areas.len() {
            self.put(self.areas[at].number, at as u32);
        }
    }

    /// Distinct pages.
    pub(super) fn pages(&self) -> u64 {
        self.words.iter().flatten().map(|word| u64::from(word.touched.count_ones())).sum()
    }

    /// Distinct pages that were written.
    pub(super) fn written_pages(&self) -> u64 {
        self.words.iter().flatten().map(|word| u64::from(word.written.count_ones())).sum()
    }

    /// Upper bound of the distinct pages.
    pub(super) fn reserved_pages(&self) -> u64 {
        self.areas.len() as u64 * AREA
    }

    /// The words of the maps that have touched pages, in ascending order.
    fn words(&self) -> impl Iterator<Item = Marks> + '_ {
        let mut areas: Vec<(&Area, &Words)> = self.areas.iter().zip(&self.words).collect();
        areas.sort_unstable_by_key(|(area, _)| area.number);
        areas.into_iter().flat_map(|(area, words)| {
            let marks = words.iter().zip(&area.fetched).zip(0..).map(|((word, &fetched), i)| {
                Marks { page: area.number * AREA + i * 64, word: *word, fetched }
            });
            marks.filter(|marks| marks.word.touched != 0)
        })
    }

    /// Touched pages in ascending order, as [`Marks::runs`] has them.
    #[cfg(test)]
    fn runs(&self) -> impl Iterator<Item = (u64, u64, bool, bool)> + '_ {
        self.words().flat_map(|marks| marks.runs(false))
    }
}

/// Marks of 64 pages from `page` on.
#[derive(Clone, Copy)]
struct Marks {
    page: u64,
    word: Word,
    fetched: u64,
}

impl Marks {
    /// The pages, those that are alike at once: (first page, pages, written, fetched). If it
    /// makes no difference how pages were touched and where a few of them were not, `together`
    /// gives one such run.
    fn runs(self, together: bool) -> impl Iterator<Item = (u64, u64, bool, bool)> {
        let Marks { page, word: Word { touched, written }, fetched } = self;
        let mut left = touched;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let bit = left.trailing_zeros();
            if together {
                let n = left.ilog2() - bit + 1;
                left = 0;
                return Some((page + u64::from(bit), u64::from(n), written != 0, fetched != 0));
            }
            let (w, f) = (written >> bit & 1 == 1, fetched >> bit & 1 == 1);
            let alike = |map: u64, on: bool| if on { map } else { !map };
            let same = (left & alike(written, w) & alike(fetched, f)) >> bit;
            let n = same.trailing_ones();
            left &= !(u64::MAX >> (64 - n) << bit);
            Some((page + u64::from(bit), u64::from(n), w, f))
        })
    }
}

/// A region while its end is not known.
struct Open<'a> {
    segment: Option<&'a Segment>,
    text: bool,
    written: bool,
    start: u64,
    last: u64,
}

/// Files and regions of a trace in the making.
#[derive(Default)]
pub(super) struct Layout {
    /// Kind of the pages, if that is stated rather than guessed.
    pub(super) kind: Option<PageKind>,
    pub(super) files: Vec<String>,
    pub(super) regions: Vec<Region>,
    paths: BTreeMap<String, u16>,
    guessed: u64,
    guessed_text: u64,
    unknown: u64,
    /// Pages of memory that has the name of a file and lies on no disk.
    nameless: BTreeMap<Nameless, u64>,
}

impl Layout {
    /// Adds the regions of one process, sorted by address.
    pub(super) fn add(&mut self, process: u16, name: &str, touched: &Touched, maps: Option<&Maps>) {
        let mut open: Option<Open<'_>> = None;
        // Maps may say of any page that it belongs to something else.
        let whole = |run: (u64, u64, bool, bool)| match maps {
            None => (run.0..run.0 + 1, run.1, run.2, run.3),
            Some(_) => (run.0..run.0 + run.1, 1, run.2, run.3),
        };
        // Without them only what was fetched can be other than what is around it.
        let runs = touched.words().flat_map(|m| m.runs(maps.is_none() && m.fetched == 0));
        let pieces = runs.map(whole).flat_map(|(pages, n, written, fetched)| {
            pages.map(move |page| (page, n, written, fetched))
        });
        for (page, n, written, fetched) in pieces {
            let segment = maps.and_then(|m| m.find(page));
            let text = segment.is_none() && fetched && !written;
            if let Some(o) = &mut open
                && o.segment.map(|s| s.start) == segment.map(|s| s.start)
                && o.text == text
                && page - o.last <= GAP
            {
                o.last = page + n - 1;
                o.written |= written;
                continue;
            }
            self.close(process, name, open.take());
            open = Some(Open { segment, text, written, start: page, last: page + n - 1 });
        }
        self.close(process, name, open);
    }

    fn close(&mut self, process: u16, name: &str, open: Option<Open<'_>>) {
        let Some(o) = open else { return };
        let pages = (o.last - o.start + 1) as u32;
        let backing = match (o.segment, self.kind) {
            (Some(segment), _) => self.mapped(segment, o.start, pages),
            (None, None) => self.guess(name, &o, u64::from(pages)),
            (None, Some(PageKind::Anon)) => Backing::Anon,
            // An offset that is too large is refused when the table is checked.
            (None, Some(PageKind::File)) => {
                let offset = u32::try_from(o.start).unwrap_or(u32::MAX);
                Backing::File { file: self.file(name), offset, shared: true }
            }
        };
        self.regions.push(Region { process, start: o.start, pages, backing, at_start: true });
    }

    fn mapped(&mut self, segment: &Segment, start: u64, pages: u32) -> Backing {
        let skipped = (start - segment.start) as u32;
        match &segment.mapping {
            Mapping::Anon => Backing::Anon,
            Mapping::Nameless(kind) => {
                *self.nameless.entry(*kind).or_default() += u64::from(pages);
                Backing::Anon
            }
            Mapping::Shared { path, offset } => {
                Backing::Shmem { file: self.file(path), offset: *offset }.skip(skipped)
            }
            Mapping::File { path, offset, shared, exec } => {
                let (file, offset) = (self.file(path), *offset);
                let backing = match (*exec, *shared) {
                    (true, false) => Backing::Text { file, offset },
                    (true, true) => Backing::SharedText { file, offset },
                    (false, shared) => Backing::File { file, offset, shared },
                };
                backing.skip(skipped)
            }
        }
    }

    fn guess(&mut self, name: &str, o: &Open<'_>, pages: u64) -> Backing {
        self.guessed += pages;
        if o.text {
            let file = self.file(&format!("{name}.text{}", self.guessed_text));
            self.guessed_text += 1;
            return Backing::Text { file, offset: 0 };
        }
        if o.written {
            return Backing::Anon;
        }
        self.unknown += 1;
        Backing::Unknown
    }

    /// The number of a file; its name is the last part of its path, made unique. Files
    /// beyond the format's limit are refused when the table is checked.
    fn file(&mut self, path: &str) -> u16 {
        if let Some(&file) = self.paths.get(path) {
            return file;
        }
        let file = self.files.len().min(usize::from(u16::MAX)) as u16;
        let base = path.rsplit('/').next().unwrap_or(path);
        let mut base = base.chars().take(60).collect::<String>();
        if self.files.contains(&base) {
            base = format!("{base}#{file}");
        }
        self.files.push(base);
        self.paths.insert(path.to_string(), file);
        file
    }

    /// Says what was guessed.
    pub(super) fn note(&self, assumptions: &mut Vec<String>, with_maps: bool) {
        assumptions.push(
            "a region reaches from its first to its last touched page, whatever was mapped".into(),
        );
        for kind in Nameless::ALL {
            if let Some(pages) = self.nameless.get(&kind) {
                assumptions.push(format!("{pages} pages of {}", kind.assumption()));
            }
        }
        if self.guessed == 0 {
            return;
        }
        let why = if with_maps { "the maps do not cover" } else { "there are no maps for" };
        assumptions.push(format!(
            "regions of {} pages that {why} are guessed: cut at gaps of more than 16 MiB; pages \
             fetched and never written are program text, regions with a write are anonymous",
            self.guessed
        ));
        if self.unknown > 0 {
            assumptions.push(format!(
                "{} regions that are never written are of unknown kind and replayed as anonymous",
                self.unknown
            ));
        }
    }
}

#[cfg(test)]
impl PartialEq for Touched {
    fn eq(&self, other: &Self) -> bool {
        self.runs().eq(other.runs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_data_and_gaps_make_regions() {
        let mut touched = Touched::default();
        for page in 0x400..0x410 {
            touched.touch(page, Reference::Fetch);
        }
        touched.touch(0x412, Reference::Load);
        touched.touch(0x420, Reference::Store);
        touched.touch(0x420 + GAP, Reference::Load);
        touched.touch(0x421 + 2 * GAP, Reference::Load);
        let mut layout = Layout::default();
        layout.add(0, "prog", &touched, None);
        let seen: Vec<_> =
            layout.regions.iter().map(|r| (r.start, r.pages, r.backing.label())).collect();
        assert_eq!(
            seen,
            [
                (0x400, 16, "executable file"),
                (0x412, 0xe + GAP as u32 + 1, "anonymous"),
                (0x421 + 2 * GAP, 1, "unknown"),
            ]
        );
        assert_eq!(layout.files, ["prog.text0"]);
        assert_eq!(touched.pages(), 20);
    }

    /// Runs are what their pages are one by one.
    #[test]
    fn runs_are_pages() {
        let (mut pages, mut runs) = (Touched::default(), Touched::default());
        let mut x = 1_u64;
        for i in 0..300 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (first, count) =
                (x >> 40 & 0x7fff, 1 + (x >> 20) % if i % 3 == 0 { 1500 } else { 70 });
            let mut page = first;
            while page < first + count {
                let (new, n) = runs.new_run(page, first + count);
                assert!(n > 0 && page + n <= first + count);
                for p in page..page + n {
                    let area = pages.area(p / AREA);
                    let bit = pages.words[area][(p % AREA / 64) as usize].touched >> (p % 64);
                    assert_eq!(bit & 1 == 0, new, "page {p}");
                }
                page += n;
            }
            let how = [Reference::Fetch, Reference::Load, Reference::Store][i % 3];
            runs.touch_run(first, count, how);
            (first..first + count).for_each(|page| pages.touch(page, how));
            assert!(runs.runs().eq(pages.runs()), "run {i}");
        }
        // And as runs they come out: each page once, in order, as it was touched.
        let mut page = 0;
        for (first, n, written, fetched) in runs.runs().collect::<Vec<_>>() {
            assert!(first >= page && n > 0);
            page = first + n;
            for p in first..page {
                let (area, word) = (runs.area(p / AREA), (p % AREA / 64) as usize);
                let of = |map: u64| map >> (p % 64) & 1 == 1;
                let (bits, fetches) = (runs.words[area][word], runs.areas[area].fetched[word]);
                let marks = (of(bits.touched), of(bits.written), of(fetches));
                assert_eq!(marks, (true, written, fetched), "page {p}");
            }
        }
        assert_eq!(runs.runs().map(|r| r.1).sum::<u64>(), runs.pages());
    }

    /// Areas are found again, far more of them than the table holds at first, and whether they
    /// are neighbours or have low bits in common.
    #[test]
    fn areas_are_found_again() {
        let mut all = Touched::default();
        let pages = |i: u64| i % 3 * (1 << 33) + i / 3 * [AREA, 1 << 18][(i % 2) as usize];
        for i in 0..60_000 {
            all.touch(pages(i), Reference::Load);
        }
        assert!((0..60_000).all(|i| all.touch_known(pages(i), |new| new) == Some(false)));
        assert_eq!(all.touch_known(pages(60_000), |new| new), None);
        let mut expected: Vec<u64> = (0..60_000).map(pages).collect();
        expected.sort_unstable();
        expected.dedup();
        assert!(all.runs().map(|run| run.0).eq(expected));
    }

    /// A quarter of a billion pages is one line of an input: nothing goes page by page.
    #[test]
    fn a_long_run_is_one_region() {
        let mut all = Touched::default();
        all.touch_run(3, 1 << 28, Reference::Store);
        assert_eq!(all.pages(), 1 << 28);
        let mut layout = Layout::default();
        layout.add(0, "prog", &all, None);
        let seen: Vec<_> = layout.regions.iter().map(|r| (r.start, r.pages)).collect();
        assert_eq!(seen, [(3, 1 << 28)]);
        assert!(all.runs().count() <= (1 << 28) / 64 + 1);
    }
}
