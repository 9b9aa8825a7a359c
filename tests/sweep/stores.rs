//! Stores: any number of shards gives one result, and no ending of a process loses what was
//! finished.

use std::path::PathBuf;

use mmsim::sweep::{Merged, Rows, Shard, Stored, Writer, saved};
use proptest::prelude::*;

use crate::support::{Folder, PLAN, SCENARIO, names};

fn error(result: Result<impl std::fmt::Debug, mmsim::Error>) -> String {
    result.expect_err("an error").title().to_string()
}

#[test]
fn merged_bytes_do_not_depend_on_the_number_of_shards() {
    let f = Folder::new();
    f.run("1", "0/1").unwrap();
    let one = f.merged("1");
    for n in [2, 7, 64] {
        let store = n.to_string();
        let mut made = 0;
        // The last first: no shard waits for another.
        for i in (0..n).rev() {
            made += f.run(&store, &format!("{i}/{n}")).unwrap();
        }
        assert_eq!(made, 24);
        assert_eq!(f.merged(&store), one, "{n} shards");
    }
    let files = std::fs::read_dir(f.path("7")).unwrap().count();
    assert_eq!(files, 14, "two files for each shard");
}

#[test]
fn what_any_shard_holds_is_done() {
    let f = Folder::new();
    f.run("s", "0/2").unwrap();
    let half = Stored::open(&f.path("s"), None).unwrap().len();
    assert!((1..24).contains(&half), "{half}");
    assert_eq!(f.run("s", "0/2").unwrap(), 0, "again");
    assert_eq!(f.run("s", "0/1").unwrap(), 24 - half, "all in one, with what the half has");
    f.run("1", "0/1").unwrap();
    assert_eq!(f.merged("s"), f.merged("1"));
}

/// Units keep the numbers of the plan that they ran by. Without a plan the rows of an edited one
/// stand nevertheless as the plan has them.
#[test]
fn a_store_of_an_edited_plan_is_in_order_without_it() {
    let f = Folder::new();
    let of = |rows: Rows<'_>| -> Vec<String> {
        let runs = rows.map(|row| row.unwrap().run);
        runs.map(|run| format!("{:?} {} {}", run.axes, run.variant, run.seed)).collect()
    };
    let same = |edit: &str| {
        f.run("s", "0/1").unwrap();
        let (plan, store) = (f.plan(), f.path("s"));
        let merged = Merged::open(&plan, &store).unwrap();
        assert_eq!(merged.strange(), 0);
        assert_eq!(of(saved(&store).unwrap().rows()), of(merged.rows()), "{edit}");
    };
    same("none");
    let edited = |from: &str, to: &str| {
        let plan = std::fs::read_to_string(f.path("p.toml")).unwrap();
        assert!(plan.contains(from), "{plan}");
        f.write("p.toml", plan.replace(from, to));
        same(to);
    };
    edited("[10, 60, 100]", "[1, 10, 60, 80, 100]");
    edited("{ from = \"8MiB\", to = \"9MiB\", steps = 2 }", "[\"2000 pages\", \"8MiB\", \"9MiB\"]");
    edited("seeds = 2", "seeds = 3");
}

