//! Data of refaults for the script: their classes, and pages with their lives.

use mmsim::report::{ClassReport, ShareReport, SwapOutReport, WhyExample, WhyReport};
use mmsim::why::Class;
use mmsim::why::life::{Life, Moment};
use serde::Serialize;

/// The classes of a run.
#[derive(Serialize)]
pub(super) struct WhyData<'a> {
    refaults: u64,
    counters: Vec<&'a str>,
    credit: u64,
    swap_outs: SwapOutReport,
    classes: Vec<ClassData<'a>>,
}

/// A name and its count.
type Share<'a> = (&'a str, u64);

/// A class, and what it is counted by.
#[derive(Serialize)]
struct ClassData<'a> {
    name: &'a str,
    decision: bool,
    anon: u64,
    file: u64,
    without_device: u64,
    device_ns: u64,
    by: Vec<(&'static str, Vec<Share<'a>>)>,
    examples: Vec<ExampleData<'a>>,
}

/// When, event, function, facts, class.
type Told<'a> = (u64, &'a str, &'a str, &'a str, Option<&'a str>);

#[derive(Serialize)]
struct ExampleData<'a> {
    page: &'a str,
    t_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    life: Option<Vec<Told<'a>>>,
    left_out: u64,
}

fn moment(m: &Moment) -> Told<'_> {
    (m.t_ns, m.event, m.function, &m.fields, m.class)
}

impl<'a> WhyData<'a> {
    /// `lives`: of the examples of all classes, in their order; may be empty.
    pub(super) fn of(why: &'a WhyReport, lives: &'a [Life]) -> WhyData<'a> {
        let mut lives = lives.iter();
        let mut example = |e: &'a WhyExample| {
            let life = lives.next();
            ExampleData {
                page: &e.page,
                t_ns: e.t_ns,
                life: life.map(|l| l.moments.iter().map(moment).collect()),
                left_out: life.map_or(0, |l| l.left_out),
            }
        };
        let mut class = |c: &'a ClassReport| {
            let known = Class::ALL.iter().find(|k| k.key() == c.class);
            let parts = [
                ("region", &c.regions),
                ("phase", &c.phases),
                ("task", &c.tasks),
                ("group", &c.groups),
            ];
            let share = |s: &'a ShareReport| (s.name.as_str(), s.count);
            ClassData {
                name: known.map_or(c.class.as_str(), |k| k.words()),
                decision: known.is_none_or(|k| k.is_decision()),
                anon: c.anon,
                file: c.file,
                without_device: c.without_device,
                device_ns: c.device_ns,
                by: parts.map(|(name, all)| (name, all.iter().map(share).collect())).into(),
                examples: c.examples.iter().map(&mut example).collect(),
            }
        };
        let counters = [Some(why.anon_counter.as_str()), why.file_counter.as_deref()];
        WhyData {
            refaults: why.refaults,
            counters: counters.into_iter().flatten().collect(),
            credit: why.credit,
            swap_outs: why.swap_outs,
            classes: why.classes.iter().map(&mut class).collect(),
        }
    }
}
