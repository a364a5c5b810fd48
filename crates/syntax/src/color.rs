//! Colours of a text: the class of each token, from a table of node kinds.

use crate::parse::SyntaxTree;
use serde::{Deserialize, Serialize};
use tree_sitter::{Node, TreeCursor};

/// Tokens of one answer.
const TOKENS_MAX: usize = 200_000;

/// The class of a token, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColorClass {
    /// A keyword.
    Keyword,
    /// A string or a character.
    String,
    /// An escape sequence in a string.
    Escape,
    /// A number.
    Number,
    /// A constant, such as `true`.
    Constant,
    /// A comment.
    Comment,
    /// The name of a type.
    Type,
    /// The name of a function.
    Function,
    /// The name of a field or a key.
    Property,
    /// An attribute, decorator or annotation.
    Attribute,
    /// A tag of markup, or a heading.
    Tag,
}

/// A part of a line with its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColorSpan {
    /// The line, from 1.
    pub line: usize,
    /// The first byte in the line.
    pub start: usize,
    /// The byte after the last one; `usize::MAX` up to the end of the line.
    pub end: usize,
    /// The class.
    pub class: ColorClass,
}

/// Lines, the first and the last one, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
}

impl SyntaxTree<'_> {
    /// Returns the classes of the tokens in some lines, in order. `ranges` are sorted.
    pub fn colors(&self, ranges: &[LineRange]) -> Vec<ColorSpan> {
        let mut painter = Painter { text: self.text, ranges, spans: Vec::new() };
        painter.visit(&mut self.tree.walk());
        painter.spans
    }
}

struct Painter<'a> {
    text: &'a str,
    ranges: &'a [LineRange],
    spans: Vec<ColorSpan>,
}

impl Painter<'_> {
    /// Visits the tree without recursion: texts may be nested deeply.
    fn visit(&mut self, cursor: &mut TreeCursor<'_>) {
        let mut inherited: Vec<Option<ColorClass>> = vec![None];
        loop {
            let node = cursor.node();
            let class = within(node, inherited.last().copied().flatten());
            let is_wanted = self.is_wanted(node);
            if is_wanted && class != Some(ColorClass::Comment) && cursor.goto_first_child() {
                inherited.push(class);
                continue;
            }
            if is_wanted && let Some(class) = leaf(node, class, self.text) {
                self.paint(node, class);
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                inherited.pop();
            }
            if self.spans.len() > TOKENS_MAX {
                return;
            }
        }
    }

    /// True if a node is on one of the lines.
    fn is_wanted(&self, node: Node<'_>) -> bool {
        let (first, last) = (node.start_position().row + 1, node.end_position().row + 1);
        let next = self.ranges.partition_point(|range| range.last < first);
        self.ranges.get(next).is_some_and(|range| range.first <= last)
    }

    /// Adds the lines of a token.
    fn paint(&mut self, node: Node<'_>, class: ColorClass) {
        let (start, end) = (node.start_position(), node.end_position());
        for row in start.row..=end.row {
            let line = row + 1;
            if !self.ranges.iter().any(|range| (range.first..=range.last).contains(&line)) {
                continue;
            }
            let from = if row == start.row { start.column } else { 0 };
            let to = if row == end.row { end.column } else { usize::MAX };
            if from < to {
                self.spans.push(ColorSpan { line, start: from, end: to, class });
            }
        }
    }
}

/// Node kinds, and the class of everything in such a node; a word that ends in `*` is the beginning of a kind, one that
/// begins with `*` its end.
const REGIONS: &[(&str, ColorClass)] = &[
    ("*comment", ColorClass::Comment),
    ("comment*", ColorClass::Comment),
    ("string*", ColorClass::String),
    ("*string", ColorClass::String),
    ("*string_literal", ColorClass::String),
    ("char_literal", ColorClass::String),
    ("character_literal", ColorClass::String),
    ("character", ColorClass::String),
    ("rune_literal", ColorClass::String),
    ("regex", ColorClass::String),
    ("regex_literal", ColorClass::String),
    ("heredoc_body", ColorClass::String),
    ("*quote_scalar", ColorClass::String),
    ("code_span", ColorClass::String),
    ("fenced_code_block", ColorClass::String),
    ("attribute_item", ColorClass::Attribute),
    ("inner_attribute_item", ColorClass::Attribute),
    ("decorator", ColorClass::Attribute),
    ("annotation", ColorClass::Attribute),
    ("marker_annotation", ColorClass::Attribute),
    ("attribute_list", ColorClass::Attribute),
    ("*_heading", ColorClass::Tag),
];

