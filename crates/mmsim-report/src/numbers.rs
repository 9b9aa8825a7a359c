//! Numbers for people.

/// Decimals that a number for people has: two below 100 unless it is whole.
fn decimals_of(value: f64) -> usize {
    if value.abs() >= 100.0 || value.fract() == 0.0 { 0 } else { 2 }
}

/// A number for people: thousands separated by commas; two decimals below 100 unless it
/// is whole.
pub fn grouped(value: f64) -> String {
    grouped_to(value, decimals_of(value))
}

/// Numbers that stand in one row for people: as [`grouped`], all with the decimals that
/// one of them needs.
pub fn grouped_row(values: &[Option<f64>]) -> Vec<String> {
    let decimals = values.iter().flatten().map(|&v| decimals_of(v)).max().unwrap_or(0);
    let text = |v: &Option<f64>| v.map_or("-".to_string(), |v| grouped_to(v, decimals));
    values.iter().map(text).collect()
}

fn grouped_to(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "-".to_string();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(w, f)| (w, f));
    let mut out = String::new();
    if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A change in per cent for people: signed unless it rounds to nothing; one decimal below
/// 1,000 %.
pub fn per_cent(change: f64) -> String {
    if change.abs() < 0.05 {
        return "0.0 %".to_string();
    }
    if change.abs() < 1000.0 {
        return format!("{change:+.1} %");
    }
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{} %", grouped(change.round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (0.0, "0"),
            (7.0, "7"),
            (1.756, "1.76"),
            (99.999, "100.00"),
            (100.4, "100"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
            (-1_234.0, "-1,234"),
            (-0.001, "0.00"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(grouped(value), text);
        }
        for (change, text) in
            [(0.0, "0.0 %"), (-0.01, "0.0 %"), (-6.54, "-6.5 %"), (12_345.6, "+12,346 %")]
        {
            assert_eq!(per_cent(change), text);
        }
    }
}
