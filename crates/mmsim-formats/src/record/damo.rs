//! The JSON in which damo keeps records, plain or compressed by zlib (what it does by default).
//!
//! A list of records with indices, intervals and snapshots, as [`write()`] gives it. Numbers may be
//! texts with commas (`"1,024"`), as some versions write them; members that only some versions have
//! may be missing or null. Known by trying: damo 3.4.3 reads what is written here.

use std::fmt;
use std::io::{Read, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Intervals, Record, Region, Snapshot};
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files::{self, MOST_BYTES};

/// True if bytes begin as zlib does: a deflate stream with a window of 32 KiB, and a checksum of
/// these two bytes.
pub fn is_compressed(bytes: &[u8]) -> bool {
    matches!(bytes, [0x78, flags, ..] if (0x7800 + u16::from(*flags)).is_multiple_of(31))
}

/// Compresses a text as damo does.
pub fn compressed(text: &str) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    // A vector takes all that it is given.
    out.write_all(text.as_bytes()).and_then(|()| out.finish()).expect("writing to memory")
}

/// The text in compressed bytes that came from `name`.
///
/// # Errors
///
/// The bytes are cut off or damaged, or what they hold is not UTF-8, or it is above 1 GiB.
pub fn decompressed(bytes: &[u8], name: &str) -> Result<String, Error> {
    let mut text = Vec::new();
    let wrong = |why: &str, help: &str| {
        Error::new(ErrorKind::File, format!("`{name}` cannot be unpacked: {why}")).help(help)
    };
    let damaged = |why: &str| wrong(why, "it begins as zlib does: it may be cut off, copy it anew");
    let read = ZlibDecoder::new(bytes).take(MOST_BYTES + 1).read_to_end(&mut text);
    read.map_err(|e| match e.kind() {
        std::io::ErrorKind::OutOfMemory => {
            wrong("this host has too little memory", "record for a shorter time")
        }
        _ => damaged(&e.to_string()),
    })?;
    if text.len() as u64 > MOST_BYTES {
        let help = "record for a shorter time, or with fewer regions";
        return Err(wrong("it holds more than 1 GiB", help));
    }
    files::text_of(text, name)
}

/// Records as JSON.
pub fn write(records: &[Record]) -> String {
    let raw: Vec<RawRecord> = records.iter().map(RawRecord::from).collect();
    // Numbers, lists and maps under string keys.
    let mut text = serde_json::to_string(&raw).expect("a record is plain data");
    text.push('\n');
    text
}

/// Reads JSON that came from `name`.
///
/// # Errors
///
/// It is not JSON or no list of records, or a member is missing or has no meaning. The message has
/// line and column.
pub fn read(text: &str, name: &str) -> Result<Vec<Record>, Error> {
    let raw: Vec<RawRecord> = serde_json::from_str(text)
        .map_err(|e| files::bad_json(&e, text, name, "record of damo"))?;
    Ok(raw.into_iter().map(Record::from).collect())
}

/// A whole number, perhaps in a text with commas.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Number(i128);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Number, D::Error> {
        struct AnyForm;
        impl Visitor<'_> for AnyForm {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number such as 4096, \"4,096\"")
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Number, E> {
                Ok(Number(v.into()))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Number, E> {
                Ok(Number(v.into()))
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Number, E> {
                // Times that were a mean of others have fractions.
                if v.is_finite() && v.abs() < 2f64.powi(64) {
                    return Ok(Number(v as i128));
                }
                Err(E::invalid_value(de::Unexpected::Float(v), &self))
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Number, E> {
                let digits = v.replace(',', "");
                let whole = digits.parse().map(Number);
                whole.map_err(|_| E::invalid_value(de::Unexpected::Str(v), &self))
            }
        }
        d.deserialize_any(AnyForm)
    }
}

impl Number {
    fn to<T: TryFrom<i128>>(self, member: &str) -> Result<T, String> {
        T::try_from(self.0).map_err(|_| format!("{member} is {}, which is out of range", self.0))
    }
}

#[derive(Serialize, Deserialize)]
struct RawRecord {
    #[serde(default)]
    kdamond_idx: Option<u32>,
    #[serde(default)]
    context_idx: Option<u32>,
    #[serde(default)]
    intervals: Option<RawIntervals>,
    #[serde(default)]
    scheme_idx: Option<u32>,
    #[serde(default)]
    target_id: Option<u64>,
    #[serde(default, skip_deserializing)]
    scheme_filters: Vec<()>,
    snapshots: Vec<RawSnapshot>,
    #[serde(default, skip_deserializing)]
    data_source: &'static str,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "FormOfIntervals", into = "FormOfIntervals")]
struct RawIntervals(Intervals);

#[derive(Serialize, Deserialize)]
struct FormOfIntervals {
    sample_us: Number,
    aggr_us: Number,
    ops_update_us: Number,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "FormOfSnapshot", into = "FormOfSnapshot")]
struct RawSnapshot(Snapshot);

