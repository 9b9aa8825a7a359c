//! zram whose pages have contents: what a page takes depends on what it holds, and on its
//! neighbours in the pool.

use crate::support::*;
use mmsim::backing::contents::{Contents, Share};
use mmsim::config::{Kernel, MachineConfig};
use mmsim::machine::TaskConfig;
use mmsim::machine::result::RunResult;
use mmsim::workload::{Advice, Op};
use std::sync::Arc;

/// All pages compress to this number of bytes.
pub(crate) fn of_length(bytes: u16) -> Contents {
    let lengths = vec![Share { permille: 1000, bytes }];
    Contents { zero_permille: 0, same_permille: 0, lengths, redraw: false }
}

/// A task whose pages hold this.
pub(crate) fn holding(contents: Contents, ops: Vec<Op>) -> Vec<TaskConfig> {
    vec![task("t", ops).with_contents(Some(Arc::new(contents)))]
}

/// All of these pages go to swap, and all come back.
fn out_and_back(config: &MachineConfig, pages: u32, contents: Contents) -> RunResult {
    let out = advise(0, 0, pages, Advice::PageOut);
    let mut ops = vec![anon(pages), write(0, 0, pages), end(0), out, end(1)];
    ops.extend([read(0, 0, pages), end(2)]);
    run(config, holding(contents, ops))
}

/// The specification's example: frames that 1000 pages of each length take. When the pages are back,
/// the memory is.
#[test]
fn a_thousand_pages_take_the_frames_of_their_zspages() {
    let c = config(Kernel::V6_12, "zram");
    let want = [(1000, 250), (1365, 352), (2048, 536), (3000, 750), (3624, 896), (3625, 1000)];
    for (length, frames) in want {
        let r = out_and_back(&c, 1000, of_length(length));
        let stores: Vec<u64> = r.phases.iter().map(|p| gauge(&p.gauges, "nr_zram_store")).collect();
        assert_eq!(stores, [0, frames, 0], "{length}");
        assert_eq!(counts(&r, ["pswpout", "pswpin"]), [1000, 1000], "{length}");
        let [before, out] = [0, 1].map(|i| {
            let g = &r.phases[i].gauges;
            gauge(g, "nr_free_pages") + gauge(g, "nr_slab_reclaimable")
        });
        assert_eq!(out, before + 1000 - frames, "{length}");
    }
}

/// A page of one word needs no object, whatever it costs to look at it.
#[test]
fn pages_of_one_word_take_no_memory() {
    let c = config(Kernel::V6_12, "zram");
    let same = Contents { same_permille: 1000, lengths: Vec::new(), ..of_length(1) };
    let r = out_and_back(&c, 100, same);
    assert_eq!(gauge(&r.phases[1].gauges, "nr_zram_store"), 0);
    assert_eq!(counts(&r, ["pswpout", "pswpin"]), [100, 100]);
}

/// With room for ten frames, ten pages that do not compress are stored. The write of each other one
/// fails: it stays in memory, in the swap cache, and a touch is no major fault.
#[test]
fn a_zram_at_its_limit_refuses_pages() {
    let mut c = config(Kernel::V6_12, "zram");
    c.swap[0].device.mem_limit = 10;
    let r = out_and_back(&c, 30, of_length(4096));
    let g = &r.phases[1].gauges;
    assert_eq!(["nr_zram_store", "nr_swapcached"].map(|name| gauge(g, name)), [10, 20]);
    assert_eq!(counts(&r, ["pswpout", "pswpin", "pgmajfault"]), [30, 10, 10]);
}

/// A frame of the pool is wanted before the page is given up. With none left, what fits into
/// zspages with room is stored, and no more.
#[test]
fn without_a_free_frame_only_zspages_with_room_take_pages() {
    let c = config(Kernel::V6_12, "zram");
    // 2000 pages fill memory up to the min watermark, and the rest goes out as it comes.
    let ops = vec![anon(2600), write(0, 0, 2600), end(0), read(0, 0, 600), end(1)];
    let r = run(&c, holding(of_length(2040), ops));
    let stored = gauge(&r.phases[0].gauges, "nr_swap_used");
    let frames = gauge(&r.phases[0].gauges, "nr_zram_store");
    assert_eq!(frames, stored.div_ceil(2), "two pages share a frame");
}
