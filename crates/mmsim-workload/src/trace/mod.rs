//! Page traces: the native format, import from others.
