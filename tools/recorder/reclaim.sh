#!/usr/bin/env bash
# Measures what reclaim takes, from traces of first touches under pressure: a pass, a folio that it
# keeps, evicts or deactivates, and the way into a direct reclaim; and what the scheduler owes
# kswapd when that is woken first. crates/mmsim-lab/src/validate/cost.rs has the results.
#
#   tools/recorder/reclaim.sh OUT_DIR KERNEL_DIR...
#
# Two runs of a minute for a kernel. OUT_DIR keeps their outputs. Kernels before 6.9 cannot print
# what is owed: their probes do not know types.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
: "${CARGO_TARGET_DIR:=$here/target}"
export CARGO_TARGET_DIR
out=$1
shift
mkdir -p "$out"

tracing=/sys/kernel/debug/tracing
# script LRU_GEN BTF
script() {
    cat <<EOF
trywrite /sys/kernel/mm/lru_gen/enabled $1
zram 1073741824
write /proc/sys/vm/page-cluster 0
write /proc/sys/vm/swappiness 60
write /proc/sys/vm/watermark_boost_factor 0
write /proc/sys/vm/compaction_proactiveness 0
write /proc/sys/vm/percpu_pagelist_high_fraction 1000
table 0 98304 0.9
mlockself
sleepms 1000
write $tracing/buffer_size_kb 5000
EOF
    local event
    for event in lru_shrink_inactive lru_shrink_active direct_reclaim_begin direct_reclaim_end; do
        echo "write $tracing/events/vmscan/mm_vmscan_$event/enable 1"
    done
    if [ "$2" = y ]; then
        echo "write $tracing/kprobe_events p:mm/wakes enqueue_task_fair lag=p->se.vlag:s64 woken=p->pid:s32"
        echo "write $tracing/events/mm/wakes/enable 1"
    fi
    cat <<EOF
write $tracing/events/sched/sched_switch/enable 1
write $tracing/set_ftrace_filter shrink_node
write $tracing/current_tracer function
ballast 65536
snapx start
anon 0 98304
fill 0 0 98304
seed 1
zipf 0 0 300000 0 60757 0
write $tracing/tracing_on 0
snap traced
val $tracing/trace
EOF
}

outputs=()
for kernel in "$@"; do
    base=$kernel
    [ -d "$base/lib/modules" ] || base=$kernel/usr
    version=$(ls "$base/lib/modules")
    btf=y
    case $version in [1-5].* | 6.[0-8].*) btf=n ;; esac
    for enabled in 0 7; do
        name=$version-$enabled
        script "$enabled" "$btf" >"$out/$name.script"
        "$here/record.sh" -o "$out/$name.txt" "$kernel" "$out/$name.script" 384 >/dev/null
        outputs+=("$out/$name.txt")
    done
done
"$CARGO_TARGET_DIR/release/recorder" reclaim "${outputs[@]}"
