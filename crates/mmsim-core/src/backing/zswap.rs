//! Settings of zswap: compressed copies of pages before they go to a swap device.

use crate::backing::device::DeviceConfig;
use crate::base::time::SimDuration;

/// Settings of zswap (`/sys/module/zswap/parameters`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZswapConfig {
    /// `enabled`.
    pub enabled: bool,
    /// `max_pool_percent`: memory that the pool may have, in per cent of all, 0 to 100.
    pub max_pool_percent: u32,
    /// `accept_threshold_percent`: once the pool was full it takes pages again when it is down to
    /// this, in per cent of what it may have, 0 to 100.
    pub accept_threshold_percent: u32,
    /// `shrinker_enabled`: entries are written back when memory is short, not only at a limit.
    pub shrinker: bool,
    /// Time to compress a page.
    pub compress: SimDuration,
    /// Time to decompress one.
    pub decompress: SimDuration,
    /// Compressed length of a page whose task states no contents, 1 to 4096 bytes.
    pub bytes_per_page: u16,
}

/// Compressors by name, each with the zram whose figures it has.
pub const COMPRESSORS: [(&str, &str); 3] =
    [("lzo", "zram-lzo"), ("lz4", "zram"), ("zstd", "zram-zstd")];

impl ZswapConfig {
    /// zswap as Linux has it when it is enabled, with the compressor of distributions, lzo.
    pub fn linux() -> ZswapConfig {
        ZswapConfig::with_compressor(0)
    }

    /// The same with that one of [`COMPRESSORS`].
    pub fn with_compressor(nth: usize) -> ZswapConfig {
        let zram = DeviceConfig::preset(COMPRESSORS[nth].1, 1).expect("a preset");
        ZswapConfig {
            enabled: true,
            max_pool_percent: 20,
            accept_threshold_percent: 90,
            shrinker: false,
            compress: zram.write,
            decompress: zram.read,
            bytes_per_page: zram.stored_bytes_per_page as u16,
        }
    }

    /// Frames that the pool may have on a machine of `frames`, and those down to which it has to be to
    /// take pages again.
    pub fn limits(&self, frames: u64) -> [u64; 2] {
        let max = frames * u64::from(self.max_pool_percent) / 100;
        [max, max * u64::from(self.accept_threshold_percent) / 100]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's example.
    #[test]
    fn limits_of_some_machines() {
        let limits = |frames| ZswapConfig::linux().limits(frames);
        assert_eq!(limits(65_536), [13_107, 11_796]);
        assert_eq!(limits(253_952), [50_790, 45_711]);
        assert_eq!(limits(262_144), [52_428, 47_185]);
    }
}
