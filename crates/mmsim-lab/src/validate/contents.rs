//! Contents of pages in recordings of zswap, as its compressor sees them.
//!
//! A script has each page begin with a number of drawn bytes, and zeros behind them (`contents`). So
//! lzo makes the same length of all pages with that number. The lengths were recorded: the bytes of a
//! group in zswap, by the number of its pages there (`evidence/zswap/zswap-lengths.json`).

use std::collections::BTreeMap;
use std::sync::Arc;

use mmsim_core::backing::contents::{Content, InTurn};
use mmsim_workload::script::Script;

/// Drawn bytes of a page, and the bytes that lzo makes of it. Equal on 6.12, 6.18 and 7.3.
pub const LZO: [(u16, u16); 20] = [
    (16, 61),
    (64, 109),
    (200, 254),
    (300, 357),
    (600, 661),
    (900, 982),
    (1000, 1101),
    (1300, 1405),
    (1341, 1454),
    (1500, 1637),
    (2000, 2149),
    (2016, 2149),
    (2500, 2661),
    (2900, 3101),
    (3000, 3198),
    (3300, 3501),
    (3550, 3726),
    (3600, 3836),
    (3700, 3957),
    (3900, 4077),
];

/// Contents of a page with drawn bytes.
fn content(drawn: u16) -> Result<Content, String> {
    match drawn {
        0 => return Ok(Content::ZERO),
        // lzo has no room for what it would make of it.
        4000.. => return Ok(Content::bytes(Content::MOST)),
        _ => {}
    }
    let known = LZO.iter().find(|row| row.0 == drawn);
    known.map(|row| Content::bytes(row.1)).ok_or_else(|| {
        format!(
            "pages that begin with {drawn} drawn bytes: what lzo makes of them was not recorded"
        )
    })
}

/// Contents of the regions of each process of a script, `None` the first one.
pub(super) fn of(script: &Script) -> Result<BTreeMap<Option<usize>, Vec<InTurn>>, String> {
    let mut all: BTreeMap<Option<usize>, Vec<InTurn>> = BTreeMap::new();
    for (process, region, drawn) in &script.contents {
        let contents: Arc<[Content]> =
            drawn.iter().map(|&d| content(d)).collect::<Result<_, _>>()?;
        all.entry(*process).or_default().push((region.0, contents));
    }
    Ok(all)
}
