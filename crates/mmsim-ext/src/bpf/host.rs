//! The state behind the functions that a module imports, and the ways out of a call.

use std::fmt;

use mmsim::base::rng::Rng;
use wasmi::errors::HostError;
use wasmi::{AsContextMut, Caller, Error, Memory, StoreLimits};

use crate::bpf::access::Halt;
use crate::bpf::maps::{Map, Maps};
use crate::bpf::mirror::{Mirror, PAGE};
use crate::bpf::print::Prints;
use crate::lists::Lists;

/// Everything that belongs to one policy in one run.
pub(crate) struct Host {
    pub limits: StoreLimits,
    pub memory: Option<Memory>,
    pub lists: Lists,
    pub mirror: Mirror,
    pub maps: Maps,
    pub random: Rng,
    pub prints: Prints,
    pub counts: Counts,
    /// Time of the event, in nanoseconds.
    pub now: u64,
    /// Process and thread, as `bpf_get_current_pid_tgid` packs them.
    pub pid_tgid: u64,
    /// Its name, padded with zeros.
    pub comm: [u8; 16],
    /// The number of the group.
    pub group: u64,
    /// Entries that the module put into ring buffers, by the address of the buffer; programs of the
    /// scenario get them when the call is over.
    pub entries: Vec<(u64, Vec<u8>)>,
    /// Keeps entries at all: a program waits for them.
    pub keeps_entries: bool,
    /// The buffer and the size of the entry that was reserved last.
    pub reserved: Option<(u64, u64)>,
    /// A key on its way, so that none is allocated for a call.
    pub key: Vec<u8>,
}

/// Counted for reports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub callbacks: u64,
    pub too_long: u64,
    pub short: u64,
    pub ring_entries: u64,
}

/// A request that the host answers outside of the interpreter, since a callback of the module runs
/// for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// List, callback, options (0: none), context.
    Iterate(u64, u64, u64, u64),
    /// List, callback, options, context.
    Sample(u64, u64, u64, u64),
    /// Turns, callback, context.
    Loop(u32, u64, u64),
    /// Map, callback, context.
    Elements(u64, u64, u64),
}

/// The way out of the interpreter.
#[derive(Clone, Debug)]
pub(crate) enum Out {
    Ask(Ask),
    Halt(Halt),
}

impl fmt::Display for Out {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl HostError for Out {}

impl From<Halt> for Error {
    fn from(halt: Halt) -> Error {
        Error::host(Out::Halt(halt))
    }
}

impl From<Ask> for Error {
    fn from(ask: Ask) -> Error {
        Error::host(Out::Ask(ask))
    }
}

/// Memory and state, both to be changed.
pub(crate) fn split<'a>(c: &'a mut Caller<'_, Host>) -> Result<(&'a mut [u8], &'a mut Host), Halt> {
    let memory = c.data().memory.ok_or_else(|| {
        Halt::Broken("calls a host function before its memory exists".to_string())
    })?;
    Ok(memory.data_and_store_mut(c))
}

/// Another `bytes` of memory, all 0, at the end of what there is.
pub(crate) fn more_memory(
    mut c: impl AsContextMut<Data = Host>,
    memory: Memory,
    bytes: u64,
) -> Result<u64, Halt> {
    let pages = memory.grow(&mut c, bytes.div_ceil(PAGE));
    let pages = pages.map_err(|_| {
        let most = super::MOST_MEMORY >> 20;
        Halt::Broken(format!("needs more memory than {most} MiB for folios, files and maps"))
    })?;
    Ok(pages * PAGE)
}

/// The place of a value, which is made if need be.
pub(crate) fn value_of(
    mut c: impl AsContextMut<Data = Host>,
    map: u64,
    element: u32,
) -> Result<u64, Halt> {
    let mut ctx = c.as_context_mut();
    let memory = ctx.data().memory.expect("a call runs, so the module has its memory");
    let of = map_at(ctx.data_mut(), map)?;
    if let Some(at) = of.address(element) {
        return Ok(at);
    }
    let bytes = of.chunk_bytes();
    let at = more_memory(&mut ctx, memory, bytes)?;
    let of = map_at(ctx.data_mut(), map)?;
    of.put_chunk(element, at);
    Ok(of.address(element).expect("its chunk was just made"))
}

/// A map by the address of its variable.
pub(crate) fn map_at(host: &mut Host, at: u64) -> Result<&mut Map, Halt> {
    let none =
        || Halt::Broken(format!("names {at:#x} as a map, and no map of a known type is there"));
    host.maps.at(at).ok_or_else(none)
}
