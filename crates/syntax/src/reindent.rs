//! New text at the indentation of its destination.

use crate::grammar::text_of;
use crate::language::Language;
use crate::parse::{ParseLimits, SyntaxTree, parse};
use crate::path::is_blank;
use crate::preamble::indent_of;
use tree_sitter::Node;

impl SyntaxTree<'_> {
    /// Changes the indentation of a text to that of its target, if all its lines share another one. Lines that begin
    /// inside of a string belong to its value, so they remain.
    pub(crate) fn reindented(&self, text: &str, indent: &str, notes: &mut Vec<String>) -> String {
        let first = text.lines().next().unwrap_or_default();
        let was = indent_of(first);
        let fixed = if was == indent {
            Vec::new()
        } else {
            parse(text, self.language, ParseLimits::ASKED).map_or(Vec::new(), |parsed| parsed.rows_in_strings())
        };
        let is_code = |row: usize, line: &str| !is_blank(line) && !fixed.contains(&row);
        let rest = || text.lines().enumerate().skip(1).filter(|(row, line)| is_code(*row, line)).map(|(_, line)| line);
        let last = rest().last().unwrap_or_default();
        // Only the first line was cut out of its indentation.
        let closed = last.trim_start().starts_with(['}', ')', ']']) || matches!(last.trim(), "end");
        let only_first = was.is_empty() && closed && indent_of(last) == indent;
        let movable = was != indent && !only_first && rest().all(|line| line.starts_with(was));
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

    /// Returns the 0-based rows that begin inside of a string whose value contains the indentation, in their order.
    pub(crate) fn rows_in_strings(&self) -> Vec<usize> {
        let inside = |at: usize| {
            let chain = self.chain(at);
            let mut pairs = chain.windows(2);
            let outermost = pairs.find(|pair| is_string(pair[1]));
            outermost.is_some_and(|pair| {
                pair[1].start_byte() < at && is_verbatim(pair[0], pair[1], self.text, self.language)
            })
        };
        let rows = self.starts().iter().enumerate().skip(1);
        rows.filter(|(row, at)| !is_blank(self.row(self.starts(), *row)) && inside(**at)).map(|(row, _)| row).collect()
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
