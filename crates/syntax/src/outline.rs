//! The symbols of a text, and lookup by symbol path.

use crate::grammar::{NameRule, SymbolName, is_comment};
use crate::index::TreeIndex;
use crate::parse::SyntaxTree;
use crate::similar_names::similar_names;
use emendate_core::Span;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use tree_sitter::Node;

/// Maximum number of visited nodes; a larger tree is outlined in part.
const NODES_MAX: usize = 4_000_000;
/// Maximum number of symbols.
const SYMBOLS_MAX: usize = 100_000;
/// Maximum bytes of a symbol path. A longer path loses its first names; it still identifies the symbol.
const PATH_BYTES_MAX: usize = 256;

/// Kinds of symbols whose names are single words, whatever signs they contain.
const DATA_KINDS: &[&str] = &["key", "rule"];

/// Nodes around a declaration that contain nothing else.
const WRAPPER_NODES: &[&str] = &[
    "export_statement", "decorated_definition", "template_declaration", "ambient_declaration", "expression_statement",
    "type_declaration", "const_declaration", "var_declaration", "lexical_declaration", "variable_declaration",
    "member_declaration", "local_declaration", "type_definition", "property_declaration",
];

/// A named declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Name for people, e.g. `impl Display for Point`.
    pub name: String,
    /// One word: `function`, `class`, `key`, …
    pub kind: Cow<'static, str>,
    /// 1-based first line, including its own annotations.
    pub first: usize,
    /// 1-based last line.
    pub last: usize,
    /// 1-based first line of the comments and attributes directly above; `first` if there are none.
    pub above: usize,
    /// Number of enclosing symbols.
    pub depth: usize,
    /// Names of the enclosing symbols and its own, joined by dots; only the last ones if all take more than 256 bytes.
    pub path: String,
    /// True if the text has a syntax error in it, so that its end, or all of it, may be a guess of the parser.
    pub is_broken: bool,
    /// Span in the text, including its own annotations.
    pub(crate) span: Span,
    /// Span of its name.
    pub(crate) name_span: Span,
    /// Kind and span of the enclosing symbol.
    pub(crate) parent: Option<EnclosingSymbol>,
    /// The name before its own in the path.
    pub(crate) prefix: String,
}

impl Symbol {
    /// True unless these names begin inside of its own, which is a single word.
    fn has_last_names(&self, names: &str) -> bool {
        !DATA_KINDS.contains(&&*self.kind) || names.len() >= self.name.len()
    }

    /// Returns kind and name, for people.
    pub fn title(&self) -> String {
        // Some names begin with the kind already.
        let said = self.name.strip_prefix(&*self.kind).is_some_and(|rest| rest.starts_with(' '));
        if said { self.name.clone() } else { format!("{} {}", self.kind, self.name) }
    }
}

/// An enclosing symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EnclosingSymbol {
    pub(crate) kind: Cow<'static, str>,
    pub(crate) span: Span,
}

/// The symbols of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// The symbols in the order of the text; each one comes after the one that encloses it.
    pub symbols: Vec<Symbol>,
    /// The text was too large to visit all of it.
    pub cut: bool,
}

/// Result of looking up a symbol path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Definition {
    /// One symbol.
    One(Box<Symbol>),
    /// Several symbols, all of them.
    Several(Vec<Symbol>),
    /// None; these are up to five symbols whose names contain the last name, or are similar to it.
    None(Vec<Symbol>),
}

/// A symbol that encloses the current node.
struct OpenSymbol {
    span: Span,
    kind: &'static str,
    prefix: String,
    /// The symbol, or an enclosing one, has local names inside.
    body: bool,
}

/// A walk over the tree that collects symbols.
struct OutlineWalk<'p, 't> {
    parsed: &'p SyntaxTree<'t>,
    starts: &'p [usize],
    /// Index into the table of symbols for each node kind.
    rows: Vec<Option<usize>>,
    /// Cached result for one row: comments and annotations above it.
    above: Option<(usize, usize)>,
    open: Vec<OpenSymbol>,
    out: Outline,
}

/// A node that is a symbol.
struct SymbolNode<'n> {
    node: Node<'n>,
    kind: &'static str,
    /// Names inside it are local.
    body: bool,
    named: SymbolName<'n>,
}

