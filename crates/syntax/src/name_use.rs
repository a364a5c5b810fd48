//! The occurrences of a name: what each of them is, and the bindings among them.

use crate::name_place::NamePlace;
use crate::outline::Symbol;
use crate::position::{NamePosition, NameSpace, TYPE_KINDS};
use crate::scope::{ScopeId, Scopes};
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// Classification of an occurrence of the name.
pub(crate) enum NameUse<'t> {
    /// A name about which the query says nothing.
    At(NamePosition),
    /// A name after a receiver with this text, which is empty if the language omits the receiver.
    Member(String),
    Binding(NameBinding<'t>),
    /// A part of a pattern, which may bind it or not.
    Pattern,
    /// Never a reference.
    Other,
    /// Cannot be renamed on its own.
    Blocked,
}

/// A binding of the name by an identifier, directly in a node or in the whole enclosing function.
#[derive(Clone, Copy)]
pub(crate) struct NameBinding<'t> {
    pub(crate) around: Node<'t>,
    pub(crate) hoisted: bool,
}

/// The bindings of the name, and its occurrences as a property, by their offsets.
pub(crate) struct BoundNames<'t> {
    pub(crate) bindings: HashMap<usize, NameBinding<'t>>,
    /// Properties of an object are not visible under their bare name.
    pub(crate) properties: HashSet<usize>,
}

impl<'t> BoundNames<'t> {
    pub(crate) fn new(uses: &HashMap<usize, NameUse<'t>>, places: &[NamePlace<'t>]) -> BoundNames<'t> {
        let mut out = BoundNames { bindings: HashMap::new(), properties: HashSet::new() };
        for node in places.iter().map(|it| it.node) {
            if ["property", "field"].iter().any(|it| node.kind().contains(it)) {
                out.properties.insert(node.start_byte());
            } else if let Some(&NameUse::Binding(binding)) = uses.get(&node.id()) {
                out.bindings.insert(node.start_byte(), binding);
            }
        }
        out
    }

    /// Returns the scope of a symbol, and the offset from which on that is certain: in a class body, the text above a name
    /// and its value refer to the names around the class.
    pub(crate) fn place_of(&self, scopes: &Scopes, symbol: &Symbol) -> (ScopeId, usize) {
        let (place, body_start) = scopes.of_symbol(symbol);
        match self.bindings.get(&symbol.name_span.start()).filter(|_| scopes.is_class(place)) {
            Some(binding) => (place, scopes.of_name(binding.around, binding.hoisted).1),
            None => (place, body_start),
        }
    }

    /// Returns the scope of a symbol that is local to a function or block in the value of a variable or in a class, and
    /// so is no member of them, and the offset from which on that is certain.
    pub(crate) fn local_place(&self, scopes: &Scopes, symbol: &Symbol, bare_members: bool) -> Option<(ScopeId, usize)> {
        let (parent, at) = (symbol.parent.as_ref()?, symbol.name_span.start());
        let binding = self.bindings.get(&at);
        let place = if NameSpace::of(&symbol.kind) == NameSpace::Values {
            binding.map(|it| scopes.of_name(it.around, it.hoisted))?
        } else {
            let is_in_type = parent.kind == "type" || TYPE_KINDS.contains(&&*parent.kind);
            if bare_members || self.properties.contains(&at) || binding.is_none() && is_in_type {
                return None;
            }
            // The scope of a definition with a body does not include its name.
            scopes.of_symbol(symbol)
        };
        let is_local = scopes.is_within(place.0, parent.span) && !scopes.is_class(place.0);
        is_local.then_some(place)
    }
}

/// Rank of a classification: one of a higher rank overrides those around it.
fn certainty(what: &NameUse<'_>) -> u8 {
    match what {
        NameUse::Pattern | NameUse::Member(_) => 0,
        NameUse::At(_) => 1,
        NameUse::Binding(_) | NameUse::Other | NameUse::Blocked => 2,
    }
}

/// Stores the classification of an occurrence. A certain one overrides a pattern around it.
pub(crate) fn note<'p>(uses: &mut HashMap<usize, NameUse<'p>>, kind: &str, receiver: &str, place: Node<'p>) {
    let what = match kind {
        "member" => NameUse::Member(receiver.to_owned()),
        "binding" | "hoisted" => match place.parent() {
            Some(around) => NameUse::Binding(NameBinding { around, hoisted: kind == "hoisted" }),
            None => NameUse::Blocked,
        },
        "pattern" => NameUse::Pattern,
        "other" => NameUse::Other,
        "reference" => NameUse::At(NamePosition::Reference),
        "macro" => NameUse::At(NamePosition::MacroReference),
        _ => NameUse::Blocked,
    };
    if uses.get(&place.id()).is_none_or(|existing| certainty(existing) < certainty(&what)) {
        uses.insert(place.id(), what);
    }
}