/// Runs of one setting and variant from before and after an edit are never averaged: a store is
/// shown by its plan then, which has those of now.
#[test]
fn runs_from_before_an_edit_are_not_mixed_with_those_after_it() {
    let masim = |ms: &str| format!("a, 4194304\n\nphase\n{ms}\na, 1, 4096, 1\n");
    let with_file = |work: &str| {
        format!("[machine]\nmemory = \"8MiB\"\n[[task]]\n{work}\n[[variant]]\nname = \"classic\"\n")
    };
    let script = |pages: &str| format!("anon 0 512\nfill 0 0 {pages}\n");
    let plan =
        |seed: &str| format!("version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\n{seed}\n");
    // What is edited, from what to what; the key that is named.
    for (file, before, after, key) in [
        ("small.toml", SCENARIO.to_string(), SCENARIO.replace("3000", "4000"), "task[0].accesses"),
        ("a.masim", masim("10"), masim("20"), "task[0].config contents"),
        ("a.script", script("8"), script("16"), "task[0].file contents"),
    ] {
        // The second time with other seeds: no run is there twice, and the means would be of both.
        for (seeds, again) in [("seeds = 1", "seeds = 1"), ("seeds = 1", "seed = 2\nseeds = 1")] {
            let f = Folder::new();
            match file {
                "a.masim" => {
                    f.write("small.toml", with_file("workload = \"masim\"\nconfig = \"a.masim\""))
                }
                "a.script" => {
                    f.write("small.toml", with_file("workload = \"script\"\nfile = \"a.script\""))
                }
                _ => {}
            }
            f.write(file, &before);
            f.write("p.toml", plan(seeds));
            let made = f.run("p.sweep", "0/1").unwrap();
            saved(&f.path("p.sweep")).unwrap();
            f.write(file, &after);
            f.write("p.toml", plan(again));
            assert_eq!(f.run("p.sweep", "0/1").unwrap(), made, "{file}");
            let said = saved(&f.path("p.sweep")).expect_err(file).to_string();
            assert!(
                said.contains(&format!("from before and after an edit: `{key}` differs")),
                "{said}"
            );
            assert!(said.contains("p.toml` shows those of the plan as it is now"), "{said}");
            // By the plan it has the runs of now, and no others.
            let plan = f.plan();
            let merged = Merged::open(&plan, &f.path("p.sweep")).unwrap();
            assert_eq!((merged.len(), merged.missing().units, merged.strange()), (made, 0, made));
            f.run("new", "0/1").unwrap();
            assert_eq!(f.merged("p.sweep"), f.merged("new"), "{file}");
        }
    }
}

#[test]
fn a_plan_that_grows_keeps_what_it_has() {
    let f = Folder::new();
    f.run("s", "0/1").unwrap();
    f.write("p.toml", PLAN.replace("[10, 60, 100]", "[10, 60, 100, 150]"));
    assert_eq!(f.run("s", "0/1").unwrap(), 8);
    f.run("1", "0/1").unwrap();
    assert_eq!(f.merged("s"), f.merged("1"));
    // And one that shrinks: the rest is no part of it.
    f.write("p.toml", PLAN.replace("[10, 60, 100]", "[60]"));
    let plan = f.plan();
    let merged = Merged::open(&plan, &f.path("s")).unwrap();
    assert_eq!((merged.len(), merged.strange()), (8, 24));
}

