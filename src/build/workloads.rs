use crate::error::Error;
use crate::scenario::workload::TaskSpec;
use mmsim_core::workload::Workload;
pub(crate) fn processes(_t: &TaskSpec) -> Result<u32, Error> {
    Ok(1)
}
pub(crate) fn threads(_t: &TaskSpec, _s: u64, _i: usize) -> Result<Vec<Box<dyn Workload>>, Error> {
    Err(Error::plain("stub"))
}
