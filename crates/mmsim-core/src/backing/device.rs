//! Block devices: k servers with a FIFO queue, a latency for each request and a shared
//! bandwidth (core.md 4.15.5). A synchronous device (zram, ramdisk) does its work on the
//! CPU of the caller.

use crate::base::time::SimDuration;

/// What a device is.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceConfig {
    /// Name of the preset, or of the user's own.
    pub name: String,
    /// Read latency of a request.
    pub read: SimDuration,
    /// Write latency of a request.
    pub write: SimDuration,
    /// Requests served at the same time.
    pub servers: u32,
    /// Bytes per second over all servers; `None`: not limited.
    pub bandwidth: Option<u64>,
    /// The caller's CPU does the work, and the request is done when the call returns.
    pub synchronous: bool,
    /// Rotational: one shared swap cluster, readahead by offset; requests that continue
    /// the previous one pay no latency.
    pub rotational: bool,
    /// Bytes of machine memory that a stored page takes, for zram; 0 elsewhere.
    pub stored_bytes_per_page: u32,
}

/// `(name, read ns, write ns, servers (0 = one per CPU), bandwidth MB/s (0 = none),
/// synchronous, rotational, stored bytes, basis)`
type Row = (&'static str, u64, u64, u32, u64, bool, bool, u32, &'static str);

/// Presets, with the basis of their figures (core.md 4.15).
pub const DEVICE_PRESETS: &[Row] = &[
    ("ramdisk", 600, 600, 0, 0, true, false, 4096, "two page copies; choice"),
    (
        "zram",
        800,
        5_300,
        0,
        0,
        true,
        false,
        1950,
        "lz4: 4970 / 780 MB/s, ratio 2.10 (LZ4 1.9.0 benchmark table)",
    ),
    ("zram-lzo", 4_800, 6_100, 0, 0, true, false, 1941, "860 / 670 MB/s, ratio 2.11 (same table)"),
    (
        "zram-zstd",
        3_000,
        8_000,
        0,
        0,
        true,
        false,
        1422,
        "zstd -1: 1380 / 515 MB/s, ratio 2.88 (same table)",
    ),
    (
        "nvme",
        90_000,
        25_000,
        32,
        2_000,
        false,
        false,
        0,
        "80 to 200 us quoted for a 4 KiB random read; write is a choice",
    ),
    (
        "ssd",
        150_000,
        60_000,
        8,
        500,
        false,
        false,
        0,
        "150 us in the 2012 latency table; rest choice",
    ),
    ("hdd", 8_170_000, 8_170_000, 1, 150, false, true, 0, "4 ms seek and half a turn at 7200 rpm"),
];

impl DeviceConfig {
    /// A preset by name, for a machine of `cpus`.
    pub fn preset(name: &str, cpus: u32) -> Option<DeviceConfig> {
        let &(name, read, write, servers, mbps, synchronous, rotational, stored, _) =
            DEVICE_PRESETS.iter().find(|r| r.0 == name)?;
        Some(DeviceConfig {
            name: name.to_string(),
            read: SimDuration::from_nanos(read),
            write: SimDuration::from_nanos(write),
            servers: if servers == 0 { cpus } else { servers },
            bandwidth: (mbps > 0).then_some(mbps * 1_000_000),
            synchronous,
            rotational,
            stored_bytes_per_page: stored,
        })
    }
}
