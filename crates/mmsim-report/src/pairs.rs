//! A map that keeps the order it was filled in.
//!
//! Counters are printed in the order of the table of counters, axes in the order of the
//! scenario, so a sorted map would not do, and a hash map has no order. Lookups are rare
//! and the lists short: a vector of pairs is enough. It is a map in JSON. Names of counters are
//! constants, and are not copied: a report has a hundred of them for each phase.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Names with values, in the order in which they were given; each name once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pairs<V>(Vec<(Cow<'static, str>, V)>);

impl<V> Pairs<V> {
    /// No pairs.
    pub const fn new() -> Self {
        Pairs(Vec::new())
    }
    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }
    /// The value of a name that is looked for from a place on, which becomes the one behind it. Who
    /// asks for all names in order finds each one at once.
    pub(super) fn get_from(&self, place: &mut usize, name: &str) -> Option<&V> {
        let found = (*place..self.0.len()).chain(0..*place).find(|&i| self.0[i].0 == name)?;
        *place = found + 1;
        Some(&self.0[found].1)
    }
    /// Sets the value of a name: in its place if it is there, otherwise at the end.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: V) {
        let name = name.into();
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some(pair) => pair.1 = value,
            None => self.0.push((name, value)),
        }
    }
    /// All pairs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &V)> {
        self.0.iter().map(|(n, v)| (n.as_ref(), v))
    }
    /// The same names with other values, without those for which there is none.
    pub(crate) fn filter_map<W>(&self, value: impl Fn(&V) -> Option<W>) -> Pairs<W> {
        Pairs(self.0.iter().filter_map(|(n, v)| Some((n.clone(), value(v)?))).collect())
    }
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True if there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Into<Cow<'static, str>>, V> FromIterator<(N, V)> for Pairs<V> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Pairs(pairs.into_iter().map(|(n, v)| (n.into(), v)).collect())
    }
}

impl<V: JsonSchema> JsonSchema for Pairs<V> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Pairs of {}", V::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<V>();
        json_schema!({ "type": "object", "additionalProperties": values })
    }
}

impl<V: Serialize> Serialize for Pairs<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Names that were seen, as bits of their hashes: most new names are found without a search.
#[derive(Default)]
struct Seen([u64; 32]);

impl Seen {
    /// True if the name was not seen before; false if it may have been.
    fn is_new(&mut self, name: &str) -> bool {
        let mixed =
            name.bytes().fold(name.len() as u64, |h, b| (h ^ u64::from(b)).wrapping_mul(FNV));
        let hash = mixed ^ mixed >> 32;
        let (word, bit) = (hash as usize >> 6 & 31, 1 << (hash & 63));
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

/// The factor of the hash of Fowler, Noll and Vo.
const FNV: u64 = 0x100_0000_01b3;

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
            type Value = Pairs<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from names to values")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<V>, M::Error> {
                let (mut pairs, mut seen) = (Pairs::new(), Seen::default());
                while let Some((name, value)) = map.next_entry::<String, V>()? {
                    if !seen.is_new(&name) && pairs.get(&name).is_some() {
                        return Err(M::Error::custom(format!("`{name}` is there twice")));
                    }
                    pairs.0.push((name.into(), value));
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_order_through_json() {
        let pairs: Pairs<u64> = [("zebra", 1), ("ant", 2), ("mole", 3)].into_iter().collect();
        let json = serde_json::to_string(&pairs).unwrap();
        assert_eq!(json, r#"{"zebra":1,"ant":2,"mole":3}"#);
        assert_eq!(serde_json::from_str::<Pairs<u64>>(&json).unwrap(), pairs);
    }

    #[test]
    fn a_name_twice_is_an_error() {
        let error = serde_json::from_str::<Pairs<u64>>(r#"{"a":1,"a":2}"#).unwrap_err();
        assert!(error.to_string().starts_with("`a` is there twice"), "{error}");
    }

    /// From wherever it begins, against a search from the front.
    #[test]
    fn a_search_from_a_place_finds_the_same() {
        let pairs: Pairs<u64> = [("a", 1), ("b", 2), ("c", 3)].into_iter().collect();
        for from in 0..=3 {
            for name in ["a", "b", "c", "d"] {
                let mut place = from;
                let found = pairs.get_from(&mut place, name);
                assert_eq!(found, pairs.get(name), "{name} from {from}");
                assert_eq!(place, found.map_or(from, |&v| v as usize));
            }
        }
    }

    #[test]
    fn set_replaces_in_place() {
        let mut pairs: Pairs<u64> = [("a", 1), ("b", 2)].into_iter().collect();
        pairs.set("a", 5);
        pairs.set("c", 6);
        assert_eq!(pairs.iter().collect::<Vec<_>>(), [("a", &5), ("b", &2), ("c", &6)]);
    }
}
