//! Numbers that stand for words. `--set machine.kernel=6.1` needs no quotes: where a key takes a
//! name, a number on the command line is its own text. It is made one here, before anything reads
//! the document or writes it out, so that both see the same.

use super::keys::{Kind, TableSpec};
use super::raw::{Node, Path, Sources, Step, Table, Value};
use super::read::spec_of_entry;
use super::tables::ROOT;

/// Makes words of all numbers of options where a key takes words.
pub(super) fn of_options(sources: &Sources, doc: &mut Table) {
    // What the paths of axes and variants lead to.
    let whole = doc.clone();
    Words { sources, doc: &whole }.table(doc, &ROOT);
}

struct Words<'a> {
    sources: &'a Sources,
    doc: &'a Table,
}

impl Words<'_> {
    fn table(&self, t: &mut Table, spec: &'static TableSpec) {
        for e in &mut t.entries {
            if let Some(k) = spec.key(&e.key) {
                self.value(&mut e.node, k.kind);
            }
        }
    }

    fn value(&self, node: &mut Node, kind: Kind) {
        let word = matches!(kind, Kind::Text | Kind::File | Kind::Kernel | Kind::Device(_));
        match (&mut node.value, kind) {
            (Value::Integer(_) | Value::Float(_), _) if word && self.sources.is_option(node.at) => {
                node.value = Value::Text(self.sources.text(node.at).to_string());
            }
            (Value::Table(t), kind) if kind.table().is_some() => {
                kind.table().into_iter().for_each(|spec| self.table(t, spec));
            }
            (Value::Table(t), Kind::Regions(spec)) => {
                for e in &mut t.entries {
                    self.value(&mut e.node, Kind::Table(spec));
                }
            }
            (Value::Table(t), Kind::Overrides | Kind::Axes) => {
                for e in &mut t.entries {
                    let path = self.sources.path(&e.key, e.key_at);
                    let Some(of) = path.ok().and_then(|p| self.kind_at(&p)) else { continue };
                    match (&mut e.node.value, kind) {
                        (Value::List(values), Kind::Axes) => {
                            values.iter_mut().for_each(|v| self.value(v, of));
                        }
                        _ => self.value(&mut e.node, of),
                    }
                }
            }
            (
                Value::List(l),
                Kind::Tables(_) | Kind::OneOrMore(_) | Kind::Tasks(_) | Kind::Steps(_),
            ) => {
                for n in l {
                    self.entry(n, kind);
                }
            }
            _ => {}
        }
    }

    fn entry(&self, node: &mut Node, kind: Kind) {
        if let Value::Table(t) = &mut node.value
            && let Some(spec) = spec_of_entry(t, kind)
        {
            self.table(t, spec);
        }
    }

    /// The form of the key that a path leads to.
    fn kind_at(&self, path: &Path) -> Option<Kind> {
        let mut kind = Kind::Table(&ROOT);
        // The document along the path, as far as it has it: entries say what they are.
        let root = Value::Table(self.doc.clone());
        let mut here = Some(&root);
        for step in &path.steps {
            let next = match (step, here) {
                (Step::Key(k), Some(Value::Table(t))) => t.get(k).map(|n| &n.value),
                (step, Some(Value::List(l))) => step.entry(l).map(|i| &l[i].value),
                _ => None,
            };
            kind = match (step, kind) {
                (Step::Key(k), kind) if kind.table().is_some() => kind.table()?.key(k)?.kind,
                (Step::Key(_), Kind::Regions(spec)) => Kind::Table(spec),
                (Step::Key(_), _) => return None,
                (_, Kind::Tables(spec) | Kind::OneOrMore(spec)) => Kind::Table(spec),
                (_, Kind::Tasks(_) | Kind::Steps(_)) => match next {
                    Some(Value::Table(t)) => Kind::Table(spec_of_entry(t, kind)?),
                    _ => return None,
                },
                _ => return None,
            };
            here = next;
        }
        Some(kind)
    }
}
