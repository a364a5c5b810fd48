//! Renaming of a symbol, including its uses in the same text.

use crate::edit::Splices;
use crate::grammar::text_of;
use crate::name_place::NamePlace;
use crate::name_use::{BoundNames, NameBinding, NameUse, note};
use crate::outline::{EnclosingSymbol, Symbol};
use crate::parse::SyntaxTree;
use crate::position::{NamePosition, NameSpace, PositionTable, TYPE_KINDS, is_element_name, token_position};
use crate::scope::{NameMeaning, ScopeId, Scopes};
use emendate_core::{Code, Error, Result, Span};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use tree_sitter::{Node, Query, QueryCursor, StreamingIterator};

/// Names of the receiver inside its own type.
const SELF_NAMES: &[&str] = &["self", "this", "Self", "cls"];

/// Languages in which a constructor is a method of a certain name.
const SCRIPTS: &[&str] = &["javascript", "typescript", "tsx"];

/// Kinds that are tags in C.
const TAG_KINDS: &[&str] = &["struct", "union", "enum"];

/// Kinds of values that a pattern may refer to without binding them.
const PATTERN_KINDS: &[&str] = &["constant", "static"];

/// Maximum steps of classifying occurrences.
const STEPS_MAX: usize = 1_000_000;

/// Facts about all occurrences of a name.
struct NameFacts<'t, 'p> {
    symbol: &'p Symbol,
    new: &'p str,
    uses: HashMap<usize, NameUse<'t>>,
    scopes: Scopes,
    /// Scope of the symbol itself.
    home: ScopeId,
    /// Positions where other symbols of that name are defined.
    others: HashSet<usize>,
    /// The name is called on a receiver.
    member: bool,
    /// Types nested in its own, in which `self` has another meaning.
    inner: Vec<Span>,
    /// For modules that were checked: whether they import the names around them.
    opens: RefCell<HashMap<Span, bool>>,
}

