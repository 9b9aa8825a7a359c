//! Variants that an option of the command line adds: one for each policy of cache_ext.

use super::Scenario;
use super::machine;
use super::raw::{At, Node, Sources, Table, Value};
use mmsim_base::error::{Error, ErrorKind};

/// A policy for a group, as an option names it: `[GROUP=]FILE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupPolicy {
    /// The group; none: the only one with a limit, else the machine.
    pub group: Option<String>,
    /// The module, or the name of a chooser in Rust.
    pub module: String,
    /// The name of the variant.
    pub variant: String,
}

impl Scenario {
    /// The names of the variants that policies add: their own, or with `-2` and so on if a variant has
    /// that name.
    pub fn names_of_policies(&self, policies: &[GroupPolicy]) -> Vec<String> {
        let variants = self.doc.get("variant").and_then(Node::list).unwrap_or_default();
        let name = |v: &Node| v.table()?.get("name")?.as_text().map(str::to_string);
        let mut taken: Vec<String> = variants.iter().filter_map(name).collect();
        let before = taken.len();
        for policy in policies {
            let own = &policy.variant;
            let further = (2..).map(|n| format!("{own}-{n}"));
            let free = std::iter::once(own.clone()).chain(further).find(|n| !taken.contains(n));
            taken.extend(free);
        }
        taken.split_off(before)
    }

    /// The same scenario with a variant more for each policy. Without variants of its own, it is the
    /// first variant, `default`.
    ///
    /// # Errors
    /// There is no such group, or the option names none and several have a limit.
    pub fn with_policies(mut self, policies: &[GroupPolicy]) -> Result<Scenario, Error> {
        if policies.is_empty() {
            return Ok(self);
        }
        let mut variants: Vec<Node> = match self.doc.get("variant").and_then(Node::list) {
            Some(list) => list.to_vec(),
            None => vec![of(&[("name", Node::text("default", At::DEFAULT))], At::DEFAULT)],
        };
        let names = self.names_of_policies(policies);
        for (policy, name) in policies.iter().zip(&names) {
            let (_, module) = self.sources.parse_option("--policy", "module", &policy.module)?;
            let at = module.at;
            let module = of(&[("module", Node::text(&policy.module, at))], at);
            let set = of(&[(&self.key_of(policy)?, module)], at);
            variants.push(of(&[("name", Node::text(name, at)), ("set", set)], at));
        }
        let list = Node { value: Value::List(variants), at: At::DEFAULT };
        match self.doc.get_mut("variant") {
            Some(node) => *node = list,
            None => self.doc.push("variant", At::DEFAULT, list),
        }
        self.with_sets(&[])
    }

    /// The key of a policy's group.
    fn key_of(&self, policy: &GroupPolicy) -> Result<String, Error> {
        let mut keys = policy.keys(&self.doc, "the scenario")?;
        if keys.len() > 1 {
            let title = format!("--policy: {} groups have a limit", keys.len());
            let help = format!("name one, as in --policy GROUP={}", policy.module);
            return Err(Error::new(ErrorKind::Option, title).help(help));
        }
        Ok(keys.remove(0))
    }
}

impl GroupPolicy {
    /// The keys of its groups in a document: that of the group that it names, else those of all groups
    /// with a limit, else that of the machine. `scenario` is the document in messages.
    fn keys(&self, doc: &Table, scenario: &str) -> Result<Vec<String>, Error> {
        let machine = doc.get("machine").and_then(Node::table);
        let groups = machine.and_then(|m| m.get("memcg")).and_then(Node::list).unwrap_or_default();
        let text = |group: &Node, key: &str| {
            let value = group.table().and_then(|t| t.get(key));
            value.and_then(Node::as_text).map(str::to_string)
        };
        let key = |i: usize| format!("machine.memcg[{i}].cache-ext");
        if let Some(name) = &self.group {
            let names: Vec<String> = groups.iter().filter_map(|g| text(g, "name")).collect();
            let found = groups.iter().position(|g| text(g, "name").as_ref() == Some(name));
            return found.map(|i| vec![key(i)]).ok_or_else(|| {
                let title = format!("--policy: {scenario} has no group `{name}`");
                let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
                Error::new(ErrorKind::Option, title).help(format!("its groups: {known}"))
            });
        }
        let limited = |g: &Node| g.table().is_some_and(|t| t.get("max").is_some());
        let all: Vec<String> =
            groups.iter().enumerate().filter(|g| limited(g.1)).map(|g| key(g.0)).collect();
        Ok(if all.is_empty() { vec!["machine.cache-ext".to_string()] } else { all })
    }

    /// Gives the groups of a document the policy, beside what they have under `cache-ext`.
    pub(super) fn put_into(
        &self,
        sources: &mut Sources,
        doc: &mut Table,
        scenario: &str,
    ) -> Result<(), Error> {
        for key in self.keys(doc, scenario)? {
            let path = format!("{key}.module");
            let (path, node) = sources.parse_option("--policy", &path, &self.module)?;
            machine::set(sources, doc, &path, &Node::text(&self.module, node.at))?;
        }
        Ok(())
    }
}

/// A table of keys and values, all at one place.
fn of(entries: &[(&str, Node)], at: At) -> Node {
    let mut table = Table::default();
    for (key, node) in entries {
        table.push(key, at, node.clone());
    }
    Node { value: Value::Table(table), at }
}
