//! Values of arguments, and the messages on those that cannot be read.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use mmsim::base::time::SimDuration;
use mmsim::config::{Kernel, ZoneKind};
use mmsim::miniature::{SMALLEST, Share};
use mmsim::report::derived::Figure;
use mmsim::report::proc::Kind;
use mmsim::scenario::{self, GroupPolicy};
use mmsim_terminal::args::pair;
pub(super) use mmsim_terminal::args::{at_least_one, key_value};

/// A policy of cache_ext for a group. Its path is that of the command, not of the scenario.
pub(crate) fn group_policy(text: &str) -> Result<GroupPolicy, String> {
    let (group, module) = match text.split_once('=') {
        Some((group, module)) => (Some(group.to_string()), module),
        None => (None, text),
    };
    if module.is_empty() {
        return Err("name a module, such as mru.wasm or search=mru.wasm".to_string());
    }
    let (variant, module) = match module.strip_prefix("builtin:") {
        Some(name) => (format!("builtin-{name}"), module.to_string()),
        None => {
            let path = std::path::absolute(module).map_err(|e| format!("{module}: {e}"))?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (stem, path.display().to_string())
        }
    };
    Ok(GroupPolicy { group, module, variant })
}

/// A file of the kernel by its name.
pub(super) fn kind() -> impl TypedValueParser<Value = Kind> {
    let named = |name: String| {
        Kind::ALL.into_iter().find(|k| k.name() == name).expect("one of the possible values")
    };
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).map(named)
}

/// A figure by its name.
pub(super) fn figure() -> impl TypedValueParser<Value = Figure> {
    let named =
        |name: String| mmsim_view::figure::named(&name).expect("one of the possible values");
    PossibleValuesParser::new(mmsim_view::figure::names()).map(named)
}

/// A sysctl and its value.
pub(super) fn sysctl(text: &str) -> Result<(String, String), String> {
    pair(text).ok_or_else(|| "write KEY=VALUE, as in min_free_kbytes=67584".to_string())
}

/// Two axes.
pub(super) fn axes_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once(',').map(|(a, b)| (a.trim(), b.trim())) {
        Some((a, b)) if !a.is_empty() && !b.is_empty() && a != b => Ok((a.into(), b.into())),
        _ => Err("write two axes, as in machine.memory,machine.vm.swappiness".to_string()),
    }
}

/// A zone and the pages that it manages.
pub(super) fn zone(text: &str) -> Result<(ZoneKind, u32), String> {
    let (name, pages) = text.split_once('=').unwrap_or((text, ""));
    let kind = ZoneKind::ALL.into_iter().find(|k| k.name() == name);
    match (kind, pages.parse()) {
        (Some(kind), Ok(pages)) if pages > 0 => Ok((kind, pages)),
        _ => Err("write ZONE=PAGES, ZONE one of DMA, DMA32, Normal, Movable".to_string()),
    }
}

/// A share of pages that is a power of two, or `auto`.
pub(super) fn share(text: &str) -> Result<Share, String> {
    if text == "auto" {
        return Ok(Share::Auto);
    }
    let one_in = text.strip_prefix("1/").and_then(|n| n.parse::<u64>().ok());
    let one_in = one_in.filter(|n| n.is_power_of_two() && (2..=1 << SMALLEST).contains(n));
    one_in.map(|n| Share::OneIn(n.ilog2())).ok_or_else(|| {
        format!("write `auto`, or a power of two from 1/2 to 1/{}, as in 1/64", 1 << SMALLEST)
    })
}

/// A whole number within a range.
pub(super) fn within<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok().filter(|n| (least..=most).contains(n));
        let number = number.and_then(|n: u64| T::try_from(n).ok());
        number.ok_or_else(|| match most {
            0x20_0000_0000_0000 => format!("write a whole number from {least} to 2^53"),
            _ => format!("write a whole number from {least} to {most}"),
        })
    }
}

pub(super) fn whole(text: &str) -> Result<u64, String> {
    let text = text.trim();
    match text.parse() {
        Ok(n) if n <= 1 << 53 => Ok(n),
        _ => Err("write a whole number from 0 to 2^53".to_string()),
    }
}

/// A size in bytes that holds a line at least.
pub(super) fn at_least_a_line(text: &str) -> Result<u64, String> {
    let nothing = text.trim().trim_start_matches('0').is_empty();
    let bytes = if nothing { Ok(0) } else { scenario::bytes(text) };
    match bytes.map_err(|e| e.to_string())? {
        bytes if bytes < 4096 => Err("write a size of at least 4KiB, as in 1GiB".to_string()),
        bytes => Ok(bytes),
    }
}

/// A kernel by its version.
pub(super) fn kernel(text: &str) -> Result<Kernel, String> {
    let known = || Kernel::ALL.map(Kernel::name).join(", ");
    Kernel::from_name(text.trim()).ok_or_else(|| format!("write one of {}", known()))
}

/// Refuses several seeds where single runs are compared.
pub(super) fn one_seed(_: &str) -> Result<u64, String> {
    Err("why follows the pages of single runs: write --seed N, for one seed at a time; \
         `mmsim run --why --seeds 5` has the classes of several seeds"
        .to_string())
}

pub(super) fn even(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 && n % 2 == 0 && n <= 1000 => Ok(n),
        _ => Err("write an even number from 2 to 1000".to_string()),
    }
}

pub(super) fn per_cent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim_end().parse() {
        Ok(n) if (0.0..f64::INFINITY).contains(&n) => Ok(n),
        _ => Err("write a number of per cent, as in 5 or 0.5".to_string()),
    }
}

/// A span of simulated time with its unit.
pub(super) fn duration(text: &str) -> Result<SimDuration, String> {
    let wrong = || "write a time with its unit (ns, us, ms, s), as in 100ms".to_string();
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit.trim_start() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    match number.checked_mul(scale) {
        Some(0) => Err("write a time above nothing: such an interval would never end".to_string()),
        Some(nanos) => Ok(SimDuration::from_nanos(nanos)),
        None => Err("write at most 584 years: more time cannot be simulated".to_string()),
    }
}

/// `FROM-TO`, decimal or hexadecimal bytes.
pub(super) fn addresses(text: &str) -> Result<(u64, u64), String> {
    let number = |s: &str| match s.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => s.parse().ok(),
    };
    let pair = text.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
    let pair = pair.filter(|(from, to)| from < to);
    pair.ok_or_else(|| "write first byte and end, as in 4096-8192 or 0x1000-0x2000".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_powers_of_two() {
        assert_eq!(share("1/64"), Ok(Share::OneIn(6)));
        assert_eq!(share("auto"), Ok(Share::Auto));
        for wrong in ["64", "1/1", "1/3", "1/2048", "2/64", "0.5", "1/", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("100ms"), Ok(SimDuration::from_millis(100)));
        assert_eq!(duration("2 s"), Ok(SimDuration::from_secs(2)));
        for wrong in ["100", "ms", "1.5s", "0ms", "5min", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn per_cents_are_no_less_than_nothing() {
        assert_eq!(per_cent("5"), Ok(5.0));
        assert_eq!(per_cent("0.5 %"), Ok(0.5));
        for wrong in ["-1", "NaN", "inf", "", "five"] {
            assert!(per_cent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn overrides_have_a_key_and_a_value() {
        assert_eq!(
            key_value("vm.swappiness = 10"),
            Ok(("vm.swappiness".to_string(), "10".to_string()))
        );
        assert_eq!(key_value("a=b=c"), Ok(("a".to_string(), "b=c".to_string())));
        assert!(key_value("swappiness").is_err());
        assert!(key_value("=3").is_err());
    }
}
