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
