//! `contents` of a task: to how many bytes its pages compress.

use std::sync::Arc;

use mmsim_core::backing::contents::{Content, Contents, Share};

use super::key;
use crate::scenario::fields::{each, within};
use crate::scenario::keys::{Fallback, Kind, TableSpec};
use crate::scenario::read::Reader;
use crate::scenario::rows::rows;
use mmsim_base::error::Error;

use Fallback::{Auto, Is, Required};
use Kind::{Count, Flag, Tables};

rows! {
    /// `contents` of a task.
    CONTENTS,
    "contents of [[task]]",
    "What its pages hold, for zram and zswap. Each page draws its own by the seed and keeps it.";
    check add_up;
    fn contents_of_keys(r, _cx: ()) -> Contents {
        zero_permille: ("zero-permille", Count(0, 1000), Is("0"), "pages of zeros, of 1000");
        same_permille: ("same-permille", Count(0, 1000), Is("0"),
            "pages of one word that is not zero, of 1000");
        lengths: {each(r, "lengths", &CONTENTS_LENGTH, |l| share(l, ()))?;
            ("lengths", Tables(&CONTENTS_LENGTH), Auto("no others"), "all other pages")};
        redraw: ("redraw", Flag, Is("false"),
            "a page that was written holds something else when it leaves memory again");
    }
}

rows! {
    /// `lengths` of contents.
    CONTENTS_LENGTH,
    "lengths of contents",
    "Pages of one compressed length: `lengths = [{ permille = 1000, bytes = 1365 }]`.";
    fn share(r, _cx: ()) -> Share {
        permille: ("permille", Count(1, 1000), Required,
            "of 1000 pages that are neither zero nor of one word; all lengths together have 1000");
        bytes: ("bytes", Count(1, Content::MOST as u64), Required,
            "to which such a page compresses; with 4096 it does not");
    }
}

/// Shares are of one whole.
fn add_up(r: &Reader<'_>, c: &Contents) -> Result<(), Error> {
    let given = c.zero_permille + c.same_permille;
    if given > 1000 {
        let found = format!("with those of zeros they are {given} of 1000");
        return Err(r.error("same-permille", found, "fewer of them"));
    }
    if given == 1000 && !c.lengths.is_empty() {
        let found = "of 1000 pages none is left for them";
        return Err(r.error(
            "lengths",
            found,
            "fewer pages of zeros and of one word, or no `lengths`",
        ));
    }
    let sum: u32 = c.lengths.iter().map(|l| u32::from(l.permille)).sum();
    if sum != 1000 && (sum > 0 || given < 1000) {
        let bare = sum == 0 && !r.is_default("zero-permille");
        let key = if bare { "zero-permille" } else { "lengths" };
        let found = match sum {
            0 => format!("nothing says what {} of 1000 pages hold", 1000 - given),
            _ => format!("the shares add up to {sum}"),
        };
        return Err(r.error(key, found, "`lengths` of 1000 `permille` in all"));
    }
    Ok(())
}

/// Contents of a task's pages, if it states them.
pub(in crate::scenario) fn contents(r: &Reader<'_>) -> Result<Option<Arc<Contents>>, Error> {
    Ok(within(r, "contents", &CONTENTS, |c| contents_of_keys(c, ()))?.map(Arc::new))
}
