#!/usr/bin/env bash
# Measures what MGLRU takes for a folio that it keeps, and how long threads of the boot share the CPU
# with a point.
#
#   tools/recorder/kept.sh [-u PHASE] [-f IMAGE] KERNEL_DIR POINTS.json:ID[:REPETITION] MIB
#
# -u ends after the snapshot of that name (loop1), -f is an image of a file system. It traces batches of
# eviction and turns of the CPU. For each phase it prints, in ms, the CPU time of the program, of kswapd
# and of the boot (`cryptomgr_test`), and, in ns, a least-squares fit of the time from
# mm_vmscan_lru_isolate to mm_vmscan_lru_shrink_inactive by folios evicted and kept. The last line is a
# fit of the time from there to the next batch: a batch, a folio that is put back, one that is isolated.
set -euo pipefail

usage() {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
until=loop1 image=()
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
# The buffer stands in front of the ballast, so that it is not missing behind it.
awk -v tracing="$tracing" '
    NR == 1 { print "write " tracing "/events/sched/sched_switch/enable 1" }
    $1 == "ballast" {
        print "write " tracing "/buffer_size_kb 12000"
        print "write " tracing "/events/vmscan/mm_vmscan_lru_isolate/enable 1"
        print "write " tracing "/events/vmscan/mm_vmscan_lru_shrink_inactive/enable 1"
    }
    { print }
    $1 ~ /^snapx?$/ { print "write " tracing "/trace_marker phase " $2 }
    END { print "write " tracing "/tracing_on 0"; print "val " tracing "/trace" }
' "$work/point" >"$work/script"
"$here/record.sh" "${image[@]}" -o "$work/out" "$1" "$work/script" "$3" >/dev/null
awk '
    # One observation y of a sum over x[1..3].
    function observe(of, y,    i, j) {
        n[of]++
        for (i = 1; i <= 3; i++) {
            for (j = 1; j <= 3; j++) a[of, i, j] += x[i] * x[j]
            a[of, i, 4] += x[i] * y
        }
    }
    # The coefficients of all observations.
    function fit(of,    i, j, k, f, text) {
        for (i = 1; i <= 3; i++) {
            if (a[of, i, i] < 1e-6) return "no such folios"
            for (k = 1; k <= 3; k++) {
                if (k == i) continue
                f = a[of, k, i] / a[of, i, i]
                for (j = i; j <= 4; j++) a[of, k, j] -= f * a[of, i, j]
            }
        }
        for (i = 1; i <= 3; i++) text = text sprintf(" %d", 1e9 * a[of, i, 4] / a[of, i, i])
        return text " (" n[of] " batches)"
    }
    function field(name) {
        if (!match(what, name "=[0-9]+")) return 0
        return substr(what, RSTART + length(name) + 1, RLENGTH - length(name) - 1) + 0
    }
    !/ [0-9]+\.[0-9]+: / { next }
    {
        match($0, /[0-9]+\.[0-9]+: /); t = substr($0, RSTART, RLENGTH - 2) + 0
        what = substr($0, RSTART + RLENGTH)
        who = $1; sub(/-[0-9]+$/, "", who)
        if (last) cpu[phase, who] += t - last
        last = t
    }
    what ~ /^tracing_mark_write: / { phase = $NF; order[++phases] = phase; delete begun; delete ended }
    what ~ /^sched_switch: / { delete begun; delete ended }
    what ~ /^mm_vmscan_lru_isolate: / && /anon/ {
        taken = field("nr_taken")
        if (taken && (who in ended) && t - ended[who] < 0.00012) {
            x[1] = 1; x[2] = stays[who]; x[3] = taken
            observe("between", t - ended[who])
        }
        delete ended[who]; delete begun[who]
        if (taken) { begun[who] = t; of[who] = taken }
    }
    what ~ /^mm_vmscan_lru_shrink_inactive: / && (who in begun) {
        gone = field("nr_reclaimed")
        x[1] = 1; x[2] = gone; x[3] = of[who] - gone
        if (t - begun[who] < 0.0025) observe(phase, t - begun[who])
        ended[who] = t; stays[who] = of[who] - gone
        delete begun[who]
    }
    END {
        for (i = 1; i <= phases; i++) {
            p = order[i]
            printf "after %s: program %d ms, kswapd %d, boot %d; a batch, evicted, kept, in ns:%s\n", p,
                1000 * cpu[p, "init"], 1000 * cpu[p, "kswapd0"], 1000 * cpu[p, "cryptomgr_test"], fit(p)
        }
        print "between batches: one, put back, isolated, in ns:" fit("between")
    }
' "$work/out"
