//! Compressed memory of a machine: parameters of zswap, and what zrams and zswap hold.

use std::fmt::Write as _;

use mmsim_base::error::Error;
use mmsim_core::backing::device::DeviceConfig;
use mmsim_core::backing::zswap::COMPRESSORS;
use mmsim_core::base::id::PAGE_SIZE;
use mmsim_core::config::{Kernel, MachineConfig, ZswapConfig};

use super::copies::{Copies, Text};
use super::facts::Facts;
use super::note::{Note, Weight};
use super::sysctls;

/// Folder of zswap's parameters.
const PARAMETERS: &str = "sys/module/zswap/parameters";
/// Folder of what zswap counts.
const COUNTED: &str = "sys/kernel/debug/zswap";
/// Pages that compressed memory has to hold for their mean to say something.
const ENOUGH: u64 = 256;

/// Keys of `[machine.zswap]` that are parameters, with their names.
const KEYS: [(&str, &str); 5] = [
    ("enabled", "enabled"),
    ("compressor", "compressor"),
    ("max-pool-percent", "max_pool_percent"),
    ("accept-threshold-percent", "accept_threshold_percent"),
    ("shrinker", "shrinker_enabled"),
];

/// The file of a key of `[machine.zswap]` and its text for a value, if the key is a parameter of the
/// kernel.
pub fn file_of_zswap(key: &str, value: &str) -> Option<(String, String)> {
    let (_, name) = KEYS.iter().find(|(k, _)| *k == key)?;
    let text = match value {
        "true" => "Y",
        "false" => "N",
        other => other,
    };
    Some((format!("/{PARAMETERS}/{name}"), text.to_string()))
}

/// `[machine.zswap]`, if zswap is on and stands before a device. `swap`: there is one.
///
/// # Errors
/// A parameter has a value that no kernel prints.
pub(super) fn zswap(
    copies: &Copies,
    (facts, swap): (&Facts, bool),
    notes: &mut Vec<Note>,
) -> Result<Option<String>, Error> {
    let file = |name: &str| format!("{PARAMETERS}/{name}");
    let get = |name: &str| copies.get(&format!("{PARAMETERS}/{name}"));
    let Some(enabled) = get("enabled") else { return Ok(None) };
    if !is_on(enabled)? {
        return Ok(None);
    }
    let left_out = match (facts.kernel >= Kernel::V6_12, swap) {
        (false, _) => Some("zswap is modelled from kernel 6.12 on: pages go to the device at once"),
        (_, false) => Some("there is no swap device behind zswap, so it stores nothing"),
        _ => None,
    };
    if let Some(why) = left_out {
        let note = Note::new(&file("enabled"), enabled.word(), why);
        notes.push(note.weighing(Weight::Machine));
        return Ok(None);
    }
    let mut t = String::from("\n[machine.zswap]\n");
    if let Some(text) = get("compressor") {
        let known = COMPRESSORS.iter().any(|c| c.0 == text.word());
        let taken = if known { text.word() } else { nearest(text.word()) };
        if !known {
            let why = format!("its figures are not known: those of {taken}");
            let note = Note::new(&file("compressor"), text.word(), why);
            notes.push(note.weighing(Weight::Device));
        }
        let _ = writeln!(t, "compressor = \"{taken}\"");
    }
    for (name, key) in [
        ("max_pool_percent", "max-pool-percent"),
        ("accept_threshold_percent", "accept-threshold-percent"),
    ] {
        let Some(text) = get(name) else { continue };
        let Ok(n) = text.word().parse::<u32>() else {
            return Err(text.bad(1, "no number of per cent", "a whole number"));
        };
        if n > 100 {
            let why = "a pool cannot hold more than all: 100";
            notes.push(Note::new(&file(name), text.word(), why));
        }
        let _ = writeln!(t, "{key} = {}", n.min(100));
    }
    if let Some(text) = get("shrinker_enabled")
        && is_on(text)?
    {
        t += "shrinker = true\n";
    }
    if let Some(bytes) = bytes_in_zswap(copies) {
        let _ = writeln!(t, "bytes-per-page = {bytes}");
        let why = format!("{bytes} bytes for a page, as zswap holds them now");
        notes.push(Note::new(COUNTED, "stored_pages", why));
    }
    Ok(Some(t))
}

/// A switch as the kernel prints it.
fn is_on(text: &Text) -> Result<bool, Error> {
    match text.word() {
        "Y" | "y" | "1" => Ok(true),
        "N" | "n" | "0" => Ok(false),
        _ => Err(text.bad(1, "no switch", "Y or N".to_string())),
    }
}

