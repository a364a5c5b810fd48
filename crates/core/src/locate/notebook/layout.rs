//! The JSON style of a notebook: whitespace, separators, escapes. It is taken from the existing text, or derived from
//! the overall indentation if there is no example.

use super::json::{self, JsonMember};
use super::{Cell, CellType, Notebook};
use crate::text::span::Span;
use std::collections::HashMap;

/// The members of a cell in Jupyter's order.
const JUPYTER_MEMBER_ORDER: [&str; 6] = ["cell_type", "execution_count", "id", "metadata", "outputs", "source"];

/// The whitespace and separators of a list or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListSpacing {
    /// The text after the opening bracket.
    pub(super) open: String,
    /// The text between two items, including the comma.
    pub(super) between: String,
    /// The text before the closing bracket.
    pub(super) close: String,
}

/// The style in which new parts of a notebook are written.
pub(super) struct NotebookLayout {
    /// Spacing of the list of cells.
    pub(super) cells: ListSpacing,
    /// Spacing of the members of a cell.
    pub(super) members: ListSpacing,
    /// The text between the name of a member and its value.
    pub(super) colon: String,
    /// Spacing of a source that is a list of lines.
    lines: ListSpacing,
    /// True if sources are lists of lines.
    listed: bool,
    /// True if non-ASCII characters are escaped.
    pub(super) ascii: bool,
}

impl ListSpacing {
    /// Returns the spacing of a list or object with items at these spans. `lone` is the separator to use if a list on
    /// one line has only one item.
    fn seen(text: &str, whole: Span, parts: impl Iterator<Item = Span>, lone: &str) -> Option<ListSpacing> {
        let mut parts = parts.peekable();
        let first = *parts.peek()?;
        let second = parts.by_ref().nth(1);
        let last = second.map_or(first, |second| parts.last().unwrap_or(second));
        let open = text[whole.start() + 1..first.start()].to_owned();
        // After a single item, the next one is placed in the same way.
        let between = second.map_or_else(
            || if open.is_empty() { lone.to_owned() } else { format!(",{open}") },
            |second| text[first.end()..second.start()].to_owned(),
        );
        Some(ListSpacing { open, between, close: text[last.end()..whole.end() - 1].to_owned() })
    }

    fn of_list(text: &str, list: Span, lone: &str) -> Option<ListSpacing> {
        ListSpacing::seen(text, list, json::items(text, list), lone)
    }

    fn of_object(text: &str, object: Span, lone: &str) -> Option<ListSpacing> {
        ListSpacing::seen(text, object, json::members(text, object).map(|it| it.key.hull(it.value)), lone)
    }

    /// Returns the spacing at this depth of a text whose outermost object has the spacing `outer`.
    fn at_depth(outer: &ListSpacing, depth: usize) -> ListSpacing {
        let Some((_, unit)) = outer.open.rsplit_once('\n') else { return outer.clone() };
        ListSpacing {
            open: line_at_depth(unit, depth),
            between: format!(",{}", line_at_depth(unit, depth)),
            close: line_at_depth(unit, depth - 1),
        }
    }
}

/// Returns a line break with the indentation of a depth.
fn line_at_depth(unit: &str, depth: usize) -> String {
    format!("\n{}", unit.repeat(depth))
}

/// Returns the text between name and value.
fn colon(text: &str, object: Span) -> Option<String> {
    let JsonMember { key, value } = json::members(text, object).next()?;
    Some(text[key.end()..value.start()].to_owned())
}

impl NotebookLayout {
    /// Detects the style of a notebook. `unicode` is true if its encoding can represent every character.
    pub(super) fn of(notebook: &Notebook<'_>, unicode: bool) -> NotebookLayout {
        let text = notebook.text;
        let plain = ListSpacing { open: String::new(), between: ", ".to_owned(), close: String::new() };
        let outer = ListSpacing::of_object(text, notebook.root, ", ").unwrap_or(plain);
        let lone = if outer.between.contains('\n') { ", " } else { &*outer.between };
        let model =
            notebook.cells.iter().map(|cell| cell.span).find(|&span| json::members(text, span).nth(1).is_some());
        let sources = || notebook.cells.iter().filter_map(|cell| cell.source);
        let lists = || sources().filter(|span| text[span.range()].starts_with('['));
        // A list of at least two lines shows the separator as well.
        let full = lists()
            .find(|&span| json::items(text, span).nth(1).is_some())
            .or_else(|| lists().find(|&span| json::items(text, span).next().is_some()));
        NotebookLayout {
            cells: ListSpacing::of_list(text, notebook.list, lone).unwrap_or_else(|| ListSpacing::at_depth(&outer, 2)),
            members: model
                .and_then(|span| ListSpacing::of_object(text, span, lone))
                .unwrap_or_else(|| ListSpacing::at_depth(&outer, 3)),
            colon: model
                .and_then(|span| colon(text, span))
                .or_else(|| colon(text, notebook.root))
                .unwrap_or_else(|| ": ".to_owned()),
            lines: full
                .and_then(|span| ListSpacing::of_list(text, span, lone))
                .unwrap_or_else(|| ListSpacing::at_depth(&outer, 4)),
            listed: lists().next().is_some() || sources().next().is_none(),
            ascii: if text.is_ascii() { !unicode || escapes(text) } else { false },
        }
    }

