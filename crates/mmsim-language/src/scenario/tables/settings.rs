//! Tables whose keys are rows of settings: the keys, and the reader that fills a config by them.

use std::any::Any;

use mmsim_core::base::rules::KernelRules;
use mmsim_core::base::settings::{Form, KnobError, Row, Settings};
use mmsim_core::config::Kernel;
use mmsim_core::config::cost::CostModel;
use mmsim_workload::law::Varying;
use mmsim_workload::named::{Given, Misfit, Named, TaskOf};

use super::laws::{TIMES, counts, sizes};
use crate::registry::{Slot, values};
use crate::scenario::fields::TaskCx;
use crate::scenario::keys::{Defaults, Fallback, KeySpec, Kind, MANY, RowTable, RowsOf, U32};
use crate::scenario::read::Reader;
use mmsim_base::error::Error;

/// The costs of the machine.
pub static COSTS: RowTable = RowTable {
    name: "costs",
    form: "table, see [machine.cost]",
    rows: RowsOf::Machine(CostModel::ROWS, |machine| values(&machine.cost)),
};

/// The rules of the kernel.
pub static RULES: RowTable = RowTable {
    name: "rules",
    form: "table, see [machine.rules]",
    rows: RowsOf::Machine(KernelRules::ROWS, |machine| values(&machine.kernel_rules())),
};

const OF_PRESET: &str = "table of `preset` and knobs";

/// A replacement policy.
pub static POLICY: RowTable =
    RowTable { name: "policy", form: OF_PRESET, rows: RowsOf::Preset(Slot::Reclaim) };

/// A way of compaction.
pub static COMPACTION: RowTable =
    RowTable { name: "compaction", form: OF_PRESET, rows: RowsOf::Preset(Slot::Compaction) };

/// The rules of a DAMON.
pub static DAMON_RULES: RowTable =
    RowTable { name: "damon-rules", form: OF_PRESET, rows: RowsOf::Preset(Slot::Damon) };

/// The parameters of a module of DAMON.
pub static PARAMETERS: RowTable = RowTable {
    name: "parameters",
    form: "table of names, and values as the files in /sys/module take them (`\"Y\"`)",
    rows: RowsOf::Module,
};

/// Globals of a chooser.
pub static GLOBALS: RowTable = RowTable {
    name: "globals",
    form: "table of names, and numbers, `true`, `false` or strings (`\"pages of max\"`)",
    rows: RowsOf::Free,
};

/// Ring buffers of a chooser.
pub static EVENTS: RowTable =
    RowTable { name: "events", form: "table of names and programs", rows: RowsOf::Free };

/// The tables of settings that have rows of their own, in the order of the schema.
pub static ROW_TABLES: &[&RowTable] = &[&POLICY, &COMPACTION, &DAMON_RULES, &COSTS, &RULES];

/// The key of a row.
const fn key_of(row: &'static Row, defaults: Defaults) -> KeySpec {
    let (low, high) = match row.bounds() {
        Some(bounds) => bounds,
        None => (0, MANY),
    };
    let kind = match (&row.form, row.is_drawn()) {
        (Form::Time, true) => TIMES,
        (Form::Pages, true) => sizes(low),
        (_, true) => counts(low, high),
        (Form::Bool, _) => Kind::Flag,
        // The words of /proc; others are words.
        (Form::Flag(words), _) if words[0].as_bytes()[0] == b'0' => Kind::Count(0, 1),
        (Form::Flag(words), _) => Kind::Choice(words),
        (Form::Word(_, names), _) => Kind::Choice(names),
        (Form::Time, _) => Kind::Time,
        (Form::Pages, _) => Kind::Size(low),
        (Form::Real, _) => Kind::Number(f64::from_bits(low), f64::from_bits(high)),
        (Form::Whole, _) => Kind::Count(low, high),
    };
    let fallback = match row.is_required() && row.or.is_empty() {
        true => Fallback::Required,
        false => Fallback::Row(row, defaults),
    };
    KeySpec { name: row.name, kind, fallback, doc: row.doc }
}

/// The keys of a table of rows.
pub(in crate::scenario) const fn keys_of<const N: usize>(
    rows: &'static [Row],
    defaults: Defaults,
) -> [KeySpec; N] {
    let mut keys = [key_of(&rows[0], defaults); N];
    let mut i = 1;
    while i < N {
        keys[i] = key_of(&rows[i], defaults);
        i += 1;
    }
    keys
}

