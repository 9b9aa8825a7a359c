/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Least frequently used, by sampling: of each SAMPLE folios at the front the one with the fewest uses. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"
#include "dir_watcher.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define SAMPLE 16

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1000000);
	__type(key, u64);
	__type(value, u64);
} uses SEC(".maps");

static u64 line;

static bool ours(struct folio *folio)
{
	return folio->mapping && folio->mapping->host && inode_in_watchlist(folio->mapping->host->i_ino);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(rare_init, struct mem_cgroup *memcg)
{
	line = bpf_cache_ext_ds_registry_new_list(memcg);
	return line ? 0 : -1;
}

void BPF_STRUCT_OPS(rare_added, struct folio *folio)
{
	u64 key = (u64)folio, none = 0;

	if (ours(folio) && !bpf_cache_ext_list_add_tail(line, folio))
		bpf_map_update_elem(&uses, &key, &none, BPF_ANY);
}

void BPF_STRUCT_OPS(rare_accessed, struct folio *folio)
{
	u64 key = (u64)folio, *n = bpf_map_lookup_elem(&uses, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
}

void BPF_STRUCT_OPS(rare_evicted, struct folio *folio)
{
	u64 key = (u64)folio;

	bpf_map_delete_elem(&uses, &key);
}

static s64 worth(struct cache_ext_list_node *node)
{
	u64 key = (u64)node->folio, *n = bpf_map_lookup_elem(&uses, &key);

	if (!n || !folio_test_uptodate(node->folio) || !folio_test_lru(node->folio) ||
	    folio_test_dirty(node->folio) || folio_test_writeback(node->folio))
		return S64_MAX;
	return *n;
}

void BPF_STRUCT_OPS(rare_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	struct sampling_options options = { .sample_size = SAMPLE };

	bpf_cache_ext_list_sample(memcg, line, worth, &options, ctx);
}

SEC(".struct_ops.link")
struct cache_ext_ops rare_ops = {
	.init = (void *)rare_init,
	.folio_added = (void *)rare_added,
	.folio_accessed = (void *)rare_accessed,
	.folio_evicted = (void *)rare_evicted,
	.evict_folios = (void *)rare_evict,
};
