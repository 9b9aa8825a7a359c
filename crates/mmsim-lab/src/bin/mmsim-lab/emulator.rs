//! Recordings: those that a folder keeps, and new ones by `tools/recorder`.
//!
//! The folder has `SCENARIO/POINT.json`, a file of one point as in `evidence/reference/`, and
//! beside it what the machine printed in each repetition. Both hold the script, so a recording of
//! other commands is never taken for one of these.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mmsim::error::{Error, ErrorKind};
use mmsim::files;
use mmsim_lab::record::Planned;
use mmsim_lab::validate::point::{Experiment, series};
use mmsim_terminal::exit::{self, Failure};
use mmsim_terminal::output;

/// The folder of the recorder, from that of the repository.
const RECORDER: &str = "tools/recorder";
/// Programs that a recording needs, and the Debian packages that have them.
const TOOLS: [(&str, &str); 5] = [
    ("cargo", "a Rust toolchain"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("cpio", "cpio"),
    ("depmod", "kmod"),
    ("xz", "xz-utils"),
];

/// The kernel of `--kernel`.
pub(crate) struct Kernel {
    /// Its two numbers.
    pub series: String,
    /// The folder of its unpacked package, and what `uname -r` prints there.
    package: Option<(PathBuf, String)>,
}

impl Kernel {
    /// A folder, or a version.
    pub(crate) fn of(text: &str) -> Result<Kernel, Failure> {
        let dir = PathBuf::from(text);
        if !dir.is_dir() {
            let series = series(text.trim_start_matches('v'));
            let numbers = series.split_once('.').is_some_and(|(a, b)| {
                [a, b].iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            });
            if numbers {
                return Ok(Kernel { series, package: None });
            }
            let what =
                "neither the folder of an unpacked kernel package nor a version such as 6.12";
            return Err(Failure::said(format!("--kernel: `{text}` is {what}")));
        }
        let below = ["lib/modules", "usr/lib/modules"].map(|at| dir.join(at));
        let modules = below.iter().find(|p| p.is_dir());
        let names = |p: &PathBuf| -> Vec<String> {
            let all = std::fs::read_dir(p).into_iter().flatten().flatten();
            all.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
        };
        match modules.map(names).unwrap_or_default().as_slice() {
            [version] => {
                Ok(Kernel { series: series(version), package: Some((dir, version.clone())) })
            }
            all => {
                let n = all.len();
                let what =
                    format!("--kernel: `{text}` has {n} kernels in lib/modules, one is wanted");
                let help = "unpack one kernel package there: `dpkg-deb -x linux-image-*.deb DIR`";
                Err(Failure::Input(Error::of_option(what).help(help)))
            }
        }
    }
}

fn file_of(keep: &Path, p: &Planned, end: &str) -> PathBuf {
    keep.join(&p.scenario).join(format!("{}.{end}", p.id))
}

/// The recording of a run that is kept.
///
/// # Errors
/// There is one under this name that is of other commands, another machine or another release of
/// the kernel, or damaged.
pub(crate) fn kept(
    keep: &Path,
    p: &Planned,
    kernel: &Kernel,
) -> Result<Option<Experiment>, Failure> {
    let path = file_of(keep, p, "json");
    if !path.exists() {
        return Ok(None);
    }
    let shown = path.display().to_string();
    let e = Experiment::read(&files::read_text(&path, "a recorded experiment")?, &shown)?;
    let other = |what: String| {
        let help = "keep this one elsewhere, or name another folder with --keep";
        Failure::Input(Error::new(ErrorKind::File, format!("{shown}: {what}")).help(help))
    };
    let [point] = e.points.as_slice() else {
        return Err(other(format!("{} points, and a kept recording has one", e.points.len())));
    };
    if let Some((_, version)) = kernel.package.as_ref().filter(|k| k.1 != point.kernel) {
        let what = format!("Linux {} was recorded, and --kernel is {version}", point.kernel);
        return Err(other(what));
    }
    let mem = point.vm.get("mem_mib").and_then(serde_json::Value::as_u64);
    if mem != Some(p.mem_mib) {
        let is = mem.map_or("unknown".to_string(), |n| n.to_string());
        let what = format!("a machine of {is} MiB was recorded, and this run wants {}", p.mem_mib);
        return Err(other(what));
    }
    for (nth, wanted) in p.scripts.iter().enumerate().take(point.repetitions) {
        let script = point.script_of(nth);
        let line = script.iter().zip(wanted).position(|(a, b)| a != b);
        let at = line.or((script.len() != wanted.len()).then(|| script.len().min(wanted.len())));
        if let Some(at) = at {
            let of = |all: &[String]| all.get(at).map_or("nothing".into(), |l| format!("`{l}`"));
            let what = format!(
                "repetition {nth} is of another script: its command {} is {}, and this run has {}",
                at + 1,
                of(&script),
                of(wanted)
            );
            return Err(other(what));
        }
    }
    // Fewer than are wanted: the rest is recorded.
    Ok((point.repetitions >= p.scripts.len()).then_some(e))
}

/// Refuses, before anything is built, what cannot record.
pub(crate) fn ready(kernel: &Kernel) -> Result<&Path, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |tool: &str| std::env::split_paths(&path).any(|p| p.join(tool).is_file());
    let missing: Vec<_> = TOOLS.iter().filter(|(tool, _)| !has(tool)).collect();
    if !missing.is_empty() {
        let tools: Vec<&str> = missing.iter().map(|m| m.0).collect();
        let packages: Vec<&str> = missing.iter().map(|m| m.1).collect();
        return Err(Failure::said(format!(
            "to record, install {} (this machine has no {})",
            packages.join(" "),
            tools.join(", ")
        )));
    }
    if !Path::new(RECORDER).join("record.sh").is_file() {
        return Err(Failure::said(format!(
            "to record, run it in the repository, which has {RECORDER}"
        )));
    }
    kernel.package.as_ref().map(|k| k.0.as_path()).ok_or_else(|| {
        Failure::said(format!(
            "to record, unpack a package linux-image-{}* and name its folder: `apt-get download`, \
             `dpkg-deb -x`, `--kernel DIR`",
            kernel.series
        ))
    })
}