/// The compressor whose figures are nearest to those of an unknown one.
fn nearest(name: &str) -> &'static str {
    match name {
        "lzo-rle" => "lzo",
        "deflate" => "zstd",
        _ => "lz4",
    }
}

/// Bytes of memory that a page takes: `taken` bytes for `pages` pages, if those are enough.
fn mean(taken: u64, pages: u64) -> Option<u64> {
    (pages >= ENOUGH).then(|| (taken.div_ceil(pages)).clamp(1, PAGE_SIZE))
}

/// Bytes of memory that a page takes in zswap: by debugfs, else by /proc/meminfo.
fn bytes_in_zswap(copies: &Copies) -> Option<u64> {
    let whole = |name: &str| copies.get(&format!("{COUNTED}/{name}"))?.word().parse::<u64>().ok();
    if let (Some(pages), Some(bytes)) = (whole("stored_pages"), whole("pool_total_size")) {
        return mean(bytes, pages);
    }
    let meminfo = copies.get("proc/meminfo")?.text();
    let kib = |name: &str| {
        let line = meminfo.lines().find_map(|l| l.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    mean(kib("Zswap:")? * 1024, kib("Zswapped:")? / 4)
}

/// The preset of a zram by its compressor.
pub(super) fn zram_preset(
    disk: &str,
    algorithm: Option<&Text>,
    notes: &mut Vec<Note>,
) -> &'static str {
    let (item, why) = match algorithm.and_then(|a| sysctls::chosen(a.text())) {
        Some("lz4") => return "zram",
        Some("lzo" | "lzo-rle") => return "zram-lzo",
        Some("zstd") => return "zram-zstd",
        Some(other) => (other, "there is no preset of it: that of lz4"),
        None => (disk, "its compressor is not known: lz4 as a guess"),
    };
    let note = Note::new(&format!("sys/block/{disk}/comp_algorithm"), item, why);
    notes.push(note.weighing(Weight::Device));
    "zram"
}

/// Takes over how much a zram holds and may hold (`mm_stat`): a page takes what it takes now, if it
/// holds some.
///
/// # Errors
/// The file is none that a kernel prints.
pub(super) fn zram(
    copies: &Copies,
    disk: &str,
    config: &mut DeviceConfig,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let file = format!("sys/block/{disk}/mm_stat");
    let Some(text) = copies.get(&file) else { return Ok(()) };
    let numbers: Option<Vec<u64>> =
        text.word().split_whitespace().map(|w| w.parse().ok()).collect();
    // orig_data_size compr_data_size mem_used_total mem_limit ..
    let Some(&[orig, _, used, limit, ..]) = numbers.as_deref() else {
        return Err(text.bad(1, "no sizes of a zram", "the numbers of mm_stat"));
    };
    if let Some(bytes) = mean(used, orig / PAGE_SIZE) {
        config.stored_bytes_per_page = bytes as u32;
        let why = format!("{bytes} bytes for a page, as it holds them now");
        notes.push(Note::new(&file, disk, why));
    }
    if limit > 0 {
        config.mem_limit = u32::try_from(limit / PAGE_SIZE).unwrap_or(u32::MAX);
        let why = "a limit holds where tasks say what their pages hold, by `contents`";
        notes.push(Note::new(&file, disk, why).weighing(Weight::Device));
    }
    // Settings that are written out have a queue, which a synchronous device does not use.
    if orig / PAGE_SIZE >= ENOUGH || limit > 0 {
        config.queue_depth = config.queue_depth.max(1);
    }
    Ok(())
}

/// The parameters of zswap as files of the simulated machine.
pub(super) fn texts(machine: &MachineConfig) -> Vec<(String, String)> {
    let Some(z) = &machine.zswap else { return Vec::new() };
    let of = |nth: usize| ZswapConfig::with_compressor(nth);
    let same = |nth: &usize| (of(*nth).compress, of(*nth).decompress) == (z.compress, z.decompress);
    let compressor = (0..COMPRESSORS.len()).find(same).map(|nth| COMPRESSORS[nth].0.to_string());
    let values = [
        Some(z.enabled.to_string()),
        compressor,
        Some(z.max_pool_percent.to_string()),
        Some(z.accept_threshold_percent.to_string()),
        Some(z.shrinker.to_string()),
    ];
    let files = KEYS.iter().zip(values).filter_map(|((key, _), v)| file_of_zswap(key, &v?));
    files.map(|(path, text)| (path[1..].to_string(), text + "\n")).collect()
}
