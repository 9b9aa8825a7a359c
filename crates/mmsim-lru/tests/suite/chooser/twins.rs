//! The choosers in Rust again, in the plainest way: vectors that are sorted at every call. A twin
//! knows pages, no folios and no lists, and gets its events from the test, not from journals.

use std::collections::BTreeMap;

/// Folios that a call offers at most, and that a walk looks at.
const OFFERED: usize = 32;
const WALKED: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    number: u32,
    /// Its place in the line: the least is at the head.
    turn: u64,
    used_at: u64,
    uses: u64,
    in_main: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Fifo,
    Mru,
    Lfu,
    S3Fifo { size: usize },
}

pub(super) struct Twin {
    kind: Kind,
    pages: Vec<Page>,
    clock: u64,
    /// Pages that left the small queue, and when.
    ghosts: BTreeMap<u32, u64>,
}

impl Twin {
    pub(super) fn new(kind: Kind) -> Twin {
        Twin { kind, pages: Vec::new(), clock: 0, ghosts: BTreeMap::new() }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub(super) fn added(&mut self, number: u32) {
        let turn = self.tick();
        let in_main = self.ghosts.remove(&number).is_some();
        self.pages.push(Page { number, turn, used_at: turn, uses: 0, in_main });
    }

    pub(super) fn used(&mut self, number: u32) {
        let now = self.tick();
        let page = self.pages.iter_mut().find(|p| p.number == number).expect("it is cached");
        page.used_at = now;
        page.uses += 1;
        if matches!(self.kind, Kind::S3Fifo { .. }) {
            page.uses = page.uses.min(3);
        }
    }

    pub(super) fn gone(&mut self, number: u32) {
        let now = self.tick();
        let at = self.pages.iter().position(|p| p.number == number).expect("it was cached");
        let page = self.pages.remove(at);
        if let Kind::S3Fifo { size } = self.kind
            && !page.in_main
        {
            self.ghosts.insert(number, now);
            if self.ghosts.len() > size {
                let oldest = self.ghosts.iter().min_by_key(|g| g.1).map(|g| *g.0);
                self.ghosts.remove(&oldest.expect("there is one"));
            }
        }
    }

    /// The pages of a call, in order; `clean` says which can go without a write.
    pub(super) fn offers(&mut self, wanted: usize, clean: impl Fn(u32) -> bool) -> Vec<u32> {
        match self.kind {
            Kind::Fifo => {
                self.pages.sort_by_key(|p| p.turn);
                let line = self.pages.iter().take(WALKED).map(|p| p.number);
                line.filter(|&n| clean(n)).take(OFFERED).collect()
            }
            Kind::Mru => {
                self.pages.sort_by_key(|p| std::cmp::Reverse(p.used_at));
                self.pages.iter().map(|p| p.number).take(OFFERED).collect()
            }
            Kind::Lfu => self.samples(wanted, clean),
            Kind::S3Fifo { size } => self.two_queues(wanted, size, clean),
        }
    }

    fn samples(&mut self, wanted: usize, clean: impl Fn(u32) -> bool) -> Vec<u32> {
        self.pages.sort_by_key(|p| p.turn);
        let all = (wanted * 16).min(self.pages.len());
        let enough = all == wanted * 16;
        let worth = |p: &Page| if clean(p.number) { p.uses } else { u64::MAX };
        let mut offers = Vec::new();
        for some in self.pages[..all].chunks(16).filter(|_| enough) {
            let least = some.iter().map(worth).min().expect("a sample has pages");
            offers.extend(some.iter().find(|p| worth(p) == least).map(|p| p.number));
        }
        for i in 0..all {
            self.pages[i].turn = self.tick();
        }
        offers
    }

    fn two_queues(&mut self, wanted: usize, size: usize, clean: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut offers = Vec::new();
        let small = self.pages.iter().filter(|p| !p.in_main).count();
        let order = if small * 10 >= size { [false, true] } else { [true, false] };
        for main in order {
            if offers.len() >= wanted {
                break;
            }
            self.pages.sort_by_key(|p| p.turn);
            let mut line: Vec<u32> =
                self.pages.iter().filter(|p| p.in_main == main).map(|p| p.number).collect();
            let mut i = 0;
            while i < line.len() && i < WALKED && offers.len() < OFFERED {
                let number = line[i];
                i += 1;
                let now = self.tick();
                let page = self.pages.iter_mut().find(|p| p.number == number).expect("listed");
                let (spares, left) = if main { (0, page.uses.saturating_sub(1)) } else { (1, 0) };
                if page.uses > spares {
                    (page.uses, page.turn, page.in_main) = (left, now, true);
                    if main {
                        line.push(number);
                    }
                } else if clean(number) && !offers.contains(&number) {
                    offers.push(number);
                }
            }
        }
        offers
    }
}
