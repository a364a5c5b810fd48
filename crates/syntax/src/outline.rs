//! The symbols of a text, and the way from a symbol path to one of them.

use crate::grammar::{Grammar, Name, Named, is_comment};
use crate::parse::Parsed;
use emendate_core::Span;
use std::collections::HashMap;
use tree_sitter::Node;

/// Nodes that are looked at; a larger tree is outlined up to there.
const NODES: usize = 4_000_000;

/// Nodes around a declaration that belong to it and hold nothing else.
const AROUND: &[&str] = &[
    "export_statement",
    "decorated_definition",
    "template_declaration",
    "ambient_declaration",
    "expression_statement",
    "type_declaration",
    "const_declaration",
    "var_declaration",
    "lexical_declaration",
    "variable_declaration",
    "member_declaration",
    "local_declaration",
    "type_definition",
    "property_declaration",
];

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// As a reader knows it, e.g. `impl Display for Point`.
    pub name: String,
    /// One word: `function`, `class`, `key`, …
    pub kind: &'static str,
    /// 1-based first line, annotations of its own included.
    pub first: usize,
    /// 1-based last line.
    pub last: usize,
    /// 1-based line where comments and attributes directly above begin; `first` when there are none.
    pub above: usize,
    /// How many symbols it is inside of.
    pub depth: usize,
    /// The names that lead to it, joined by dots.
    pub path: String,
    /// Where it stands in the text, annotations of its own included.
    pub(crate) span: Span,
    /// Where its name stands.
    pub(crate) name_span: Span,
    /// What it is inside of: the kind and the span.
    pub(crate) parent: Option<(&'static str, Span)>,
    /// What it is called by as a member: the name before its own in the path.
    pub(crate) prefix: String,
}

impl Symbol {
    /// What it is and what it is called, for a reader.
    pub fn title(&self) -> String {
        // Some names begin with the word already.
        let said = self.name.strip_prefix(self.kind).is_some_and(|rest| rest.starts_with(' '));
        if said { self.name.clone() } else { format!("{} {}", self.kind, self.name) }
    }
}

/// The symbols of a text, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// In the order of the text; each after the one it is inside of.
    pub symbols: Vec<Symbol>,
    /// The text was too large to look at all of it.
    pub cut: bool,
}

/// What a symbol path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// This one.
    One(Box<Symbol>),
    /// Several, all of them.
    Several(Vec<Symbol>),
    /// Nothing; these are the symbols whose last name is alike, at most five.
    None(Vec<Symbol>),
}

/// A symbol that the walk is inside of.
struct Open {
    span: Span,
    kind: &'static str,
    prefix: String,
    body: bool,
}