/// Kinds of nodes in a string that hold code again.
const CODE_IN_STRINGS: &[&str] =
    &["interpolation", "template_substitution", "*substitution", "*_expansion", "format_expression"];

/// Kinds of tokens, and their class.
const TOKENS: &[(&str, ColorClass)] = &[
    ("escape_sequence", ColorClass::Escape),
    ("string_escape", ColorClass::Escape),
    ("number*", ColorClass::Number),
    ("integer*", ColorClass::Number),
    ("float*", ColorClass::Number),
    ("*integer_literal", ColorClass::Number),
    ("*float_literal", ColorClass::Number),
    ("*floating_point_literal", ColorClass::Number),
    ("int_literal", ColorClass::Number),
    ("*number", ColorClass::Number),
    ("*_number_literal", ColorClass::Number),
    ("color_value", ColorClass::Number),
    ("unit", ColorClass::Number),
    ("true", ColorClass::Constant),
    ("false", ColorClass::Constant),
    ("null*", ColorClass::Constant),
    ("nil", ColorClass::Constant),
    ("none", ColorClass::Constant),
    ("undefined", ColorClass::Constant),
    ("boolean*", ColorClass::Constant),
    ("self", ColorClass::Keyword),
    ("this", ColorClass::Keyword),
    ("super", ColorClass::Keyword),
    ("crate", ColorClass::Keyword),
    ("mutable_specifier", ColorClass::Keyword),
    ("visibility_modifier", ColorClass::Keyword),
    ("primitive_type", ColorClass::Type),
    ("predefined_type", ColorClass::Type),
    ("builtin_type", ColorClass::Type),
    ("integral_type", ColorClass::Type),
    ("void_type", ColorClass::Type),
    ("type_identifier", ColorClass::Type),
    ("type_name", ColorClass::Type),
    ("field_identifier", ColorClass::Property),
    ("*property_identifier*", ColorClass::Property),
    ("property_name", ColorClass::Property),
    ("attribute_name", ColorClass::Property),
    ("bare_key", ColorClass::Property),
    ("tag_name", ColorClass::Tag),
    ("class_name", ColorClass::Type),
    ("id_name", ColorClass::Type),
    ("symbol", ColorClass::Constant),
    ("simple_symbol", ColorClass::Constant),
];

/// Kinds of nodes that call the name in their first field.
const CALLS: &[&str] = &[
    "call", "call_expression", "function_call*", "method_invocation", "invocation_expression", "macro_invocation",
    "method_call*", "command",
];

/// Names of the fields with the name that is called or defined.
const NAME_FIELDS: &[&str] = &["function", "name", "method", "macro", "declarator"];

/// True if a kind fits a pattern with at most one `*` at each end.
fn fits(pattern: &str, kind: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(inner), Some(_)) => kind.contains(inner.trim_end_matches('*')),
        (Some(end), None) => kind.ends_with(end),
        (None, Some(start)) => kind.starts_with(start),
        (None, None) => kind == pattern,
    }
}

/// Returns the class of everything in a node, given that of the node around it.
fn within(node: Node<'_>, outer: Option<ColorClass>) -> Option<ColorClass> {
    if !node.is_named() {
        return outer;
    }
    let kind = node.kind();
    if outer == Some(ColorClass::String) && CODE_IN_STRINGS.iter().any(|pattern| fits(pattern, kind)) {
        return None;
    }
    if is_key(node) {
        return Some(ColorClass::Property);
    }
    if outer.is_some() {
        return outer;
    }
    REGIONS.iter().find(|(pattern, _)| fits(pattern, kind)).map(|(_, class)| *class)
}

/// True for the key of a pair in data.
fn is_key(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    matches!(parent.kind(), "pair" | "block_mapping_pair" | "flow_pair")
        && parent.child_by_field_name("key").is_some_and(|key| key == node)
}

