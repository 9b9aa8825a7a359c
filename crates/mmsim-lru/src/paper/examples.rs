//! The two examples of the mails, as functions of the knobs.
//!
//! Both run in 100 frames with 50 hot pages on the active list that are not touched again: the
//! question is the effect of other pages on them. A count is taken when the next fault's reclaim
//! has brought the lists into proportion ([`Model::settled`]), as the mails take it.

use super::Model;
use crate::classic::config::ClassicConfig;

const FRAMES: usize = 100;
const HOT: usize = 50;

/// `prefix` with the numbers 1 to 50.
fn fifty(prefix: &str) -> impl Iterator<Item = String> {
    (1..=HOT).map(move |i| format!("{prefix}{i}"))
}

/// 50 hot pages `h50 .. h1`, all active.
fn start(config: ClassicConfig) -> Model {
    let mut hot: Vec<String> = fifty("h").collect();
    hot.reverse();
    Model::new(config, FRAMES, &hot)
}

/// Fifty hot pages against two waves of fifty pages that are used once.
///
/// One row per step: the start, after the first wave, after the second. The columns are pages:
/// active hot, active used once, inactive hot, inactive used once, swapped out hot, swapped out
/// used once. Under Linux 5.5 the second wave has pushed all hot pages out; with protection none.
///
/// # Panics
///
/// If the knobs contradict each other ([`crate::settings::Settings::validate`]).
///
/// ```
/// use mmsim_lru::{ClassicConfig, paper};
/// let steps = paper::fifty_hot_pages(ClassicConfig::V5_5);
/// assert_eq!(steps[2], [0, 50, 0, 50, 50, 0]);
/// ```
pub fn fifty_hot_pages(config: ClassicConfig) -> [[u64; 6]; 3] {
    let mut m = start(config);
    ["", "u1.", "u2."].map(|wave| {
        if !wave.is_empty() {
            m.access_all(fifty(wave));
        }
        let settled = m.settled();
        let (hot, once) = (settled.census("h"), settled.census("u"));
        [hot.active, once.active, hot.inactive, once.inactive, hot.out, once.out]
    })
}

/// Fifty hot pages, and fifty that would become hot if they were let: they are accessed over and
/// over, with fifty pages in between that are used once.
///
/// The first three rows are the start, after the pages that will be hot, and after the first pages
/// used once. Then come two for each of `rounds`: after the pages that will be hot again, and after
/// the next pages used once. The columns are pages: active hot, inactive used once, inactive that
/// will be hot, swapped out that will be hot, and swapped in that will be hot, the last counted
/// since the row before, the others as they stand.
///
/// Under protection without detection the rounds repeat for ever: no page stays long enough to be
/// seen twice. Detection learns; pages that it has activated leave these columns. On this example
/// the distance of a refault is exactly the size of the memory, so that it activates one page in
/// the first round, and twice as many in each round after it.
///
/// # Panics
///
/// If the knobs contradict each other ([`crate::settings::Settings::validate`]).
pub fn will_be_hot(config: ClassicConfig, rounds: usize) -> Vec<[u64; 5]> {
    let mut m = start(config);
    let mut rows = vec![row(&mut m)];
    for k in 0..=rounds {
        m.access_all(fifty("w"));
        rows.push(row(&mut m));
        m.access_all(fifty(&format!("u{k}.")));
        rows.push(row(&mut m));
    }
    rows
}

/// A row of [`will_be_hot`].
fn row(m: &mut Model) -> [u64; 5] {
    let settled = m.settled();
    let (hot, once, will) = (settled.census("h"), settled.census("u"), settled.census("w"));
    // Nothing else is accessed after it was swapped out.
    let swapped_in = m.take_counts().pswpin;
    [hot.active, once.inactive, will.inactive, will.out, swapped_in]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protection as first posted.
    const PROTECTION: ClassicConfig = ClassicConfig::SEED_2;
    /// And detection, with the threshold as its author repaired it.
    const DETECTION: ClassicConfig = ClassicConfig::SEED_9_FIX;

    /// The figures of the mail "[PATCH 0/9] workingset protection/detection on the anonymous LRU
    /// list", with the zeros that it does not print.
    #[test]
    fn fifty_hot_pages_are_those_of_the_mail() {
        let base = [[50, 0, 0, 0, 0, 0], [0, 50, 50, 0, 0, 0], [0, 50, 0, 50, 50, 0]];
        let protection = [[50, 0, 0, 0, 0, 0], [50, 0, 0, 50, 0, 0], [50, 0, 0, 50, 0, 50]];
        assert_eq!(fifty_hot_pages(ClassicConfig::V5_5), base);
        assert_eq!(fifty_hot_pages(PROTECTION), protection);
        // Detection sees no refault here, so it changes nothing; nor does the merged form.
        assert_eq!(fifty_hot_pages(DETECTION), protection);
        assert_eq!(fifty_hot_pages(ClassicConfig::V5_9), protection);
        assert_eq!(fifty_hot_pages(ClassicConfig::V5_8), base);
    }

    /// The mail's steps 1 to 5, and that 4 and 5 repeat for ever.
    #[test]
    fn protection_without_detection_thrashes_as_the_mail_says() {
        let five = [
            [50, 0, 0, 0, 0],
            [50, 0, 50, 0, 0],
            [50, 50, 0, 50, 0],
            [50, 0, 50, 0, 50],
            [50, 50, 0, 50, 0],
        ];
        // Detection as posted reads the wrong statistic.
        let posted = [ClassicConfig::SEED_7, ClassicConfig::SEED_9];
        for config in posted.into_iter().chain([PROTECTION, ClassicConfig::V5_8_PROT]) {
            let rows = will_be_hot(config, 20);
            assert_eq!(rows.len(), 43);
            assert_eq!(rows[..5], five);
            for pair in rows[3..].chunks(2) {
                assert_eq!(pair, &five[3..]);
            }
        }
    }

    /// With detection 1, 2, 4, 8, 16 and 19 pages stop coming back, by hand and by
    /// `worked_examples`.
    #[test]
    fn detection_ends_the_thrashing() {
        for config in [DETECTION, ClassicConfig::V5_9] {
            let rows = will_be_hot(config, 8);
            let swapped_in: Vec<u64> = rows[3..].iter().step_by(2).map(|r| r[4]).collect();
            assert_eq!(swapped_in, [50, 49, 47, 43, 35, 19, 0, 0]);
            assert_eq!(rows.last(), Some(&[0, 50, 0, 0, 0]));
        }
        // Linux 5.5 never had the problem: the second touch finds the pages on its inactive list.
        let rows = will_be_hot(ClassicConfig::V5_5, 3);
        let swapped_in: Vec<u64> = rows[3..].iter().step_by(2).map(|r| r[4]).collect();
        assert_eq!(swapped_in, [0, 1, 1]);
    }
}