impl SyntaxTree<'_> {
    /// Returns the splices that rename `symbol` to `new`.
    ///
    /// Errors: `symbol.entangled` if the old or the new name has another meaning here, or the scopes of the language
    /// are unknown.
    pub(crate) fn rename(&self, symbol: &Symbol, new: &str) -> Result<Splices> {
        let old = &self.text[symbol.name_span.range()];
        let Some(query) = self.language.0.locals.filter(|_| is_word(old)) else {
            return Err(refused(
                symbol,
                format!("How names are looked up in {} is not known here.", self.language.name()),
            ));
        };
        if (self.language.0.load)().id_for_node_kind(new, false) != 0 {
            return Err(refused(symbol, format!("`{new}` is a word of {} itself.", self.language.name())));
        }
        if !is_word(new) {
            return Err(Error::new(Code::CallInvalid, format!("`{new}` is not a name."))
                .next("Give text: letters, digits and _, not beginning with a digit."));
        }
        let [places, taken] = self.identifiers([old, new]);
        if let Some(first) = taken.first() {
            return Err(refused(
                symbol,
                format!("`{new}` is already used on line {}.", first.node.start_position().row + 1),
            ));
        }
        if let Some(line) = self.unparsed_use(&[old, new]) {
            return Err(refused(symbol, format!("The macro on line {line} has the old or the new name.")));
        }
        self.check_constructor(symbol, new)?;
        self.only_one(symbol)?;
        let facts = self.name_facts(symbol, new, query, &places)?;
        let mut splices = Splices::default();
        let (mut left, mut renamed) = (Vec::new(), HashSet::new());
        for place in &places {
            let line = place.node.start_position().row + 1;
            let at = Span::from(place.node.byte_range());
            let Some(take) = self.refers_to_symbol(&facts, place) else {
                return Err(refused(
                    symbol,
                    format!("`{old}` on line {line} may refer to something else of that name."),
                ));
            };
            if take {
                renamed.insert(at.start());
                splices.edits.push((at, new.to_owned()));
            } else {
                left.push(line.to_string());
            }
        }
        if !left.is_empty() {
            left.dedup();
            splices.notes.push(format!(
                "Not renamed, because they refer or may refer to another `{old}`: lines {}.",
                left.join(", ")
            ));
        }
        self.tell_words(old, &places, &mut splices.notes);
        Ok(splices)
    }

    /// Fails for a constructor, whose name is not free, and for a method that would become one.
    fn check_constructor(&self, symbol: &Symbol, new: &str) -> Result<()> {
        if symbol.kind == "constructor" {
            return Err(refused(symbol, "It has the name of its type: rename the type.".to_owned()));
        }
        let names = [&self.text[symbol.name_span.range()], new];
        if symbol.kind == "method" && SCRIPTS.contains(&self.language.name()) && names.contains(&"constructor") {
            return Err(refused(symbol, "A method is a constructor by its name, `constructor`.".to_owned()));
        }
        Ok(())
    }

    /// Fails if another symbol with the same path would be renamed too.
    fn only_one(&self, symbol: &Symbol) -> Result<()> {
        match self.outline().symbols.iter().find(|it| it.path == symbol.path && it.name_span != symbol.name_span) {
            Some(twin) => {
                Err(refused(symbol, format!("Another {} of that name is on line {}.", twin.kind, twin.first)))
            }
            None => Ok(()),
        }
    }

    /// True for a symbol that is called on a receiver, i.e. not directly in a file, a module or a function.
    fn is_member(&self, symbol: &Symbol) -> bool {
        let Some(parent) = &symbol.parent else { return false };
        // In C, a type inside of another one is as visible as that.
        let is_inner_type = self.language.name() == "c" && NameSpace::of(&symbol.kind) == NameSpace::Types;
        !is_inner_type && !matches!(&*parent.kind, "function" | "method" | "constructor" | "module" | "namespace")
    }

    /// Collects the facts about all occurrences of the name.
    fn name_facts<'p>(
        &self,
        symbol: &'p Symbol,
        new: &'p str,
        query: &str,
        places: &'p [NamePlace<'p>],
    ) -> Result<NameFacts<'p, 'p>> {
        let (uses, mut scopes) = self
            .uses(query, places, self.extent(symbol, places))?
            .ok_or_else(|| refused(symbol, "The name occurs too often, or too deep.".to_owned()))?;
        if !scopes.nest() {
            return Err(refused(symbol, "The file is nested too deep.".to_owned()));
        }
        let names = BoundNames::new(&uses, places);
        let own_place = names.local_place(&scopes, symbol, self.language.0.bare_members);
        let home = own_place.unwrap_or_else(|| names.place_of(&scopes, symbol));
        scopes.bind(home.0, home.1, true);
        let others = self.bind_others(symbol, &names, &mut scopes, home.0)?;
        for place in places.iter().map(|it| it.node).filter(|place| !others.contains(&place.start_byte())) {
            if let Some(NameUse::Binding(binding)) = uses.get(&place.id())
                && place.start_byte() != symbol.name_span.start()
                && self.may_hide(place, symbol)
            {
                let (place, body_start) = scopes.of_name(binding.around, binding.hoisted);
                scopes.bind(place, body_start, false);
            }
        }
        Ok(NameFacts {
            symbol,
            new,
            uses,
            scopes,
            home: home.0,
            others,
            member: own_place.is_none() && self.is_member(symbol),
            inner: self.nested_types(symbol),
            opens: RefCell::default(),
        })
    }

    /// Binds the name in the scopes of the other symbols that have it, and returns where they are defined.
    ///
    /// Errors: `symbol.entangled` for a symbol that cannot be told from this one.
    fn bind_others(
        &self,
        symbol: &Symbol,
        names: &BoundNames<'_>,
        scopes: &mut Scopes,
        home: ScopeId,
    ) -> Result<HashSet<usize>> {
        let (old, bare_members) = (&self.text[symbol.name_span.range()], self.language.0.bare_members);
        let mut others = HashSet::new();
        for other in &self.outline().symbols {
            let at = other.name_span.start();
            // A symbol with another displayed name only mentions this one, as `impl Display for Point` does; a
            // constructor is named like its type.
            let mentions = other.name != old || other.kind == "constructor";
            if at == symbol.name_span.start() || mentions || &self.text[other.name_span.range()] != old {
                continue;
            }
            let local = names.local_place(scopes, other, bare_members);
            // The caller binds it like the variables that are no symbols.
            if local.is_some() && NameSpace::of(&other.kind) == NameSpace::Values {
                continue;
            }
            others.insert(at);
            let (place, body_start) = names.place_of(scopes, other);
            // A member is visible under its bare name only in some languages.
            let is_member = local.is_none() && self.is_member(other);
            let seen = !is_member || bare_members || scopes.is_class(place);
            if seen && !names.properties.contains(&at) {
                if NameSpace::of(&other.kind) != NameSpace::of(&symbol.kind) || place == home {
                    return Err(refused(symbol, format!("A {} of that name is on line {}.", other.kind, other.first)));
                }
                scopes.bind(place, body_start, false);
            }
        }
        Ok(others)
    }

    /// Returns the types nested in that of a symbol.
    fn nested_types(&self, symbol: &Symbol) -> Vec<Span> {
        let Some(parent) = &symbol.parent else { return Vec::new() };
        let symbols = self.outline().symbols.iter().filter(|it| TYPE_KINDS.contains(&&*it.kind)).map(|it| it.span);
        symbols.filter(|it| parent.span.covers(*it) && *it != parent.span).collect()
    }

    /// True for a binding that may hide a symbol of its name.
    fn may_hide(&self, place: Node<'_>, symbol: &Symbol) -> bool {
        match NameSpace::of(&symbol.kind) {
            // An enum hides a class from the values of its members.
            NameSpace::Types => matches!(place.kind(), "type_identifier" | "property_identifier"),
            // A variable does not hide a method that is called without a receiver.
            NameSpace::Calls if self.language.0.bare_members => false,
            _ => place.kind() != "type_identifier",
        }
    }

    /// True if an occurrence refers to the symbol; `None` if that cannot be determined.
    fn refers_to_symbol(&self, facts: &NameFacts<'_, '_>, found: &NamePlace<'_>) -> Option<bool> {
        let NameFacts { symbol, member, .. } = *facts;
        let place = found.node;
        let at = Span::from(place.byte_range());
        if at == symbol.name_span {
            return Some(true);
        }
        if facts.others.contains(&at.start()) {
            return Some(false);
        }
        let used = facts.uses.get(&place.id())?;
        if self.is_of_other_space(symbol, found, used) {
            return Some(false);
        }
        match used {
            NameUse::Blocked | NameUse::Pattern => None,
            // A member of an enum.
            NameUse::Binding(_) if place.kind() == "property_identifier" => Some(false),
            NameUse::Binding(NameBinding { around, hoisted }) => {
                let same = !member && facts.scopes.of_name(*around, *hoisted).0 == facts.home;
                // In some languages a variable does not hide a type.
                let hides = NameSpace::of(&symbol.kind) == NameSpace::Types && place.kind() != "type_identifier";
                (!same && !hides && !PATTERN_KINDS.contains(&&*symbol.kind)).then_some(false)
            }
            NameUse::Other => Some(false),
            NameUse::Member(on) if on.is_empty() => {
                if member {
                    self.resolved(facts, at)
                } else {
                    Some(false)
                }
            }
            NameUse::Member(on) if member => Some(own(facts, on, at)),
            NameUse::Member(on) => {
                // `self::f`, not `self.f`.
                let path = self.text[..at.start()].ends_with("::");
                Some(match (&**on, &symbol.parent) {
                    ("self", _) if path => facts.scopes.path_ends_in(at, 0, symbol.span),
                    ("super", _) if path => facts.scopes.path_ends_in(at, 1, symbol.span),
                    (on, Some(EnclosingSymbol { kind, .. })) => {
                        (kind == "namespace" || kind == "module" && path) && on == symbol.prefix
                    }
                    _ => false,
                })
            }
            NameUse::At(position) => self.refers_by_position(facts, found, *position),
        }
    }

    /// True if the language calls methods in other positions than it reads fields, and this is the wrong one.
    fn is_of_other_space(&self, symbol: &Symbol, found: &NamePlace<'_>, used: &NameUse<'_>) -> bool {
        let is_call = match used {
            NameUse::Member(_) => matches!(found.parent, "method_invocation" | "method_reference"),
            NameUse::At(NamePosition::Reference) => false,
            _ => return false,
        };
        self.language.0.bare_members && is_call != (NameSpace::of(&symbol.kind) == NameSpace::Calls)
    }

    /// True if a bare name refers to the symbol; `None` if that cannot be determined.
    fn refers_by_position(
        &self,
        facts: &NameFacts<'_, '_>,
        found: &NamePlace<'_>,
        position: NamePosition,
    ) -> Option<bool> {
        let NameFacts { symbol, member, new, .. } = *facts;
        let place = found.node;
        let at = Span::from(place.byte_range());
        let is_type = NameSpace::of(&symbol.kind) == NameSpace::Types;
        let (is_macro, language) = (symbol.kind == "macro", self.language.name());
        let position =
            if position == NamePosition::MacroToken { token_position(&self.text[at.end()..]) } else { position };
        match position {
            NamePosition::Uncertain | NamePosition::MacroToken => return None,
            NamePosition::Foreign => return Some(false),
            NamePosition::TypeReference if !is_type => return Some(false),
            NamePosition::MacroReference if !is_macro => return Some(false),
            NamePosition::TagReference if !TAG_KINDS.contains(&&*symbol.kind) => return Some(false),
            NamePosition::Element if is_element_name(text_of(place, self.text)) => return Some(false),
            NamePosition::Element if is_element_name(new) => return None,
            // In Rust macros have names of their own. In C all words may be macros.
            NamePosition::Reference | NamePosition::TypeReference if is_macro && language == "rust" => {
                return Some(false);
            }
            // Without its keyword, a tag of C is a name of `typedef`, or of C++.
            NamePosition::Reference if language == "c" && TAG_KINDS.contains(&&*symbol.kind) => return None,
            // In TypeScript such a type is no value.
            NamePosition::Reference
                if matches!(&*symbol.kind, "interface" | "type")
                    && matches!(language, "typescript" | "tsx")
                    && place.kind() == "identifier"
                    && found.parent != "export_statement" =>
            {
                return Some(false);
            }
            _ => {}
        }
        // A class body sees the members that it has bound so far.
        let bare_member = member && !self.language.0.bare_members && !facts.scopes.is_class(facts.home);
        if bare_member || place.kind() == "type_identifier" && !is_type && !is_macro {
            return Some(false);
        }
        self.resolved(facts, at)
    }

    /// True if an occurrence of a bare name refers to the symbol; `None` if that cannot be determined.
    fn resolved(&self, facts: &NameFacts<'_, '_>, at: Span) -> Option<bool> {
        match facts.scopes.meaning(at) {
            NameMeaning::Unknown => None,
            NameMeaning::This => {
                // A module sees the names around it only if it imports them.
                let mut between = facts.scopes.between(at, facts.symbol.span);
                let mut opens = facts.opens.borrow_mut();
                between
                    .all(|it| *opens.entry(it).or_insert_with(|| self.text[it.range()].contains("super::*")))
                    .then_some(true)
            }
            NameMeaning::Other => Some(false),
        }
    }

    /// Returns the part of the text with all occurrences of the name, and all symbols of that name: scopes outside it
    /// have no influence.
    fn extent(&self, symbol: &Symbol, places: &[NamePlace<'_>]) -> Span {
        let old = &self.text[symbol.name_span.range()];
        let named = self.outline().symbols.iter().filter(|it| &self.text[it.name_span.range()] == old);
        let found = places.iter().map(|place| Span::from(place.node.byte_range()));
        named.map(|it| it.span).chain(found).fold(symbol.span, Span::hull)
    }

    /// Classifies the occurrences by the language's query, the others by their positions, and collects the scopes and
    /// bindings of a part of the text. `None` beyond [`STEPS_MAX`] steps.
    fn uses<'p>(
        &self,
        query: &str,
        places: &[NamePlace<'p>],
        extent: Span,
    ) -> Result<Option<(HashMap<usize, NameUse<'p>>, Scopes)>> {
        let grammar = (self.language.0.load)();
        let query = Query::new(&grammar, query).map_err(|error| {
            Error::new(Code::InternalBug, format!("The names of {}: {error}", self.language.name()))
        })?;
        let names = query.capture_names();
        let mut uses: HashMap<usize, NameUse<'p>> = HashMap::new();
        let mut scopes = Scopes::new(names.contains(&"hoisted"));
        let mut steps = 0;
        let mut cursor = QueryCursor::new();
        cursor.set_byte_range(extent.range());
        let mut matches = cursor.matches(&query, self.tree.root_node(), self.text.as_bytes());
        while let Some(found) = matches.next() {
            let mut receiver = String::new();
            for capture in found.captures() {
                let node = capture.node;
                let kind = names.get(capture.index as usize).copied().unwrap_or_default();
                if kind == "receiver" {
                    text_of(node, self.text).clone_into(&mut receiver);
                }
                // Captures that begin with `_` are only compared within the query.
                if kind == "receiver" || kind.starts_with('_') || scopes.add(kind, node) {
                    continue;
                }
                let inside = places.partition_point(|it| it.node.start_byte() < node.start_byte());
                let inside =
                    places[inside..].iter().map(|it| it.node).take_while(|it| it.end_byte() <= node.end_byte());
                for place in inside {
                    steps += 1;
                    note(&mut uses, kind, &receiver, place);
                }
                if steps > STEPS_MAX {
                    return Ok(None);
                }
            }
        }
        let table = PositionTable::of(self.language.0);
        for place in places {
            let position = table.role(place.parent, place.field);
            // The tokens of a macro have no member nodes, only dots.
            let before = self.text[..place.node.start_byte()].trim_end();
            let is_member = before.ends_with('.') && !before.ends_with("..") || before.ends_with("::");
            uses.entry(place.node.id()).or_insert_with(|| match position {
                NamePosition::MacroToken if is_member => NameUse::Member("?".to_owned()),
                _ => NameUse::At(position),
            });
        }
        Ok(Some((uses, scopes)))
    }
}

/// True for a member called on its own type or on itself.
fn own(facts: &NameFacts<'_, '_>, on: &str, at: Span) -> bool {
    on == facts.symbol.prefix
        || (SELF_NAMES.contains(&on) && within(facts.symbol, at) && !facts.inner.iter().any(|it| it.covers(at)))
}

/// True inside the enclosing symbol.
fn within(symbol: &Symbol, at: Span) -> bool {
    symbol.parent.as_ref().is_none_or(|it| it.span.covers(at))
}

fn is_word(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(is_name_start) && chars.all(|it| is_name_start(it) || it.is_numeric())
}

/// True for a character that may begin a name.
fn is_name_start(it: char) -> bool {
    it.is_alphabetic() || it == '_' || it == '$'
}

fn refused(symbol: &Symbol, why: String) -> Error {
    Error::new(Code::SymbolEntangled, format!("{} cannot be renamed safely here.", symbol.path))
        .evidence(why)
        .next("Rename it with edits of its text, with its surroundings, once for each place.")
}