impl Parsed<'_> {
    /// Everything in the text that has a name.
    pub fn outline(&self) -> Outline {
        let grammar = self.language.0;
        let rows: HashMap<&str, usize> = grammar.symbols.iter().enumerate().map(|(nth, row)| (row.node, nth)).collect();
        let starts = self.starts();
        let mut out = Outline::default();
        let mut open: Vec<Open> = Vec::new();
        let mut nodes: Vec<Node<'_>> = Vec::new();
        let mut cursor = self.tree.walk();
        let mut seen = 0;
        loop {
            let node = cursor.node();
            seen += 1;
            if seen > NODES {
                out.cut = true;
                return out;
            }
            open.retain(|it| it.span.end() > node.start_byte());
            if let Some(found) = self.symbol(grammar, &rows, node, &open) {
                let (row, named) = found;
                self.push(&mut out, &mut open, &starts, (node, &nodes), (row.0, row.1, named));
            }
            if cursor.goto_first_child() {
                nodes.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return out;
                }
                nodes.pop();
            }
        }
    }

    /// The symbol that a node is: its kind, whether names inside are local, its name.
    fn symbol<'n>(
        &self,
        grammar: &Grammar,
        rows: &HashMap<&str, usize>,
        node: Node<'n>,
        open: &[Open],
    ) -> Option<((&'static str, bool), Named<'n>)> {
        if !node.is_named() {
            return None;
        }
        let row = grammar.symbols.get(*rows.get(node.kind())?)?;
        let named = row.name.find(node, self.text).filter(|it| !it.shown.trim().is_empty())?;
        let kind = named.kind.unwrap_or(row.kind);
        let body = row.body || (kind == "function" && !matches!(row.name, Name::Field(_)));
        let local = matches!(kind, "variable" | "constant" | "value" | "field" | "declaration");
        if local && open.iter().any(|it| it.body) {
            return None;
        }
        Some(((kind, body), named))
    }

    fn push(
        &self,
        out: &mut Outline,
        open: &mut Vec<Open>,
        starts: &[usize],
        (node, around): (Node<'_>, &[Node<'_>]),
        (kind, body, named): (&'static str, bool, Named<'_>),
    ) {
        let mut whole = node;
        for outer in around.iter().rev() {
            if !AROUND.contains(&outer.kind()) || !holds_only(*outer, whole) {
                break;
            }
            whole = *outer;
        }
        let first = whole.start_position().row;
        let last = self.trimmed(starts, whole, first);
        let shown = named.shown.split_whitespace().collect::<Vec<&str>>().join(" ");
        let name = dotted(&shown);
        let mut parts: Vec<&str> = open.iter().map(|it| &*it.prefix).collect();
        parts.extend(named.owner.as_deref());
        parts.push(&name);
        let span = Span::new(whole.start_byte(), whole.end_byte());
        let symbol = Symbol {
            path: parts.join("."),
            name: shown,
            kind,
            first: first + 1,
            last: last + 1,
            above: self.above(starts, first).from + 1,
            depth: open.len(),
            span,
            name_span: named.node.byte_range().into(),
            parent: open
                .last()
                .map(|it| (it.kind, it.span))
                .or(named.owner.as_ref().map(|_| ("type", Span::new(0, self.text.len())))),
            prefix: parts.iter().rev().nth(1).map_or(String::new(), |it| (*it).to_owned()),
        };
        // Clauses of one function are one symbol.
        if self.language.0.clauses
            && let Some(before) = out.symbols.last_mut()
            && (before.depth, &before.path, before.kind) == (symbol.depth, &symbol.path, symbol.kind)
            && kind == "function"
        {
            before.last = symbol.last;
            before.span = before.span.hull(span);
        } else {
            out.symbols.push(symbol);
        }
        let prefix = named.prefix.map_or(name, |it| dotted(&it));
        open.push(Open { span, kind, prefix, body });
    }

    /// What `path` leads to: names joined by `.` (or `::`), the whole way or the last part of it. The whole way wins.
    /// `line` chooses among several the one that has this 1-based line.
    pub fn definition(&self, path: &str, line: Option<usize>) -> Definition {
        let wanted = dotted(path.trim());
        let symbols = self.outline().symbols;
        let tail = format!(".{wanted}");
        let holds = |it: &Symbol| line.is_none_or(|line| (it.above..=it.last).contains(&line));
        let by = |test: &dyn Fn(&Symbol) -> bool| -> Vec<Symbol> {
            symbols.iter().filter(|it| test(it) && holds(it)).cloned().collect()
        };
        let whole = by(&|it| it.path == wanted);
        let mut found = if whole.is_empty() { by(&|it| it.path.ends_with(&tail)) } else { whole };
        match found.len() {
            0 => {
                let last = wanted.rsplit('.').next().unwrap_or_default().to_lowercase();
                let near = |it: &&Symbol| !last.is_empty() && it.name.to_lowercase().contains(&last);
                Definition::None(symbols.iter().filter(near).take(5).cloned().collect())
            }
            1 => Definition::One(Box::new(found.remove(0))),
            _ => Definition::Several(found),
        }
    }
}

/// One spelling for paths: `a::b` and `a:b` of some languages are `a.b`.
fn dotted(name: &str) -> String {
    name.replace("::", ".")
}

/// True when `inner` is the only thing of its kind in `outer`, behind annotations and words.
fn holds_only(outer: Node<'_>, inner: Node<'_>) -> bool {
    let mut cursor = outer.walk();
    let mut others = outer.named_children(&mut cursor).filter(|it| it.id() != inner.id() && !is_comment(*it));
    outer.parent().is_some() && others.all(|it| it.end_byte() <= inner.start_byte() && it.kind() != inner.kind())
}
