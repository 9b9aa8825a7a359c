//! Which part of a sweep a process runs: said by its user, or by the engine that started it.

use mmsim_base::error::Error;

/// One of several parts of a sweep. A unit is in part `id mod of`, so more axes, seeds or scenarios
/// move no unit to another part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    pub(crate) index: u32,
    pub(crate) of: u32,
}

/// Shards of a sweep at most.
pub const MOST_SHARDS: u32 = 99_999;

/// Variables that say which task of an array a process is, without saying of how many.
const TASKS: [&str; 2] = ["HQ_TASK_ID", "JOB_COMPLETION_INDEX"];

impl Shard {
    /// All of a sweep.
    pub const ALL: Shard = Shard { index: 0, of: 1 };

    /// Shard `index` of `of`, counted from 0.
    ///
    /// # Errors
    ///
    /// There is no such shard.
    pub fn new(index: u32, of: u32) -> Result<Shard, Error> {
        Shard::checked(index.into(), of.into(), "the shard")
    }

    fn checked(index: u64, of: u64, what: &str) -> Result<Shard, Error> {
        if of == 0 || of > u64::from(MOST_SHARDS) {
            let title = format!("{what}: there are 1 to {MOST_SHARDS} shards, not {of}");
            return Err(Error::of_option(title).help("write --shard 0/8"));
        }
        if index >= of {
            let title = format!("{what}: there is no shard {index} of {of}");
            let help = format!("shards of {of} are 0 to {}", of - 1);
            return Err(Error::of_option(title).help(help));
        }
        Ok(Shard { index: index as u32, of: of as u32 })
    }

    /// Its number, from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// Number of shards.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Reads `I/N`.
    ///
    /// # Errors
    ///
    /// It is no such text, or there is no such shard.
    pub fn parse(text: &str) -> Result<Shard, Error> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?)));
        let Some((index, of)) = numbers else {
            let title = format!("--shard: found `{text}`, write I/N, as in 0/8");
            return Err(Error::of_option(title));
        };
        Shard::checked(index, of, "--shard")
    }

    /// The shard that the environment names, or all where it names none. `shards`: their number, if
    /// it was given; Slurm gives it itself.
    ///
    /// # Errors
    ///
    /// A variable is no number, there is no such shard, or nothing says of how many.
    pub fn of_environment(
        shards: Option<u32>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Shard, Error> {
        let read = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => number(&text).map(Some).ok_or_else(|| {
                let title = format!("{name}: found `{text}`, which is no whole number");
                Error::of_option(title).help("write --shard I/N")
            }),
        };
        if let Some(task) = read("SLURM_ARRAY_TASK_ID")? {
            let name = "SLURM_ARRAY_TASK_ID";
            if let Some(of) = shards {
                return Shard::checked(task, of.into(), name);
            }
            let Some(of) = read("SLURM_ARRAY_TASK_COUNT")? else { return Err(unsaid(name)) };
            let (least, step) =
                (read("SLURM_ARRAY_TASK_MIN")?, read("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1));
            let from = task.checked_sub(least.unwrap_or(0)).unwrap_or(of);
            return Shard::checked(from / step.max(1), of, name);
        }
        for name in TASKS {
            if let Some(task) = read(name)? {
                let of = shards.ok_or_else(|| unsaid(name))?;
                return Shard::checked(task, of.into(), name);
            }
        }
        match shards {
            None | Some(1) => Ok(Shard::ALL),
            Some(n) => {
                let title = format!("--shards {n}: nothing says which of them this is");
                let help = format!("write --shard I/{n}, or start it as a task of an array");
                Err(Error::of_option(title).help(help))
            }
        }
    }
}

fn unsaid(name: &str) -> Error {
    let title = format!("{name} says which shard this is, and nothing says of how many");
    Error::of_option(title).help("write --shards N; --shard 0/1 is all of the sweep")
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shards: Option<u32>, set: &[(&str, &str)]) -> Result<(u32, u32), String> {
        let variable = |name: &str| {
            set.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_string())
        };
        Shard::of_environment(shards, variable)
            .map(|s| (s.index(), s.of()))
            .map_err(|e| e.title().to_string())
    }

    #[test]
    fn engines_say_which_shard_it_is() {
        let slurm = |id, count, least| {
            [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_MIN", least),
            ]
        };
        assert_eq!(of(None, &[]), Ok((0, 1)));
        assert_eq!(of(None, &slurm("3", "7", "0")), Ok((3, 7)));
        assert_eq!(of(None, &slurm("3", "7", "1")), Ok((2, 7)));
        // One task of seven that is made once more.
        assert_eq!(of(Some(7), &slurm("3", "1", "3")), Ok((3, 7)));
        let mut stepped = slurm("12", "7", "0").to_vec();
        stepped.push(("SLURM_ARRAY_TASK_STEP", "2"));
        assert_eq!(of(None, &stepped), Ok((6, 7)));
        assert_eq!(of(Some(4), &[("HQ_TASK_ID", "2")]), Ok((2, 4)));
        assert_eq!(of(Some(4), &[("JOB_COMPLETION_INDEX", "0")]), Ok((0, 4)));
        assert_eq!(of(Some(1), &[]), Ok((0, 1)));
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        let title = |shards, set: &[(&str, &str)]| of(shards, set).unwrap_err();
        let id = [("HQ_TASK_ID", "4")];
        assert_eq!(title(Some(4), &id), "HQ_TASK_ID: there is no shard 4 of 4");
        assert!(title(None, &id).contains("nothing says of how many"));
        assert!(title(Some(4), &[]).contains("nothing says which of them this is"));
        assert!(title(None, &[("SLURM_ARRAY_TASK_ID", "x")]).contains("no whole number"));
        let parse = |text| Shard::parse(text).map_err(|e| e.title().to_string());
        assert_eq!(parse("6/7"), Ok(Shard { index: 6, of: 7 }));
        for (text, said) in [
            ("7/7", "no shard 7 of 7"),
            ("0/0", "not 0"),
            ("0/100000", "not 100000"),
            ("1", "write I/N"),
            ("-1/4", "write I/N"),
            ("+1/4", "write I/N"),
            ("1/2/3", "write I/N"),
        ] {
            let title = parse(text).unwrap_err();
            assert!(title.contains(said), "{text}: {title}");
        }
    }
}
