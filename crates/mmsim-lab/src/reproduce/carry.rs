//! Carries out a study: runs what its tables need, once each, and makes their rows.
//!
//! The tables are gone through twice. The first time no run is there, so every figure asks for the
//! runs that it needs; these are then made together, the second time figures have values. So a
//! study says nowhere what is to be run: that follows from its figures, and from the tables that
//! are wanted.

mod findings;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use mmsim_core::base::rng::Rng;
use toml::Value;

use super::demand::Kind;
use super::document::{Asks, FigureRow, Picture};
use super::expression::Expression;
use super::lab::{Lab, ScenarioFile, Sets};
use super::published::{Cell, Published, Relation, show};
use super::ran::{Ran, Watching, is_quantity};
use super::relation::{self, BySeed, values};
use super::study::{
    Direction, Line, Names, PublishedFigure, Runs, Study, Table, Text, combinations, fill, matches,
    of_names,
};
use super::{Family, Figures, row_by_seed, unpublished_row};
use mmsim::error::Error;
use mmsim::report::claim::Bounds;
use mmsim::report::statistics::{Estimate, estimate};
use mmsim::run::RunError;
use mmsim::scenario::RunSpec;

/// An experiment of the study and one of its points, by their places.
type Place = (usize, usize);

/// Variants that are needed of a place; `None`: all.
type Wanted = Option<BTreeSet<String>>;

/// The figures of a family's wanted tables.
///
/// # Errors
/// The study names what there is not, or a scenario does not take a value.
pub fn figures(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    published: &Published,
) -> Result<Figures, RunError> {
    let mut carrier = Carrier::new(lab, family, study, published);
    carrier.all_tables(false)?;
    carrier.run()?;
    carrier.all_tables(true)
}

/// Settings of an experiment's scenario at its `point`-th point.
///
/// # Errors
/// A setting names what there is not.
pub fn sets(
    lab: &Lab<'_>,
    family: &Family,
    study: &Study,
    runs: &Runs,
    point: usize,
) -> Result<(ScenarioFile, Sets), Error> {
    let published = Published::read(family.published);
    let carrier = Carrier::new(lab, family, study, &published);
    carrier.sets(runs, &carrier.points(runs)[point])
}

struct Carrier<'a> {
    lab: &'a Lab<'a>,
    family: &'a Family,
    study: &'a Study,
    published: &'a Published,
    asked: RefCell<BTreeMap<Place, Wanted>>,
    ran: BTreeMap<Place, Vec<Ran>>,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
struct At<'a> {
    place: Place,
    variant: &'a str,
    seed: u64,
    phases: Option<&'a str>,
    names: &'a Names,
    /// `@` gives means over seeds.
    means: bool,
}

