//! The model against what is known otherwise: closed formulas, published figures, recorded kernels.

mod anchors;
mod async_reclaim;
mod booted;
mod calibration;
mod facts;
mod published_pinned;
