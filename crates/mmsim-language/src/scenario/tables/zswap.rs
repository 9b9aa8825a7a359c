//! `[machine.zswap]`.

use mmsim_core::config::{Kernel, SwapConfig, ZswapConfig};

use super::key;
use crate::scenario::fields::within;
use crate::scenario::keys::{Fallback, Kind, TableSpec};
use crate::scenario::machine::kernel_of;
use crate::scenario::read::Reader;
use crate::scenario::rows::{Words, rows, words};
use mmsim_base::error::Error;

use Fallback::{Auto, Is};
use Kind::{Count, Flag, Time};

/// Compressors by their names.
const NAMES: Words<usize> = words! { "lzo" => 0, "lz4" => 1, "zstd" => 2 };

rows! {
    /// `[machine.zswap]`.
    ZSWAP,
    "[machine.zswap]",
    "zswap before the swap devices, from kernel 6.12 on. Without it, it was never enabled.";
    fn zswap_of_keys(r, usual: ZswapConfig) -> ZswapConfig {
        enabled: ("enabled", Flag, Is("true"), "`false`: it stores nothing");
        max_pool_percent: ("max-pool-percent", Count(0, 100), Is("20"),
            "memory that its pool may have");
        accept_threshold_percent: ("accept-threshold-percent", Count(0, 100), Is("90"),
            "a pool that was full takes pages again below this part of what it may have");
        shrinker: ("shrinker", Flag, Is("false"),
            "entries are written back when memory is short, and not only at a limit");
        compress: {r.get::<Option<_>>("compress")?.unwrap_or(usual.compress);
            ("compressor", one of NAMES, Is("\"lzo\""),
            "its figures are those of the `zram` with that compressor"),
            ("compress", Time, Auto("by `compressor`"), "time to compress a page")};
        decompress: {r.get::<Option<_>>("decompress")?.unwrap_or(usual.decompress);
            ("decompress", Time, Auto("by `compressor`"), "time to decompress one")};
        bytes_per_page: {r.get::<Option<_>>("bytes-per-page")?.unwrap_or(usual.bytes_per_page);
            ("bytes-per-page", Count(1, 4096), Auto("by `compressor`"),
            "to which a page compresses whose task has no `contents`")};
    }
}

/// Reads `machine.zswap`, which stands before a swap device.
pub(super) fn zswap(r: &Reader<'_>, swap: &[SwapConfig]) -> Result<Option<ZswapConfig>, Error> {
    within(r, "zswap", &ZSWAP, |z| {
        let kernel = kernel_of(r)?;
        if kernel < Kernel::V6_12 {
            let found =
                format!("zswap is modelled from kernel 6.12 on, and not of {}", kernel.name());
            return Err(r.error("zswap", found, "kernel = \"6.12\", or leave it out"));
        }
        if swap.is_empty() {
            let found = "there is no swap device behind it";
            return Err(r.error("zswap", found, "`machine.swap` too"));
        }
        zswap_of_keys(z, ZswapConfig::with_compressor(z.word("compressor", &NAMES)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmsim_core::backing::zswap::COMPRESSORS;

    #[test]
    fn compressors_are_those_of_the_model() {
        assert!(COMPRESSORS.iter().map(|c| c.0).eq(NAMES.names.iter().copied()));
    }
}