impl<'a> Carrier<'a> {
    fn new(
        lab: &'a Lab<'a>,
        family: &'a Family,
        study: &'a Study,
        published: &'a Published,
    ) -> Carrier<'a> {
        Carrier { lab, family, study, published, asked: RefCell::default(), ran: BTreeMap::new() }
    }

    // ---- experiments and their points ----

    /// The experiment of a table; `at` is what needs it.
    fn experiment(&self, table: &Table, at: &Text) -> Result<usize, Error> {
        let named = table.runs.as_ref();
        let named = named.ok_or_else(|| self.study.error(at, "its table has no `runs`"))?;
        self.experiment_of(named, &Names::new())
    }

    fn experiment_of(&self, named: &Text, names: &Names) -> Result<usize, Error> {
        let name = self.filled(named, names)?;
        let at = self.study.runs.iter().position(|r| r.name == name);
        let known = || self.study.runs.iter().map(|r| &*r.name).collect::<Vec<_>>().join(", ");
        at.ok_or_else(|| self.study.error(named, format!("no such experiment, write {}", known())))
    }

    /// Variables of the points of an experiment.
    fn points(&self, runs: &Runs) -> Vec<Names> {
        if self.lab.quick && runs.full_only {
            return Vec::new();
        }
        if let Some(draws) = &runs.draws {
            let count = if self.lab.quick { draws.quick } else { draws.count };
            let draw = |n: u64| {
                let mut rng = Rng::for_purpose(n, &format!("reproduce/{}", self.family.name));
                let mut names = Names::from([("draw".to_string(), n.to_string())]);
                for (name, low, high) in &draws.ranges {
                    let value = low + rng.below((high - low) as u64 + 1) as f64;
                    names.insert(name.clone(), value.to_string());
                }
                names
            };
            return (1..=count).map(draw).collect();
        }
        let points = runs.quick_points.as_ref().filter(|_| self.lab.quick);
        combinations(points.unwrap_or(&runs.points))
    }

    /// Constants, variables of an experiment and those of a point.
    fn names(&self, runs: &Runs, point: &Names) -> Names {
        let constants = self.study.constants.iter();
        let mut names: Names =
            constants.map(|c| (c.name.clone(), self.lab.value(c).to_string())).collect();
        for runs in self.study.lineage(runs) {
            let quick = runs.quick.iter().filter(|_| self.lab.quick);
            names.extend(runs.vars.iter().chain(quick).map(|(k, v)| (k.clone(), show(v))));
        }
        if let (Some(scale), Some(own)) = (self.lab.scale, names.get_mut("scale")) {
            *own = scale.to_string();
        }
        names.extend(point.clone());
        names
    }

    /// The scenario of an experiment and the values put into it at a point.
    fn sets(&self, runs: &Runs, point: &Names) -> Result<(ScenarioFile, Sets), Error> {
        let names = self.names(runs, point);
        let (mut file, mut texts) = (None, BTreeMap::new());
        for runs in self.study.lineage(runs) {
            file = runs.scenario.as_ref().or(file);
            texts.extend(&runs.set);
        }
        let mut sets = Sets::new();
        for (path, text) in texts {
            let filled = fill(text.as_ref(), &names, &|e| of_names(e, &names));
            let value = filled.map_err(|e| self.study.error(text, e))?;
            if !value.is_empty() {
                sets.push((path.clone(), value));
            }
        }
        let file = file.unwrap_or_else(|| panic!("{} names no scenario", runs.name));
        Ok((self.scenario(file)?, sets))
    }

    fn scenario(&self, named: &Text) -> Result<ScenarioFile, Error> {
        let files = self.family.scenarios;
        let stem = |f: &ScenarioFile| f.path.rsplit('/').next().unwrap_or_default().to_string();
        let is = |f: &&ScenarioFile| stem(f) == format!("{}.toml", named.as_ref());
        files.iter().find(is).copied().ok_or_else(|| {
            let known: Vec<String> = files.iter().map(stem).collect();
            self.study.error(named, format!("no such scenario, there are {}", known.join(", ")))
        })
    }

    /// Makes the runs that figures need.
    fn run(&mut self) -> Result<(), RunError> {
        let asked: Vec<(Place, Wanted)> = self.asked.borrow().clone().into_iter().collect();
        if asked.is_empty() {
            return Ok(());
        }
        let runs_of = |i: usize| &self.study.runs[asked[i].0.0];
        let mut cells = Vec::new();
        for (i, ((_, point), _)) in asked.iter().enumerate() {
            cells.push(self.sets(runs_of(i), &self.points(runs_of(i))[*point])?);
        }
        let wanted = |i: usize, spec: &RunSpec| {
            asked[i].1.as_ref().is_none_or(|variants| variants.contains(&spec.variant))
        };
        let watching = |i: usize| Watching {
            pictures: runs_of(i).pictures.iter().map(|p| p.phase.clone()).collect(),
            lazyfree: runs_of(i).follow_lazyfree,
            every: None,
        };
        let all = self.lab.run_watched(self.family.name, &cells, watching, wanted)?;
        self.ran = asked.iter().map(|a| a.0).zip(all).collect();
        Ok(())
    }

    // ---- expressions ----

    fn ask(&self, place: Place, variant: &str) {
        let mut asked = self.asked.borrow_mut();
        let wanted = asked.entry(place).or_insert_with(|| Some(BTreeSet::new()));
        if let Some(variants) = wanted {
            variants.insert(variant.to_string());
        }
    }

    /// Asks for the runs that an expression needs under a variant.
    fn ask_for(
        &self,
        expression: &Expression,
        place: Place,
        variant: Option<&str>,
        names: &Names,
    ) -> Result<(), String> {
        expression.leaves(&mut |leaf| match leaf {
            Expression::Name(name) => match (self.study.figures.get(name), names.get(name)) {
                (Some(figure), _) => {
                    self.ask_for(&Expression::read(figure.as_ref())?, place, variant, names)
                }
                (None, Some(_)) => of_names(leaf, names).map(|_| ()),
                (None, None) if is_quantity(name) => match variant {
                    Some(variant) => {
                        self.ask(place, variant);
                        Ok(())
                    }
                    None => Err(format!("`{name}` needs a variant, write `{name}@VARIANT`")),
                },
                _ => Err(format!("nothing is called `{name}`: no counter, figure or variable")),
            },
            Expression::During(inner, _) => self.ask_for(inner, place, variant, names),
            Expression::Of(inner, variant) => {
                let (place, variant) = self.elsewhere(place, variant)?;
                self.ask_for(inner, place, Some(variant), names)
            }
            _ => Ok(()),
        })
    }

    /// The place and the variant that `@` names.
    fn elsewhere<'b>(&self, place: Place, variant: &'b str) -> Result<(Place, &'b str), String> {
        let Some((runs, variant)) = variant.split_once(':') else { return Ok((place, variant)) };
        let at = self.study.runs.iter().position(|r| r.name == runs);
        Ok(((at.ok_or_else(|| format!("no experiment `{runs}`"))?, 0), variant))
    }

    /// The runs of a variant whose work was done.
    fn runs<'b>(&'b self, place: Place, variant: &'b str) -> impl Iterator<Item = &'b Ran> {
        let all = self.ran.get(&place).into_iter().flatten();
        all.filter(move |r| r.report.variant == variant && r.is_complete())
    }

    fn value(&self, expression: &Expression, at: At<'_>) -> f64 {
        expression.value(&|leaf| match leaf {
            Expression::Name(name) => match (self.study.figures.get(name), at.names.get(name)) {
                (Some(figure), _) => {
                    let figure = Expression::read(figure.as_ref());
                    self.value(&figure.expect("it was read with the study"), at)
                }
                (None, Some(_)) => of_names(leaf, at.names).unwrap_or(f64::NAN),
                (None, None) => {
                    let mut runs = self.runs(at.place, at.variant);
                    let run = runs.find(|r| r.report.seed == at.seed);
                    run.map_or(f64::NAN, |r| r.quantity(name, at.phases))
                }
            },
            Expression::During(inner, phases) => {
                self.value(inner, At { phases: Some(phases), ..at })
            }
            Expression::Of(inner, variant) => {
                let (place, variant) = self.elsewhere(at.place, variant).expect("it is there");
                if at.means {
                    let of = self.by_seed(inner, place, variant, at.names);
                    return estimate(&values(&of)).map_or(0.0, |e| e.mean);
                }
                self.value(inner, At { place, variant, ..at })
            }
            _ => f64::NAN,
        })
    }

    /// A figure of each seed of a variant on which it is known.
    fn by_seed(
        &self,
        expression: &Expression,
        place: Place,
        variant: &str,
        names: &Names,
    ) -> BySeed {
        let of = |r: &Ran| {
            let seed = r.report.seed;
            let at = At { place, variant, seed, phases: None, names, means: false };
            (seed, self.value(expression, at))
        };
        self.runs(place, variant).map(of).filter(|v| !v.1.is_nan()).collect()
    }

    /// Fills a text that may have means over seeds in it.
    fn sentence(&self, text: &Text, place: Place, names: &Names) -> Result<String, Error> {
        let number = |e: &Expression| {
            self.ask_for(e, place, None, names)?;
            Ok(self.value(e, At { place, variant: "", seed: 0, phases: None, names, means: true }))
        };
        fill(text.as_ref(), names, &number).map_err(|e| self.study.error(text, e))
    }

    fn filled(&self, text: &Text, names: &Names) -> Result<String, Error> {
        let filled = fill(text.as_ref(), names, &|e| of_names(e, names));
        filled.map_err(|e| self.study.error(text, e))
    }

    // ---- lines ----

    /// The figure of a line: its text, its expression and its variant. Asks for its runs.
    fn figure(
        &self,
        line: &Line,
        place: Place,
        names: &Names,
    ) -> Result<(String, Expression, String), Error> {
        let text = self.filled(&line.figure, names)?;
        let variant = match &line.variant {
            Some(variant) => self.filled(variant, names)?,
            None => names.get("variant").cloned().unwrap_or_default(),
        };
        let read = Expression::read(&text).and_then(|e| {
            let named = (!variant.is_empty()).then_some(variant.as_str());
            self.ask_for(&e, place, named, names).map(|()| e)
        });
        let expression = read.map_err(|e| self.study.error(&line.figure, e))?;
        Ok((text, expression, variant))
    }

    /// The line and the place of a published cell, with the names that it is filled with; `None`:
    /// not carried out, or not this time.
    fn line_of(
        &self,
        table: &'a Table,
        cell: &Cell<'_>,
    ) -> Result<Option<(&'a Line, Place, Names)>, Error> {
        let keys = cell.table.row_keys.iter().map(|k| (k.clone(), cell.key(k)));
        let column = (cell.table.column_key.clone(), cell.column());
        let published: Names = keys.chain([column]).collect();
        let Some(line) = table.cells.iter().find(|l| matches(&l.r#where, &published)) else {
            return Ok(None);
        };
        if self.study.not_carried_out.iter().any(|n| n.has(cell)) {
            return Ok(None);
        }
        let mut own = Names::new();
        for (key, value) in published {
            let renamed = table.rename.get(&key).and_then(|names| names.get(&value));
            own.insert(key.clone(), renamed.unwrap_or(&value).clone());
            own.insert(format!("published.{key}"), value);
        }
        let of = match &line.runs {
            Some(other) => self.experiment_of(other, &own)?,
            None => self.experiment(table, &line.figure)?,
        };
        let runs = &self.study.runs[of];
        let wanted = self.point_of(table, line, &own)?;
        let is = |point: &Names| {
            point.iter().all(|(key, value)| {
                wanted.get(key).or(own.get(key)).is_none_or(|text| text == value)
            })
        };
        let points = self.points(runs);
        let Some(nth) = points.iter().position(is) else { return Ok(None) };
        let mut names = self.names(runs, &points[nth]);
        names.extend(own);
        Ok(Some((line, (of, nth), names)))
    }

    /// The variables of a point that a line asks for.
    fn point_of(&self, table: &Table, line: &Line, names: &Names) -> Result<Names, Error> {
        let wanted = table.point.iter().chain(&line.point);
        let filled = |(key, value): (&String, &Value)| {
            let text = fill(&show(value), names, &|e| of_names(e, names));
            Ok((key.clone(), text.map_err(|e| self.study.error(&line.figure, e))?))
        };
        wanted.map(filled).collect()
    }

    /// A published figure, seed by seed.
    fn simulated(&self, cell: &Cell<'_>) -> Result<Option<BySeed>, Error> {
        for table in self.study.tables.iter().filter(|t| t.id == cell.table.id) {
            if let Some((line, place, names)) = self.line_of(table, cell)? {
                let (_, expression, variant) = self.figure(line, place, &names)?;
                return Ok(Some(self.by_seed(&expression, place, &variant, &names)));
            }
        }
        Ok(None)
    }

    /// The rows of the published cells of a table, then those of its relations.
    fn cells(&self, table: &'a Table) -> Result<Vec<FigureRow>, Error> {
        let mut rows = Vec::new();
        for cell in self.published.cells(self.published.table(&table.id)) {
            let Some((line, place, names)) = self.line_of(table, &cell)? else { continue };
            if line.hidden {
                continue;
            }
            let (text, expression, variant) = self.figure(line, place, &names)?;
            let by_seed = self.by_seed(&expression, place, &variant, &names);
            let quantity = match &line.quantity {
                Some(quantity) => self.filled(quantity, &names)?,
                None => text,
            };
            let mut row = row_by_seed(&cell, &quantity, &finite(&values(&by_seed)));
            if let Some(near) =
                cell.demand.near.as_ref().filter(|_| cell.demand.kind == Kind::NearCell)
            {
                let near = self.simulated(&self.published.cell(near))?.unwrap_or_default();
                let both = estimate(&values(&near)).zip(row.simulated);
                row.met = both.map(|(n, s)| cell.demand.met_near(n.mean, s));
            }
            row.met = row.met.filter(|_| table.judged_in_quick || !self.lab.quick);
            rows.push(with_own(row, line));
        }
        let Some(how) = table.relations else { return Ok(rows) };
        let first = |r: &'a Relation| {
            let cells = r.numerator.iter().chain(&r.cells).chain(&r.cell);
            cells.map(|c| &c.table).next()
        };
        for r in self.published.relations.iter().filter(|r| first(r) == Some(&table.id)) {
            let wrong = RefCell::new(None);
            let simulated = |cell: &Cell<'_>| {
                self.simulated(cell).unwrap_or_else(|e| {
                    wrong.replace(Some(e));
                    None
                })
            };
            let row = relation::row(self.published, r, simulated);
            if let Some(e) = wrong.into_inner() {
                return Err(e);
            }
            rows.extend(row.map(|mut row| {
                if how.described {
                    row.quantity = std::mem::take(&mut row.note);
                }
                row.asks = how.asks.unwrap_or(row.asks);
                row
            }));
        }
        Ok(rows)
    }

    /// The rows of a table that were not published.
    fn rows(&self, table: &'a Table) -> Result<Vec<FigureRow>, Error> {
        let mut rows = Vec::new();
        if table.rows.is_empty() {
            return Ok(rows);
        }
        let of = self.experiment(table, &table.rows[0].figure)?;
        for (nth, point) in self.points(&self.study.runs[of]).iter().enumerate() {
            let names = self.names(&self.study.runs[of], point);
            for line in &table.rows {
                if !matches(&table.point, &names) || !matches(&line.r#where, &names) {
                    continue;
                }
                for each in combinations(&line.each) {
                    let names: Names = names.clone().into_iter().chain(each).collect();
                    let place = match &line.runs {
                        Some(other) => (self.experiment_of(other, &names)?, 0),
                        None => (of, nth),
                    };
                    rows.extend(self.row(table, line, place, &names)?);
                }
            }
        }
        Ok(rows)
    }

    fn row(
        &self,
        table: &Table,
        line: &Line,
        place: Place,
        names: &Names,
    ) -> Result<Option<FigureRow>, Error> {
        let (text, expression, variant) = self.figure(line, place, names)?;
        let by_seed = self.by_seed(&expression, place, &variant, names);
        let figures = finite(&values(&by_seed));
        let simulated = match line.of_means {
            true => {
                let at = At { place, variant: &variant, seed: 0, phases: None, names, means: true };
                let seeds = self.runs(place, &variant).count();
                Some(Estimate::without_interval(self.value(&expression, at), seeds))
            }
            false => estimate(&figures),
        };
        if line.if_known && simulated.is_none() {
            return Ok(None);
        }
        let id = match &line.id {
            Some(id) => format!("{}/{}", table.id, self.filled(id, names)?),
            None => table.id.clone(),
        };
        let quantity = match &line.quantity {
            Some(quantity) => self.filled(quantity, names)?,
            None => text,
        };
        let unit = match &line.unit {
            Some(unit) => self.filled(unit, names)?,
            None => String::new(),
        };
        let mut row = unpublished_row(&id, &quantity, &unit, simulated);
        row.published = match &line.published {
            Some(published) => self.published_figure(published, names)?,
            None => None,
        };
        let mut bounds = line.above.map(|low| Bounds { low: Some(low), high: None, open: true });
        if let Some(id) = &line.expectation {
            let e = self.published.expectation(&self.filled(id, names)?);
            let around = match &line.around {
                Some(around) => Expression::read(around.as_ref())
                    .and_then(|e| of_names(&e, names))
                    .map_err(|e| self.study.error(around, e))?,
                None => f64::NAN,
            };
            let low = e.low.or(e.tolerance.map(|t| around - t));
            let high = e.high.or(e.tolerance.map(|t| around + t));
            bounds = bounds.or(Some(Bounds { low, high, open: e.open }));
            (row.gates, row.basis, row.asks) = (e.gate, e.basis, Asks::OwnBound);
            row.note = e.about.clone();
        }
        if let Some(bounds) = bounds {
            row.demand = bounds.words();
            row.met = simulated.map(|e| match line.every_seed {
                true => figures.iter().all(|x| bounds.holds(*x)),
                false => bounds.holds(e.mean),
            });
        }
        Ok(Some(with_own(row, line)))
    }

    fn published_figure(&self, of: &PublishedFigure, names: &Names) -> Result<Option<f64>, Error> {
        if let Some(id) = &of.relation {
            return Ok(self.published.relation(id).published);
        }
        let (Some(table), Some(figure)) = (&of.table, &of.figure) else { return Ok(None) };
        let table = self.published.table(table);
        let mut keys = Names::new();
        for (key, text) in &of.row {
            keys.insert(key.clone(), self.filled(text, names)?);
        }
        let expression = Expression::read(figure.as_ref());
        let expression = expression.map_err(|e| self.study.error(figure, e))?;
        let mut sum = None;
        for row in &table.rows {
            let of_row = |k: &String| row.keys.get(k).map(show);
            if keys.iter().any(|(k, v)| of_row(k).as_ref() != Some(v)) {
                continue;
            }
            let columns = table.columns.iter().map(|c| match c.as_str() {
                Some(name) => name.to_string(),
                None => format!("column-{c}"),
            });
            let values = row.values.iter().map(f64::to_string);
            let value = of_names(&expression, &columns.zip(values).collect());
            let value = value.map_err(|e| self.study.error(figure, e))?;
            sum = Some(sum.unwrap_or(0.0) + value);
        }
        Ok(sum)
    }

    // ---- tables ----

    fn is_wanted(&self, table: &Table) -> bool {
        match table.with.is_empty() {
            true => self.lab.wants(&table.id),
            false => table.with.iter().any(|id| self.lab.wants(id)),
        }
    }

    /// Rows, sentences and pictures of all wanted tables, with those that programs make if they
    /// are to be.
    fn all_tables(&self, programs: bool) -> Result<Figures, RunError> {
        let mut all = Figures::default();
        let tell = |((of, _), _): &(&Place, &Vec<Ran>)| self.study.runs[*of].tell_out_of_memory;
        let told = self.ran.iter().filter(tell);
        all.findings.extend(told.filter_map(|(_, runs)| out_of_memory(self.family.name, runs)));
        let mut made: Vec<&str> = Vec::new();
        for table in self.study.tables.iter().filter(|t| self.is_wanted(t)) {
            if let Some(code) = &table.code {
                let program = self.family.code.iter().find(|c| c.0 == code.as_ref());
                let known = self.family.code.iter().map(|c| c.0).collect::<Vec<_>>();
                self.study.known("program", code, &known)?;
                let (name, make) = program.expect("it is known");
                if programs && !made.contains(name) {
                    made.push(name);
                    all.add(make(self.lab, self.family, self.study, self.published)?);
                }
                continue;
            }
            all.rows.extend(if table.cells.is_empty() { Vec::new() } else { self.cells(table)? });
            all.rows.extend(self.rows(table)?);
            for direction in &table.directions {
                all.rows.push(self.direction(table, direction)?);
            }
            for finding in &table.findings {
                all.findings.extend(self.finding(table, finding)?);
            }
        }
        all.pictures = self.pictures()?;
        let not: Vec<String> = self.study.not_carried_out.iter().map(|n| n.words()).collect();
        if !not.is_empty() {
            all.findings.push(format!("Not carried out: {}.", not.join(". ")));
        }
        all.findings.extend(self.study.findings.iter().cloned());
        Ok(all)
    }
}

