//! Which of a scenario's runs are made: by variant, and by values of axes.

use std::collections::BTreeSet;

use crate::scenario::RunSpec;
use mmsim_base::error::Error;

/// Which runs. The default takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// Only these variants; empty: all.
    pub variants: Vec<String>,
    /// Only the settings where these axes have these values.
    pub at: Vec<(String, String)>,
}

impl Selection {
    /// Runs of these variants, where these axes have these values.
    pub fn new(variants: &[String], at: &[(String, String)]) -> Selection {
        Selection { variants: variants.to_vec(), at: at.to_vec() }
    }

    /// The runs that are selected of those of a scenario, in their order. `name` is what messages
    /// call the scenario, as a rule its file.
    ///
    /// # Errors
    ///
    /// There is no such variant, axis or value, or an axis is given twice.
    pub fn of(&self, mut specs: Vec<RunSpec>, name: &str) -> Result<Vec<RunSpec>, Error> {
        for wanted in &self.variants {
            if !specs.iter().any(|s| s.variant == *wanted) {
                let what = format!("--variant: {name} has no variant");
                return Err(Error::unknown_word(&what, wanted, &variants_of(&specs)));
            }
        }
        if !self.variants.is_empty() {
            specs.retain(|s| self.variants.contains(&s.variant));
        }
        for (nth, (axis, value)) in self.at.iter().enumerate() {
            if self.at[..nth].iter().any(|(a, _)| a == axis) {
                let title = format!("--at: {axis} is given twice");
                return Err(Error::of_option(title).help("write one value of each axis"));
            }
            let values = values_of(&specs, axis);
            if values.is_empty() {
                let axes: Vec<&str> = specs
                    .first()
                    .map_or(Vec::new(), |s| s.axes.iter().map(|a| a.0.as_str()).collect());
                if axes.is_empty() {
                    let title = format!("--at: {name} has no axes");
                    return Err(Error::of_option(title).help("leave it out, or use --set"));
                }
                let what = format!("--at: {name} has no axis");
                return Err(Error::unknown_word(&what, axis, &axes));
            }
            if !values.contains(&value.as_str()) {
                let what = format!("--at: {axis} has no value");
                return Err(Error::unknown_word(&what, value, &values));
            }
            specs.retain(|s| s.axes.iter().any(|(a, v)| a == axis && v == value));
        }
        Ok(specs)
    }
}

/// Names of variants, in the order of the file.
pub fn variants_of(specs: &[RunSpec]) -> Vec<&str> {
    each_once(specs.iter().map(|spec| spec.variant.as_str()))
}

fn each_once<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    words.filter(|word| seen.insert(*word)).collect()
}

/// The values of an axis, in the order of the file.
fn values_of<'a>(specs: &'a [RunSpec], axis: &str) -> Vec<&'a str> {
    let on_axis = specs.iter().flat_map(|s| &s.axes).filter(|(a, _)| a == axis);
    each_once(on_axis.map(|(_, value)| value.as_str()))
}
