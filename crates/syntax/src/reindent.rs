//! New text at the indentation of its destination.

use crate::grammar::text_of;
use crate::language::Language;
use crate::parse::{ParseLimits, SyntaxTree, parse};
use crate::path::is_blank;
use crate::preamble::indent_of;
use tree_sitter::Node;

/// The indentation at the place of a definition.
pub(crate) struct TargetIndents<'t> {
    /// That of its first line.
    pub(crate) own: &'t str,
    /// That of its body as it is now; `None` if it has only one line.
    pub(crate) body: Option<&'t str>,
    /// The difference to the indentation of what is around it; empty at the outermost level.
    pub(crate) level: &'t str,
    /// True if a block ends where the indentation does, without a closing line.
    pub(crate) is_block_by_indent: bool,
}

impl SyntaxTree<'_> {
    /// Changes the indentation of a text to that of its target, if all its lines share another one. Lines that begin
    /// inside of a string belong to its value, so they remain.
    pub(crate) fn reindented(&self, text: &str, target: &TargetIndents<'_>, notes: &mut Vec<String>) -> String {
        let (indent, first) = (target.own, text.lines().next().unwrap_or_default());
        let was = indent_of(first);
        let parsed = if was == indent { None } else { parse(text, self.language, ParseLimits::ASKED) };
        let fixed = parsed.as_ref().map_or(Vec::new(), SyntaxTree::rows_in_strings);
        let is_code = |row: usize, line: &str| !is_blank(line) && !fixed.contains(&row);
        let rest = || text.lines().enumerate().skip(1).filter(|(row, line)| is_code(*row, line)).map(|(_, line)| line);
        let rows: Vec<&str> = rest().collect();
        let leads = parsed.is_some_and(|parsed| parsed.begins_with_lead(first));
        let only_first = was.is_empty() && target.is_cut_above(&rows, leads);
        let movable = was != indent && !only_first && rows.iter().all(|line| line.starts_with(was));
        let mut out = format!("{indent}{}", &first[was.len()..]);
        for (row, line) in text.lines().enumerate().skip(1) {
            out.push('\n');
            match line.strip_prefix(was).filter(|_| movable && is_code(row, line)) {
                Some(line) => out.extend([indent, line]),
                None => out.push_str(line),
            }
        }
        if movable && text.lines().nth(1).is_some() {
            let apart = if fixed.is_empty() { "" } else { ", except for lines inside of strings" };
            notes.push(format!("The new text was indented to match its destination{apart}."));
        }
        out
    }

    /// True if the first line is only a comment or annotations, so that nothing below is deeper because of it.
    fn begins_with_lead(&self, first: &str) -> bool {
        let ends = |node: &Node<'_>| node.end_byte() >= first.trim_end().len() && crate::path::last_row(*node) == 0;
        self.chain(0).iter().any(|node| self.is_lead(*node, None) && ends(node))
    }

    /// Returns the 0-based rows that begin inside of a string whose value contains the indentation, in their order.
    pub(crate) fn rows_in_strings(&self) -> Vec<usize> {
        let inside = |at: usize| {
            let chain = self.chain(at);
            let mut pairs = chain.windows(2);
            let outermost = pairs.find(|pair| is_string(pair[1]) || self.is_preformatted(pair[1]));
            outermost.is_some_and(|pair| {
                pair[1].start_byte() < at && is_verbatim(pair[0], pair[1], self.text, self.language)
            })
        };
        let rows = self.starts().iter().enumerate().skip(1);
        rows.filter(|(row, at)| !is_blank(self.row(self.starts(), *row)) && inside(**at)).map(|(row, _)| row).collect()
    }
}

impl SyntaxTree<'_> {
    /// True for a part of HTML in which blanks at the start of a line count, or may count: a script with a template.
    fn is_preformatted(&self, node: Node<'_>) -> bool {
        let text = text_of(node, self.text);
        let is_tag = |it: Node<'_>| {
            let name = text_of(it, self.text);
            name.eq_ignore_ascii_case("pre") || name.eq_ignore_ascii_case("textarea")
        };
        match node.kind() {
            _ if self.language.name() != "html" => false,
            "raw_text" => text.contains(['`', '\\']),
            _ => node.named_child(0).and_then(|it| it.named_child(0)).is_some_and(is_tag),
        }
    }
}

impl TargetIndents<'_> {
    /// True if only the first line of a text was cut out of its indentation, and the lines below have that of the
    /// target. `leads` says that the first line is above the definition itself.
    fn is_cut_above(&self, below: &[&str], leads: bool) -> bool {
        let begins_with_closer = |line: &str| line.trim_start().starts_with(['}', ')', ']']);
        // In a block by indentation, brackets close a list of parameters, or something inside of the block.
        let counted = below.iter().filter(|line| !self.is_block_by_indent || !begins_with_closer(line));
        let least = counted.map(|line| indent_of(line)).min_by_key(|indent| indent.len());
        let (Some(least), Some(last)) = (least, below.last()) else { return false };
        let closes = !self.is_block_by_indent && (begins_with_closer(last) || last.trim() == "end");
        let is_inner = self.body == Some(least) || least.strip_prefix(self.own).is_some_and(|it| it == self.level);
        let is_target = if least == self.own { leads } else { is_inner };
        closes && indent_of(last) == self.own || is_target && below.iter().all(|line| line.starts_with(self.own))
    }
}

/// True for a literal, also for one with parts that are code.
fn is_string(node: Node<'_>) -> bool {
    let kind = node.kind();
    let groups = ["concatenated_string", "chained_string", "string_array"];
    (kind.contains("string") || kind.contains("heredoc")) && !groups.contains(&kind)
}

/// True for a string whose value contains the indentation of its lines.
fn is_verbatim(parent: Node<'_>, node: Node<'_>, text: &str, language: Language) -> bool {
    match language.name() {
        // Indentation is syntax in the one, and not part of the value in the other.
        "yaml" | "zig" => false,
        // Their multi-line strings lose the indentation of the closing delimiter.
        "java" | "swift" | "elixir" | "c-sharp" => {
            let literal = text_of(node, text).trim_start_matches(['#', '$']);
            !(literal.starts_with("\"\"\"") || literal.starts_with("'''"))
        }
        // A docstring is indented with its definition.
        "python" => !["expression_statement", "block", "module"].contains(&parent.kind()),
        _ => true,
    }
}