/// The figures of all seeds, or of none if one of them is divided by nothing.
fn finite(values: &[f64]) -> Vec<f64> {
    if values.iter().all(|v| v.is_finite()) { values.to_vec() } else { Vec::new() }
}

/// A row with what its line says otherwise.
fn with_own(row: FigureRow, line: &Line) -> FigureRow {
    FigureRow {
        demand: line.demand.clone().unwrap_or(row.demand),
        basis: line.basis.unwrap_or(row.basis),
        asks: line.asks.unwrap_or(row.asks),
        gates: line.gate.unwrap_or(row.gates),
        note: line.note.clone().unwrap_or(row.note),
        ..row
    }
}

/// Variants on which memory ran out, and on how many of the seeds.
fn out_of_memory(what: &str, runs: &[Ran]) -> Option<String> {
    let mut count: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for r in runs {
        let (out, all) = count.entry(&r.report.variant).or_default();
        *out += u32::from(!r.is_complete());
        *all += 1;
    }
    let some = count.iter().filter(|(_, (out, _))| *out > 0);
    let words: Vec<String> =
        some.map(|(v, (out, all))| format!("\"{v}\" on {out} of {all} seeds")).collect();
    let words = words.join(", ");
    (!words.is_empty()).then(|| format!("{what}: memory ran out under {words}; they are left out."))
}

#[cfg(test)]
mod tests;
