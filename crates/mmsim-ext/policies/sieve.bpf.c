/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * SIEVE (Zhang and others, NSDI '24) from its description: a hand goes from the oldest folio to the newest,
 * spares those that were used since it came by, and takes the others. Nothing else ever moves.
 *
 * The folios behind the hand are one list, those before it another; where the hand comes to the end, the
 * lists change their parts.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"
#include "dir_watcher.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1000000);
	__type(key, u64);
	__type(value, u8);
} used SEC(".maps");

static u64 before, behind;

s32 BPF_STRUCT_OPS_SLEEPABLE(sieve_init, struct mem_cgroup *memcg)
{
	before = bpf_cache_ext_ds_registry_new_list(memcg);
	behind = bpf_cache_ext_ds_registry_new_list(memcg);
	return before && behind ? 0 : -1;
}

void BPF_STRUCT_OPS(sieve_added, struct folio *folio)
{
	u64 key = (u64)folio;
	u8 no = 0;

	if (inode_in_watchlist(folio->mapping->host->i_ino) &&
	    !bpf_cache_ext_list_add_tail(before, folio))
		bpf_map_update_elem(&used, &key, &no, BPF_ANY);
}

void BPF_STRUCT_OPS(sieve_accessed, struct folio *folio)
{
	u64 key = (u64)folio;
	u8 *is_used = bpf_map_lookup_elem(&used, &key);

	if (is_used)
		*is_used = 1;
}

void BPF_STRUCT_OPS(sieve_evicted, struct folio *folio)
{
	u64 key = (u64)folio;

	bpf_map_delete_elem(&used, &key);
}

static int pass(int idx, struct cache_ext_list_node *node)
{
	u64 key = (u64)node->folio;
	u8 *is_used = bpf_map_lookup_elem(&used, &key);

	if (is_used && *is_used) {
		*is_used = 0;
		return CACHE_EXT_CONTINUE_ITER;
	}
	return CACHE_EXT_EVICT_NODE;
}

void BPF_STRUCT_OPS(sieve_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	/* Twice: behind the newest folio comes the oldest one. */
	for (int i = 0; i < 2; i++) {
		struct cache_ext_iterate_opts spare = {
			.continue_list = behind,
			.continue_mode = CACHE_EXT_ITERATE_TAIL,
		};
		u64 first = before;

		if (bpf_cache_ext_list_iterate_extended(memcg, before, pass, &spare, ctx) ||
		    ctx->nr_folios_to_evict >= ctx->request_nr_folios_to_evict)
			break;
		/* What was offered goes on being before the hand, at its place. */
		if (ctx->nr_folios_to_evict)
			break;
		before = behind;
		behind = first;
	}
}

SEC(".struct_ops.link")
struct cache_ext_ops sieve_ops = {
	.init = (void *)sieve_init,
	.folio_added = (void *)sieve_added,
	.folio_accessed = (void *)sieve_accessed,
	.folio_evicted = (void *)sieve_evicted,
	.evict_folios = (void *)sieve_evict,
};
