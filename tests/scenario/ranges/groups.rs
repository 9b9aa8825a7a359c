//! Places of the tables of groups and of their choosers.

use super::daemons::Place;

/// The place of a table with this title.
pub(super) fn place(title: &str) -> Option<Place> {
    let of_map = "[machine.cache-ext]\nmodule = \"p.wasm\"\n[machine.cache-ext.maps.a]\n";
    Some(match title {
        "[[machine.memcg]]" => ("[[machine.memcg]]\n".into(), "machine.memcg[0].", &[]),
        "[machine.memcg.cache-ext]" => {
            ("[machine.cache-ext]\n".into(), "machine.cache-ext.", &[("module", "\"p.wasm\"")])
        }
        "[machine.memcg.cache-ext.maps.NAME]" => (of_map.into(), "machine.cache-ext.maps.a.", &[]),
        _ => return None,
    })
}