impl SyntaxTree<'_> {
    /// Returns all symbols of the text. They are collected once: a rename uses them several times.
    pub fn outline(&self) -> &Outline {
        self.outline.get_or_init(|| self.collect_symbols())
    }

    fn collect_symbols(&self) -> Outline {
        self.index.get_or_init(|| TreeIndex::of(self));
        let symbols = self.language.0.symbols;
        let language = self.tree.language();
        let kinds = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let rows = (0..kinds)
            .map(|id| {
                let kind = language.node_kind_for_id(id).filter(|_| language.node_kind_is_named(id))?;
                symbols.iter().rposition(|it| it.node == kind)
            })
            .collect();
        let walk = OutlineWalk {
            parsed: self,
            starts: self.starts(),
            rows,
            above: None,
            open: Vec::new(),
            out: Outline::default(),
        };
        walk.all()
    }
}

impl OutlineWalk<'_, '_> {
    fn all(mut self) -> Outline {
        let mut nodes: Vec<Node<'_>> = Vec::new();
        let mut cursor = self.parsed.tree.walk();
        let mut seen = 0;
        loop {
            let node = cursor.node();
            seen += 1;
            if seen > NODES_MAX || self.out.symbols.len() > SYMBOLS_MAX {
                self.out.cut = true;
                return self.out;
            }
            while self.open.last().is_some_and(|it| it.span.end() <= node.start_byte()) {
                self.open.pop();
            }
            if let Some(found) = self.symbol(node) {
                self.push(&nodes, found);
            }
            if cursor.goto_first_child() {
                nodes.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return self.out;
                }
                nodes.pop();
            }
        }
    }

    /// Returns the symbol that a node is.
    fn symbol<'n>(&self, node: Node<'n>) -> Option<SymbolNode<'n>> {
        let row = self.rows.get(usize::from(node.kind_id())).copied().flatten()?;
        let row = self.parsed.language.0.symbols.get(row)?;
        let named = row.name.find(node, self.parsed.text).filter(|it| !it.shown.trim().is_empty())?;
        let kind = named.kind.unwrap_or(row.kind);
        let body = row.body || (kind == "function" && !matches!(row.name, NameRule::Field(_)));
        let local = matches!(kind, "variable" | "constant" | "value" | "field" | "declaration");
        if local && self.open.last().is_some_and(|it| it.body) {
            return None;
        }
        Some(SymbolNode { node, kind, body, named })
    }

    fn push(&mut self, around: &[Node<'_>], found: SymbolNode<'_>) {
        let SymbolNode { node, kind, body, named } = found;
        let mut whole = node;
        for (nth, outer) in around.iter().enumerate().rev() {
            if nth == 0 || !WRAPPER_NODES.contains(&outer.kind()) || !self.holds_only(*outer, whole) {
                break;
            }
            whole = *outer;
        }
        let first = whole.start_position().row;
        let last = self.parsed.trimmed(self.starts, whole, first);
        let shown = named.shown.split_whitespace().collect::<Vec<&str>>().join(" ");
        let name = if DATA_KINDS.contains(&kind) { shown.clone() } else { dotted(&shown) };
        let span = Span::new(whole.start_byte(), whole.end_byte());
        let prefix = named.owner.as_deref().or(self.open.last().map(|it| &*it.prefix)).unwrap_or_default().to_owned();
        let symbol = Symbol {
            path: self.path(named.owner.as_deref(), &name),
            name: shown,
            kind: Cow::Borrowed(kind),
            first: first + 1,
            last: last + 1,
            above: self.above(first) + 1,
            depth: self.open.len(),
            is_broken: whole.has_error(),
            span,
            name_span: named.node.byte_range().into(),
            parent: self.open.last().map(|it| EnclosingSymbol { kind: Cow::Borrowed(it.kind), span: it.span }).or(
                named.owner.as_ref().map(|_| EnclosingSymbol {
                    kind: Cow::Borrowed("type"),
                    span: Span::new(0, self.parsed.text.len()),
                }),
            ),
            prefix,
        };
        // Adjacent clauses of one function are one symbol.
        if self.parsed.language.0.clauses
            && let Some(before) = self.out.symbols.last_mut()
            && (before.depth, &before.path, &before.kind) == (symbol.depth, &symbol.path, &symbol.kind)
            && kind == "function"
        {
            before.last = symbol.last;
            before.span = before.span.hull(span);
            before.is_broken |= symbol.is_broken;
        } else {
            self.out.symbols.push(symbol);
        }
        let (body, end) =
            self.open.last().map_or((body, span.end()), |outer| (body || outer.body, span.end().min(outer.span.end())));
        let span = Span::new(span.start().min(end), end);
        self.open.push(OpenSymbol { span, kind, prefix: named.prefix.map_or(name, |it| dotted(&it)), body });
    }

    /// True if `outer` contains only `inner`, after annotations and keywords.
    fn holds_only(&self, outer: Node<'_>, inner: Node<'_>) -> bool {
        let mut cursor = outer.walk();
        let mut others = outer.named_children(&mut cursor).filter(|it| it.id() != inner.id() && !is_comment(*it));
        let is_symbol = |node: Node<'_>| self.rows.get(usize::from(node.kind_id())).copied().flatten().is_some();
        others.all(|it| it.end_byte() <= inner.start_byte() && it.kind() != inner.kind() && !is_symbol(it))
    }

    /// Returns the path of a symbol: all names, or the last ones if all would be too long.
    fn path(&self, owner: Option<&str>, name: &str) -> String {
        let mut parts = vec![name];
        let mut len = name.len();
        for part in owner.into_iter().chain(self.open.iter().rev().map(|it| &*it.prefix)) {
            len += part.len() + 1;
            if len > PATH_BYTES_MAX {
                break;
            }
            parts.push(part);
        }
        parts.reverse();
        parts.join(".")
    }

    /// Returns the 0-based first row of the comments and annotations directly above a row.
    fn above(&mut self, row: usize) -> usize {
        match self.above {
            Some((known, from)) if known == row => from,
            _ => {
                let from = self.parsed.above(self.starts, row).from;
                self.above = Some((row, from));
                from
            }
        }
    }
}

