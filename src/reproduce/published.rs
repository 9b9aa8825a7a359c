//! Published figures as data: tables, claims, and how close a simulation should come.
//!
//! One TOML file per family of experiments lies in `published/`; docs/published.md explains
//! its keys. Figures are read from there and nowhere else: no number of a table stands in
//! this program.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::demand::Demand;

/// The figures of one family.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The version of the form, 1.
    pub schema: u32,
    /// The name of the family.
    pub family: String,
    /// What cells may ask for, by name.
    pub demands: BTreeMap<String, Demand>,
    /// Tables of figures.
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
    /// Figures from running text.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// What is demanded between the cells of one run.
    #[serde(default, rename = "relation")]
    pub relations: Vec<Relation>,
    /// Where a source disagrees with itself.
    #[serde(default, rename = "contradiction")]
    pub contradictions: Vec<Contradiction>,
}

/// A table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// `illustration` for worked examples.
    pub kind: Option<String>,
    /// Where it was published.
    pub source: String,
    /// Unit of its figures.
    pub unit: String,
    /// Whether larger or smaller is better.
    pub direction: String,
    /// What is known of the set-up.
    #[serde(default)]
    pub setup: toml::Table,
    /// What the source leaves open.
    #[serde(default)]
    pub not_given: Vec<String>,
    /// The keys that tell rows apart.
    pub row_keys: Vec<String>,
    /// What the columns are.
    pub column_key: String,
    /// The columns.
    pub columns: Vec<toml::Value>,
    /// Remarks.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The demand on rows that have none of their own.
    pub demand: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// The figures, one for each column.
    pub values: Vec<f64>,
    /// The standard deviations that were published with them.
    pub deviations: Option<Vec<f64>>,
    /// The demands, one for each column.
    pub demand: Option<Vec<String>>,
    /// The unit, where it is not the table's.
    pub unit: Option<String>,
    /// The values of the row keys.
    #[serde(flatten)]
    pub keys: toml::Table,
}

/// A figure from running text: a value or a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub about: String,
    /// Where it was published.
    pub source: String,
    /// The figure.
    pub value: Option<f64>,
    /// The lower end of a range.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// Whether larger or smaller is better.
    pub direction: Option<String>,
    /// The demand on it.
    pub demand: String,
    /// The cell that it repeats.
    pub agrees_with: Option<CellRef>,
}

/// Points at a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRef {
    /// The table.
    pub table: String,
    /// Values of the row keys.
    pub row: toml::Table,
    /// The column.
    pub column: toml::Value,
}

/// A demand between cells: the sum of some over the sum of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relation {
    /// Its name.
    pub id: String,
    /// `ratio`.
    pub kind: RelationKind,
    /// What it is about.
    pub about: String,
    /// Cells above the line.
    pub numerator: Vec<CellRef>,
    /// Cells below it.
    pub denominator: Vec<CellRef>,
    /// The ratio of the published figures.
    pub published: Option<f64>,
    /// The smallest ratio that does.
    pub low: Option<f64>,
    /// The largest.
    pub high: Option<f64>,
    /// The bounds themselves do not do.
    #[serde(default)]
    pub open: bool,
    /// What a figure that meets it is worth.
    pub basis: super::demand::Basis,
    /// Whether missing it is a failure.
    pub gate: Option<bool>,
}

/// How cells are related.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RelationKind {
    /// A ratio between bounds.
    Ratio,
}

/// Where a source disagrees with itself or with its neighbour.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// Its name.
    pub id: String,
    /// Where it was published.
    pub source: String,
    /// What disagrees, and which reading is used.
    pub about: String,
    /// The figures.
    pub values: Vec<f64>,
}

/// One cell of a table.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The table.
    pub table: &'a Table,
    /// The row.
    pub row: &'a Row,
    /// Place of the column.
    pub column: usize,
    /// What is demanded.
    pub demand: &'a Demand,
}

impl Published {
    /// Reads a file of the repository. Panics if it is not of the form: it is part of the
    /// program.
    pub fn read(text: &str) -> Published {
        let p: Published = toml::from_str(text).unwrap_or_else(|e| panic!("published: {e}"));
        assert_eq!(p.schema, 1, "published {}: another form", p.family);
        p.check();
        p
    }

    fn check(&self) {
        for t in &self.tables {
            let row = |r: &Row| {
                assert_eq!(r.values.len(), t.columns.len(), "{}: {:?}", t.id, r.keys);
                for k in &t.row_keys {
                    assert!(r.keys.contains_key(k), "{}: {:?} has no {k}", t.id, r.keys);
                }
            };
            t.rows.iter().for_each(row);
            self.cells(t).for_each(|c| assert!(c.row.values[c.column].is_finite(), "{}", t.id));
        }
        for c in &self.claims {
            let _ = self.demand(&c.demand);
        }
        for r in &self.relations {
            for c in r.numerator.iter().chain(&r.denominator) {
                let _ = self.cell(c);
            }
        }
    }

    /// The table of that name. Panics if there is none.
    pub fn table(&self, id: &str) -> &Table {
        let found = self.tables.iter().find(|t| t.id == id);
        found.unwrap_or_else(|| panic!("published {}: no table {id}", self.family))
    }

