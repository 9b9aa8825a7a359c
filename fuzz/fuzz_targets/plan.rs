//! Plans of sweeps: whatever the text, an error with its place, or units that have places.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use mmsim::sweep::SweepPlan;

const SCENARIO: &str = include_str!("../../scenarios/uniform.toml");

fuzz_target!(|text: &str| {
    static FOLDER: OnceLock<std::path::PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("mmsim-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("x.toml"), SCENARIO).expect("a scenario");
        folder
    });
    let text = format!("version = 1\nscenarios = [\"x.toml\"]\n{text}");
    match SweepPlan::from_str(&text, &folder.join("p.toml").display().to_string()) {
        Err(e) => mmsim_fuzz::rendered(&e),
        Ok(plan) => {
            plan.axes_at(plan.units() - 1);
        }
    }
});
