/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The direct interface of mmsim for policies of the page cache, for wasm32. A folio is a small number that
 * stays the same until folio_evicted, and is used again after that. Only folios of watched files are told.
 *
 * Hooks, of which evict_folios must be there:
 *   HOOK(init) int32_t init(void)                              other than 0: not attached
 *   HOOK(folio_added) void folio_added(uint32_t folio)         cached, not read yet
 *   HOOK(folio_accessed) void folio_accessed(uint32_t folio)   used by a system call
 *   HOOK(folio_evicted) void folio_evicted(uint32_t folio)     it leaves its list by itself
 *   HOOK(evict_folios) void evict_folios(uint32_t wanted)      calls offer()
 *   HOOK(admit_folio) int32_t admit_folio(uint64_t inode, uint32_t first, uint32_t pages)
 *                                              0: a read of these pages goes past the cache
 * HOOK(set_NAME) void set_NAME(int64_t) is called before init if a scenario sets NAME.
 */
#ifndef MMSIM_H
#define MMSIM_H

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
_Static_assert(sizeof(void *) == 4, "the direct interface is compiled for wasm32");

#define HOOK(name) __attribute__((export_name(#name)))
#define MMSIM(name) __attribute__((import_module("mmsim"), import_name(#name))) extern

/* Neither a folio nor a place for one. */
#define NO_FOLIO 0xffffffffu

/* Verbs on lists: 0, or below 0 where they do nothing. A folio is on one list at most. */
MMSIM(list_new) uint32_t list_new(void); /* 0: there are five */
MMSIM(list_add) int32_t list_add(uint32_t list, uint32_t folio);
MMSIM(list_add_tail) int32_t list_add_tail(uint32_t list, uint32_t folio);
MMSIM(list_move) int32_t list_move(uint32_t list, uint32_t folio, uint32_t tail);
MMSIM(list_del) int32_t list_del(uint32_t folio);
MMSIM(list_first) uint32_t list_first(uint32_t list);
MMSIM(list_next) uint32_t list_next(uint32_t folio);
MMSIM(list_of) uint32_t list_of(uint32_t folio); /* 0: on none */
/* Offers a folio to be evicted: the places that are left of 32, or -1. */
MMSIM(offer) int32_t offer(uint32_t folio);

/* Facts. */
MMSIM(folio_flags) uint32_t folio_flags(uint32_t folio);
MMSIM(folio_inode) uint64_t folio_inode(uint32_t folio);
MMSIM(folio_index) uint32_t folio_index(uint32_t folio);
MMSIM(folio_file_size) uint64_t folio_file_size(uint32_t folio); /* bytes */
MMSIM(cache_size) uint64_t cache_size(void);                     /* max of the group, pages */
MMSIM(now) uint64_t now(void);                                   /* ns */
MMSIM(process) uint32_t process(void);
MMSIM(thread) uint32_t thread(void);
MMSIM(random) uint32_t random(void);
MMSIM(print) void print(const char *text, uint32_t bytes);

/* Bits of folio_flags, as the kernel numbers them. */
enum {
	LOCKED = 1 << 0, WRITEBACK = 1 << 1, REFERENCED = 1 << 2, UPTODATE = 1 << 3, DIRTY = 1 << 4,
	LRU = 1 << 5, ACTIVE = 1 << 8, WORKINGSET = 1 << 9, RECLAIM = 1 << 18, UNEVICTABLE = 1 << 20,
};

#endif
