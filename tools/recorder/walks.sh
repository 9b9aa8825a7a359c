#!/usr/bin/env bash
# Traces the walks of page tables under MGLRU while a kernel works off a point: who asks for a
# generation and when, whether it begins, how many tables kswapd walks in each turn, and who has the
# CPU. docs/dev/ticks-and-passes.md has such a trace.
#
#   tools/recorder/walks.sh [-u PHASE] [-f IMAGE] KERNEL_DIR POINTS.json:ID[:REPETITION] MIB
#
# The kernel needs probe events that know its types (6.9 and later). -u ends after the snapshot of that
# name (populate), -f is an image of a file system. It prints a line for each turn: seconds, who,
# what. Tables that kswapd maps for other purposes, after its walk, are counted too. A recording takes
# some minutes, most of them for printing the trace.
set -euo pipefail

usage() {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
until=populate image=()
while getopts u:f: option; do
    case $option in
    u) until=$OPTARG ;;
    f) image=(-f "$OPTARG") ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 3 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
: "${CARGO_TARGET_DIR:=$here/target}"
export CARGO_TARGET_DIR
cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml" --bin recorder
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$CARGO_TARGET_DIR/release/recorder" script "$2" "$until" >"$work/point"

tracing=/sys/kernel/debug/tracing
{
    echo "write $tracing/buffer_size_kb 12000"
    echo "write $tracing/kprobe_events p:mm/age try_to_inc_max_seq max=lruvec->lrugen.max_seq"
    echo "write $tracing/kprobe_events r:mm/aged try_to_inc_max_seq begins=\$retval:u8"
    # Each table that is walked is mapped by this, and many others are.
    echo "write $tracing/kprobe_events p:mm/table pte_offset_map_rw_nolock"
    echo "write $tracing/events/mm/table/filter comm == \"kswapd0\""
    for event in mm/age mm/aged mm/table sched/sched_switch; do
        echo "write $tracing/events/$event/enable 1"
    done
} >"$work/probes"
# Probes stand in front of the ballast, so that their buffer is not missing behind it.
awk -v probes="$work/probes" -v tracing="$tracing" '
    $1 == "ballast" { while ((getline line < probes) > 0) print line }
    { print }
    END { print "write " tracing "/tracing_on 0"; print "val " tracing "/trace" }
' "$work/point" >"$work/script"
"$here/record.sh" "${image[@]}" -o "$work/out" "$1" "$work/script" "$3" >/dev/null
awk '
    function turn() {
        if (tables) printf "%s %s walks %d tables\n", at, who, tables
        tables = 0
    }
    !/ [0-9]+\.[0-9]+: / { next }
    { match($0, /[0-9]+\.[0-9]+: /); t = substr($0, RSTART, RLENGTH - 2); what = substr($0, RSTART + RLENGTH) }
    what ~ /^table: / { if (!tables) { at = t; who = $1 } tables++; next }
    { turn() }
    what ~ /^age: / { sub(/.*max=/, "", what); print t, $1, "asks for a generation after", what }
    what ~ /^aged: / { sub(/.*begins=/, "", what); print t, $1, (what > 0 ? "began it" : "did not begin it") }
    what ~ /^sched_switch: / && /kswapd/ { sub(/.*next_comm=/, "", what); sub(/ .*/, "", what); print t, what, "has the CPU" }
    END { turn() }
' "$work/out"
