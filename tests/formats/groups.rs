//! Trees of memory cgroups from copies of `/sys/fs/cgroup`, and back.

use std::path::Path;

use mmsim::system::copies::{Copies, script};
use mmsim::system::{Import, Options, differences, emit};
use mmsim::{Scenario, machines};

const BOX: &str = include_str!("boxes/groups.txt");
/// A copy that `import-system --script` printed on a real 6.12.
const TREE: &str = include_str!("boxes/tree-6.12.txt");

/// The tree on a machine with zswap.
fn with_zswap() -> String {
    let on = "\n==> /sys/module/zswap/parameters/enabled <==\nY\n";
    let swaps = "==> /proc/swaps <==\n";
    assert!(!BOX.contains(swaps) && !BOX.contains("zswap/parameters"));
    let disk = "Filename Type Size Used Priority\n/dev/sda2 partition 4194300 0 -2\n";
    format!("{BOX}{on}{swaps}{disk}")
}

/// The scenario of a copy, its remarks, items that come back, and those that do not.
fn import(text: &str) -> (String, String, usize, Vec<String>) {
    let copies = Copies::of_text(text, "box.txt").unwrap_or_else(|e| panic!("{e}"));
    let import = Import::of(&copies, &Options::default(), None).unwrap_or_else(|e| panic!("{e}"));
    let emitted = emit(&copies, &import).unwrap_or_else(|e| panic!("{e}"));
    let (equal, others) = differences(&copies, &emitted);
    let of_groups = |file: &str| file.starts_with("sys/fs/cgroup") || file == "proc/mounts";
    let others = others.iter().filter(|d| of_groups(&d.file));
    let others = others.map(|d| format!("{}: {} / {}", d.file, d.copy, d.machine)).collect();
    let notes = import.notes.iter().map(|n| format!("{n}\n")).collect();
    (import.scenario, notes, equal, others)
}

fn refused(text: &str) -> String {
    let copies = Copies::of_text(text, "box.txt").unwrap_or_else(|e| panic!("{e}"));
    let refused = Import::of(&copies, &Options::default(), None);
    refused.err().map(|e| e.to_string()).unwrap_or_else(|| panic!("{text}"))
}

