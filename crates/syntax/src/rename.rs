//! Giving a symbol another name where it stands and where it is used in the same text.

use crate::edit::Splices;
use crate::grammar::text_of;
use crate::outline::Symbol;
use crate::parse::Parsed;
use emendate_core::{Code, Error, Result, Span};
use std::collections::{HashMap, HashSet};
use tree_sitter::{Node, Query, QueryCursor, StreamingIterator};

/// Names for what a member is called on inside its own type.
const SELVES: &[&str] = &["self", "this", "Self", "cls", "super"];

/// What is known of one place where the name stands.
enum Use {
    /// A reference, or the symbol itself.
    Plain,
    /// Behind a receiver, whose text is this; empty where the language leaves it out.
    Member(String),
    /// Something else is called so.
    Bound,
    /// Never a reference.
    Other,
    /// Cannot be renamed alone.
    Blocked,
}

impl Parsed<'_> {
    /// The splices that give `symbol` the name `new`.
    ///
    /// Errors: `symbol.entangled` where another thing has the old or the new name, or the language's scopes are not known.
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
        let taken = self.leaves(new);
        if let Some(first) = taken.first() {
            return Err(refused(
                symbol,
                format!("`{new}` is already used on line {}.", first.start_position().row + 1),
            ));
        }
        self.only_one(symbol)?;
        let places = self.leaves(old);
        let uses = self.uses(query, &places)?;
        let member = matches!(symbol.parent, Some((kind, _)) if !matches!(kind, "function" | "method" | "constructor" | "module" | "namespace"));
        let mut splices = Splices::default();
        let (mut left, mut renamed) = (Vec::new(), HashSet::new());
        for place in &places {
            let line = place.start_position().row + 1;
            let at = Span::from(place.byte_range());
            let take = at == symbol.name_span
                || match uses.get(&place.id()).unwrap_or(&Use::Plain) {
                    Use::Bound | Use::Blocked => {
                        return Err(refused(
                            symbol,
                            format!("`{old}` on line {line} may be another thing of that name."),
                        ));
                    }
                    Use::Other => false,
                    Use::Member(on) => member && own(symbol, on, at),
                    Use::Plain => (!member || self.language.0.bare_members) && within(symbol, at),
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
            splices.notes.push(format!("Left, because they may mean another `{old}`: lines {}.", left.join(", ")));
        }
        self.tell_words(old, &places, &mut splices.notes);
        Ok(splices)
    }

    /// Another symbol of the same path would be renamed with it.
    fn only_one(&self, symbol: &Symbol) -> Result<()> {
        let same = |it: &&Symbol| it.path == symbol.path && it.name_span != symbol.name_span;
        match self.outline().symbols.iter().find(same) {
            Some(twin) => {
                Err(refused(symbol, format!("Another {} of that name is on line {}.", twin.kind, twin.first)))
            }
            None => Ok(()),
        }
    }

    /// The identifiers that read `name`.
    fn leaves(&self, name: &str) -> Vec<Node<'_>> {
        let mut found = Vec::new();
        let mut cursor = self.tree.walk();
        loop {
            let node = cursor.node();
            if node.kind().contains("identifier") && node.child_count() == 0 && text_of(node, self.text) == name {
                found.push(node);
            }
            if node.byte_range().len() >= name.len() && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
            }
        }
    }

    /// What the places are, by the language's query; plain ones are left out.
    fn uses(&self, query: &str, places: &[Node<'_>]) -> Result<HashMap<usize, Use>> {
        let grammar = (self.language.0.load)();
        let query = Query::new(&grammar, query).map_err(|error| {
            Error::new(Code::InternalBug, format!("The names of {}: {error}", self.language.name()))
        })?;
        let names = query.capture_names();
        let mut uses: HashMap<usize, Use> = HashMap::new();
        let mut cursor = QueryCursor::new();
        let mut matches = cursor.matches(&query, self.tree.root_node(), self.text.as_bytes());
        while let Some(found) = matches.next() {
            let mut receiver = String::new();
            for capture in found.captures() {
                let node = capture.node;
                let kind = names.get(capture.index as usize).copied().unwrap_or_default();
                let inside = places.partition_point(|it| it.start_byte() < node.start_byte());
                let inside = places[inside..].iter().take_while(|it| it.end_byte() <= node.end_byte());
                for place in inside {
                    let what = match kind {
                        "receiver" => continue,
                        "member" => Use::Member(receiver.clone()),
                        "binding" | "pattern" => Use::Bound,
                        "other" => Use::Other,
                        _ => Use::Blocked,
                    };
                    uses.entry(place.id()).or_insert(what);
                }
                if kind == "receiver" {
                    text_of(node, self.text).clone_into(&mut receiver);
                }
            }
        }
        for place in places {
            // In a macro's tokens there are no members, only dots.
            let before = self.text[..place.start_byte()].trim_end();
            let tokens = place.parent().is_some_and(|it| it.kind() == "token_tree");
            if tokens && (before.ends_with('.') || before.ends_with("::")) {
                uses.entry(place.id()).or_insert(Use::Member("?".to_owned()));
            }
        }
        Ok(uses)
    }

    /// Says where the word stands in comments and strings.
    fn tell_words(&self, old: &str, places: &[Node<'_>], notes: &mut Vec<String>) {
        let names: HashSet<usize> = places.iter().map(Node::start_byte).collect();
        let part = |it: char| it.is_alphanumeric() || it == '_';
        let mut lines: Vec<String> = Vec::new();
        let mut row = (0, 1);
        for (at, _) in self.text.match_indices(old).filter(|(at, _)| !names.contains(at)) {
            let (before, after) = (&self.text[..at], &self.text[at + old.len()..]);
            if before.ends_with(part) || after.starts_with(part) {
                continue;
            }
            row = (at, row.1 + self.text[row.0..at].matches('\n').count());
            lines.push(row.1.to_string());
        }
        lines.dedup();
        if !lines.is_empty() {
            lines.truncate(20);
            notes.push(format!("Comments and strings with the word were left: lines {}.", lines.join(", ")));
        }
    }
}

/// True for a member called on its own type or on itself.
fn own(symbol: &Symbol, on: &str, at: Span) -> bool {
    let inside = within(symbol, at);
    on == symbol.prefix || (inside && (on.is_empty() || SELVES.contains(&on)))
}

/// True inside what the symbol is inside of.
fn within(symbol: &Symbol, at: Span) -> bool {
    symbol.parent.is_none_or(|(kind, span)| matches!(kind, "module" | "namespace") || span.covers(at))
}

fn is_word(name: &str) -> bool {
    let mut chars = name.chars();
    let start = |it: char| it.is_alphabetic() || it == '_' || it == '$';
    chars.next().is_some_and(start) && chars.all(|it| start(it) || it.is_numeric())
}

fn refused(symbol: &Symbol, why: String) -> Error {
    Error::new(Code::SymbolEntangled, format!("{} cannot be renamed safely here.", symbol.path))
        .evidence(why)
        .next("Rename it with edit: old_string with its surroundings, once for each place.")
}
