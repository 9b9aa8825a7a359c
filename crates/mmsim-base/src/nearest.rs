//! The word that the user probably meant.

/// The known word that `word` is probably meant to be.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // A very long word is a mistake of another kind, and the distance is quadratic.
    if word.len() > 100 {
        return None;
    }
    let plain = |s: &str| s.to_lowercase().replace('_', "-");
    let lowered = plain(word);
    // `lin` for `linear`, where nothing else begins so.
    let mut beginning = known.iter().filter(|k| plain(k).starts_with(&lowered));
    if let (3.., Some(one), None) = (lowered.len(), beginning.next(), beginning.next()) {
        return Some(one);
    }
    let distance = |k: &str| {
        let k = plain(k);
        let d = strsim::damerau_levenshtein(&lowered, &k);
        // `memory-size` for `memory`: a part in common counts as near.
        let within =
            k.len() >= 4 && lowered.len() >= 4 && (k.contains(&lowered) || lowered.contains(&k));
        // `mglru-v6.8` for `mglru-v6.8-post`, and not for `mglru-v6.1`: all of it is there.
        let begun =
            lowered.len() >= 4 && k.strip_prefix(&lowered).is_some_and(|k| k.starts_with('-'));
        if begun {
            0
        } else if within {
            d.min(2)
        } else {
            d
        }
    };
    let best = known.iter().copied().min_by_key(|k| distance(k))?;
    let letters = word.chars().count();
    // A word of which most letters would be others is no misspelling.
    let most = (letters / 3).max(2).min(letters / 2);
    (distance(best) <= most).then_some(best)
}

/// Words as a list: `a, b`, where one that has a comma itself stands in backquotes.
pub fn listed(words: &[&str]) -> String {
    let word = |w: &&str| if w.contains(',') { format!("`{w}`") } else { (*w).to_string() };
    words.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_commas_are_told_apart() {
        assert_eq!(listed(&["SSD", "zram, then SSD", "7.3"]), "SSD, `zram, then SSD`, 7.3");
    }

    #[test]
    fn nearest_words() {
        let known = ["memory", "cpus", "swap", "page-cluster", "min_free_kbytes"];
        for (word, found) in [
            ("memroy", Some("memory")),
            ("Memory", Some("memory")),
            ("page_cluster", Some("page-cluster")),
            ("min-free-kbytes", Some("min_free_kbytes")),
            ("memory-size", Some("memory")),
            ("page", Some("page-cluster")),
            ("colour-of-the-sky", None),
            ("swa", Some("swap")),
            ("wa", None),
            ("cap", None),
            ("min", Some("min_free_kbytes")),
            ("", None),
        ] {
            assert_eq!(nearest(word, &known), found, "{word}");
        }
    }
}
