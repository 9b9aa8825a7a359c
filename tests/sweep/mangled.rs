//! No plan and no store, however mangled, makes a reader panic; each error renders.

use mmsim::sweep::{Merged, Stored};
use proptest::prelude::*;

use crate::support::{Folder, PLAN};

/// Pieces that mean something in a plan.
const PIECES: &[&str] = &[
    "=",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\n",
    ",",
    "0",
    "-1",
    "1e400",
    "nan",
    "99999999999999999999",
    "true",
    "\"64MiB\"",
    "\"5ms\"",
    "\"\"",
    "[axes]\n",
    "[sample]\npoints = 3\n",
    "[sample.axes]\n",
    "\"machine.cpus\" = { from = 1, to = 9, steps = 3 }\n",
    "steps = 1000000",
    "step = 0.1",
    "scale = \"log\"",
    "seeds = 1000000\n",
    "seed = 9007199254740992\n",
    "variants = [\"random\"]\n",
    "files = [\"*\"]",
    "\"task[0].theta\" = { from = 0.0, to = 1.0 }\n",
    "set = { \"seed\" = 1 }\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn plans(edits in prop::collection::vec((0.0..1.0_f64, 0..12_usize, prop::sample::select(PIECES)), 1..5)) {
        thread_local!(static FOLDER: Folder = Folder::new());
        let mut text = PLAN.to_string();
        for (at, cut, piece) in edits {
            let at = (at * text.len() as f64) as usize;
            text.replace_range(at..text.len().min(at + cut), piece);
        }
        FOLDER.with(|f| match f.plan_of(&text) {
            Err(e) => assert!(!e.to_string().is_empty()),
            Ok(plan) => {
                assert_eq!(plan.axes_at(plan.units() - 1).len(), plan.axes().len());
            }
        });
    }

    #[test]
    fn stores(edits in prop::collection::vec((0..2_usize, 0.0..1.0_f64, any::<u8>()), 1..4), cut in 0.0..1.2_f64) {
        thread_local! {
            static STORE: (Folder, [Vec<u8>; 2]) = {
                let f = Folder::new();
                f.run("s", "0/1").unwrap();
                let files = ["jsonl.zst", "tail"];
                let bytes = files.map(|n| std::fs::read(f.path("s").join(name(n))).unwrap());
                (f, bytes)
            };
        }
        STORE.with(|(f, files)| {
            let mut bent = files.clone();
            for (file, at, byte) in edits {
                let at = (at * bent[file].len() as f64) as usize;
                bent[file][at] = byte;
            }
            let cut = (cut * bent[0].len() as f64) as usize;
            bent[0].truncate(cut);
            for (n, bytes) in ["jsonl.zst", "tail"].into_iter().zip(&bent) {
                std::fs::write(f.path("s").join(name(n)), bytes).unwrap();
            }
            // What is read of it is what was there.
            match Stored::open(&f.path("s"), None) {
                Err(e) => assert!(!e.to_string().is_empty()),
                Ok(_) => {
                    let plan = f.plan();
                    let merged = Merged::open(&plan, &f.path("s")).unwrap();
                    merged.rows().for_each(|row| assert_eq!(row.unwrap().run.seed & !3, 0));
                }
            }
        });
    }
}

fn name(ending: &str) -> String {
    format!("shard-00000-of-00001.{ending}")
}
