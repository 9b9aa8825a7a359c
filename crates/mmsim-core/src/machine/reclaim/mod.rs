//! Where frames come from when there are none: the slow path of allocation, direct reclaim, kswapd,
//! limits of memory cgroups, the OOM killer.

pub(in crate::machine) mod alloc;
pub(in crate::machine) mod balance;
pub(in crate::machine) mod kswapd;
pub(in crate::machine) mod kswapd_zones;
pub(in crate::machine) mod lru_gen;
pub(in crate::machine) mod memcg;
pub(in crate::machine) mod oom;
mod slow_path;
