#!/usr/bin/env bash
# Boots a kernel in a virtual machine, has it work off a script, and keeps what it printed.
#
#   tools/recorder/record.sh [-o OUT] [-u PHASE] [-t SECONDS] [-f IMAGE] [-b] [-a ARGUMENT].. [-c CPUS] [-x FOLDER] [-d PHASE:MEMORY] KERNEL_DIR SCRIPT MIB
#
# KERNEL_DIR is an unpacked linux-image package (docs/recording.md). SCRIPT is a file of
# commands, or POINTS.json:ID[:REPETITION]. MIB is the memory of the machine. -u ends after the
# snapshot of that name, -t bounds the time of the host (900 s), -f is an image of a file system
# (files.sh makes one), which is /dev/pmem0, -b gives the machine a balloon that takes reports of
# free pages, -a is a further argument of the kernel, -c the number of CPUs, -x a folder whose files
# stand at the root, as programs for `exec`. -d holds the machine behind that snapshot, a `snapx`,
# writes its memory to a file, and prints where it is free.
# Needs cargo, qemu-system-x86_64, cpio, and kmod and xz for the modules.
set -euo pipefail
export LC_ALL=C

usage() {
    sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
out='' until='' seconds=900 image='' balloon='' arguments='' dump='' cpus=1 files=''
while getopts o:u:t:f:ba:c:x:d: option; do
    case $option in
    o) out=$OPTARG ;;
    u) until=$OPTARG ;;
    t) seconds=$OPTARG ;;
    f) image=$OPTARG ;;
    b) balloon=y ;;
    a) arguments+=" $OPTARG" ;;
    c) cpus=$OPTARG ;;
    x) files=$OPTARG ;;
    d) dump=${OPTARG#*:} arguments+=" hold=${OPTARG%%:*}" ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 3 ] || usage
kernel=$1 script=$2 mib=$3
for tool in cargo qemu-system-x86_64 cpio depmod xz; do
    command -v "$tool" >/dev/null || { echo "error: $tool is missing" >&2; exit 2; }
done

here=$(cd "$(dirname "$0")" && pwd)
: "${CARGO_TARGET_DIR:=$here/target}"
export CARGO_TARGET_DIR
target=x86_64-unknown-linux-gnu
build=(cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml")
"${build[@]}" --bin recorder
# One static program: the machine has no libraries.
RUSTFLAGS='-C target-feature=+crt-static' "${build[@]}" --bin init --target $target
recorder=$CARGO_TARGET_DIR/release/recorder

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/fs/mods" "$root/fs/dev" "$root/fs/proc" "$root/fs/sys"
"$recorder" script "$script" ${until:+"$until"} >"$root/fs/script"
cp "$CARGO_TARGET_DIR/$target/release/init" "$root/fs/init"

[ -z "$files" ] || cp -R "$files/." "$root/fs/"

# Packages of trixie and later have their files below /usr, and from 6.19 on the kernel as well.
base=$kernel
[ -d "$base/lib/modules" ] || base=$kernel/usr
version=$(ls "$base/lib/modules")
modules=$base/lib/modules/$version
[ -e "$modules/modules.dep" ] || depmod -b "$base" "$version"
image_of=("$kernel"/boot/vmlinuz-* "$modules/vmlinuz")
for vmlinuz in "${image_of[@]}"; do [ ! -e "$vmlinuz" ] || break; done
[ -e "$vmlinuz" ] || { echo "error: $kernel has no kernel image (vmlinuz)" >&2; exit 2; }
# DAMON_STAT runs from boot on and keeps other contexts away; kernels before 6.17 do not have it.
arguments+=" damon_stat.enabled=N"
# Groups only where the script has some: the kernel decides by other sizes with them.
memcg=cgroup_disable=memory
! grep -q '^mount cgroup2 ' "$root/fs/script" || memcg=psi=1
wanted=(zram)
# Requests to null_blk end after 50 us, by a timer; it keeps nothing. What the script tries to write
# to parameters of the module it gets when it is loaded.
! grep -q '^swapon /dev/nullb0' "$root/fs/script" || wanted+=(null_blk)
null_blk='nr_devices=1 gb=1 bs=4096 irqmode=2 completion_nsec=50000 hw_queue_depth=64'
null_blk+=$(sed -nE 's,^trywrite /sys/module/null_blk/parameters/(\w+) (\w+)$, \1=\2,p' \
    "$root/fs/script" | tr -d '\n')
memory=("$mib")
if [ -n "$image" ]; then
    wanted+=(nfit nd_pmem ext4)
    # ext4 asks for it by name before 6.17.
    ! grep -q '/crc32c_generic\.ko' "$modules/modules.dep" || wanted+=(crc32c_generic)
    bytes=$(stat -c %s "$image")
    memory=("${mib}M,slots=1,maxmem=64G" -M pc,nvdimm=on
        -object "memory-backend-file,id=files,share=on,mem-path=$image,size=$bytes"
        -device nvdimm,memdev=files)
fi
devices=()
if [ -n "$balloon" ]; then
    wanted+=(virtio_balloon)
    devices=(-device virtio-balloon-pci,free-page-reporting=on)
fi
# A module behind those it needs.
for module in "${wanted[@]}"; do
    dependencies=$(grep -E "/$module\.ko(\.xz)?:" "$modules/modules.dep") ||
        { echo "error: $modules has no module $module" >&2; exit 2; }
    # shellcheck disable=SC2086
    for file in $(printf '%s\n' ${dependencies/:/} | tac); do
        name=$(basename "$file" .xz)
        [ ! -e "$root/fs/mods/$name" ] || continue
        case $file in
        *.xz) xz -dc "$modules/$file" >"$root/fs/mods/$name" ;;
        *) cp "$modules/$file" "$root/fs/mods/$name" ;;
        esac
        args=''
        [ "$name" != null_blk.ko ] || args=" $null_blk"
        echo "$name$args" >>"$root/fs/mods/list"
    done
done
(cd "$root/fs" && find . | sort | cpio --quiet -o -H newc | gzip -9) >"$root/initrd"

# -icount: time is the number of instructions. -cpu decides how the kernel clears and copies
# pages, and so what a fault costs: another model records other counts. ACCEL='-accel kvm' is faster
# and records other counts each time, which is enough to look at a script.
: "${out:=$root/out}"
machine=(timeout "$seconds" qemu-system-x86_64 ${ACCEL:--accel tcg -icount shift=0,sleep=off} -smp "$cpus" -cpu qemu64
    -m "${memory[@]}" "${devices[@]}" -kernel "$vmlinuz" -initrd "$root/initrd"
    -append "console=ttyS0 rootfstype=ramfs quiet panic=-1 $memcg transparent_hugepage=never pti=on$arguments"
    -nic none -display none -serial "file:$out" -no-reboot)
if [ -n "$dump" ]; then
    : >"$out"
    {
        until grep -qE '^@(held|error|done)' "$out"; do sleep 0.2; done
        printf 'stop\npmemsave 0 %d "%s"\nquit\n' $((mib << 20)) "$dump"
    } | "${machine[@]}" -monitor stdio >/dev/null
    exec "$recorder" boot "$out" "$dump"
fi
"${machine[@]}" -monitor none || {
    echo "error: the machine did not end, or not within $seconds s" >&2
    exit 1
}
"$recorder" phases "$out"
