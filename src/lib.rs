//! mmsim: a discrete-event simulator of Linux-style memory management.
