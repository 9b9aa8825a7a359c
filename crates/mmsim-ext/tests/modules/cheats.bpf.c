/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a search would try instead of a better policy; `how` says which of it. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

enum {
	NOTHING = 1,	/* It offers nothing. */
	TRAPS,		/* MRU, until it traps, so that the LRU goes on. */
	UNLISTED,	/* It offers folios that are on no list of the LRU. */
	OVERFULL,	/* It offers more than there is room for. */
	TWICE,		/* It offers one folio 32 times. */
	GREEDY,		/* It takes 64 MB of memory. */
	BUSY,		/* It computes what nobody needs. */
	SEEDS,		/* MRU with the seeds that it knows, else FIFO. */
};

const volatile int how = 0;
/* The first random number of each seed that it knows. */
const volatile u32 known_a = 0, known_b = 0;
static u64 list;
static u64 asks;
static bool newest;
static volatile u64 sink;

s32 BPF_STRUCT_OPS_SLEEPABLE(cheat_init, struct mem_cgroup *memcg)
{
	u32 draw = bpf_get_prandom_u32();

	list = bpf_cache_ext_ds_registry_new_list(memcg);
	newest = how == TRAPS || (how == SEEDS && (draw == known_a || draw == known_b));
	if (how == GREEDY)
		sink = __builtin_wasm_memory_grow(0, 1000);
	return 0;
}

void BPF_STRUCT_OPS(cheat_added, struct folio *folio)
{
	if (newest)
		bpf_cache_ext_list_add(list, folio);
	else
		bpf_cache_ext_list_add_tail(list, folio);
}

void BPF_STRUCT_OPS(cheat_evicted, struct folio *folio)
{
	bpf_cache_ext_list_del(folio);
}

static int visit(int idx, struct cache_ext_list_node *node)
{
	bool ready = folio_test_uptodate(node->folio) && folio_test_lru(node->folio);

	return ready == (how != UNLISTED) ? CACHE_EXT_EVICT_NODE : CACHE_EXT_CONTINUE_ITER;
}

void BPF_STRUCT_OPS(cheat_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	if (how == NOTHING)
		return;
	if (how == TRAPS && ++asks > 40)
		__builtin_trap();
	if (how == BUSY)
		for (int i = 0; i < 1000; i++)
			sink++;
	bpf_cache_ext_list_iterate(memcg, list, visit, ctx);
	if (how == OVERFULL)
		ctx->nr_folios_to_evict = 33;
	if (how == TWICE) {
		for (int i = 1; i < 32; i++)
			ctx->folios_to_evict[i] = ctx->folios_to_evict[0];
		ctx->nr_folios_to_evict = 32;
	}
}

SEC(".struct_ops.link")
struct cache_ext_ops cheat_ops = {
	.init = (void *)cheat_init,
	.folio_added = (void *)cheat_added,
	.folio_evicted = (void *)cheat_evicted,
	.evict_folios = (void *)cheat_evict,
};