/// Returns the class of a token; `outer` is the class of everything in its region.
fn leaf(node: Node<'_>, outer: Option<ColorClass>, text: &str) -> Option<ColorClass> {
    let kind = node.kind();
    let of_token = || TOKENS.iter().find(|(pattern, _)| fits(pattern, kind)).map(|(_, class)| *class);
    if let Some(class) = outer {
        let is_escape = class == ColorClass::String && of_token() == Some(ColorClass::Escape);
        return Some(if is_escape { ColorClass::Escape } else { class });
    }
    if !node.is_named() {
        let is_word = kind.len() > 1 && kind.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        return (is_word || kind.starts_with('#') && kind.len() > 1).then_some(ColorClass::Keyword);
    }
    if is_called(node) {
        return Some(ColorClass::Function);
    }
    of_token().or_else(|| of_name(text.get(node.byte_range())?, kind))
}

/// True for a name that is called or defined as a function.
fn is_called(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    let kind = parent.kind();
    let defines = (kind.contains("function") || kind.contains("method")) && !kind.contains("type");
    if defines || CALLS.iter().any(|pattern| fits(pattern, kind)) {
        return is_name_of(parent, node);
    }
    // The last part of `a.b()` or `a::b()`.
    let is_path = matches!(
        kind,
        "field_expression"
            | "member_expression"
            | "attribute"
            | "scoped_identifier"
            | "selector_expression"
            | "member_access_expression"
            | "navigation_expression"
            | "dot_index_expression"
    );
    is_path
        && node.next_named_sibling().is_none()
        && parent
            .parent()
            .is_some_and(|call| CALLS.iter().any(|pattern| fits(pattern, call.kind())) && is_name_of(call, parent))
}

/// True if a node is the name of its parent.
fn is_name_of(parent: Node<'_>, child: Node<'_>) -> bool {
    NAME_FIELDS.iter().any(|field| parent.child_by_field_name(field).is_some_and(|it| it == child))
}

/// Returns the class of a name by its spelling.
fn of_name(name: &str, kind: &str) -> Option<ColorClass> {
    if !(kind.ends_with("identifier") || kind == "constant" || kind == "name") || name.len() < 2 {
        return None;
    }
    let is_upper = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if is_upper {
        return Some(ColorClass::Constant);
    }
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(ColorClass::Type)
}

#[cfg(test)]
mod tests {
    use super::{ColorClass, LineRange};
    use crate::{Language, ParseLimits, parse};

    fn colored(language: &str, text: &str) -> Vec<(String, ColorClass)> {
        let language = Language::from_name(language).unwrap();
        let parsed = parse(text, language, ParseLimits::ASKED).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let all = [LineRange { first: 1, last: lines.len() }];
        let part = |it: &super::ColorSpan| {
            let line = lines[it.line - 1];
            (line[it.start..it.end.min(line.len())].to_owned(), it.class)
        };
        parsed.colors(&all).iter().map(part).collect()
    }

    #[cfg(feature = "rust")]
    #[test]
    fn tokens_of_rust_have_classes() {
        let all = colored("rust", "/// Doc\nfn main() {\n    let x: u32 = add(\"a\\n\", 17); // end\n}\n");
        for (text, class) in [
            ("fn", ColorClass::Keyword),
            ("main", ColorClass::Function),
            ("u32", ColorClass::Type),
            ("add", ColorClass::Function),
            ("\\n", ColorClass::Escape),
            ("17", ColorClass::Number),
            ("// end", ColorClass::Comment),
        ] {
            assert!(all.contains(&(text.to_owned(), class)), "{text}: {all:?}");
        }
    }

    #[cfg(feature = "json")]
    #[test]
    fn keys_of_json_are_properties_and_only_the_lines_asked_for_are_colored() {
        let all = colored("json", "{ \"key\": [\"text\", 1.5, true] }");
        assert!(all.contains(&("key".to_owned(), ColorClass::Property)), "{all:?}");
        assert!(all.contains(&("text".to_owned(), ColorClass::String)), "{all:?}");
        assert!(all.contains(&("1.5".to_owned(), ColorClass::Number)), "{all:?}");
        let text = "[1,\n2,\n3]\n";
        let parsed = parse(text, Language::from_name("json").unwrap(), ParseLimits::ASKED).unwrap();
        let spans = parsed.colors(&[LineRange { first: 2, last: 2 }]);
        assert_eq!(spans.iter().map(|it| it.line).collect::<Vec<_>>(), [2]);
    }
}
