//! Arguments for the linker where Python is not there to link with.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
