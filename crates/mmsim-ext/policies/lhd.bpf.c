/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Least hit density (Beckmann and others, NSDI '18) from its description, in whole numbers: a table that
 * is learned says what a folio of an age is worth. Its worth is the hits that folios of this class and age
 * still had, over the time that they still stayed. Of each SAMPLE folios at the front the one of the
 * lowest worth is offered.
 *
 * Classes are by the age at which a folio was used last, doubling; class 0 was not used again yet.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"
#include "dir_watcher.bpf.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define SAMPLE 16
#define CLASSES 8
#define AGES 64

/* Pages of the group: set before the policy is loaded. */
const volatile u64 cache_size = 1024;

struct about { u64 used_at; u8 class; bool fresh; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1000000);
	__type(key, u64);
	__type(value, struct about);
} known SEC(".maps");

static u64 line;
/* Uses so far, and the number at which the table is made anew. */
static u64 clock, next_table;
/* Weighted ends of ages, by class and age: used again, and gone. */
static u64 hits[CLASSES][AGES], gone[CLASSES][AGES];
u64 worth[CLASSES][AGES];

/* An age is counted in 16ths of the cache. */
static u64 age_of(struct about *about)
{
	u64 age = (clock - about->used_at) / (cache_size / 16 + 1);

	return age < AGES ? age : AGES - 1;
}

static u8 class_of(u64 age)
{
	u8 class = 1;

	while (age && class < CLASSES - 1) {
		age >>= 1;
		class++;
	}
	return class;
}

/* From the oldest age on: ends at this age or a later one, and the time that these took, sum up. */
static void make_table(void)
{
	for (int c = 0; c < CLASSES; c++) {
		u64 ends = 0, later_hits = 0, time = 0;

		for (int a = AGES - 1; a >= 0; a--) {
			ends += hits[c][a] + gone[c][a];
			later_hits += hits[c][a];
			time += ends;
			worth[c][a] = time ? (later_hits << 16) / time : 0;
			hits[c][a] = hits[c][a] * 7 / 8;
			gone[c][a] = gone[c][a] * 7 / 8;
		}
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(dense_init, struct mem_cgroup *memcg)
{
	line = bpf_cache_ext_ds_registry_new_list(memcg);
	next_table = cache_size;
	return line ? 0 : -1;
}

void BPF_STRUCT_OPS(dense_added, struct folio *folio)
{
	u64 key = (u64)folio;
	struct about about = { .used_at = clock, .fresh = true };

	if (inode_in_watchlist(folio->mapping->host->i_ino) && !bpf_cache_ext_list_add_tail(line, folio))
		bpf_map_update_elem(&known, &key, &about, BPF_ANY);
}

void BPF_STRUCT_OPS(dense_accessed, struct folio *folio)
{
	u64 key = (u64)folio, age;
	struct about *about = bpf_map_lookup_elem(&known, &key);

	if (!about)
		return;
	/* The use that brought the folio is no hit. */
	if (!about->fresh) {
		age = age_of(about);
		hits[about->class % CLASSES][age % AGES] += 1024;
		about->class = class_of(age);
	}
	about->fresh = false;
	about->used_at = ++clock;
	if (clock >= next_table) {
		next_table = clock + cache_size;
		make_table();
	}
}

void BPF_STRUCT_OPS(dense_evicted, struct folio *folio)
{
	u64 key = (u64)folio;
	struct about *about = bpf_map_lookup_elem(&known, &key);

	if (!about)
		return;
	gone[about->class % CLASSES][age_of(about) % AGES] += 1024;
	bpf_map_delete_elem(&known, &key);
}

static s64 density(struct cache_ext_list_node *node)
{
	u64 key = (u64)node->folio;
	struct about *about = bpf_map_lookup_elem(&known, &key);

	if (!about || !folio_test_uptodate(node->folio) || !folio_test_lru(node->folio) ||
	    folio_test_dirty(node->folio) || folio_test_writeback(node->folio))
		return S64_MAX;
	return worth[about->class % CLASSES][age_of(about) % AGES];
}

void BPF_STRUCT_OPS(dense_evict, struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg)
{
	struct sampling_options options = { .sample_size = SAMPLE };

	bpf_cache_ext_list_sample(memcg, line, density, &options, ctx);
}

SEC(".struct_ops.link")
struct cache_ext_ops dense_ops = {
	.init = (void *)dense_init,
	.folio_added = (void *)dense_added,
	.folio_accessed = (void *)dense_accessed,
	.folio_evicted = (void *)dense_evicted,
	.evict_folios = (void *)dense_evict,
};
