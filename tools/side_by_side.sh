#!/usr/bin/env bash
# Commands beside each other: each once in every round, in turn, so that whatever else the
# machine does hits all of them alike; a round before the first is not counted. Prints the
# processor time of whole processes (user and system), medians over the rounds with the
# smallest and largest, and the ratio of each command's speed to the first one's: the median
# of the ratios within rounds, which other work on the machine moves least.
#
#   tools/side_by_side.sh [-r ROUNDS] [-n REQUESTS] NAME=COMMAND NAME=COMMAND ..
#
# COMMAND is for `bash -c`. With -n the speed is in million requests per CPU second.
#
#   tools/side_by_side.sh -r 5 -n 20000000 \
#       'clock=cachesim zipf0.9.oracleGeneral.bin oracleGeneral clock 100000 --ignore-obj-size 1' \
#       'mmsim=mmsim bench-trace zipf0.9.u32 --frames 100000'
set -euo pipefail

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

rounds=5 requests=
while getopts r:n: option; do
    case $option in
    r) rounds=$OPTARG ;;
    n) requests=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[[ $# -ge 1 && $rounds =~ ^[1-9][0-9]*$ && $requests =~ ^[0-9]*$ ]] || usage
for each in "$@"; do
    [[ $each == *=* ]] || usage
done

log=$(mktemp)
trap 'rm -f "$log" "$log.out"' EXIT
TIMEFORMAT='%3U %3S %3R'
for ((round = 0; round <= rounds; round++)); do
    for each in "$@"; do
        name=${each%%=*}
        # The time of the command alone, and its own words only if it fails.
        if ! { spent=$({ time bash -c "${each#*=}" >"$log.out" 2>&1; } 2>&1); }; then
            printf '%s failed:\n' "$name" >&2
            cat "$log.out" >&2
            exit 1
        fi
        if ((round > 0)); then
            printf '%s\t%s\t%s\n' "$round" "$name" "${spent// /$'\t'}" >>"$log"
        fi
    done
done

awk -F '\t' -v requests="$requests" '
    function sorted(list, n,    i, j, x) {
        for (i = 2; i <= n; i++) {
            x = list[i]
            for (j = i - 1; j > 0 && list[j] > x; j--) list[j + 1] = list[j]
            list[j + 1] = x
        }
    }
    function middle(list, n) {
        sorted(list, n)
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    !($2 in seen) { seen[$2] = 1; names[++count] = $2 }
    { cpu[$2, $1] = $3 + $4; wall[$2, $1] = $5; if ($1 > rounds) rounds = $1 }
    END {
        printf "%-16s %10s %19s %10s %22s", "command", "CPU s", "smallest, largest", "wall s", "speed to the first"
        if (requests) printf " %14s", "M req / CPU s"
        print ""
        for (c = 1; c <= count; c++) {
            name = names[c]
            for (r = 1; r <= rounds; r++) {
                a[r] = cpu[name, r]
                w[r] = wall[name, r]
                q[r] = a[r] > 0 ? cpu[names[1], r] / a[r] : 0
            }
            m = middle(a, rounds); lo = a[1]; hi = a[rounds]
            mw = middle(w, rounds)
            mq = middle(q, rounds); qlo = q[1]; qhi = q[rounds]
            printf "%-16s %10.2f %19s %10.2f %22s", name, m, sprintf("%.2f, %.2f", lo, hi), mw, \
                sprintf("%.2f (%.2f to %.2f)", mq, qlo, qhi)
            if (requests) printf " %14.2f", (m > 0 ? requests / m / 1e6 : 0)
            print ""
        }
    }' "$log"