impl SyntaxTree<'_> {
    /// Looks up `path`: names joined by `.` (or `::`), the whole path or its last part. If several match, `line` (1-based)
    /// selects the one that contains it. Without a line, a whole match takes precedence; a line in a class and in its
    /// constructor of that name may mean either.
    pub fn definition(&self, path: &str, line: Option<usize>) -> Definition {
        let symbols = &self.outline().symbols;
        let by_name = |wanted: &str| {
            let tail = format!(".{wanted}");
            let whole = symbols_by(symbols, line, &|it| it.path == wanted);
            let is_clear = line.is_none() && !whole.is_empty();
            let is_end = |it: &Symbol| it.path.ends_with(&tail) && it.has_last_names(wanted);
            let parts = if is_clear { Vec::new() } else { symbols_by(symbols, line, &is_end) };
            [whole, parts].concat()
        };
        let wanted = dotted(path.trim());
        // Only in a name of data, `::` is not a dot.
        let mut found = Some(by_name(path.trim())).filter(|it| !it.is_empty()).unwrap_or_else(|| by_name(&wanted));
        match found.len() {
            0 => Definition::None(similar_symbols(symbols, &wanted)),
            1 => Definition::One(Box::new(found.remove(0))),
            _ => Definition::Several(found),
        }
    }
}

/// Returns the symbols that a caller may have meant, the most likely first.
fn similar_symbols(symbols: &[Symbol], wanted: &str) -> Vec<Symbol> {
    let names: Vec<&str> = symbols.iter().map(|symbol| &*symbol.name).collect();
    similar_names(&names, wanted).into_iter().filter_map(|position| symbols.get(position).cloned()).collect()
}

/// Returns the symbols that pass the test and contain the line.
fn symbols_by(symbols: &[Symbol], line: Option<usize>, test: &dyn Fn(&Symbol) -> bool) -> Vec<Symbol> {
    symbols
        .iter()
        .filter(|it| test(it) && line.is_none_or(|line| (it.above..=it.last).contains(&line)))
        .cloned()
        .collect()
}

/// Normalizes a path: `a::b` of some languages becomes `a.b`.
fn dotted(name: &str) -> String {
    name.replace("::", ".")
}