    /// Formats a source as the value that replaces the one at `old`, in its style; unchanged lines are copied as they
    /// are written.
    pub(super) fn replaced(&self, text: &str, old: Span, source: &str) -> String {
        let was = &text[old.range()];
        let ascii = self.ascii || (was.is_ascii() && escapes(was));
        if !was.starts_with('[') {
            return NotebookLayout::source(source, false, &HashMap::new(), &self.lines, ascii);
        }
        let known: HashMap<_, _> = json::items(text, old)
            .filter_map(|span| Some((json::string_value(text, span)?, &text[span.range()])))
            .collect();
        let known = known.iter().map(|(line, token)| (&**line, *token)).collect();
        let own = ListSpacing::of_list(text, old, ", ");
        // A list of one line on one line of the file does not show how two are separated.
        let own = own.filter(|own| own.open.contains('\n') || json::items(text, old).nth(1).is_some());
        NotebookLayout::source(source, true, &known, own.as_ref().unwrap_or(&self.lines), ascii)
    }

    fn source(source: &str, listed: bool, known: &HashMap<&str, &str>, spacing: &ListSpacing, ascii: bool) -> String {
        let mut out = String::with_capacity(source.len() + source.len() / 8 + 16);
        if !listed {
            json::quote(&mut out, source, ascii);
            return out;
        }
        out.push('[');
        for (nth, line) in source.split_inclusive('\n').enumerate() {
            out.push_str(if nth == 0 { &spacing.open } else { &spacing.between });
            match known.get(line) {
                Some(token) => out.push_str(token),
                None => json::quote(&mut out, line, ascii),
            }
        }
        if !source.is_empty() {
            out.push_str(&spacing.close);
        }
        out.push(']');
        out
    }

    /// Formats a member with a separator before it.
    pub(super) fn member(&self, between: &str, name: &str, value: &str) -> String {
        format!("{between}\"{name}\"{}{value}", self.colon)
    }

    /// Formats a new cell. Its members have the order of `like`, or Jupyter's.
    pub(super) fn cell(
        &self,
        notebook: &Notebook<'_>,
        like: Option<&CellTemplate<'_>>,
        kind: CellType,
        id: Option<&str>,
        source: &str,
    ) -> String {
        let code = kind == CellType::Code;
        let form = like.and_then(|it| it.cell.source).map(|span| notebook.text[span.range()].starts_with('['));
        let mut out = "{".to_owned();
        let mut between = &self.members.open;
        for &name in like.map_or(&JUPYTER_MEMBER_ORDER[..], |it| it.order) {
            let value = match name {
                "cell_type" => Some(format!("\"{}\"", kind.name())),
                "execution_count" => code.then(|| "null".to_owned()),
                "id" => id.map(|id| format!("\"{id}\"")),
                "metadata" => Some("{}".to_owned()),
                "outputs" => code.then(|| "[]".to_owned()),
                "source" => Some(NotebookLayout::source(
                    source,
                    form.unwrap_or(self.listed),
                    &HashMap::new(),
                    &self.lines,
                    self.ascii,
                )),
                _ => None,
            };
            if let Some(value) = value {
                out.push_str(&self.member(between, name, &value));
                between = &self.members.between;
            }
        }
        out.push_str(&self.members.close);
        out.push('}');
        out
    }
}

/// The existing cell that a new one follows in style.
pub(super) struct CellTemplate<'a> {
    pub(super) cell: &'a Cell,
    /// The names of the members of the cell; see [`order`].
    pub(super) order: &'a [&'static str],
}

/// Returns the member names in the order of a cell; members that it lacks follow the preceding one of Jupyter's order.
pub(super) fn order(text: &str, like: &Cell) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::with_capacity(JUPYTER_MEMBER_ORDER.len());
    for member in json::members(text, like.span) {
        let name_text = json::string_value(text, member.key).unwrap_or_default();
        if let Some(name) =
            JUPYTER_MEMBER_ORDER.iter().copied().find(|name| *name == name_text && !names.contains(name))
        {
            names.push(name);
        }
    }
    for (nth, name) in JUPYTER_MEMBER_ORDER.iter().copied().enumerate() {
        if names.contains(&name) {
            continue;
        }
        let before =
            JUPYTER_MEMBER_ORDER[..nth].iter().rev().find_map(|before| names.iter().position(|known| known == before));
        names.insert(before.map_or(0, |at| at + 1), name);
    }
    names
}

/// True if a non-ASCII character is written as an escape.
fn escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let escape = &bytes[at + found + 1..];
        // Most backslashes begin `\n`, and comparing one byte is faster than comparing a text.
        if let [b'u', digits @ ..] = escape
            && !matches!(digits, [b'0', b'0', b'0'..b'8', ..])
        {
            return true;
        }
        at += found + 2;
        if at >= bytes.len() {
            break;
        }
    }
    false
}
