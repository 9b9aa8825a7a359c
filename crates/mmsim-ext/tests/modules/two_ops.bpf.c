/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two sets of hooks, of which no loader can know which it is to attach. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "cache_ext_lib.bpf.h"

s32 BPF_STRUCT_OPS_SLEEPABLE(ready, struct mem_cgroup *memcg)
{
	return 0;
}

SEC(".struct_ops.link")
struct cache_ext_ops one_ops = { .init = (void *)ready };

SEC(".struct_ops.link")
struct cache_ext_ops other_ops = { .init = (void *)ready };

SEC("kprobe/tcp_recvmsg")
int BPF_KPROBE(watch_network, void *sk)
{
	return 0;
}
