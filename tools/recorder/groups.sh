#!/usr/bin/env bash
# Measures what a pass of reclaim takes for each group that it visits: writes to memory.reclaim of
# groups with 1, 4 and 12 groups below them that hold 200 pages each, from traces. Without swap nothing can
# be reclaimed, so each goes through all priorities twice (once before 6.11) and finds nothing: the time
# that a further group adds, by 26 passes, is that of a visit. docs/dev/tree-recordings.md has the results.
#
#   tools/recorder/groups.sh OUT_DIR KERNEL_DIR...
#
# Two runs of half a minute for a kernel. OUT_DIR keeps the outputs.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift
mkdir -p "$out"

sizes=(1 4 12)
tracing=/sys/kernel/debug/tracing
# script LRU_GEN
script() {
    local n child process=0
    cat <<TXT
trywrite /sys/kernel/mm/lru_gen/enabled $1
mount cgroup2 none /cg none
write /cg/cgroup.subtree_control +memory
mlockself
TXT
    for n in "${sizes[@]}"; do
        echo "mkdir /cg/p$n"
        echo "write /cg/p$n/cgroup.subtree_control +memory"
        for ((child = 0; child < n; child++)); do echo "mkdir /cg/p$n/c$child"; done
    done
    for n in "${sizes[@]}"; do
        for ((child = 0; child < n; child++)); do
            process=$((process + 1))
            echo "process $process /cg/p$n/c$child"
        done
    done
    printf '%s\n' 'ballast 16000' 'sleepms 3000' 'snapx start'
    for ((; process > 0; process--)); do
        printf '%s\n' "on $process anon 0 200" "on $process fill 0 0 200"
    done
    echo "write $tracing/buffer_size_kb 3000"
    echo "write $tracing/events/vmscan/mm_vmscan_memcg_reclaim_begin/enable 1"
    echo "write $tracing/events/vmscan/mm_vmscan_memcg_reclaim_end/enable 1"
    for n in "${sizes[@]}"; do
        echo "trywrite $tracing/trace_marker p$n"
        echo "trywrite /cg/p$n/memory.reclaim 131072"
    done
    printf '%s\n' "write $tracing/tracing_on 0" 'snap traced' "val $tracing/trace"
}

for kernel; do
    for lru in 0 7; do
        name=$out/$(basename "$kernel")-$lru
        script "$lru" >"$name.script"
        "$here/record.sh" -o "$name.txt" "$kernel" "$name.script" 256 >/dev/null
        # Medians of the time between begin and end, by the mark before.
        awk '
            /tracing_mark_write|print:/ { mark = $NF }
            match($0, /[0-9]+\.[0-9]+: mm_vmscan_memcg_reclaim_(begin|end)/) {
                split(substr($0, RSTART, RLENGTH), part, ":")
                if ($0 ~ /_begin/) begin = part[1]
                else printf "%s %.0f\n", mark, (part[1] - begin) * 1e6
            }' "$name.txt" | sort -k1,1 -k2,2n |
            awk -v name="$(basename "$name")" '{ n[$1]++; v[$1, n[$1]] = $2 }
                END { for (m in n) print name, m, n[m], "reclaims, median", v[m, int((n[m] + 1) / 2)], "us" }'
    done
done
