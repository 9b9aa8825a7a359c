//! Command lists of the reference measurements.