/// The number of a row, or the place of its word, if it is given.
pub(super) fn number(r: &Reader<'_>, row: &Row) -> Result<Option<u64>, Error> {
    if !r.has(row.name) {
        return Ok(None);
    }
    Ok(match row.form {
        Form::Word(..) => Some(r.position(row.name)? as u64),
        Form::Flag(words) if words[0] != "0" => Some(r.position(row.name)? as u64),
        Form::Bool => r.opt_flag(row.name)?.map(u64::from),
        Form::Real => r.opt_number(row.name)?.map(f64::to_bits),
        Form::Pages if row.bounds().is_some_and(|b| b.1 <= U32) => {
            r.opt_pages_u32(row.name)?.map(u64::from)
        }
        Form::Pages => r.opt_pages(row.name)?,
        // Work lasts for it.
        Form::Time if row.bounds().is_some() => r.opt_time_of_work(row.name)?.map(|t| t.as_nanos()),
        Form::Time => r.opt_time(row.name)?.map(|t| t.as_nanos()),
        Form::Whole | Form::Flag(_) => r.opt_count(row.name)?,
    })
}

/// Fills a config with what a table gives.
fn fill<C: Settings>(r: &Reader<'_>, rows: &[Row], config: &mut C) -> Result<(), Error> {
    for row in rows {
        match (row.is_required(), row.or) {
            (true, "") => drop(r.need(row.name)?),
            (true, other) => r.one_of(row.name, other)?,
            (false, "") => {}
            (false, other) => r.at_most_one(row.name, other)?,
        }
        if row.is_drawn() {
            if let Some(value) = r.get::<Option<Varying>>(row.name)? {
                vary(config, row, value);
            }
        } else if let Some(number) = number(r, row)? {
            config.fill(row, number);
        }
    }
    Ok(())
}

/// A config with what a table gives in place of its values, unless they contradict each other.
pub(super) fn filled<C: Settings>(r: &Reader<'_>, mut config: C) -> Result<C, Error> {
    fill(r, C::ROWS, &mut config)?;
    match config.validate() {
        Ok(()) => Ok(config),
        Err(KnobError::Contradiction { setting, instead, because }) => {
            let key = setting.split_once(' ').map_or("", |s| s.0).to_owned();
            Err(r.error(&key, format!("{setting}: {because}"), instead))
        }
        Err(other) => unreachable!("{other:?} of values that were read"),
    }
}

/// Fills the field of a row with a value that may follow a law.
fn vary<C: Settings>(config: &mut C, row: &Row, value: Varying) {
    let Some(field) = config.field_mut(row.field) else { return };
    let field: &mut dyn Any = field;
    if let Some(field) = field.downcast_mut::<Varying>() {
        *field = value;
    } else if let Some(field) = field.downcast_mut::<Option<Varying>>() {
        *field = Some(value);
    } else {
        unreachable!("`{}` takes no law", row.name);
    }
}

impl Given for Reader<'_> {
    fn has(&self, key: &str) -> bool {
        Reader::has(self, key)
    }
    fn is_default(&self, key: &str) -> bool {
        Reader::is_default(self, key)
    }
}

/// Default of a row of `C` on a kernel.
pub(crate) fn default_of<C: Settings>(row: &Row, kernel: Kernel) -> Option<u64> {
    C::of_kernel(kernel)?.number(row)
}

/// Reads options that no kernel decides.
pub(super) fn options<C: Settings>(r: &Reader<'_>) -> Result<C, Error> {
    let mut options = C::of_kernel(Kernel::LAST).expect("options have defaults");
    fill(r, C::ROWS, &mut options)?;
    Ok(options)
}

/// Reads the config of a workload.
pub(super) fn named<C: Settings>(
    r: &Reader<'_>,
    task: &TaskCx<'_>,
    of: &Named<C>,
) -> Result<C, Error> {
    let mut config = (of.start)();
    fill(r, of.rows, &mut config)?;
    let task = TaskOf { name: task.name, threads: task.threads, kernel: task.machine.kernel };
    (of.finish)(&mut config, &task, r).map_err(|misfit| placed(r, misfit))?;
    Ok(config)
}

/// The error of keys that do not fit.
pub(super) fn placed(r: &Reader<'_>, misfit: Misfit) -> Error {
    match misfit {
        Misfit::Value(key, found, write) => r.error(key, found, write),
        Misfit::Both(a, b) => r.contradiction(a, b),
    }
}
