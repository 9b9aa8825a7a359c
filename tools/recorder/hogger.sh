#!/usr/bin/env bash
# Prints the script of a test beside a memory hogger (docs/dev/compaction-evidence.md).
#
#   tools/recorder/hogger.sh movable|unmovable HOGGER_MIB SEED > hogger.script
#
# It is for a kernel with a driver for tests, and with a file system of clean pages, cleanfs. The
# driver reads from /sys/kernel/debug/mmfrag: take MOVABLE CLUSTER KEEP RELEASE SEED; rest; survey
# ORDER; highalloc ORDER ATTEMPTS.
set -euo pipefail

[ $# -eq 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
heap=$((256 * $2)) cache=12800 driver=/sys/kernel/debug/mmfrag
case $1 in
movable) movable=950 release=$((heap + cache + 2000)) ;;
unmovable) movable=0 release=0 ;;
*) echo "error: the kind of pages is \`$1\`, write movable or unmovable" >&2; exit 2 ;;
esac
rest() { echo "write $driver rest"; }

cat <<EOF
write /sys/kernel/mm/lru_gen/enabled 0
zram 33554432
write /proc/sys/vm/swappiness 100
write /proc/sys/vm/page-cluster 0
write /proc/sys/vm/watermark_boost_factor 0
write /proc/sys/vm/compaction_proactiveness 0
write /proc/sys/vm/percpu_pagelist_high_fraction 1000
mount cleanfs none /mnt ro
write /proc/sys/vm/compact_unevictable_allowed 0
mlockself
file 1 /mnt/s 65536 normal
anon 0 $heap
sleepms 1000
snapx start
write $driver take $movable 512 250 $release $3
EOF
[ "$release" -gt 0 ] || rest
cat <<EOF
snapx fragmented
preadscan 1 0 $cache
fill 0 0 $heap
snapx filled
EOF
[ "$release" -eq 0 ] || rest
cat <<EOF
sleepms 10000
write $driver survey 3
snapx survey
write $driver highalloc 3 3000
snapx attempts
val $driver
EOF