/// True if a repetition has been recorded: its output is whole, of this script and kernel.
fn is_recorded(out: &Path, script: &[String], series_of: &str) -> bool {
    let Ok(bytes) = std::fs::read(out) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    // Firmware prints on the line of the first.
    let lines = || text.lines().filter_map(|l| l.find('@').map(|at| l[at..].trim_end()));
    let of = |name: &'static str| lines().filter_map(move |l| l.strip_prefix(name));
    of("@done").next().is_some()
        && of("@kernel ").next().is_some_and(|k| series(k) == series_of)
        && of("@script ").eq(script.iter().map(String::as_str))
}

/// Records what is missing of a run and keeps it.
pub(crate) fn record(
    keep: &Path,
    p: &Planned,
    kernel: &Kernel,
    dir: &Path,
) -> Result<Experiment, Failure> {
    let folder = keep.join(&p.scenario);
    std::fs::create_dir_all(&folder).map_err(|e| Failure::file("create", &folder, &e))?;
    let mut outs = Vec::new();
    for (nth, script) in p.scripts.iter().enumerate() {
        let out = file_of(keep, p, &format!("{nth}.txt"));
        if !is_recorded(&out, script, &kernel.series) {
            let commands = file_of(keep, p, "script");
            let text: String = script.iter().flat_map(|l| [l, "\n"]).collect();
            output::deliver(text.as_bytes(), Some(&commands))?;
            exit::remark(&format!("{}: recording {nth} of {}", p.id, p.scripts.len()));
            let mut command = Command::new(Path::new(RECORDER).join("record.sh"));
            command.arg("-o").arg(&out);
            command.args(["-t", &(900 + 10 * p.seconds).to_string()]);
            if p.files {
                command.arg("-f").arg(image(keep)?);
            }
            command.args([dir, &commands]).arg(p.mem_mib.to_string());
            run(command.stdout(Stdio::null()), "tools/recorder/record.sh")?;
            let _ = std::fs::remove_file(&commands);
        }
        outs.push(out);
    }
    let manifest = format!("{RECORDER}/Cargo.toml");
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--release", "--locked", "--manifest-path", &manifest]);
    command.args(["--bin", "recorder", "--", "point", &p.scenario, &p.id]);
    command.arg(p.mem_mib.to_string()).args(&outs);
    let point = run(command.stdout(Stdio::piped()), "recorder point")?;
    output::deliver(&point, Some(&file_of(keep, p, "json")))?;
    match kept(keep, p, kernel)? {
        Some(e) => Ok(e),
        None => Err(Failure::said(format!("{}: fewer repetitions than were recorded", p.id))),
    }
}

