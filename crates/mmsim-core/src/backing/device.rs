//! Block devices: k servers with a FIFO queue, a latency for each request and a shared
//! bandwidth. A synchronous device (zram, ramdisk) does its work on the
//! CPU of the caller. Writes are throttled (`throttle`).

use super::throttle::Throttle;
pub use super::throttle::Writer;
use crate::base::id::PAGE_SIZE;
use crate::base::rules::KernelRules;
use crate::base::time::{SimDuration, SimTime};

/// Parameters of a device.
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
    /// Bytes per second read over all servers; `None`: not limited.
    pub bandwidth: Option<u64>,
    /// Bytes per second written over all servers; `None`: not limited.
    pub write_bandwidth: Option<u64>,
    /// The caller's CPU does the work, and the request is done when the call returns.
    pub synchronous: bool,
    /// Rotational: one shared swap cluster, readahead by offset; requests that continue
    /// the previous one pay no latency.
    pub rotational: bool,
    /// Bytes of machine memory that a stored page takes, for zram; 0 elsewhere.
    pub stored_bytes_per_page: u32,
    /// Pages of memory that a zram may take at most (`mem_limit`), where the contents of pages are
    /// known; 0: not limited.
    pub mem_limit: u32,
    /// Requests that an asynchronous device takes at once, from 1: a thread that writes while that
    /// many are under way sleeps.
    pub queue_depth: u32,
    /// Target latency of a read: reads that take longer mean fewer writes at once
    /// (`queue/wbt_lat_usec`), of 16 and up to three quarters of `queue_depth`. Zero: writes may be
    /// all of them.
    pub wbt_lat: SimDuration,
    /// It caches writes, so that throttled writers wait until none is under way
    /// (`queue/write_cache`).
    pub write_cache: bool,
    /// KiB of its largest request (`queue/max_sectors_kb`), which bounds what one call of
    /// `MADV_WILLNEED` reads, and the pages of swap that are written together; 0: as the rule
    /// `io-pages` says, and 128 pages.
    pub max_sectors_kb: u32,
}

/// Target latencies of reads, for devices that rotate not and those that do
/// (`wbt_default_latency_nsec`).
pub const WBT_LAT: [SimDuration; 2] = [SimDuration::from_millis(2), SimDuration::from_millis(75)];
/// Requests that a SATA device takes at once (`ATA_MAX_QUEUE`), and any that says nothing else.
pub(crate) const QUEUE_DEPTH: u32 = 32;

/// `(name, read ns, write ns, servers (0 = one per CPU), bandwidth MB/s (0 = none),
/// synchronous, rotational, stored bytes, queue depth (0: synchronous), basis)`
pub type Row = (&'static str, u64, u64, u32, u64, bool, bool, u32, u32, &'static str);

/// Presets, with the basis of their figures.
pub const DEVICE_PRESETS: &[Row] = &[
    (
        "ramdisk",
        600,
        600,
        0,
        0,
        true,
        false,
        0,
        0,
        "two page copies; choice; its memory is set aside, not of the machine's zones",
    ),
    (
        "zram",
        800,
        5_300,
        0,
        0,
        true,
        false,
        1950,
        0,
        "lz4: 4970 / 780 MB/s, ratio 2.10 (LZ4 1.9.0 benchmark table)",
    ),
    (
        "zram-lzo",
        4_800,
        6_100,
        0,
        0,
        true,
        false,
        1941,
        0,
        "860 / 670 MB/s, ratio 2.11 (same table)",
    ),
    (
        "zram-zstd",
        3_000,
        8_000,
        0,
        0,
        true,
        false,
        1422,
        0,
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
        1023,
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
        QUEUE_DEPTH,
        "150 us in the 2012 latency table; rest choice",
    ),
    (
        "hdd",
        8_170_000,
        8_170_000,
        1,
        150,
        false,
        true,
        0,
        QUEUE_DEPTH,
        "4 ms seek and half a turn at 7200 rpm",
    ),
];

impl DeviceConfig {
    /// A preset by name, for a machine of `cpus`.
    pub fn preset(name: &str, cpus: u32) -> Option<DeviceConfig> {
        let &(name, read, write, servers, mbps, synchronous, rotational, stored, queue_depth, _) =
            DEVICE_PRESETS.iter().find(|r| r.0 == name)?;
        let bandwidth = (mbps > 0).then_some(mbps * 1_000_000);
        Some(DeviceConfig {
            name: name.to_string(),
            read: SimDuration::from_nanos(read),
            write: SimDuration::from_nanos(write),
            servers: if servers == 0 { cpus } else { servers },
            bandwidth,
            write_bandwidth: bandwidth,
            synchronous,
            rotational,
            stored_bytes_per_page: stored,
            mem_limit: 0,
            queue_depth,
            wbt_lat: WBT_LAT[usize::from(rotational)],
            write_cache: !synchronous,
            max_sectors_kb: 0,
        })
    }
}

/// Direction of a request: read or write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Io {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// A device at work: when its servers and its bandwidth are free again.
#[derive(Clone, Debug)]
pub struct Device {
    config: DeviceConfig,
    /// Instants at which the servers become free.
    servers: Vec<SimTime>,
    /// Instant until which the shared bandwidth is taken.
    bus: SimTime,
    /// Position behind the last request, for rotational devices.
    next: u64,
    /// Time during which some server worked, summed over servers.
    pub busy: SimDuration,
    /// Time of all reads: latency and transfer, without waiting for a server. Of a synchronous
    /// device it is time of the callers' CPUs.
    pub reading: SimDuration,
    throttle: Option<Throttle>,
}