#[derive(Serialize, Deserialize)]
struct FormOfSnapshot {
    start_time: Number,
    end_time: Number,
    regions: Vec<RawRegion>,
    #[serde(default)]
    total_bytes: Option<Number>,
    #[serde(default, skip_deserializing)]
    damos_stats: (),
    #[serde(default, skip_deserializing)]
    sample_interval_us: (),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "FormOfRegion", into = "FormOfRegion")]
struct RawRegion(Region);

#[derive(Serialize, Deserialize)]
struct FormOfRegion {
    start: Number,
    end: Number,
    nr_accesses: FormOfAccesses,
    age: FormOfAge,
    #[serde(default, skip_deserializing)]
    sz_filter_passed: u64,
}

#[derive(Serialize, Deserialize)]
struct FormOfAccesses {
    samples: Number,
    #[serde(default, skip_deserializing)]
    percent: (),
}

#[derive(Serialize, Deserialize)]
struct FormOfAge {
    #[serde(default, skip_deserializing)]
    usec: (),
    #[serde(default)]
    aggr_intervals: Option<Number>,
}

fn number(n: u64) -> Number {
    Number(n.into())
}

impl TryFrom<FormOfIntervals> for RawIntervals {
    type Error = String;
    fn try_from(raw: FormOfIntervals) -> Result<Self, String> {
        let sample_us = raw.sample_us.to("sample_us")?;
        let aggr_us = raw.aggr_us.to("aggr_us")?;
        let ops_update_us = raw.ops_update_us.to("ops_update_us")?;
        Ok(RawIntervals(Intervals { sample_us, aggr_us, ops_update_us }))
    }
}

impl From<RawIntervals> for FormOfIntervals {
    fn from(RawIntervals(i): RawIntervals) -> Self {
        let [sample_us, aggr_us, ops_update_us] =
            [i.sample_us, i.aggr_us, i.ops_update_us].map(number);
        FormOfIntervals { sample_us, aggr_us, ops_update_us }
    }
}

impl TryFrom<FormOfRegion> for RawRegion {
    type Error = String;
    fn try_from(raw: FormOfRegion) -> Result<Self, String> {
        let start = raw.start.to("start")?;
        let end = raw.end.to("end")?;
        if start >= end {
            return Err(format!("the region {start}-{end} does not end above its start"));
        }
        let nr_accesses = raw.nr_accesses.samples.to("nr_accesses")?;
        // Ages of -1 stand for unknown ones.
        let age = raw.age.aggr_intervals.filter(|a| a.0 >= 0);
        let age = age.map(|a| a.to("age")).transpose()?;
        Ok(RawRegion(Region { start, end, nr_accesses, age }))
    }
}

impl From<RawRegion> for FormOfRegion {
    fn from(RawRegion(r): RawRegion) -> Self {
        FormOfRegion {
            start: number(r.start),
            end: number(r.end),
            nr_accesses: FormOfAccesses { samples: number(r.nr_accesses.into()), percent: () },
            age: FormOfAge { usec: (), aggr_intervals: r.age.map(|a| number(a.into())) },
            sz_filter_passed: 0,
        }
    }
}

impl TryFrom<FormOfSnapshot> for RawSnapshot {
    type Error = String;
    fn try_from(raw: FormOfSnapshot) -> Result<Self, String> {
        let (start_ns, end_ns) = (raw.start_time.to("start_time")?, raw.end_time.to("end_time")?);
        if start_ns > end_ns {
            return Err(format!(
                "the snapshot begins at {start_ns} and ends at {end_ns}, before it"
            ));
        }
        let regions = raw.regions.into_iter().map(|r| r.0).collect();
        Ok(RawSnapshot(Snapshot { start_ns, end_ns, regions }))
    }
}

impl From<RawSnapshot> for FormOfSnapshot {
    fn from(RawSnapshot(s): RawSnapshot) -> Self {
        let bytes: i128 = s.regions.iter().map(|r| i128::from(r.size())).sum();
        FormOfSnapshot {
            start_time: number(s.start_ns),
            end_time: number(s.end_ns),
            regions: s.regions.into_iter().map(RawRegion).collect(),
            total_bytes: Some(Number(bytes)),
            damos_stats: (),
            sample_interval_us: (),
        }
    }
}

impl From<RawRecord> for Record {
    fn from(raw: RawRecord) -> Record {
        Record {
            kdamond_idx: raw.kdamond_idx.unwrap_or(0),
            context_idx: raw.context_idx.unwrap_or(0),
            intervals: raw.intervals.map(|i| i.0),
            scheme_idx: raw.scheme_idx,
            target_id: raw.target_id.unwrap_or(0),
            snapshots: raw.snapshots.into_iter().map(|s| s.0).collect(),
        }
    }
}

impl From<&Record> for RawRecord {
    fn from(r: &Record) -> RawRecord {
        RawRecord {
            kdamond_idx: Some(r.kdamond_idx),
            context_idx: Some(r.context_idx),
            intervals: r.intervals.map(RawIntervals),
            scheme_idx: r.scheme_idx,
            target_id: Some(r.target_id),
            scheme_filters: Vec::new(),
            snapshots: r.snapshots.iter().cloned().map(RawSnapshot).collect(),
            data_source: "unknown",
        }
    }
}
