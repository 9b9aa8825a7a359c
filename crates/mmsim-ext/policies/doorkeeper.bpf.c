/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * FIFO behind a doorkeeper, as caches have one before flash: the first read of a page goes past the
 * cache, and only one that comes again while the doorkeeper remembers it fills the cache. A scan that
 * comes once leaves no trace.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"
#include "dir_watcher.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct place { u64 inode, index; };

/* Pages that were turned away last: as many as the group has, unless the loader says otherwise. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct place);
	__type(value, u8);
} seen SEC(".maps");

static u64 queue;
u64 turned_away;

s32 BPF_STRUCT_OPS_SLEEPABLE(door_init, struct mem_cgroup *memcg)
{
	queue = bpf_cache_ext_ds_registry_new_list(memcg);
	return queue ? 0 : -1;
}

/* True: the read goes past the cache. */
bool BPF_STRUCT_OPS(door_admit, struct cache_ext_admission_ctx *ctx)
{
	struct place at = { .inode = ctx->ino, .index = ctx->offset >> 12 };
	u8 once = 1;

	if (!inode_in_watchlist(at.inode) || !bpf_map_delete_elem(&seen, &at))
		return false;
	bpf_map_update_elem(&seen, &at, &once, BPF_ANY);
	turned_away++;
	return true;
}

void BPF_STRUCT_OPS(door_added, struct folio *folio)
{
	if (inode_in_watchlist(folio->mapping->host->i_ino))
		bpf_cache_ext_list_add_tail(queue, folio);
}

static int offer(int idx, struct cache_ext_list_node *node)
{
	struct folio *folio = node->folio;

	if (!folio_test_uptodate(folio) || !folio_test_lru(folio) || folio_test_dirty(folio) ||
	    folio_test_writeback(folio))
		return CACHE_EXT_CONTINUE_ITER;
	return CACHE_EXT_EVICT_NODE;
}

void BPF_STRUCT_OPS(door_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	bpf_cache_ext_list_iterate(memcg, queue, offer, ctx);
}

SEC(".struct_ops.link")
struct cache_ext_ops door_ops = {
	.init = (void *)door_init,
	.folio_added = (void *)door_added,
	.evict_folios = (void *)door_evict,
	.admit_folio = (void *)door_admit,
};