impl Device {
    /// An idle device under these rules.
    pub fn new(config: DeviceConfig, rules: &KernelRules) -> Self {
        let servers = vec![SimTime::ZERO; config.servers.max(1) as usize];
        let throttle = (!config.synchronous).then(|| {
            let target = Some(config.wbt_lat).filter(|&t| t > SimDuration::ZERO);
            let depth = config.queue_depth.max(1);
            Throttle::new(depth, target, config.write_cache, rules.wbt_one_depth)
        });
        let (bus, busy, reading) = (SimTime::ZERO, SimDuration::ZERO, SimDuration::ZERO);
        Device { config, servers, bus, next: u64::MAX, busy, reading, throttle }
    }
    /// Its parameters.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }
    /// Time that the caller's CPU spends on `n` pages of a synchronous device.
    pub(crate) fn sync_cost(&self, io: Io, n: u32) -> SimDuration {
        debug_assert!(self.config.synchronous);
        self.latency(io) * u64::from(n)
    }
    /// A read of `n` pages from a synchronous device: the time that the caller's CPU spends.
    pub(crate) fn read_sync(&mut self, n: u32) -> SimDuration {
        let cost = self.sync_cost(Io::Read, n);
        self.reading += cost;
        cost
    }
    fn latency(&self, io: Io) -> SimDuration {
        match io {
            Io::Read => self.config.read,
            Io::Write => self.config.write,
        }
    }
    /// The instant from which a writer that comes now may write; until then it sleeps. `None`: it
    /// has to sleep, and the `held` requests in its plug go out before.
    pub(crate) fn lets_write(&mut self, now: SimTime, by: Writer, held: u32) -> Option<SimTime> {
        match &mut self.throttle {
            Some(t) => t.lets_in(now, by, held),
            None => Some(now),
        }
    }
    /// Submits a write that was let in, as `submit`.
    pub fn write(&mut self, now: SimTime, by: Writer, at: u64, n: u32) -> SimTime {
        let done = self.serve(now, Io::Write, at, n);
        if let Some(t) = &mut self.throttle {
            t.note(now, done, Some(by));
        }
        done
    }
    /// Submits a request for `n` pages at position `at` (in pages); returns when it is done.
    pub fn submit(&mut self, now: SimTime, io: Io, at: u64, n: u32) -> SimTime {
        let done = self.serve(now, io, at, n);
        if let (Some(t), Io::Read) = (&mut self.throttle, io) {
            t.note(now, done, None);
        }
        done
    }
    /// Service time is latency + (n - 1) pages at the device's bandwidth; the request waits
    /// for the server that is free first, and all servers share the bandwidth.
    fn serve(&mut self, now: SimTime, io: Io, at: u64, n: u32) -> SimTime {
        debug_assert!(!self.config.synchronous);
        let bandwidth = match io {
            Io::Read => self.config.bandwidth,
            Io::Write => self.config.write_bandwidth,
        };
        let per_page = match bandwidth {
            Some(b) => SimDuration::from_nanos(PAGE_SIZE * 1_000_000_000 / b),
            None => SimDuration::ZERO,
        };
        let seek = if self.config.rotational && at == self.next {
            SimDuration::ZERO
        } else {
            self.latency(io)
        };
        self.next = at + u64::from(n);
        let service = seek + per_page * u64::from(n.saturating_sub(1));
        let free = self.servers.iter_mut().min().expect("a device has a server");
        let start = now.max(*free);
        let mut done = start + service;
        // A token bucket over all servers: pages leave the bus one after the other.
        self.bus = self.bus.max(now) + per_page * u64::from(n);
        done = done.max(self.bus);
        *free = done;
        self.busy += service;
        if io == Io::Read {
            self.reading += service;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::kernel::Kernel;

    const RULES: KernelRules = KernelRules::of(Kernel::V6_12);

    /// Worked by hand: nine single-page reads on a SATA SSD; one window of eight pages.
    #[test]
    fn queue_as_worked_by_hand() {
        let ssd = DeviceConfig::preset("ssd", 1).unwrap();
        let mut d = Device::new(ssd.clone(), &RULES);
        let done: Vec<u64> =
            (0..9).map(|i| d.submit(SimTime::ZERO, Io::Read, i * 100, 1).0).collect();
        assert_eq!(done, [vec![150_000; 8], vec![300_000]].concat());
        let mut d = Device::new(ssd, &RULES);
        assert_eq!(d.submit(SimTime::ZERO, Io::Read, 0, 8).0, 150_000 + 7 * 8_192);
        d.submit(SimTime::ZERO, Io::Write, 8, 1);
        assert_eq!(d.reading.0, 150_000 + 7 * 8_192, "writes are no reads");
    }

    #[test]
    fn reads_of_a_synchronous_device_take_time_too() {
        let mut d = Device::new(DeviceConfig::preset("zram", 1).unwrap(), &RULES);
        let page = d.config().read;
        assert_eq!((d.read_sync(1), d.read_sync(3)), (page, page * 3));
        assert_eq!(d.reading, page * 4);
    }

    #[test]
    fn a_disk_that_reads_on_pays_no_seek() {
        let mut d = Device::new(DeviceConfig::preset("hdd", 1).unwrap(), &RULES);
        let first = d.submit(SimTime::ZERO, Io::Read, 10, 1);
        let second = d.submit(first, Io::Read, 11, 1);
        assert_eq!(
            second.since(first),
            SimDuration::from_nanos(4096 * 1_000_000_000 / 150_000_000)
        );
    }
}
