#!/usr/bin/env bash
# mmsim beside libCacheSim's Clock: the table of six cells of docs/performance.md.
#
#   tools/peers.sh [-r ROUNDS] [-n REQUESTS] [PEER]
#
# PEER, or else the variable LIBCACHESIM, is libCacheSim's program `cachesim`, or the folder of
# its sources. Sources are built under target/peers, by cmake. Nothing is fetched. MMSIM is the
# program mmsim; without it the release is built. Traces are drawn into target/peers: zipf laws
# over a million pages, 20 million requests if -n does not say otherwise.
#
# Prints million requests per CPU second of whole processes, medians over the rounds (5), and the
# ratio of speeds with its range. Exit codes: 2 if the peer is missing, 1 if something failed.
set -euo pipefail

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

missing() {
    printf 'tools/peers.sh: %s\n' "$1" >&2
    exit 2
}

rounds=5 requests=20000000
while getopts r:n: option; do
    case $option in
    r) rounds=$OPTARG ;;
    n) requests=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[[ $# -le 1 && $rounds =~ ^[1-9][0-9]*$ && $requests =~ ^[1-9][0-9]*$ ]] || usage
peer=${1:-${LIBCACHESIM:-}}
[[ -n $peer ]] || missing 'no libCacheSim: give its program cachesim, or the folder of its sources,
as the argument or in LIBCACHESIM (nothing is fetched)'
[[ -e $peer ]] || missing "$peer: there is no such file or folder; libCacheSim's cachesim or its sources are wanted"
peer=$(realpath "$peer")
cd "$(dirname "$0")/.."
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/peers
mkdir -p "$work"

if [[ -d $peer ]]; then
    [[ -f $peer/CMakeLists.txt && -d $peer/libCacheSim ]] ||
        missing "$peer: no CMakeLists.txt beside a folder libCacheSim, so these are not its sources"
    command -v cmake >/dev/null || missing 'no cmake, which builds the sources of libCacheSim'
    build=$work/libcachesim
    if ! { cmake -S "$peer" -B "$build" -DCMAKE_BUILD_TYPE=Release &&
        cmake --build "$build" --parallel; } >"$work/build.log" 2>&1; then
        tail -n 20 "$work/build.log" >&2
        echo "tools/peers.sh: libCacheSim does not build; all of it is in $work/build.log" >&2
        exit 1
    fi
    peer=$(find "$build" -type f -name cachesim -perm -u+x | head -n 1)
    [[ -n $peer ]] || missing "$build: the build made no program cachesim"
fi
[[ -f $peer && -x $peer ]] || missing "$peer: not a program"

command -v python3 >/dev/null || missing 'no python3, which draws the traces'
if [[ -z ${MMSIM:-} ]]; then
    cargo build --quiet --locked --release
    MMSIM=$(realpath "${CARGO_TARGET_DIR:-target}")/release/mmsim
fi

# The same draws twice: as page numbers, and as libCacheSim's oracleGeneral, whose last field is the
# next request of the object, which Clock does not ask for.
draw() {
    python3 - "$1" "$requests" "$2" <<'PYTHON'
import itertools, random, struct, sys

pages, block = 1_000_000, 1 << 16
theta, requests, file = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = random.Random(1)
scattered = list(range(pages))
rng.shuffle(scattered)
law = list(itertools.accumulate((rank + 1) ** -theta for rank in range(pages)))
record = struct.Struct("<IQIq")
with open(f"{file}.u32", "wb") as numbers, open(f"{file}.oracleGeneral.bin", "wb") as records:
    for first in range(0, requests, block):
        drawn = rng.choices(scattered, cum_weights=law, k=min(block, requests - first))
        numbers.write(struct.pack(f"<{len(drawn)}I", *drawn))
        records.write(b"".join(record.pack(first + i, p, 1, -1) for i, p in enumerate(drawn)))
PYTHON
}

printf '%-18s %12s %12s   %s\n' 'theta / frames' 'Clock M/s' 'mmsim M/s' 'ratio'
ratios=()
for theta in 0.5 0.9 1.1; do
    trace=$work/zipf$theta-$requests
    if [[ ! -f $trace.drawn ]]; then
        draw "$theta" "$trace"
        touch "$trace.drawn"
    fi
    for frames in 100000 500000; do
        # cachesim leaves a file of results in the folder that it runs in.
        tools/side_by_side.sh -r "$rounds" -n "$requests" \
            "clock=cd '$work' && '$peer' '$trace.oracleGeneral.bin' oracleGeneral clock $frames --ignore-obj-size 1" \
            "mmsim='$MMSIM' bench-trace '$trace.u32' --frames $frames" >"$work/cell"
        read -r clock mmsim ratio range < <(awk '
            $1 == "clock" { clock = $NF }
            $1 == "mmsim" { print clock, $NF, $6, $7, $8, $9 }' "$work/cell")
        printf '%-18s %12s %12s   %s %s\n' "$theta / $frames" "$clock" "$mmsim" "$ratio" "$range"
        ratios+=("$ratio")
    done
done
printf '%s\n' "${ratios[@]}" |
    awk '{ s += log($1) } END { printf "geometric mean of the ratios: %.2f\n", exp(s / NR) }'
