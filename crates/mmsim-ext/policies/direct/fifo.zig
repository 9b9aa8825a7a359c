// SPDX-License-Identifier: MIT OR Apache-2.0
//! First in, first out, in Zig for the direct interface:
//! `zig build-exe fifo.zig -target wasm32-freestanding -fno-entry -rdynamic -O ReleaseSmall`

const mmsim = struct {
    extern "mmsim" fn list_new() u32;
    extern "mmsim" fn list_add_tail(list: u32, folio: u32) i32;
    extern "mmsim" fn list_first(list: u32) u32;
    extern "mmsim" fn list_next(folio: u32) u32;
    extern "mmsim" fn folio_flags(folio: u32) u32;
    extern "mmsim" fn offer(folio: u32) i32;
};

const no_folio: u32 = 0xffffffff;
const uptodate: u32 = 1 << 3;
const lru: u32 = 1 << 5;
/// Writeback and dirty.
const busy: u32 = 1 << 1 | 1 << 4;

var queue: u32 = 0;

export fn init() i32 {
    queue = mmsim.list_new();
    return if (queue == 0) -1 else 0;
}

export fn folio_added(folio: u32) void {
    _ = mmsim.list_add_tail(queue, folio);
}

export fn evict_folios(_: u32) void {
    var folio = mmsim.list_first(queue);
    var seen: u32 = 0;
    while (folio != no_folio and seen < 4096) : (seen += 1) {
        const flags = mmsim.folio_flags(folio);
        if (flags & (uptodate | lru | busy) == uptodate | lru and mmsim.offer(folio) == 0) return;
        folio = mmsim.list_next(folio);
    }
}