    /// The demand of that name. Panics if there is none.
    pub fn demand(&self, id: &str) -> &Demand {
        let found = self.demands.get(id);
        found.unwrap_or_else(|| panic!("published {}: no demand {id}", self.family))
    }

    /// All cells of a table, row by row.
    pub fn cells<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = Cell<'a>> {
        table.rows.iter().flat_map(move |row| {
            (0..row.values.len()).map(move |column| {
                let demand = row.demand.as_ref().map_or(&table.demand, |d| &d[column]);
                Cell { table, row, column, demand: self.demand(demand) }
            })
        })
    }

    /// The cell that is pointed at. Panics if there is none.
    pub fn cell(&self, at: &CellRef) -> Cell<'_> {
        let t = self.table(&at.table);
        let is = |c: &Cell<'_>| {
            t.columns[c.column] == at.column && at.row.iter().all(|(k, v)| &c.row.keys[k] == v)
        };
        self.cells(t).find(is).unwrap_or_else(|| panic!("published: no cell {at:?}"))
    }
}

impl Cell<'_> {
    /// The published figure.
    pub fn value(&self) -> f64 {
        self.row.values[self.column]
    }

    /// Its published standard deviation.
    pub fn deviation(&self) -> Option<f64> {
        self.row.deviations.as_ref().map(|d| d[self.column])
    }

    /// Its unit.
    pub fn unit(&self) -> &str {
        self.row.unit.as_deref().unwrap_or(&self.table.unit)
    }

    /// The value of a row key as text.
    pub fn key(&self, name: &str) -> String {
        show(&self.row.keys[name])
    }

    /// The value of a row key that is a whole number. Panics if it is none.
    pub fn number(&self, name: &str) -> u64 {
        let n = self.row.keys[name].as_integer().and_then(|n| u64::try_from(n).ok());
        n.unwrap_or_else(|| panic!("{}: {name} is no whole number", self.table.id))
    }

    /// The column as text.
    pub fn column(&self) -> String {
        show(&self.table.columns[self.column])
    }

    /// `table/row keys/column`: a name that stays.
    pub fn id(&self) -> String {
        let keys = self.table.row_keys.iter().map(|k| self.key(k));
        let parts = std::iter::once(self.table.id.clone()).chain(keys).chain([self.column()]);
        parts.collect::<Vec<_>>().join("/")
    }
}

/// A key or column without quotes.
fn show(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anon() -> Published {
        Published::read(super::super::anon_workingset::FAMILY.published)
    }

    #[test]
    fn all_figures_are_there() {
        let p = anon();
        let cells: Vec<usize> = p.tables.iter().map(|t| p.cells(t).count()).collect();
        assert_eq!(cells, [36, 25, 126, 126, 4, 75, 75]);
        assert_eq!((p.claims.len(), p.relations.len(), p.contradictions.len()), (3, 2, 3));
    }

    /// The gains that were printed are the ratios of the rows above them, to two decimals;
    /// so are the changes of swap-ins: what was carried over fits together.
    #[test]
    fn printed_gains_are_those_of_their_rows() {
        let p = anon();
        for (id, of, base, derived, decimals) in [
            ("ebizzy-v1-1t", "patchset", "base", "gain", 1.0),
            ("ebizzy-v1-8t", "patchset", "base", "gain", 1.0),
            ("ebizzy-v7-swapin-1t", "protection", "base", "protection_change", 100.0),
            ("ebizzy-v7-swapin-8t", "detection", "base", "detection_change", 100.0),
        ] {
            let t = p.table(id);
            let row = |memory: u64, series: &str| {
                let is = |r: &&Row| {
                    r.keys["memory_mb"].as_integer() == Some(memory as i64)
                        && r.keys["series"].as_str() == Some(series)
                };
                t.rows.iter().find(is).expect("a row").values.clone()
            };
            for cell in p.cells(t).filter(|c| c.key("series") == derived) {
                let m = cell.number("memory_mb");
                let change = row(m, of)[cell.column] / row(m, base)[cell.column] - 1.0;
                let off = (change * decimals - cell.value()).abs();
                assert!(off <= 0.005_000_1, "{}: {change}, printed {}", cell.id(), cell.value());
            }
        }
    }

    #[test]
    fn relations_hold_for_the_published_figures() {
        let p = anon();
        for r in &p.relations {
            let sum = |cells: &[CellRef]| cells.iter().map(|c| p.cell(c).value()).sum::<f64>();
            let ratio = sum(&r.numerator) / sum(&r.denominator);
            let published = r.published.expect("a ratio");
            assert!((ratio - published).abs() < 0.000_05, "{}: {ratio}", r.id);
        }
    }

    #[test]
    fn figures_have_names_that_stay() {
        let p = anon();
        let t = p.table("ebizzy-v7-swapin-1t");
        let cell = p.cells(t).nth(7).expect("a cell");
        assert_eq!(cell.id(), "ebizzy-v7-swapin-1t/1024/protection_change/0.7");
        assert_eq!((cell.value(), cell.unit(), cell.deviation()), (-4.70, "%", None));
        assert_eq!(p.cells(t).next().expect("a cell").deviation(), Some(79_441.0));
    }
}
