//! Sysctls that a step writes while the machine runs: the keys of `[machine.vm]`, and two commands.

use mmsim_core::config::{MachineConfig, VmSysctl, ZoneConfig};
use mmsim_core::workload::Op;

use super::super::machine::BASES;
use super::key;
use super::vm::{VM, sysctls_of, write_of};
use crate::scenario::keys::{Fallback, KeySpec, Kind, TableSpec};
use crate::scenario::raw::{Node, Table, Value};
use crate::scenario::read::{Reader, fill};
use mmsim_base::error::Error;

/// Sysctls that are no state.
const COMMANDS: [KeySpec; 2] = [
    key(
        "drop_caches",
        Kind::Count(1, 1),
        Fallback::Auto("not written"),
        "drops clean page cache that is not mapped; 2 and 3 are left out, since there is no slab to drop",
    ),
    key(
        "compact_memory",
        Kind::Count(1, 1),
        Fallback::Auto("not written"),
        "compacts all zones in full; the run has to have a preset of `compaction`",
    ),
];

const NR_VM: usize = {
    let (mut n, mut i) = (0, 0);
    while i < VM.groups.len() {
        n += VM.groups[i].len();
        i += 1;
    }
    n
};

/// The keys of `[machine.vm]` without their defaults: what is not written stays as it is.
static KEYS: [KeySpec; NR_VM + COMMANDS.len()] = {
    let mut keys = [COMMANDS[0]; NR_VM + COMMANDS.len()];
    let (mut n, mut i) = (0, 0);
    while i < VM.groups.len() {
        let mut k = 0;
        while k < VM.groups[i].len() {
            keys[n] = VM.groups[i][k];
            keys[n].fallback = Fallback::Auto("not written");
            (n, k) = (n + 1, k + 1);
        }
        i += 1;
    }
    keys[n] = COMMANDS[0];
    keys[n + 1] = COMMANDS[1];
    keys
};

/// `vm` of `do = "sysctl"`.
pub static SYSCTLS: TableSpec = TableSpec {
    title: "vm of do = \"sysctl\"",
    doc: "The keys of [machine.vm], which say what each is and which kernels have it, and two \
          commands. They are written in the order of the file, each by a system call. A write of \
          `nr_hugepages` lasts until the pool has that many, or an allocation fails.",
    groups: &[&KEYS],
};

/// The key of the whole table in a step.
pub(super) const WRITTEN: KeySpec = key(
    "vm",
    Kind::Table(&SYSCTLS),
    Fallback::Required,
    "the sysctls and their values: `vm.swappiness = 10, vm.dirty_ratio = 5`",
);

/// The writes of a step.
pub(super) fn writes(r: &Reader<'_>, machine: &MachineConfig) -> Result<Vec<Op>, Error> {
    let (path, node) = (r.name_of("vm"), r.need("vm")?);
    let given = Reader::open(r.sources, node, &SYSCTLS, &path)?;
    if given.table.entries.is_empty() {
        return Err(r.error("vm", "no sysctl at all", "at least one, such as `swappiness = 10`"));
    }
    // The rest of a value is what `[machine.vm]` would say of it.
    let mut vm = Table::default();
    for e in &given.table.entries {
        if COMMANDS.iter().all(|c| c.name != e.key) {
            vm.push(&e.key, e.key_at, e.node.clone());
        }
    }
    fill(&mut vm, &VM);
    let vm = Node { value: Value::Table(vm), at: node.at };
    let vm = sysctls_of(&Reader::open(r.sources, &vm, &VM, &path)?, machine.kernel)?;
    for e in &given.table.entries {
        acts(&given, &e.key, machine)?;
    }
    given.table.entries.iter().map(|e| write(&given, &e.key, &vm)).collect()
}

/// Refuses a sysctl that would do nothing, since every zone has what it is the base of.
fn acts(given: &Reader<'_>, key: &str, machine: &MachineConfig) -> Result<(), Error> {
    let of_vm = |path: &str| path.strip_prefix("machine.vm.") == Some(key);
    let Some((_, instead, what)) = BASES.iter().find(|b| of_vm(b.0)) else { return Ok(()) };
    let own = |z: &ZoneConfig| match *instead {
        "min" => z.watermarks.is_some(),
        _ => z.pcp.is_some(),
    };
    if !machine.nodes.iter().flat_map(|n| &n.zones).all(own) {
        return Ok(());
    }
    let found = format!("each zone has {what} of its own, so this does nothing");
    Err(given.error(key, found, format!("no `{instead}` in [[machine.zone]], or leave it out")))
}

/// The write of one key, whose value is read in `vm`.
fn write(given: &Reader<'_>, key: &str, vm: &VmSysctl) -> Result<Op, Error> {
    let [drop_caches, compact_memory] = COMMANDS.map(|c| c.name);
    if key == drop_caches || key == compact_memory {
        given.get::<u32>(key)?;
        return Ok(if key == drop_caches { Op::DropCaches } else { Op::CompactMemory });
    }
    Ok(write_of(key, vm))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every key of `[machine.vm]` has a write: a key that is added there needs one here.
    #[test]
    fn every_sysctl_can_be_written() {
        let given = Table::default();
        let sources = crate::scenario::raw::Sources::of(&VM);
        let node = Node { value: Value::Table(given), at: crate::scenario::raw::At::DEFAULT };
        let r = Reader::open(&sources, &node, &SYSCTLS, "vm").expect("a table");
        for k in VM.keys() {
            // One without panics.
            write(&r, k.name, &VmSysctl::linux()).expect("a write");
        }
    }
}
