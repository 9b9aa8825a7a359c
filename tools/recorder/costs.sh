#!/usr/bin/env bash
# Measures what the steps of memory management cost on the recording machine: phases of first
# touches, swap-ins, MADV_PAGEOUT and zipf accesses at three sizes and four skews, and the
# regression of their elapsed times. crates/mmsim-lab/src/validate/cost.rs has the result for 6.1 and 6.12.
#
#   tools/recorder/costs.sh OUT_DIR KERNEL_DIR...
#
# Eight runs for two kernels, six minutes in all. OUT_DIR keeps their outputs.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
: "${CARGO_TARGET_DIR:=$here/target}"
export CARGO_TARGET_DIR
out=$1
shift
mkdir -p "$out"

# script PAGES MUL THETA
script() {
    cat <<EOF
trywrite /sys/kernel/mm/lru_gen/enabled 0
zram 1073741824
write /proc/sys/vm/page-cluster 0
write /proc/sys/vm/swappiness 60
write /proc/sys/vm/watermark_boost_factor 0
write /proc/sys/vm/compaction_proactiveness 0
write /proc/sys/vm/percpu_pagelist_high_fraction 1000
table 0 $1 $3
mlockself
sleepms 3000
ballast 65536
snapx start
anon 0 20000
snap mapped
fill 0 0 20000
snap fill1
scan 0 0 20000 r
snap hits
madvise 0 0 20000 pageout
snap pageout1
scan 0 0 20000 r
snap swapin1
madvise 0 0 20000 pageout
snap pageout2
scan 0 0 20000 r
snap swapin2
unmap 0
snap unmap
anon 0 20000
fill 0 0 20000
snap fill2
unmap 0
snap unmap2
anon 0 $1
fill 0 0 $1
snapx populate
seed 7
zipf 0 0 80000 0 $2 0
snap access1
zipf 0 0 80000 0 $2 0
snap access2
zipf 0 0 80000 300 $2 0
snap access3
EOF
}

outputs=()
for kernel in "$@"; do
    for point in '98304 60757 0.9' '81920 50647 0.1' '131072 81013 0.5' '98304 60757 1.3'; do
        read -r pages mul theta <<<"$point"
        name=$(ls "$kernel/lib/modules")-$pages-$theta
        script "$pages" "$mul" "$theta" >"$out/$name.script"
        "$here/record.sh" -o "$out/$name.txt" "$kernel" "$out/$name.script" 384 >/dev/null
        outputs+=("$out/$name.txt")
    done
done
"$CARGO_TARGET_DIR/release/recorder" costs "${outputs[@]}"
