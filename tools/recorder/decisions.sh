#!/usr/bin/env bash
# Records single decisions of reclaim while a kernel works off a point: what each call of
# shrink_lruvec() (classic LRU) or each step of MGLRU was given, what it set out to do, and what came
# of it. `mmsim-lab validate --decisions` replays them.
#
#   tools/recorder/decisions.sh -o OUT.json [-u PHASE] [-f IMAGE] [-b KIB] KERNEL_DIR POINTS.json:ID[:REPETITION] MIB
#
# The kernel needs probe events that know its types (CONFIG_PROBE_EVENTS_BTF_ARGS, 6.9 and later).
# -u ends after the snapshot of that name, -f is an image of a file system (files.sh makes one), -b is
# the size of the trace buffer (16,000 KiB), which the machine must have to spare. MIB is that of the
# point. A recording takes about a minute.
set -euo pipefail

usage() {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
out='' until=() image=() buffer=16000
while getopts o:u:f:b: option; do
    case $option in
    o) out=$OPTARG ;;
    u) until=("$OPTARG") ;;
    f) image=(-f "$OPTARG") ;;
    b) buffer=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 3 ] && [ -n "$out" ] || usage
here=$(cd "$(dirname "$0")" && pwd)
: "${CARGO_TARGET_DIR:=$here/target}"
export CARGO_TARGET_DIR
cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml" --bin recorder
recorder=$CARGO_TARGET_DIR/release/recorder
kernel=$1 point=$2 mib=$3
base=$kernel
[ -d "$base/lib/modules" ] || base=$kernel/usr
version=$(ls "$base/lib/modules")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$recorder" script "$point" "${until[@]}" >"$work/point"

# Where struct lruvec has its generations, in bytes. The probes also read them by name, and
# `recorder decisions` refuses a trace in which the two differ.
case $version in
6.9.* | 6.1[0-4].*) lrugen=136 evict=1 ;;
6.18.*) lrugen=136 evict=2 ;;
*) lrugen=176 evict=2 ;;
esac
tracing=/sys/kernel/debug/tracing
# generations ARGUMENT: their numbers, and the pages of each in the zones DMA and DMA32.
generations() {
    local gen type zone
    printf ' max=lruvec->lrugen.max_seq at=+%d($arg%d):u64' $lrugen "$1"
    for type in 0 1; do printf ' min%d=+%d($arg%d):u64' $type $((lrugen + 8 + 8 * type)) "$1"; done
    for gen in 0 1 2 3; do for type in 0 1; do for zone in 0 1; do
        printf ' n%d%d%d=+%d($arg%d):s64' $gen $type $zone \
            $((lrugen + 56 + 640 + 8 * (10 * gen + 5 * type + zone))) "$1"
    done; done; done
}
words() {
    local i
    for ((i = 1; i <= 60; i++)); do printf ' s%d=$stack%d:u64' "$i" "$i"; done
}
sizes() {
    local i
    for i in 0 1 2 3 4 5 6; do printf ' z%d=@vm_zone_stat+%d:u64' $i $((8 * i)); done
}
control='prio=sc->priority:s8 want=sc->nr_to_reclaim got=sc->nr_reclaimed'
probe() {
    echo "write $tracing/kprobe_events p:mm/$1 $2 $3"
    enabled+=("mm/$1")
}
enabled=(vmscan/mm_vmscan_lru_isolate vmscan/mm_vmscan_lru_shrink_inactive)
{
    echo 'val /proc/vmstat'
    echo "write $tracing/buffer_size_kb $buffer"
    if grep -q '^[a-z]*write /sys/kernel/mm/lru_gen/enabled [^0]' "$work/point"; then
        probe visit shrink_one "$control$(generations 1)"
        probe evict evict_folios "$control bx=%bx:u64 bp=%bp:u64 r12=%r12:u64 r13=%r13:u64 r14=%r14:u64 r15=%r15:u64$(generations $evict)"
        probe age try_to_inc_max_seq "$(generations 1)"
    else
        enabled+=(vmscan/mm_vmscan_lru_shrink_active)
        probe lruvec shrink_lruvec "$control ac=sc->anon_cost fc=sc->file_cost trim=sc->cache_trim_mode tiny=sc->file_is_tiny deact=sc->may_deactivate force=sc->force_deactivate$(sizes)"
        probe plug blk_start_plug "$(words)"
    fi
    for event in "${enabled[@]}"; do echo "write $tracing/events/$event/enable 1"; done
} >"$work/probes"
# Probes stand in front of the ballast, so that their buffer is not missing behind it.
awk -v probes="$work/probes" -v tracing="$tracing" '
    $1 == "ballast" { while ((getline line < probes) > 0) print line }
    { print }
    $1 ~ /^snapx?$/ { print "write " tracing "/trace_marker phase " $2 }
    END { print "write " tracing "/tracing_on 0"; print "val " tracing "/trace" }
' "$work/point" >"$work/script"
"$here/record.sh" "${image[@]}" -o "$work/out" "$kernel" "$work/script" "$mib" >/dev/null
"$recorder" decisions "$point" "$work/out" >"$out.part"
mv "$out.part" "$out"
