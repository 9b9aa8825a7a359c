//! Output for other programs: completions of five shells, manual pages, the schema.

use crate::harness::Folder;

#[test]
fn completions_of_every_shell_know_every_verb() {
    let f = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = f.mmsim(&["completions", shell]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["compare", "evaluate", "events", "events-filter", "fail-above", "per-work"] {
            assert!(said.stdout.contains(word), "{shell}: {word}");
        }
    }
}

/// A shell that is here reads its script.
#[cfg(unix)]
#[test]
fn shells_take_their_scripts() {
    let f = Folder::new();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        f.write("script", f.mmsim(&["completions", shell]).stdout);
        let mut command = std::process::Command::new(shell);
        let Ok(out) = command.arg(check).arg(f.path("script")).output() else { continue };
        assert!(out.status.success(), "{shell}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

/// Bash completes what options take, by the words that stand before the cursor.
#[cfg(unix)]
#[test]
fn bash_completes_presets_knobs_figures_and_scenarios() {
    let f = Folder::new();
    f.write("script", f.mmsim(&["completions", "bash"]).stdout);
    for name in ["heap.toml", "heap.json"] {
        f.write(name, "");
    }
    std::fs::create_dir(f.path("heaps")).expect("a folder");
    let completed = |words: &[&str]| {
        let [.., prev, cur] = words else { panic!("a word and the one before it") };
        let line = format!(
            "source ./script; COMP_WORDS=({}); COMP_CWORD={}; _mmsim_more mmsim '{cur}' '{prev}'; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
        );
        let mut bash = std::process::Command::new("bash");
        let out = bash.args(["--norc", "-c", &line]).current_dir(f.path(".")).output().ok()?;
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let said = String::from_utf8(out.stdout).expect("UTF-8");
        Some(said.lines().map(str::to_string).collect::<Vec<_>>())
    };
    let cases: [(&[&str], &[&str]); 8] = [
        (&["mmsim", "run", "x.toml", "--set", "machine.vm.swapp"], &["machine.vm.swappiness="]),
        (&["mmsim", "run", "x.toml", "--set", "reclaim.step-s"], &["reclaim.step-size="]),
        (&["mmsim", "ablate", "x.toml", "--switch", "aging-s"], &["aging-site="]),
        (&["mmsim", "list", "knobs", "--preset", "mglru-v7.3"], &["mglru-v7.3"]),
        (&["mmsim", "bench-trace", "x.mmt", "--reclaim", "classic-v6.18"], &["classic-v6.18"]),
        (&["mmsim", "run", "x.toml", "--by", "major-faults"], &["major-faults"]),
        (&["mmsim", "import-system", "box", "--kernel", "6.18"], &["6.18"]),
        (&["mmsim", "run", "hea"], &["heap.toml", "heaps"]),
    ];
    for (words, expected) in cases {
        // A machine without bash has nothing to complete.
        let Some(found) = completed(words) else { return };
        assert_eq!(found, expected, "{words:?}");
    }
}

#[test]
fn pages_of_all_verbs() {
    let f = Folder::new();
    std::fs::create_dir(f.path("man1")).expect("a folder");
    let said = f.mmsim(&["man", "--dir", "man1"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "", ""));
    let mut names: Vec<String> = std::fs::read_dir(f.path("man1"))
        .expect("the folder")
        .map(|e| e.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    for verb in ["run", "list", "compare", "trace-import", "evaluate", "schema", "man"] {
        assert!(names.contains(&format!("mmsim-{verb}.1")), "{names:?}");
    }
    let run = f.read("man1/mmsim-run.1");
    assert!(run.contains("\n.SH EXAMPLES\n") && !run.contains("EXTRA"), "{run}");
    for option in ["set", "seeds", "dry\\-run", "events\\-filter"] {
        assert!(run.contains(&format!("\\-\\-{option}")), "{option}: {run}");
    }
    assert!(names.iter().all(|n| n.starts_with("mmsim") && n.ends_with(".1")), "{names:?}");
    assert_eq!(f.mmsim(&["man", "trace", "import"]).stdout, f.read("man1/mmsim-trace-import.1"));
    assert!(f.mmsim(&["man"]).stdout.contains(".TH mmsim 1"));
}

#[test]
fn the_schema_is_a_document() {
    let f = Folder::new();
    let said = f.mmsim(&["schema", "-o", "s.json"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""));
    let text = f.read("s.json");
    let schema: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["machine"]["$ref"], "#/$defs/machine");
    assert_eq!(f.mmsim(&["schema"]).stdout, text);
}
