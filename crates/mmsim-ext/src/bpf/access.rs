//! Access to the memory of a module, and the end of a call that goes wrong.

/// End of a call that has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// It needs what mmsim does not have, or does what would hang a kernel. The run ends.
    Uncovered(String),
    /// It went wrong as no program of BPF could: the policy is detached. What a call did.
    Broken(String),
}

fn outside(at: u64, n: u64) -> Halt {
    Halt::Broken(format!("names {n} bytes at {at:#x}, which lie outside its memory"))
}

/// Bytes of the memory.
pub(crate) fn bytes(data: &[u8], at: u64, n: u64) -> Result<&[u8], Halt> {
    let found = data.get(at as usize..(at as usize).saturating_add(n as usize));
    found.ok_or_else(|| outside(at, n))
}

/// The 64-bit word at `at`.
pub(crate) fn word(data: &[u8], at: u64) -> Result<u64, Halt> {
    let mut word = [0; 8];
    word.copy_from_slice(bytes(data, at, 8)?);
    Ok(u64::from_le_bytes(word))
}

/// Writes into the memory.
pub(crate) fn put(data: &mut [u8], at: u64, value: &[u8]) -> Result<(), Halt> {
    let n = value.len();
    let to = data.get_mut(at as usize..(at as usize).saturating_add(n));
    to.ok_or_else(|| outside(at, n as u64))?.copy_from_slice(value);
    Ok(())
}
