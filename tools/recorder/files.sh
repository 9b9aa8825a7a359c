#!/usr/bin/env bash
# Makes the image of the files that recorded points read: /z of 131,072 pages and /s of 65,536,
# on ext4. Needs mkfs.ext4; no privileges.
#
#   tools/recorder/files.sh IMAGE
set -euo pipefail

[ $# -eq 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# No page is a hole: reading one would not ask the device.
fill() { head -c $(($1 << 12)) /dev/zero | tr '\0' '\245' >"$folder/$2"; }
fill 131072 z
fill 65536 s
rm -f "$1"
truncate -s 1G "$1"
mkfs.ext4 -q -O ^has_journal -d "$folder" "$1"
