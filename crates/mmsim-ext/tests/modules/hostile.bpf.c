/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a policy must not get away with; `how` says which of it. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

const volatile int how = 0;
static u64 list, others[6];
static volatile u64 sink;
static struct cache_ext_eviction_ctx *kept;
int results[8];

struct { __uint(type, BPF_MAP_TYPE_HASH); __type(key, u64); __type(value, u64); __uint(max_entries, 16); } map SEC(".maps");

struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");

long bpf_get_stackid(void *ctx, void *map, u64 flags);

s32 BPF_STRUCT_OPS_SLEEPABLE(bad_init, struct mem_cgroup *memcg)
{
	list = bpf_cache_ext_ds_registry_new_list(memcg);
	if (how == 7)
		return -5;
	if (how == 8)
		for (int i = 0; i < 6; i++)
			others[i] = results[i] = bpf_cache_ext_ds_registry_new_list(memcg);
	if (how == 9)
		for (;;)
			sink++;
	return 0;
}

static __noinline u64 deeper(u64 n)
{
	volatile u64 here = n;

	return n ? deeper(n - 1) + here : 0;
}

void BPF_STRUCT_OPS(bad_added, struct folio *folio)
{
	bpf_cache_ext_list_add(list, folio);
	if (how == 6)
		bpf_get_stackid(folio, NULL, 0);
	if (how == 10)
		sink = deeper(100000);
	if (how == 11)
		for (int i = 0; i < 2000; i++)
			bpf_printk("again and again, %d", i);
	if (how == 12 && kept)
		kept->nr_folios_to_evict = 32;
	if (how == 13)
		results[0] = bpf_cache_ext_list_del((struct folio *)0x1234);
	if (how == 14)
		results[1] = bpf_cache_ext_list_add(list, folio);
	if (how == 15)
		bpf_map_lookup_elem((void *)&sink, (void *)&list);
	if (how == 26) {
		u64 *entry = bpf_ringbuf_reserve(&events, sizeof(*entry), 0);

		if (entry) {
			*entry = folio->index;
			bpf_ringbuf_submit(entry, 0);
		}
	}
	if (how == 16)
		bpf_map_update_elem(&map, &list, (void *)0x7fffffffffffffff, BPF_ANY);
}

void BPF_STRUCT_OPS(bad_evicted, struct folio *folio)
{
	if (how == 17)
		__builtin_trap();
}

/* A loader would run it for each entry; it submits another one, too. */
SEC("syscall")
int sum_up(u64 *entry)
{
	u64 more = 1000;

	results[2] += *entry;
	results[3]++;
	if (results[3] == 3)
		bpf_ringbuf_output(&events, &more, sizeof(more), 0);
	return 0;
}

static int visit(int idx, struct cache_ext_list_node *node)
{
	struct cache_ext_eviction_ctx again = { .request_nr_folios_to_evict = 1 };

	if (how == 2)
		bpf_cache_ext_list_move(list, node->folio, true);
	if (how == 18)
		bpf_cache_ext_list_iterate(NULL, list, visit, &again);
	if (how == 19)
		return 3;
	return CACHE_EXT_EVICT_NODE;
}

static int three(int idx, struct cache_ext_list_node *node, u64 more)
{
	return more;
}

static s64 nested(struct cache_ext_list_node *node)
{
	struct sampling_options options = { .sample_size = 1 };
	struct cache_ext_eviction_ctx again = { .request_nr_folios_to_evict = 1 };

	bpf_cache_ext_list_sample(NULL, list, nested, &options, &again);
	return 0;
}

void BPF_STRUCT_OPS(bad_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	struct sampling_options options = { .sample_size = 1 };

	kept = ctx;
	if (how == 1)
		for (;;)
			sink++;
	if (how == 4)
		sink = *(u64 *)0x7fffffffff;
	if (how == 20)
		return;
	if (how == 21) {
		bpf_cache_ext_list_iterate(memcg, list, (void *)12345, ctx);
		return;
	}
	if (how == 22) {
		bpf_cache_ext_list_iterate(memcg, list, (void *)three, ctx);
		return;
	}
	if (how == 23) {
		bpf_cache_ext_list_sample(memcg, list, nested, &options, ctx);
		return;
	}
	if (how == 24)
		sink = __builtin_wasm_memory_grow(0, 100000);
	bpf_cache_ext_list_iterate(memcg, list, visit, ctx);
	if (how == 3) {
		ctx->folios_to_evict[0] = (struct folio *)0x1234;
		ctx->folios_to_evict[1] = (struct folio *)((char *)ctx->folios_to_evict[1] + 8);
		ctx->folios_to_evict[2] = (struct folio *)((char *)ctx->folios_to_evict[2] + 64);
		ctx->folios_to_evict[3] = NULL;
		ctx->folios_to_evict[4] = (struct folio *)~0UL;
	}
	if (how == 5)
		ctx->nr_folios_to_evict = 33;
	if (how == 25)
		for (int i = 1; i < 32; i++)
			ctx->folios_to_evict[i] = ctx->folios_to_evict[0];
}

SEC(".struct_ops.link")
struct cache_ext_ops bad_ops = {
	.init = (void *)bad_init,
	.folio_added = (void *)bad_added,
	.folio_evicted = (void *)bad_evicted,
	.evict_folios = (void *)bad_evict,
};