/// Groups stand in the order of their numbers, parents first: `z` was made before `b`. Limits and
/// protection are the copies', in pages. A group without the memory controller is none.
#[test]
fn a_tree_becomes_groups_in_the_order_of_creation() {
    let (scenario, notes, ..) = import(&with_zswap());
    let text = scenario.clone() + "\n[[task]]\nworkload = \"sequential\"\nmemory = \"1 page\"\n";
    let scenario = Scenario::from_str(&text, "box.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
    let machine = &runs[0].machine;
    let names: Vec<&str> = machine.memcgs.iter().map(|g| g.name.as_str()).collect();
    let burstable = "kubepods.slice/kubepods-burstable.slice";
    let (b, z) = (format!("{burstable}/b"), format!("{burstable}/z"));
    let getty = "system.slice/system-serial\\x2dgetty.slice";
    let db = "system.slice/db.service";
    let want = ["init.scope", "system.slice", getty, db, "kubepods.slice", burstable, &z, &b];
    assert_eq!(names, want);
    let of = |name: &str| machine.memcgs.iter().find(|g| g.name == name).expect("it is there");
    // 32 MiB, 1.5 GiB and 1.75 GiB in pages of 4 KiB.
    let g = of(db);
    let all = (g.min, g.low, g.high, g.max, g.oom_group);
    assert_eq!(all, (8_192, 0, Some(393_216), Some(458_752), true));
    assert_eq!((of(&z).low, of(&z).swap_high, of(&b).swap_max), (65_536, Some(32_768), Some(0)));
    // `max` is all 8 GiB.
    assert_eq!((of("system.slice").min, of("system.slice").low), (16_384, 2_097_152));
    assert!(machine.memcg_mount.recursive_protection && !machine.memcg_mount.local_events);
    assert_eq!((of(&z).zswap_max, of(&b).zswap_max), (Some(16_384), None));
    let said = "memory.low: max: all that there is: 8GiB";
    assert!(notes.contains(said), "{notes}");
    let told = "# memory.current 1152MiB, anon 768MiB, file 324MiB\n\
                # high 41, some pressure 1.482 s, full pressure 0.902 s\nname = ";
    assert!(text.contains(told), "{text}");
}

/// All settings and the option of the mount come back but `max` of a protection, which is a size
/// here, and limits of zswap where the scenario has none. A copy has 18 files that are settings, and MemTotal of meminfo and the mount.
#[test]
fn a_tree_comes_back() {
    let (_, notes, equal, others) = import(BOX);
    let z = "kubepods.slice/kubepods-burstable.slice/z/memory.zswap.max";
    let without = format!("sys/fs/cgroup/{z}: 67108864 / max");
    let low = "sys/fs/cgroup/system.slice/memory.low: max / 8589934592";
    assert_eq!(others, [&*without, low]);
    assert!(notes.contains("there is no zswap in the scenario: left out"), "{notes}");
    let settings = BOX.lines().filter(|l| {
        let ends = |file: &str| l.ends_with(&format!("/memory.{file} <=="));
        let files =
            ["min", "low", "high", "max", "swap.max", "swap.high", "zswap.max", "oom.group"];
        files.iter().any(|f| ends(f))
    });
    // Of the machine, three items more are equal: total memory, the mount, and that no MGLRU is on.
    let equal_settings = settings.count() - 2;
    assert!((equal_settings + 1..=equal_settings + 3).contains(&equal), "{equal}");
}

/// Without numbers the order is that of the paths, and a remark says so. A copy that lacks a parent
/// has it without limits.
#[test]
fn what_is_not_known_is_said() {
    let without = |from: &str, until: &str| {
        let (a, b) = (BOX.find(from).expect("there"), BOX.find(until).expect("there"));
        format!("{}{}", &BOX[..a], &BOX[b..])
    };
    let (scenario, notes, ..) =
        import(&without("==> /sys/fs/cgroup/numbers", "==> /sys/fs/cgroup/init.scope/memory.min"));
    let place = |name: &str| scenario.find(&format!("slice/{name}\"")).expect("a group");
    assert!(place("b") < place("z"), "{scenario}");
    assert!(notes.contains("sys/fs/cgroup/numbers: missing: the order"), "{notes}");
    let (scenario, notes, ..) = import(&without(
        "==> /sys/fs/cgroup/kubepods.slice/memory.max",
        "==> /sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/memory.low",
    ));
    assert!(scenario.contains("name = \"kubepods.slice\"\n\n"), "{scenario}");
    assert!(notes.contains("sys/fs/cgroup: kubepods.slice: no file of it was copied"), "{notes}");
    let v1 = "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n";
    let (_, notes, ..) = import(&BOX.replace("cgroup2 /sys", &format!("{v1}cgroup2 /sys")));
    assert!(notes.contains("proc/mounts: /sys/fs/cgroup/memory: memory is controlled"), "{notes}");
}

/// The tree of a real kernel, 6.12: `pod/web` was made before `pod/batch`. Its limits are those that
/// were written there, and all files of groups come back.
#[test]
fn the_tree_of_a_real_kernel_comes_back() {
    let (scenario, _, _, others) = import(TREE);
    let text = scenario + "\n[[task]]\nworkload = \"sequential\"\nmemory = \"1 page\"\n";
    let scenario = Scenario::from_str(&text, "box.toml").unwrap_or_else(|e| panic!("{e}"));
    let runs = machines::specs(&scenario).unwrap_or_else(|e| panic!("{e}"));
    let machine = &runs[0].machine;
    let groups =
        machine.memcgs.iter().map(|g| (g.name.as_str(), g.low, g.high, g.max, g.oom_group));
    let want = [
        ("pod", 8_192, None, Some(16_384), false),
        ("pod/web", 4_096, None, None, false),
        ("pod/batch", 0, Some(6_144), None, false),
        ("system", 0, None, None, true),
    ];
    assert_eq!(groups.collect::<Vec<_>>(), want);
    assert!(machine.memcg_mount.recursive_protection);
    assert_eq!(others, [""; 0]);
}

/// Values that no kernel prints are refused where they stand.
#[test]
fn mistakes_are_pointed_at() {
    for (from, to, said) in [
        ("1879048192", "lots", "box.txt:50:1"),
        ("oom.group <==\n1", "oom.group <==\n2", "no flag of a group"),
        ("     75 /sys/fs/cgroup/init.scope", "init.scope", "no number of a group"),
        ("     75 /sys", "   7five /sys", "`ls -di`"),
    ] {
        let error = refused(&BOX.replace(from, to));
        assert!(error.contains(said) && error.contains("box.txt"), "{said}: {error}");
    }
}

/// The groups of the machine that tests run on, if it has cgroup v2: they come back. A folder that
/// mirrors `/` is read at any depth.
#[test]
fn a_folder_is_read_and_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let at = folder.path().join(name);
        std::fs::create_dir_all(at.parent().expect("in a folder")).expect("made");
        std::fs::write(at, text).expect("written");
    };
    put("proc/meminfo", "MemTotal: 8388608 kB\n");
    put("sys/fs/cgroup/a/b/c/d/memory.max", "8388608\n");
    let live = Path::new("/sys/fs/cgroup");
    let groups = live.read_dir().into_iter().flatten().filter_map(Result::ok);
    for group in groups.filter(|g| g.path().join("memory.max").exists()) {
        let name = group.file_name().into_string().expect("text");
        for file in ["memory.min", "memory.low", "memory.high", "memory.max", "memory.swap.max"] {
            if let Ok(text) = std::fs::read_to_string(group.path().join(file)) {
                put(&format!("sys/fs/cgroup/{name}/{file}"), &text);
            }
        }
    }
    let copies = Copies::read(folder.path()).unwrap_or_else(|e| panic!("{e}"));
    let import = Import::of(&copies, &Options::default(), None).unwrap_or_else(|e| panic!("{e}"));
    assert!(import.scenario.contains("name = \"a/b/c/d\"\nmax = \"8MiB\""), "{}", import.scenario);
    let emitted = emit(&copies, &import).unwrap_or_else(|e| panic!("{e}"));
    let (_, others) = differences(&copies, &emitted);
    let of_groups = |d: &&mmsim::system::Difference| d.file.starts_with("sys/fs/cgroup");
    let others: Vec<_> = others.iter().filter(of_groups).filter(|d| d.copy != "max").collect();
    assert_eq!(others, [] as [&mmsim::system::Difference; 0]);
}