/// The beginning of a shard that a killed process left goes with the next sweep into the store,
/// unless another process holds its tail.
#[cfg(unix)]
#[test]
fn beginnings_of_killed_processes_are_removed() {
    use rustix::fs::{FlockOperation, flock};
    let f = Folder::new();
    std::fs::create_dir(f.path("s")).unwrap();
    let names = ["shard-00000-of-00001.jsonl.tmp", "shard-00003-of-00007.jsonl.tmp"];
    let held = "shard-00001-of-00003.jsonl.tmp";
    for name in names.iter().chain([&held, &"shard-00001-of-00003.tail", &"other.jsonl.tmp"]) {
        f.write(&format!("s/{name}"), "half");
    }
    let tail = std::fs::File::open(f.path("s/shard-00001-of-00003.tail")).unwrap();
    flock(&tail, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(f.run("s", "0/1").unwrap(), 24);
    for name in names {
        assert!(!f.path("s").join(name).exists(), "{name}");
    }
    assert!(f.path("s").join(held).exists() && f.path("s/other.jsonl.tmp").exists());
}

#[test]
fn missing_units_are_told() {
    let f = Folder::new();
    f.run("s", "1/7").unwrap();
    let plan = f.plan();
    let merged = Merged::open(&plan, &f.path("s")).unwrap();
    assert_eq!(merged.len() + merged.missing().units, 24);
    let (n, name) = merged.missing().first.clone().expect("one is missing");
    assert_eq!(names(&plan)[n as usize], name);
}

/// Points that fall on the same values are one setting; an axis that changes nothing has its rows.
#[test]
fn equal_units_run_once() {
    let f = Folder::new();
    let head =
        "version = 1\nname = \"p\"\nscenarios = [\"small.toml\"]\nvariants = [\"classic\"]\n";
    f.write(
        "p.toml",
        format!("{head}[sample]\npoints = 9\naxes = {{ \"machine.cpus\" = [1, 2] }}\n"),
    );
    assert_eq!(f.run("s", "0/1").unwrap(), 2);
    assert_eq!(Merged::open(&f.plan(), &f.path("s")).unwrap().len(), 2);
    // The variant sets it whatever the axis says.
    let set = "[[variant]]\nname = \"set\"\nset = { \"machine.vm.swappiness\" = 7 }\n";
    f.write("small.toml", format!("{}{set}", crate::support::SCENARIO));
    f.write("p.toml", PLAN.replace("seeds = 2", "variants = [\"set\"]"));
    assert_eq!(f.run("t", "0/1").unwrap(), 2);
    let plan = f.plan();
    assert_eq!(Merged::open(&plan, &f.path("t")).unwrap().len(), 6);
    // Points of a sample that fall on the same values are one row, whichever came between them.
    let sample = "[sample]\npoints = 9\naxes = { \"machine.vm.swappiness\" = [10, 60] }\n";
    f.write("p.toml", format!("{}{sample}", head.replace("classic", "set")));
    assert_eq!(f.run("u", "0/1").unwrap(), 1);
    assert_eq!(Merged::open(&f.plan(), &f.path("u")).unwrap().len(), 2);
}

#[test]
fn what_is_not_its_store_is_refused_by_name() {
    let f = Folder::new();
    f.run("s", "0/2").unwrap();
    let frames = f.path("s").join("shard-00000-of-00002.jsonl.zst");
    // Another sweep.
    f.write("p.toml", PLAN.replace("name = \"p\"", "name = \"q\""));
    assert!(error(f.run("s", "0/2")).ends_with("is of the sweep `p`, not of `q`"));
    f.write("p.toml", PLAN);
    // A file under the name of another shard.
    let tail = f.path("s").join("shard-00000-of-00002.tail");
    std::fs::copy(&frames, f.path("s").join("shard-00001-of-00002.jsonl.zst")).unwrap();
    assert!(error(f.run("s", "1/2")).contains("holds shard 0 of 2, and its name says another"));
    std::fs::remove_file(f.path("s").join("shard-00001-of-00002.jsonl.zst")).unwrap();
    // Another version, another form.
    let text = zstd::decode_all(&std::fs::read(&frames).unwrap()[..]).unwrap();
    let text = String::from_utf8(text).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let older = text.replacen(&format!("\"mmsim\":\"{version}\""), "\"mmsim\":\"0.0.1\"", 1);
    std::fs::write(&frames, zstd::encode_all(older.as_bytes(), 1).unwrap()).unwrap();
    std::fs::remove_file(&tail).unwrap();
    assert!(error(f.run("s", "0/2")).contains("was written by mmsim 0.0.1, and this is"));
    let form = text.replacen("\"mmsim_sweep\":2", "\"mmsim_sweep\":1", 1);
    std::fs::write(&frames, zstd::encode_all(form.as_bytes(), 1).unwrap()).unwrap();
    assert!(error(f.run("s", "0/2")).contains("has form 1"));
    // No store at all.
    assert!(error(Stored::open(&f.path("none"), None)).contains("there is no such folder"));
    std::fs::create_dir(f.path("empty")).unwrap();
    assert!(error(Stored::open(&f.path("empty"), None)).contains("no shard is in it"));
}

#[test]
fn two_shards_that_disagree_are_named() {
    let f = Folder::new();
    f.run("s", "0/1").unwrap();
    f.run("s2", "0/2").unwrap();
    // The same results in another division agree.
    let copied = |from: &str, name: &str| {
        std::fs::copy(f.path(from).join(name), f.path("s").join(name)).unwrap();
    };
    copied("s2", "shard-00000-of-00002.jsonl.zst");
    Stored::open(&f.path("s"), None).unwrap();
    let other = f.path("s").join("shard-00000-of-00002.jsonl.zst");
    let text = zstd::decode_all(&std::fs::read(&other).unwrap()[..]).unwrap();
    let text = String::from_utf8(text).unwrap().replacen("\"accesses\":", "\"accesses\":1", 1);
    std::fs::write(&other, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let said = error(Stored::open(&f.path("s"), None));
    assert!(
        said.contains("shard-00000-of-00001") && said.contains("shard-00000-of-00002"),
        "{said}"
    );
    assert!(said.contains("different `accesses` of unit"), "{said}");
}

#[test]
fn damage_is_told_and_not_passed_over() {
    let f = Folder::new();
    f.run("s", "0/1").unwrap();
    let frames = f.path("s").join("shard-00000-of-00001.jsonl.zst");
    let whole = std::fs::read(&frames).unwrap();
    let mut bent = whole.clone();
    // In the middle of the second frame, the first of units.
    let at = whole.len() / 2;
    bent[at] ^= 0xff;
    std::fs::write(&frames, &bent).unwrap();
    assert!(error(Stored::open(&f.path("s"), None)).contains("is damaged behind byte"));
    assert!(error(f.run("s", "0/1")).contains("is damaged behind byte"));
    std::fs::write(&frames, &whole[..10]).unwrap();
    assert!(error(f.run("s", "0/1")).contains("does not say of which sweep it is"));
}

/// A shard after each way in which its process can have ended: the tail cut anywhere, as in a write
/// that did not come to its end; any bytes behind the frames that were durable.
struct Killed {
    frames: PathBuf,
    tail: PathBuf,
    /// Frames when the tail began, and all of its lines.
    durable: Vec<u8>,
    lines: Vec<u8>,
    units: usize,
}

impl Killed {
    /// A tail with lines in it is what a process leaves that is killed; here it is made of the
    /// lines of a shard that came to its end.
    fn of(f: &Folder) -> Killed {
        f.run("s", "0/1").unwrap();
        let frames = f.path("s").join("shard-00000-of-00001.jsonl.zst");
        let tail = f.path("s").join("shard-00000-of-00001.tail");
        let text = zstd::decode_all(&std::fs::read(&frames).unwrap()[..]).unwrap();
        let (head, units) = text.split_at(text.iter().position(|b| *b == b'\n').unwrap() + 1);
        let durable = zstd::encode_all(head, 1).unwrap();
        let mut lines = Vec::new();
        let first = format!("from {}", durable.len());
        let all = std::iter::once(first.as_bytes())
            .chain(units.split(|b| *b == b'\n').filter(|l| !l.is_empty()));
        let all: Vec<&[u8]> = all.collect();
        for line in &all {
            lines.extend(tail_line(line));
        }
        Killed { frames, tail, durable, lines, units: all.len() - 1 }
    }
}

/// As docs/sweeps.md has it: SipHash-1-3 with a key of zeros.
fn checksum(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = siphasher::sip::SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}

/// A power cut: each of the two files of a shard may have lost any end, or both. Frames that stand
/// behind the tail's beginning are whole or not, and the tail has their lines or not. Whatever is
/// left, a unit is done if and only if it is kept: what the writer says is there is there when it
/// has ended, every whole frame and every whole line of the tail is among it, and no unit twice.
#[test]
fn after_a_power_cut_done_is_what_is_kept() {
    let f = Folder::new();
    let plan = f.plan();
    let mut units = Vec::new();
    mmsim::sweep::for_each_unit(&plan, |unit| units.push(unit)).unwrap();
    // A report that says nothing is a line too; six units suffice.
    units.truncate(6);
    let line = |i: usize| format!("{{\"unit\":\"{}\",\"n\":{i},\"run\":{{}}}}\n", units[i].id);
    let header = format!(
        "{{\"mmsim_sweep\":2,\"mmsim\":\"{}\",\"sweep\":\"p\",\"shard\":0,\"shards\":1}}\n",
        env!("CARGO_PKG_VERSION")
    );
    // The header, a frame before the tail began, two frames behind that; the tail has the lines of
    // both, and one more.
    let frames: Vec<Vec<u8>> = [header, line(0) + &line(1), line(2), line(3) + &line(4)]
        .iter()
        .map(|text| frame(text.as_bytes()))
        .collect();
    let ends: Vec<usize> = frames
        .iter()
        .scan(0, |end, frame| {
            *end += frame.len();
            Some(*end)
        })
        .collect();
    let in_frames = [0, 2, 3, 5];
    let base = ends[1];
    let mut tail = tail_line(format!("from {base}").as_bytes());
    let mut line_ends = vec![tail.len()];
    for i in 2..6 {
        tail.extend(tail_line(line(i).trim_end().as_bytes()));
        line_ends.push(tail.len());
    }
    let frames = frames.concat();
    let (store, names) = (f.path("s"), ["jsonl.zst", "tail"]);
    std::fs::create_dir(&store).unwrap();
    let [frames_at, tail_at] = names.map(|n| store.join(format!("shard-00000-of-00001.{n}")));
    // Each cut about an end and each seventh elsewhere, with all ends of the other file.
    let near = |ends: &[usize], cut: &usize| ends.iter().any(|e| e.abs_diff(*cut) <= 1);
    let some = |ends: &[usize], from: usize, most: usize| -> Vec<usize> {
        (from..=most).filter(|cut| near(ends, cut) || cut % 7 == 0).collect()
    };
    let (frame_ends, mut cuts) = (&ends[1..], Vec::new());
    for cut in some(frame_ends, base, frames.len()) {
        cuts.extend(line_ends.iter().chain(&[0]).map(|tail| (cut, *tail)));
    }
    for cut in some(&line_ends, 0, tail.len()) {
        cuts.extend(frame_ends.iter().map(|frames| (*frames, cut)));
    }
    for (frames_cut, tail_cut) in cuts {
        std::fs::write(&frames_at, &frames[..frames_cut]).unwrap();
        std::fs::write(&tail_at, &tail[..tail_cut]).unwrap();
        let whole_frames = ends.iter().filter(|e| **e <= frames_cut).count();
        let whole_lines = line_ends.iter().filter(|e| **e <= tail_cut).count();
        let mut left: Vec<usize> = (0..in_frames[whole_frames - 1]).collect();
        left.extend((2..6).take(whole_lines.saturating_sub(1)));
        left.sort_unstable();
        left.dedup();
        let at = format!("{frames_cut} bytes of frames, {tail_cut} of the tail");
        let (writer, done) = Writer::open(&store, "p", Shard::ALL).unwrap();
        let expected = left.iter().map(|i| units[*i].id).collect();
        assert_eq!(done, expected, "{at}");
        writer.finish().unwrap();
        let text = zstd::decode_all(&std::fs::read(&frames_at).unwrap()[..]).unwrap();
        let kept = String::from_utf8(text).unwrap();
        let mut kept: Vec<&str> = kept.split_inclusive('\n').skip(1).collect();
        kept.sort_unstable_by_key(|l| units.iter().position(|u| l.contains(&u.id.to_string())));
        let expected: Vec<String> = left.iter().map(|i| line(*i)).collect();
        assert_eq!(kept, expected, "{at}");
        let stored = Stored::open(&store, None).unwrap();
        assert_eq!(stored.len(), left.len() as u64, "{at}");
    }
    // What was durable cannot be lost by a power cut: that is damage, and told.
    std::fs::write(&tail_at, &tail).unwrap();
    for cut in 0..base {
        std::fs::write(&frames_at, &frames[..cut]).unwrap();
        assert!(Writer::open(&store, "p", Shard::ALL).is_err(), "{cut}");
    }
}

/// As the writer packs lines.
fn frame(lines: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(lines).unwrap();
    encoder.finish().unwrap()
}

/// A line of the tail with its checksum.
fn tail_line(line: &[u8]) -> Vec<u8> {
    [format!("{:016x} ", checksum(line)).as_bytes(), line, b"\n"].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_ending_loses_a_whole_line(cut in 0.0..1.0_f64, junk in prop::collection::vec(any::<u8>(), 0..40)) {
        thread_local! {
            static SHARD: (Folder, Killed, Vec<u8>) = {
                let f = Folder::new();
                let shard = Killed::of(&f);
                let merged = f.merged("s");
                (f, shard, merged)
            };
        }
        SHARD.with(|(f, shard, merged)| {
            let cut = (cut * shard.lines.len() as f64) as usize;
            let left = &shard.lines[..cut];
            // Without its first line the tail says nothing, and then all frames are whole.
            let begun = left.contains(&b'\n');
            let frames = if begun { [&shard.durable[..], &junk].concat() } else { shard.durable.clone() };
            std::fs::write(&shard.frames, frames).unwrap();
            std::fs::write(&shard.tail, left).unwrap();
            let whole = left.iter().filter(|b| **b == b'\n').count().saturating_sub(1);
            let there = Stored::open(&f.path("s"), None).unwrap().len();
            assert_eq!(there, whole as u64, "{cut} of {} bytes", shard.lines.len());
            let made = f.run("s", "0/1").unwrap();
            assert_eq!(made, (shard.units - whole) as u64);
            assert_eq!(&f.merged("s"), merged);
        });
    }
}
