//! The third height of embedding: one part alone. Here the buddy allocator.
//!
//! All memory of 64 MiB is handed out page by page, then one page in `every` is kept and the
//! others are given back. How much of the free memory can still serve an order?

use mmsim::base::id::Pfn;
use mmsim::base::migratetype::Migratetype;
use mmsim::base::rules::KernelRules;
use mmsim::config::Kernel;
use mmsim::phys::Mode;
use mmsim::phys::buddy::{Buddy, NR_ORDERS};
use mmsim::phys::fragmentation::FreeBlocks;
use mmsim::phys::frames::Frames;

const FRAMES: u32 = 1 << 14;

/// Free blocks by order when one page in `every` is in use.
fn fragment(every: u32) -> [u64; NR_ORDERS] {
    let mut frames = Frames::new(FRAMES as usize, false);
    let mut buddy = Buddy::new(Pfn(0), Pfn(FRAMES), KernelRules::of(Kernel::V6_12));
    buddy.populate(&mut frames, Pfn(0));
    let mut pages = Vec::new();
    while let Some(p) = buddy.alloc(&mut frames, 0, Migratetype::Movable, false, &mut Mode::Normal)
    {
        pages.push(p);
    }
    for &p in pages.iter().filter(|p| p.0 % every != 0) {
        buddy.free(&mut frames, p, 0);
    }
    std::array::from_fn(|order| buddy.nr_free_blocks_of_order(order as u8))
}

pub(crate) fn table() -> String {
    let mut text = String::from("in use     free pages  unusable for order 3, 9 (of 1000)\n");
    for every in [2, 16, 64, 1024] {
        let blocks = fragment(every);
        let free = FreeBlocks { nr: &blocks };
        let [three, nine] = [3, 9].map(|order| free.unusable_free_index(order));
        text += &format!("1 in {every:<4}  {:10}  {three:4} {nine:4}\n", free.pages());
    }
    text
}

#[allow(dead_code, clippy::print_stdout, reason = "a program, and a module of its test")]
fn main() {
    print!("{}", table());
}
