//! Files of events, as users name them.

use std::io::{Cursor, Read};
use std::path::Path;

use mmsim_workload::events::{Event, EventReader, Step, Wanted};
use mmsim_workload::trace::{TraceError, decompressed};

use super::EventFilter;
use mmsim_base::error::{Error, ErrorKind};
use mmsim_base::files;

/// A file of events (`.mmev`), plain or packed by gzip or zstd, of which events come one by one.
pub struct EventFile<'a> {
    reader: EventReader<'a>,
    name: String,
    filter: EventFilter,
    /// The events of the run that the filter passes.
    wanted: Wanted,
    /// Tasks of the filter that no run has had so far.
    unmatched: Vec<String>,
    /// Tasks that there are.
    tasks: Vec<String>,
    /// Events read so far, passed or not.
    read: u64,
}

/// Beginnings of texts that users give by mistake: their kinds, and the remedies.
const OTHERS: [(&[u8], &str, &str); 3] = [
    (
        b"{\"t_ns\":",
        "the JSON lines of events",
        "they are what `mmsim events` prints: read them as they are",
    ),
    (b"{", "JSON", "name a file that `mmsim run --events FILE.mmev` wrote"),
    (b"schema = ", "a scenario", "`mmsim run SCENARIO --events FILE.mmev` writes its events"),
];

impl EventFile<'static> {
    /// Opens a file; `-` is stdin.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is no file of events of this version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
        EventFile::new(files::open(path, "a file of events")?, &name)
    }
}

impl<'a> EventFile<'a> {
    /// Events that come from an input. `name` stands for it in messages.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is no file of events of this version.
    pub fn new(input: impl Read + Send + 'a, name: &str) -> Result<Self, Error> {
        let failed = |e: TraceError| at(name, &e);
        let mut input = decompressed(input).map_err(failed)?;
        let mut head = Vec::new();
        let begun = (&mut input).take(9).read_to_end(&mut head);
        begun.map_err(|e| Error::new(ErrorKind::File, format!("cannot read `{name}`: {e}")))?;
        if let Some((_, what, help)) = OTHERS.iter().find(|other| head.starts_with(other.0)) {
            let title = format!("{name}: found {what}, expected events as bytes (`.mmev`)");
            return Err(Error::new(ErrorKind::File, title).help(*help));
        }
        let reader = EventReader::new(Cursor::new(head).chain(input)).map_err(failed)?;
        Ok(EventFile {
            reader,
            name: name.to_string(),
            filter: EventFilter::default(),
            wanted: EventFilter::default().wanted(|_| Vec::new()),
            unmatched: Vec::new(),
            tasks: Vec::new(),
            read: 0,
        })
    }

    /// Passes only events that the filter does.
    pub fn filter(&mut self, filter: &EventFilter) {
        self.filter = filter.clone();
        self.unmatched = filter.tasks.clone();
    }

    /// Goes on to the next event that the filter passes. False: there is none, and the file was whole.
    ///
    /// # Errors
    ///
    /// The file ends early, or is not what it should be. All events before were right. Or no run has a
    /// task of the filter.
    pub fn advance(&mut self) -> Result<bool, Error> {
        loop {
            match self.reader.advance().map_err(|e| self.broken(&e))? {
                Step::Run => self.begin(),
                Step::Event => {
                    self.read += 1;
                    if self.reader.event().is_of(&self.wanted) {
                        return Ok(true);
                    }
                }
                Step::End => return self.all_tasks_are_there().map(|()| false),
            }
        }
    }

    /// The event that it has come to.
    pub fn event(&self) -> Event<'_> {
        self.reader.event()
    }

    /// A run begins.
    fn begin(&mut self) {
        let run = self.reader.run();
        self.wanted = self.filter.wanted(|task| run.threads_of(task));
        self.unmatched.retain(|task| run.threads_of(task).is_empty());
        self.tasks.extend(run.tasks.iter().map(|(task, _)| task.clone()));
    }

    fn all_tasks_are_there(&mut self) -> Result<(), Error> {
        let Some(task) = self.unmatched.first() else { return Ok(()) };
        self.tasks.sort();
        self.tasks.dedup();
        let title =
            format!("--events-filter: no run of {} has a task or thread `{task}`", self.name);
        let help = format!("the tasks are {}; a thread is TASK/0", self.tasks.join(", "));
        Err(Error::new(ErrorKind::Option, title).help(help))
    }

    /// The error for the rest of the file.
    fn broken(&self, e: &TraceError) -> Error {
        let error = at(&self.name, e);
        match self.read {
            0 => error,
            n => error.help(format!("the {n} events up to there are whole, and were read")),
        }
    }
}

fn at(name: &str, e: &TraceError) -> Error {
    let title = match e {
        TraceError::Format { offset, found, expected } => {
            format!("{name}: byte {offset}: found {found}, expected {expected}")
        }
        e => format!("{name}: {e}"),
    };
    Error::new(ErrorKind::File, title)
}
