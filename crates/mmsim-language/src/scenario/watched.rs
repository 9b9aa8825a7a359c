//! Groups that daemons watch, by name and by pattern.

use mmsim_core::base::id::MemcgId;

use super::read::Reader;
use mmsim_base::error::Error;

/// The group of a key; `/` is the machine.
pub(super) fn group_named(r: &Reader<'_>, key: &str, groups: &[String]) -> Result<MemcgId, Error> {
    let name = r.name(key)?;
    match groups.iter().position(|g| g == name) {
        Some(i) => Ok(MemcgId(i as u16 + 1)),
        None if name == "/" => Ok(MemcgId(0)),
        None => {
            let known: Vec<&str> = groups.iter().map(String::as_str).chain(["/"]).collect();
            Err(r.unknown_word(key, "group", name, &known))
        }
    }
}

/// The groups with a pattern's names, at least one; `others`: words that the key has besides.
pub(super) fn groups_like(
    r: &Reader<'_>,
    key: &str,
    groups: &[String],
    others: &[&str],
) -> Result<Vec<MemcgId>, Error> {
    let names = r.name(key)?;
    let matches = |(_, g): &(usize, &String)| like(g, names);
    let all: Vec<MemcgId> =
        groups.iter().enumerate().filter(matches).map(|(i, _)| MemcgId(i as u16 + 1)).collect();
    if all.is_empty() {
        let known = groups.iter().map(String::as_str).chain(others.iter().copied());
        let known: Vec<&str> = known.collect();
        return Err(r.unknown_word(key, "group", names, &known));
    }
    Ok(all)
}

/// Names in a list.
pub(super) fn names(r: &Reader<'_>, key: &str) -> Result<Vec<String>, Error> {
    let all = r.texts(key, "name")?.unwrap_or_default();
    Ok(all.into_iter().map(|(name, _)| name.to_string()).collect())
}

/// Names of groups in a list.
pub(super) fn group_names(
    r: &Reader<'_>,
    key: &str,
    groups: &[String],
) -> Result<Vec<String>, Error> {
    let all = names(r, key)?;
    let known: Vec<&str> = groups.iter().map(String::as_str).collect();
    match all.iter().find(|name| !groups.contains(name)) {
        Some(name) => Err(r.unknown_word(key, "group", name, &known)),
        None => Ok(all),
    }
}

/// Refuses a name that stands in both lists, at the second.
pub(super) fn in_one_list(
    r: &Reader<'_>,
    (first, names): (&str, &[String]),
    (key, others): (&str, &[String]),
) -> Result<(), Error> {
    let both = others.iter().find(|name| names.contains(name));
    both.map_or(Ok(()), |both| {
        let found = format!("\"{both}\" is in `{first}` too");
        Err(r.error(key, found, "it in one of them"))
    })
}

/// True if a name is like a pattern, in which `*` stands for any characters.
fn like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            (0..=name.len()).any(|i| name.is_char_boundary(i) && like(&name[i..], rest))
        }),
    }
}