/// The lines of the script run in a shell, and an import reads the output.
#[test]
fn the_script_copies_a_tree() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("cgroup");
    for (name, text) in [("pod one/a/memory.max", "4096\n"), ("pod one/memory.low", "8192\n")] {
        let at = root.join(name);
        std::fs::create_dir_all(at.parent().expect("in a folder")).expect("made");
        std::fs::write(at, text).expect("written");
    }
    let root = root.display().to_string();
    let all = script(None);
    let begin = all.find("echo '==> /sys/fs/cgroup/numbers").expect("groups are copied");
    let script = all[begin..].replace("find /sys/fs/cgroup", &format!("find '{root}'"));
    let run = std::process::Command::new("sh").arg("-c").arg(script).output().expect("a shell");
    let text = String::from_utf8(run.stdout).expect("text").replace(&root, "/sys/fs/cgroup");
    let machine = "==> /proc/meminfo <==\nMemTotal: 8388608 kB\n\n";
    let (scenario, notes, ..) = import(&format!("{machine}{text}"));
    assert!(scenario.contains("name = \"pod one\"\nlow = \"2 pages\""), "{text}{scenario}");
    assert!(scenario.contains("name = \"pod one/a\"\nmax = \"1 page\""), "{text}{scenario}");
    assert!(!notes.contains("numbers: missing"), "{text}{notes}");
}