/// The phase that a file of single decisions ends with.
fn last_phase(text: &str) -> Option<String> {
    let file: serde_json::Value = serde_json::from_str(text).ok()?;
    file["phases"].as_array()?.last()?.as_str().map(str::to_string)
}

/// The file of single decisions of a run's first repetition, up to the end of a phase. What is
/// missing is recorded.
pub(crate) fn decisions(
    keep: &Path,
    p: &Planned,
    kernel: &Kernel,
    phase: &str,
) -> Result<PathBuf, Failure> {
    let folder = keep.join(&p.scenario).join("decisions");
    let out = folder.join(format!("{}.json", p.id));
    if out.exists() {
        let kept = last_phase(&files::read_text(&out, "recorded decisions")?);
        if kept.as_deref().is_some_and(|kept| kept != phase) {
            let what = format!(
                "{}: decisions up to `{}` were recorded, and `{phase}` is wanted",
                out.display(),
                kept.unwrap_or_default()
            );
            let help = "keep these elsewhere, or name another folder with --keep";
            return Err(Failure::Input(Error::new(ErrorKind::File, what).help(help)));
        }
        return Ok(out);
    }
    let dir = ready(kernel)?;
    // The recorder takes the name of the experiment from that of the file.
    let points = folder.join("points");
    std::fs::create_dir_all(&points).map_err(|e| Failure::file("create", &points, &e))?;
    let point = points.join(format!("{}.json", p.scenario));
    let kept = file_of(keep, p, "json");
    std::fs::copy(&kept, &point).map_err(|e| Failure::file("copy", &kept, &e))?;
    exit::remark(&format!("{}: recording decisions up to `{phase}`", p.id));
    let mut command = Command::new(Path::new(RECORDER).join("decisions.sh"));
    command.arg("-o").arg(&out).args(["-u", phase]);
    if p.files {
        command.arg("-f").arg(image(keep)?);
    }
    command.arg(dir).arg(format!("{}:{}", point.display(), p.id)).arg(p.mem_mib.to_string());
    let done = run(command.stdout(Stdio::null()), "tools/recorder/decisions.sh");
    let _ = std::fs::remove_dir_all(&points);
    done.map(|_| out)
}

/// The image of the files that programs read, which all recordings of a folder share.
fn image(keep: &Path) -> Result<PathBuf, Failure> {
    let path = keep.join("files.img");
    if !path.exists() {
        let mut command = Command::new(Path::new(RECORDER).join("files.sh"));
        run(command.arg(&path).stdout(Stdio::null()), "tools/recorder/files.sh")?;
    }
    Ok(path)
}

/// Output of a program that has to succeed.
fn run(command: &mut Command, name: &str) -> Result<Vec<u8>, Failure> {
    let done = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let done = done.map_err(|e| Failure::said(format!("{name} does not start: {e}")))?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => Err(Failure::said(format!("{name} ended with {}", done.status))),
    }
}
