//! `[machine.vm]`: the rows of [`VmSysctl`], read, written by steps, and judged by kernel.

use mmsim_core::base::settings::{Row, Settings as _, Unfit};
use mmsim_core::config::{Kernel, SysctlWrite, VmSysctl};
use mmsim_core::workload::Op;

use super::settings::{default_of, keys_of, number};
use crate::scenario::keys::{KeySpec, TableSpec, one_of, toml_of};
use crate::scenario::raw::{At, Node, Table as Doc, Value};
use crate::scenario::read::Reader;
use crate::scenario::units::PAGE_SIZE;
use mmsim_base::error::Error;

/// `[machine.vm]`.
pub static VM: TableSpec = TableSpec {
    title: "[machine.vm]",
    doc: "The names of /proc/sys/vm, and of two files of /sys. As in the kernel, the name carries the unit.",
    groups: &[&KEYS],
};

static KEYS: [KeySpec; VmSysctl::ROWS.len()] = keys_of(VmSysctl::ROWS, default_of::<VmSysctl>);

/// Reads a table of sysctls of a kernel.
pub(super) fn sysctls_of(r: &Reader<'_>, kernel: Kernel) -> Result<VmSysctl, Error> {
    for row in VmSysctl::ROWS.iter().filter(|row| r.has(row.name)) {
        check_kernel_has(r, row, kernel)?;
    }
    let mut vm = VmSysctl::of(kernel);
    for row in VmSysctl::ROWS {
        if !row.or.is_empty() {
            r.at_most_one(row.name, row.or)?;
        }
        let Some(number) = number(r, row)? else { continue };
        if let Some(unfit) = row.refuses(kernel, number) {
            return Err(refusal(r, row, kernel, number, unfit));
        }
        vm.fill(row, number);
    }
    let around: u64 = r.get("fault_around_bytes")?;
    if !around.is_power_of_two() {
        let found = format!("{around} is not a power of two");
        return Err(r.error("fault_around_bytes", found, "4096 or 65536"));
    }
    let ahead: u64 = r.get("read_ahead_kb")?;
    if !(ahead * 1024).is_multiple_of(PAGE_SIZE) {
        let found = format!("{ahead} KiB are not whole pages");
        return Err(r.error("read_ahead_kb", found, "a multiple of 4"));
    }
    Ok(vm)
}

/// The write of one key to a machine that runs, whose value is in `vm`.
pub(super) fn write_of(key: &str, vm: &VmSysctl) -> Op {
    if key == "nr_hugepages" {
        return Op::HugePool { pages: vm.nr_hugepages };
    }
    let number = VmSysctl::row(key).and_then(|row| vm.number(row)).unwrap_or_default();
    let write = SysctlWrite::of(key, number);
    Op::Sysctl(write.unwrap_or_else(|| unreachable!("`{key}` is no row of [machine.vm]")))
}

/// Fills in defaults of `[machine.vm]` that a kernel has in place of others.
pub(in crate::scenario) fn fill_of_kernel(doc: &mut Doc, kernel: Kernel) {
    let machine = doc.get_mut("machine").map(|n| &mut n.value);
    let Some(Value::Table(machine)) = machine else { return };
    let Some(Value::Table(vm)) = machine.get_mut("vm").map(|n| &mut n.value) else { return };
    for row in VmSysctl::ROWS.iter().filter(|row| row.is_of(kernel)) {
        let first = default_of::<VmSysctl>(row, Kernel::ALL[0]);
        let changes = vm.get(row.name).is_none()
            && Kernel::ALL
                .into_iter()
                .any(|k| row.is_of(k) && default_of::<VmSysctl>(row, k) != first);
        let toml = || toml_of(row, default_of::<VmSysctl>(row, kernel));
        if let Some(node) = changes.then(|| Node::of_default(&toml())).flatten() {
            vm.push(row.name, At::DEFAULT, node);
        }
    }
}

/// Why a sysctl cannot be set on a kernel, if it cannot.
pub fn not_of_kernel(row: &Row, kernel: Kernel) -> Option<String> {
    let life = row.life().filter(|_| !row.is_of(kernel))?;
    Some(format!("kernel {} has no such sysctl (Linux has it {life})", kernel.name()))
}

/// Nothing is set that the kernel does not have.
fn check_kernel_has(r: &Reader<'_>, row: &Row, kernel: Kernel) -> Result<(), Error> {
    let Some(found) = not_of_kernel(row, kernel) else { return Ok(()) };
    let twin = |other: &&Row| other.field == row.field && other.is_of(kernel);
    Err(match VmSysctl::ROWS.iter().find(twin) {
        Some(other) => r.error(row.name, found, format!("`{}` in its place", other.name)),
        None => {
            let first = Kernel::first_with(row.came_with()).unwrap_or(Kernel::LAST).name();
            r.error(row.name, found, format!("nothing here, or use kernel {first} or later"))
        }
    })
}

/// The error of a number that the kernel does not take.
fn refusal(r: &Reader<'_>, row: &Row, kernel: Kernel, number: u64, unfit: Unfit) -> Error {
    let name = kernel.name();
    match unfit {
        Unfit::Below(low) => {
            let found = format!("{number} is below {low}, the least that kernel {name} takes");
            r.error(row.name, found, format!("{low} or more"))
        }
        Unfit::Above(high, since) => {
            let found = format!("{number} is above {high}, the most that kernel {name} takes");
            let first = Kernel::first_with(since).unwrap_or(Kernel::LAST).name();
            r.error(row.name, found, format!("{high} or less, or use kernel {first} or later"))
        }
        Unfit::Fraction(least) => {
            let found = format!("{number} is too small a fraction");
            r.error(row.name, found, format!("0 or at least {least}"))
        }
        Unfit::Word(word) => {
            let found = format!(
                "kernel {name} does not know \"{}\" (Linux does since {})",
                word.name, word.since
            );
            let known: Vec<&str> = row.words_of(kernel).collect();
            r.error(row.name, found, one_of(&known))
        }
    }
}
