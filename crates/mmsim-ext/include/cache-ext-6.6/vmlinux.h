/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Types that a policy for cache_ext may name, as mmsim lays them out in the memory of the module.
 *
 * This is no extract of a kernel header: it has the fields that mmsim fills, at places of its own.
 * A field that is missing here is one that mmsim does not know, and clang says so by name.
 */
#ifndef MMSIM_VMLINUX_H
#define MMSIM_VMLINUX_H
/* The guard of what bpftool writes: a policy's own copy has no effect behind this. */
#define __VMLINUX_H__

_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8, "compile for wasm64: BPF has 64-bit longs and pointers");

/* By this a module says which headers it was compiled with. */
static const char mmsim_headers_cache_ext_6_6 __attribute__((used)) = 1;

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s8 int8_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
typedef unsigned long size_t;
typedef long ssize_t;
typedef unsigned long uintptr_t;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef unsigned int dev_t;
typedef unsigned int fmode_t;
typedef unsigned short umode_t;
typedef unsigned int gfp_t;
typedef long long loff_t;
typedef _Bool bool;
typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
typedef atomic64_t atomic_long_t;
enum { false = 0, true = 1 };

struct list_head { struct list_head *next, *prev; };
struct hlist_node { struct hlist_node *next, **pprev; };
struct hlist_head { struct hlist_node *first; };

/* Of a folio these are kept up to date; the others are there to be named, and are 0. */
enum pageflags {
	PG_locked, PG_writeback, PG_referenced, PG_uptodate, PG_dirty, PG_lru, PG_head, PG_waiters,
	PG_active, PG_workingset, PG_error, PG_slab, PG_owner_priv_1, PG_arch_1, PG_reserved, PG_private,
	PG_private_2, PG_mappedtodisk, PG_reclaim, PG_swapbacked, PG_unevictable, PG_mlocked, PG_hugetlb,
	PG_readahead = PG_reclaim, PG_swapcache = PG_owner_priv_1,
};

struct super_block { dev_t s_dev; unsigned long s_magic; };

struct inode;
struct address_space {
	struct inode *host;
	unsigned long nrpages;
	unsigned long flags;
};

struct inode {
	unsigned long i_ino;
	loff_t i_size;
	struct address_space *i_mapping;
	struct super_block *i_sb;
	umode_t i_mode;
	unsigned int i_nlink;
	u32 i_generation;
};

/* 64 bytes, as in a kernel. */
struct page {
	unsigned long flags;
	struct list_head lru;
	struct address_space *mapping;
	unsigned long index;
	void *private;
	atomic_t _mapcount;
	atomic_t _refcount;
	unsigned long memcg_data;
};

struct folio {
	union {
		struct {
			unsigned long flags;
			struct list_head lru;
			struct address_space *mapping;
			unsigned long index;
			void *private;
			atomic_t _mapcount;
			atomic_t _refcount;
			unsigned long memcg_data;
		};
		struct page page;
	};
};

struct mem_cgroup { u64 mmsim_id; };
struct qstr { const unsigned char *name; };
struct dentry { struct qstr d_name; struct inode *d_inode; };
struct path { struct dentry *dentry; };
struct file { fmode_t f_mode; struct inode *f_inode; struct path f_path; struct address_space *f_mapping; };
struct task_struct {
	pid_t pid, tgid;
	int prio, static_prio;
	unsigned int flags;
	char comm[16];
};
struct bpf_spin_lock { __u32 val; };
struct bpf_timer { __u64 opaque[2]; };
struct bpf_map { int mmsim_opaque; };
struct pt_regs { unsigned long regs[24]; };

/* The interface of cache_ext, as its paper and its artefact have it (Linux 6.6.8). */
struct cache_ext_list_node {
	struct folio *folio;
	struct list_head node;
};

struct cache_ext_eviction_ctx {
	unsigned long request_nr_folios_to_evict;
	unsigned long nr_folios_to_evict;
	struct folio *folios_to_evict[32];
	s64 scores[32];
};

struct cache_ext_admission_ctx {
	u64 ino;
	u64 offset;
	u64 size;
};

struct sampling_options {
	__u32 sample_size;
	__u32 select_size;
};

struct cache_ext_iterate_opts {
	u64 continue_list;
	u64 continue_mode;
	u64 evict_list;
	u64 evict_mode;
	u64 nr_folios_continue;
	u64 nr_folios_evict;
};

enum cache_ext_iter_callback_ret {
	CACHE_EXT_CONTINUE_ITER = 0,
	CACHE_EXT_STOP_ITER = 1,
	CACHE_EXT_EVICT_NODE = 2,
};

enum cache_ext_iter_ret {
	CACHE_EXT_DONE_ITER = 0,
	CACHE_EXT_MAX_ITER_REACHED = 8,
	CACHE_EXT_EVICT_ARRAY_FILLED = 9,
};

enum cache_ext_iterate_mode {
	CACHE_EXT_ITERATE_SKIP = 0,
	CACHE_EXT_ITERATE_HEAD,
	CACHE_EXT_ITERATE_TAIL,
	CACHE_EXT_ITERATE_MAX,
};

enum cache_ext_iterate_list { CACHE_EXT_ITERATE_SELF = 0 };

struct cache_ext_ops {
	s32 (*init)(struct mem_cgroup *memcg);
	void (*evict_folios)(struct cache_ext_eviction_ctx *ctx, struct mem_cgroup *memcg);
	void (*folio_added)(struct folio *folio);
	void (*folio_accessed)(struct folio *folio);
	void (*folio_evicted)(struct folio *folio);
	bool (*admit_folio)(struct cache_ext_admission_ctx *ctx);
};

/* Constants of the BPF system call. */
enum bpf_map_type {
	BPF_MAP_TYPE_UNSPEC, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PROG_ARRAY,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY, BPF_MAP_TYPE_PERCPU_HASH, BPF_MAP_TYPE_PERCPU_ARRAY,
	BPF_MAP_TYPE_STACK_TRACE, BPF_MAP_TYPE_CGROUP_ARRAY, BPF_MAP_TYPE_LRU_HASH,
	BPF_MAP_TYPE_LRU_PERCPU_HASH, BPF_MAP_TYPE_LPM_TRIE, BPF_MAP_TYPE_ARRAY_OF_MAPS,
	BPF_MAP_TYPE_HASH_OF_MAPS, BPF_MAP_TYPE_QUEUE = 22, BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27, BPF_MAP_TYPE_TASK_STORAGE = 29, BPF_MAP_TYPE_BLOOM_FILTER = 30,
	BPF_MAP_TYPE_USER_RINGBUF = 31, BPF_MAP_TYPE_ARENA = 33,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2, BPF_F_LOCK = 4 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_NO_COMMON_LRU = 2, BPF_F_MMAPABLE = 1024 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#endif
