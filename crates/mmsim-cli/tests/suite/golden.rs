//! Messages of a program, compared word by word. The tests of mmsim-lab include this file too.

use std::fmt::Write as _;
use std::path::Path;

use crate::harness::Said;

/// Exit codes and texts of stderr, which `tests/errors/NAME.txt` holds.
pub(crate) struct Golden {
    name: &'static str,
    heard: std::cell::RefCell<String>,
}

impl Golden {
    pub(crate) fn of(name: &'static str) -> Golden {
        Golden { name, heard: Default::default() }
    }

    /// The next of them. Bad input leaves stdout empty.
    pub(crate) fn is(&self, case: &str, said: &Said) {
        assert!(said.code != Some(2) || said.stdout.is_empty(), "{case}: {}", said.stdout);
        let code = said.code.map_or("a signal".to_string(), |c| c.to_string());
        let mut heard = self.heard.borrow_mut();
        let between = if heard.is_empty() { "" } else { "\n" };
        write!(heard, "{between}=== {case}: exit code {code}\n{}", said.stderr)
            .expect("writing to a string");
    }
}

impl Drop for Golden {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/errors/{}.txt", self.name));
        let heard = self.heard.borrow();
        if std::env::var_os("MMSIM_BLESS").is_some() {
            std::fs::write(&path, heard.as_str()).expect("rewriting the expected texts");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        for (heard, expected) in heard.split("=== ").zip(expected.split("=== ")) {
            assert_eq!(heard, expected, "{}", path.display());
        }
        assert_eq!(heard.len(), expected.len(), "{} has more or fewer cases", path.display());
    }
}
