//! A picture of physical memory: one character for each pageblock, and what could be made of
//! each zone. Of all kinds of files the only one that no kernel prints.

use std::fmt::Write;

use mmsim_core::base::migratetype::Migratetype;
use mmsim_core::machine::snapshot::{Snapshot, ZoneSnapshot};
use mmsim_core::memory::BlockUse;

/// Pageblocks in a line.
const WIDTH: usize = 64;

/// Meaning of the characters, in two lines.
pub const LEGEND: &str = "\
. free   m movable   x movable with pinned pages   U unmovable   X unmovable with movable pages
r reclaimable   R reclaimable with movable pages   H highatomic   C CMA   I isolated
";

/// Adds formatted text; a string takes everything.
macro_rules! add {
    ($text:expr, $($arg:tt)*) => { write!($text, $($arg)*).expect("writing to a string") };
}

/// The character of a pageblock.
fn character(b: &BlockUse) -> char {
    match b.migratetype {
        Migratetype::HighAtomic => 'H',
        Migratetype::Cma => 'C',
        Migratetype::Isolate => 'I',
        _ if b.movable + b.pinned == 0 => '.',
        Migratetype::Movable => {
            if b.pinned == 0 {
                'm'
            } else {
                'x'
            }
        }
        Migratetype::Unmovable => {
            if b.movable == 0 {
                'U'
            } else {
                'X'
            }
        }
        Migratetype::Reclaimable => {
            if b.movable == 0 {
                'r'
            } else {
                'R'
            }
        }
    }
}

/// All zones with memory, one below the other.
pub fn map(s: &Snapshot) -> String {
    let mut text = String::from(LEGEND);
    for z in s.zones.iter().filter(|z| z.managed > 0) {
        of_zone(&mut text, z, s.pageblock_order);
    }
    text
}

/// A zone, one character for each pageblock; each line begins with its first frame.
pub fn picture(z: &ZoneSnapshot, pageblock_order: u8) -> String {
    let mut text = String::new();
    for (i, line) in z.blocks.chunks(WIDTH).enumerate() {
        let first = z.start_pfn + ((i * WIDTH) as u64) * (1 << pageblock_order);
        let picture: String = line.iter().map(character).collect();
        add!(text, "{first:>10}  {picture}\n");
    }
    text
}

fn of_zone(text: &mut String, z: &ZoneSnapshot, pageblock_order: u8) {
    add!(text, "\nNode {}, zone {}: {} pageblocks", z.node.0, z.kind.name(), z.blocks.len());
    let pure = |b: &&BlockUse| b.migratetype == Migratetype::Movable && b.pinned == 0;
    add!(
        text,
        ", {} of them movable without a pinned page\n",
        z.blocks.iter().filter(pure).count()
    );
    text.push_str(&picture(z, pageblock_order));
    add!(text, "{:>10}  {:>10} {:>10} {:>10}\n", "order", "candidates", "free", "most");
    for (order, s) in z.surveys.iter().enumerate().skip(1) {
        add!(text, "{order:>10}  {:>10} {:>10} {:>10}\n", s.candidates, s.free_groups, s.bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::memory::Survey;

    #[test]
    fn every_pageblock_has_its_character() {
        use Migratetype::{Movable, Reclaimable, Unmovable};
        let block =
            |migratetype, free, movable, pinned| BlockUse { migratetype, free, movable, pinned };
        let kinds = [
            (block(Movable, 8, 0, 0), '.'),
            (block(Unmovable, 8, 0, 0), '.'),
            (block(Movable, 1, 7, 0), 'm'),
            (block(Movable, 1, 6, 1), 'x'),
            (block(Movable, 7, 0, 1), 'x'),
            (block(Unmovable, 7, 0, 1), 'U'),
            (block(Unmovable, 6, 1, 1), 'X'),
            (block(Unmovable, 7, 1, 0), 'X'),
            (block(Reclaimable, 7, 0, 1), 'r'),
            (block(Reclaimable, 6, 1, 1), 'R'),
            (block(Migratetype::HighAtomic, 8, 0, 0), 'H'),
        ];
        for (b, want) in kinds {
            assert_eq!(character(&b), want, "{b:?}");
        }
    }

    #[test]
    fn lines_begin_with_their_first_frame() {
        let free = BlockUse { migratetype: Migratetype::Movable, free: 512, movable: 0, pinned: 0 };
        let full = BlockUse { pinned: 512, free: 0, ..free };
        let mut z = ZoneSnapshot { managed: 70 * 512, start_pfn: 1024, ..ZoneSnapshot::default() };
        z.blocks = [vec![free; 65], vec![full; 5]].concat();
        z.surveys[9] = Survey { candidates: 65, free_groups: 64, bound: 63, ..Survey::default() };
        let s = Snapshot { zones: vec![z], pageblock_order: 9, ..Snapshot::default() };
        let text = map(&s);
        let dots = ".".repeat(64);
        let want = format!(
            "\nNode 0, zone Normal: 70 pageblocks, 65 of them movable without a pinned page\n      \
             1024  {dots}\n     33792  .xxxxx\n     order  candidates       free       most\n"
        );
        assert!(text.contains(&want), "{text}");
        assert!(text.contains("\n         9          65         64         63\n"), "{text}");
    }
}
