//! Rows of a table that are no published figure: its sentence, directions over draws, and pictures.

use super::*;

impl<'a> Carrier<'a> {
    /// A sentence about the first point that the table is about.
    pub(super) fn finding(
        &self,
        table: &'a Table,
        text: &'a Text,
    ) -> Result<Option<String>, Error> {
        let of = self.experiment(table, text)?;
        let runs = &self.study.runs[of];
        let points = self.points(runs);
        let names = |point: &Names| self.names(runs, point);
        let Some(nth) = points.iter().position(|p| matches(&table.point, &names(p))) else {
            return Ok(None);
        };
        self.sentence(text, (of, nth), &names(&points[nth])).map(Some)
    }

    /// The share of draws on which a change has the expected direction. A draw on which memory
    /// runs out is reported and not counted.
    pub(super) fn direction(&self, table: &'a Table, d: &'a Direction) -> Result<FigureRow, Error> {
        let of = self.experiment(table, &d.figure)?;
        let expression = Expression::read(d.figure.as_ref());
        let expression = expression.map_err(|e| self.study.error(&d.figure, e))?;
        let mut changes = Vec::new();
        let points = self.points(&self.study.runs[of]);
        for (nth, point) in points.iter().enumerate() {
            let (place, names) = ((of, nth), self.names(&self.study.runs[of], point));
            self.asked.borrow_mut().insert(place, None);
            let runs = self.ran.get(&place).into_iter().flatten();
            if !runs.clone().all(Ran::is_complete) {
                continue;
            }
            let figure = |variant: &str| {
                let first = self.by_seed(&expression, place, variant, &names).first().copied();
                first.map_or(0.0, |v| v.1)
            };
            changes.push((figure(&d.to) / figure(&d.from) - 1.0) * 100.0);
        }
        changes.sort_by(f64::total_cmp);
        let holds = |c: &f64| if d.down { *c < 0.0 } else { *c > 0.0 };
        let held: Vec<f64> = changes.iter().map(|c| f64::from(u8::from(holds(c)))).collect();
        let share = estimate(&held).map(|e| Estimate::without_interval(e.mean, e.n));
        let quantity = format!("{} in {}", if d.down { "less" } else { "more" }, d.to);
        let id = format!("{}/{}", table.id, d.id);
        let mut row = unpublished_row(&id, &quantity, "share of draws", share);
        if let (Some(least), Some(most)) = (changes.first(), changes.last()) {
            let middle = changes[changes.len() / 2];
            row.note = format!(
                "{}: change from \"{}\" to \"{}\" over {} draws from {least:.1} to {most:.1} %, in \
                 the middle {middle:.1} %; memory ran out on {} more.",
                d.id,
                d.from,
                d.to,
                changes.len(),
                points.len() - changes.len()
            );
        }
        Ok(row)
    }

    /// Pictures of the places that were run.
    pub(super) fn pictures(&self) -> Result<Vec<Picture>, Error> {
        let mut pictures = Vec::new();
        for ((of, nth), ran) in &self.ran {
            let runs = &self.study.runs[*of];
            let names = self.names(runs, &self.points(runs)[*nth]);
            for wanted in runs.pictures.iter().filter(|p| matches(&p.point, &names)) {
                let first = ran.iter().find(|r| r.report.variant == wanted.variant);
                let Some(first) = first else { continue };
                let drawn = first.pictures.iter().find(|p| p.0 == wanted.phase);
                let Some((_, text)) = drawn else { continue };
                let mut names = names.clone();
                names.insert("seed".into(), first.report.seed.to_string());
                let title = self.filled(&wanted.title, &names)?;
                pictures.push(Picture { title, text: text.clone() });
            }
        }
        Ok(pictures)
    }
}
