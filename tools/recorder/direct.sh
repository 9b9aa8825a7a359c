#!/usr/bin/env bash
# Measures what reclaim costs by itself and in a fault, from a trace of first touches under
# pressure: kswapd's time for a page that it frees, and the time of a direct reclaim beyond that of
# its pages. crates/mmsim-lab/src/validate/cost.rs has the result.
#
#   tools/recorder/direct.sh OUT_DIR KERNEL_DIR...
#
# Two runs of half a minute for a kernel. OUT_DIR keeps their outputs.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift
mkdir -p "$out"

tracing=/sys/kernel/debug/tracing
script() {
    cat <<EOF
trywrite /sys/kernel/mm/lru_gen/enabled $1
write $tracing/buffer_size_kb 4096
zram 1073741824
write /proc/sys/vm/page-cluster 0
write /proc/sys/vm/swappiness 60
write /proc/sys/vm/watermark_boost_factor 0
write /proc/sys/vm/compaction_proactiveness 0
write /proc/sys/vm/percpu_pagelist_high_fraction 1000
mlockself
sleepms 1000
ballast 65536
snapx start
anon 0 131072
fill 0 0 80000
snap before
write $tracing/events/vmscan/mm_vmscan_direct_reclaim_begin/enable 1
write $tracing/events/vmscan/mm_vmscan_direct_reclaim_end/enable 1
write $tracing/events/sched/sched_switch/enable 1
fill 0 80000 40000
write $tracing/tracing_on 0
snap traced
val $tracing/trace
EOF
}

for kernel in "$@"; do
    for enabled in 0 7; do
        base=$kernel
        [ -d "$base/lib/modules" ] || base=$kernel/usr
        name=$(ls "$base/lib/modules")-$enabled
        script "$enabled" >"$out/$name.script"
        "$here/record.sh" -o "$out/$name.txt" "$kernel" "$out/$name.script" 384 >/dev/null
        awk -v name="$name" '
            $1 == "@snap" && $2 == "traced" && match($0, /pgsteal_kswapd=[0-9]+/) {
                freed = substr($0, RSTART + 15, RLENGTH - 15)
            }
            match($0, / [0-9]+\.[0-9]+: /) {
                now = substr($0, RSTART, RLENGTH - 2) * 1e6
                if ($0 ~ /sched_switch:/) {
                    if (last && $0 ~ /prev_comm=kswapd/) kswapd += now - last
                    else if (last && began) within += now - (began > last ? began : last)
                    last = now
                } else if ($0 ~ /direct_reclaim_begin:/) { began = now; within = 0 }
                else if ($0 ~ /direct_reclaim_end:/ && began) {
                    time += within + now - (began > last ? began : last); n++; began = 0
                    match($0, /nr_reclaimed=[0-9]+/)
                    pages += substr($0, RSTART + 13, RLENGTH - 13)
                }
            }
            END {
                each = kswapd / freed
                printf "%s: %.2f us a page of kswapd, %d direct reclaims of %.1f pages, ", name, each, n, pages / n
                printf "%.0f us, of which %.0f beyond its pages\n", time / n, (time - each * pages) / n
            }' "$out/$name.txt"
    done
done
