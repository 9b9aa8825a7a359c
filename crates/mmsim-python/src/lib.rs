//! mmsim as a Python package: the module `mmsim._mmsim`, which the package `mmsim` re-exports.
//!
//! Thin over the facade: names, values and errors are translated here, and nothing is computed.
//! `python/mmsim` has what is plain Python, `python/mmsim/_mmsim.pyi` the types.

mod arrow;
mod cache_ext;
mod curve;
mod daemon;
mod errors;
mod events;
mod machine;
mod observe;
mod policy;
mod report;
mod scenario;
mod sweep;
mod trace;
mod tune;
mod values;

use pyo3::prelude::*;

#[pymodule]
fn _mmsim(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<arrow::Table>()?;
    m.add_class::<scenario::Scenario>()?;
    m.add_class::<report::Report>()?;
    m.add_class::<report::Comparison>()?;
    m.add_class::<machine::Machine>()?;
    m.add_class::<daemon::System>()?;
    m.add_class::<cache_ext::CacheExt>()?;
    m.add_class::<cache_ext::Folio>()?;
    m.add_class::<cache_ext::FolioList>()?;
    m.add_class::<sweep::SweepPlan>()?;
    m.add_class::<sweep::Store>()?;
    m.add_class::<events::Events>()?;
    m.add_function(wrap_pyfunction!(events::read_events, m)?)?;
    m.add_function(wrap_pyfunction!(trace::write_trace, m)?)?;
    m.add_function(wrap_pyfunction!(curve::curve, m)?)?;
    m.add_function(wrap_pyfunction!(tune::tune, m)?)?;
    Ok(())
}
