// SPDX-License-Identifier: MIT OR Apache-2.0
//! First in, first out, in Rust for the direct interface:
//! `rustc --edition 2024 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C panic=abort -C strip=symbols fifo.rs`
#![no_std]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[link(wasm_import_module = "mmsim")]
unsafe extern "C" {
    safe fn list_new() -> u32;
    safe fn list_add_tail(list: u32, folio: u32) -> i32;
    safe fn list_first(list: u32) -> u32;
    safe fn list_next(folio: u32) -> u32;
    safe fn folio_flags(folio: u32) -> u32;
    safe fn offer(folio: u32) -> i32;
}

const NO_FOLIO: u32 = u32::MAX;
const UPTODATE: u32 = 1 << 3;
const LRU: u32 = 1 << 5;
/// Writeback and dirty.
const BUSY: u32 = 1 << 1 | 1 << 4;

static QUEUE: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
extern "C" fn init() -> i32 {
    QUEUE.store(list_new(), Relaxed);
    (QUEUE.load(Relaxed) == 0).into()
}

#[unsafe(no_mangle)]
extern "C" fn folio_added(folio: u32) {
    list_add_tail(QUEUE.load(Relaxed), folio);
}

#[unsafe(no_mangle)]
extern "C" fn evict_folios(_wanted: u32) {
    let mut folio = list_first(QUEUE.load(Relaxed));
    for _ in 0..4096 {
        if folio == NO_FOLIO {
            return;
        }
        let goes = folio_flags(folio) & (UPTODATE | LRU | BUSY) == UPTODATE | LRU;
        if goes && offer(folio) == 0 {
            return;
        }
        folio = list_next(folio);
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
