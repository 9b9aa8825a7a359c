/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A hot set beside scans: what only scanning threads read goes first, in its order. Of the rest the folio
 * with the fewest uses goes, by samples. The scenario names the threads that scan:
 * `maps = { scan_pids = { threads = ["scan"] } }`.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"
#include "dir_watcher.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define SAMPLE 8

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1000);
	__type(key, u32);
	__type(value, u8);
} scan_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1000000);
	__type(key, u64);
	__type(value, u64);
} uses SEC(".maps");

static u64 scanned, hot;

static bool scans(void)
{
	u32 pid = bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&scan_pids, &pid) != NULL;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(get_scan_init, struct mem_cgroup *memcg)
{
	scanned = bpf_cache_ext_ds_registry_new_list(memcg);
	hot = bpf_cache_ext_ds_registry_new_list(memcg);
	return scanned && hot ? 0 : -1;
}

void BPF_STRUCT_OPS(get_scan_added, struct folio *folio)
{
	u64 key = (u64)folio, none = 0;

	if (!inode_in_watchlist(folio->mapping->host->i_ino))
		return;
	if (!bpf_cache_ext_list_add_tail(scans() ? scanned : hot, folio))
		bpf_map_update_elem(&uses, &key, &none, BPF_ANY);
}

void BPF_STRUCT_OPS(get_scan_accessed, struct folio *folio)
{
	u64 key = (u64)folio, *n = bpf_map_lookup_elem(&uses, &key);

	if (!n || scans())
		return;
	/* The first use by another thread makes a scanned folio a hot one. */
	if (!*n)
		bpf_cache_ext_list_move(hot, folio, true);
	*n += 1;
}

void BPF_STRUCT_OPS(get_scan_evicted, struct folio *folio)
{
	u64 key = (u64)folio;

	bpf_map_delete_elem(&uses, &key);
}

static int offer(int idx, struct cache_ext_list_node *node)
{
	if (!folio_test_uptodate(node->folio) || !folio_test_lru(node->folio))
		return CACHE_EXT_CONTINUE_ITER;
	return CACHE_EXT_EVICT_NODE;
}

static s64 worth(struct cache_ext_list_node *node)
{
	u64 key = (u64)node->folio, *n = bpf_map_lookup_elem(&uses, &key);

	if (!n || !folio_test_uptodate(node->folio) || !folio_test_lru(node->folio))
		return S64_MAX;
	return *n;
}

void BPF_STRUCT_OPS(get_scan_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	struct sampling_options options = { .sample_size = SAMPLE };

	bpf_cache_ext_list_iterate(memcg, scanned, offer, ctx);
	/* A sample overwrites what was offered, so it comes where scans left nothing. */
	if (!ctx->nr_folios_to_evict)
		bpf_cache_ext_list_sample(memcg, hot, worth, &options, ctx);
}

SEC(".struct_ops.link")
struct cache_ext_ops get_scan_ops = {
	.init = (void *)get_scan_init,
	.folio_added = (void *)get_scan_added,
	.folio_accessed = (void *)get_scan_accessed,
	.folio_evicted = (void *)get_scan_evicted,
	.evict_folios = (void *)get_scan_evict,
};
