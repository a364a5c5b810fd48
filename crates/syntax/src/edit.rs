//! Edits of symbols, as splices of the text.

use crate::edit_tail::ReplacedTail;
use crate::grammar::{is_annotation, is_comment};
use crate::outline::Symbol;
use crate::parse::{ParseLimits, SyntaxTree, parse};
use crate::path::is_blank;
use crate::preamble::indent_of;
use crate::reindent::TargetIndents;
use core::ops::Range;
use emendate_core::{Code, Error, Result, Span};
use serde::{Deserialize, Serialize};
use tree_sitter::Node;

/// Change of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SymbolAction {
    /// Replaces its text.
    Replace,
    /// Inserts text before it and its comments.
    InsertBefore,
    /// Inserts text after it.
    InsertAfter,
    /// Deletes it, with the comments and attributes above.
    Delete,
    /// Renames it, here and where it is used in this text.
    Rename,
}

impl SymbolAction {
    /// Every action with its name.
    pub const ALL: [(&'static str, SymbolAction); 5] = [
        ("replace", SymbolAction::Replace),
        ("insert_before", SymbolAction::InsertBefore),
        ("insert_after", SymbolAction::InsertAfter),
        ("delete", SymbolAction::Delete),
        ("rename", SymbolAction::Rename),
    ];

    /// Returns the action of that name.
    pub fn from_name(word: &str) -> Option<SymbolAction> {
        SymbolAction::ALL.iter().find(|(name, _)| *name == word).map(|(_, action)| *action)
    }
}

/// Replacements of spans, sorted and disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splices {
    /// The replacements in the order of the text: spans with their new texts.
    pub edits: Vec<(Span, String)>,
    /// Notes for the caller.
    pub notes: Vec<String>,
}

impl Splices {
    /// Applies the splices.
    pub fn apply(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (span, new) in &self.edits {
            out.push_str(&text[from..span.start()]);
            out.push_str(new);
            from = span.end();
        }
        out.push_str(&text[from..]);
        out
    }
}

/// The rows of a symbol, 0-based.
struct SymbolRows<'p> {
    starts: &'p [usize],
    above: usize,
    first: usize,
    last: usize,
}

/// The lines that a new text has above the declaration.
#[derive(Clone, Copy, Debug, Default)]
struct LeadingLines {
    comments: bool,
    annotations: bool,
}

impl SyntaxTree<'_> {
    /// Returns the splices that apply `action` to `symbol`, a symbol of this text. `text` is the new text or name.
    ///
    /// Errors: `symbol.entangled` for a symbol that cannot be changed on its own, `syntax.broken` if this text parses
    /// and the result would not, `edit.no_change`.
    pub fn edit(&self, symbol: &Symbol, action: SymbolAction, text: &str) -> Result<Splices> {
        let (above, first) = (symbol.above - 1, symbol.first - 1);
        let mut rows = SymbolRows { starts: self.starts(), above, first, last: symbol.last - 1 };
        if self.keeps_blank_rows(rows.last) {
            rows.last += self.gaps(&rows).1;
        }
        if matches!(action, SymbolAction::Replace | SymbolAction::Delete) && self.declares_others(symbol) {
            let what = format!("{} is declared together with other names.", symbol.path);
            return Err(self.entangled_on(symbol.first, what));
        }
        if action != SymbolAction::Rename
            && let Some(line) = self.error_at(symbol)
        {
            let what = format!("{} has, or is in, a part that does not parse: its lines are not certain.", symbol.path);
            return Err(self.entangled_on(line, what));
        }
        let splices = match action {
            SymbolAction::Rename => self.rename(symbol, text.trim())?,
            SymbolAction::Replace => self.replace(symbol, &rows, text)?,
            SymbolAction::InsertBefore | SymbolAction::InsertAfter => self.insert(symbol, &rows, text, action)?,
            SymbolAction::Delete => self.delete(symbol, &rows)?,
        };
        let after = splices.apply(self.text);
        if after == self.text {
            return Err(Error::new(Code::EditNoChange, format!("{} is already exactly that.", symbol.path))
                .next("Nothing is left to do if this was the intended state; else correct the text."));
        }
        let Some(result) = self.reparse(&after, ParseLimits::ASKED) else { return Ok(splices) };
        if let Some(error) = result.first_error().filter(|_| self.is_clean()) {
            let line = after.lines().nth(error.line - 1).unwrap_or_default();
            return Err(Error::new(
                Code::SyntaxBroken,
                format!("{} parses now, and would not after this edit.", symbol.path),
            )
            .evidence(format!("First at line {} of the result: {}", error.line, line.trim()))
            .next("Correct the text and send it again; if it is correct anyway, replace it as text.")
            .fact("line", error.line));
        }
        if action != SymbolAction::Rename {
            self.check_surroundings(&result, symbol, &splices)?;
        }
        Ok(splices)
    }

    /// True if the symbol and its annotations share their lines with nothing else.
    fn alone(&self, symbol: &Symbol, rows: &SymbolRows<'_>) -> bool {
        self.is_first_of_line(symbol, rows) && self.ends_line(rows.starts, symbol.span.end(), rows.last)
    }

    /// True if only annotations and comments of the symbol are before it on its first line.
    fn is_first_of_line(&self, symbol: &Symbol, rows: &SymbolRows<'_>) -> bool {
        let mut at = rows.starts[rows.first];
        loop {
            at += indent_of(&self.text[at..symbol.span.start()]).len();
            if at >= symbol.span.start() {
                return true;
            }
            let chain = self.chain(at);
            let lead = chain.iter().find(|node| self.is_lead(**node, None) && node.start_byte() == at);
            match lead.map(Node::end_byte) {
                Some(end) if at < end && end <= symbol.span.start() => at = end,
                _ => return false,
            }
        }
    }

    /// True if the declaration of the symbol gives other names, too: `var a, b int`, `int a, b;`, `a = b = 1`.
    fn declares_others(&self, symbol: &Symbol) -> bool {
        let chain = self.chain(symbol.name_span.start());
        let own =
            chain.iter().filter(|it| symbol.span.start() <= it.start_byte() && it.end_byte() <= symbol.span.end());
        own.into_iter().any(|node| {
            let several = |field| node.children_by_field_name(field, &mut node.walk()).nth(1).is_some();
            let chained = || node.child_by_field_name("right").is_some_and(|it| it.kind() == node.kind());
            several("name") || several("declarator") || chained()
        })
    }

    /// Returns the error for a symbol that cannot be changed because of what is on a 1-based line.
    pub(crate) fn entangled_on(&self, line: usize, what: String) -> Error {
        Error::new(Code::SymbolEntangled, what)
            .evidence(format!("Line {line}: {}", self.row(self.starts(), line - 1).trim()))
            .next("Change these lines as text, with an edit.")
    }

    fn entangled(symbol: &Symbol) -> Error {
        Error::new(Code::SymbolEntangled, format!("{} shares its lines with other code.", symbol.path))
            .evidence(format!("{} {}, lines {}-{}.", symbol.kind, symbol.name, symbol.first, symbol.last))
            .next("Change these lines as text, with an edit.")
    }

    fn replace(&self, symbol: &Symbol, rows: &SymbolRows<'_>, text: &str) -> Result<Splices> {
        let mut splices = Splices::default();
        let line_end = rows.starts[rows.last] + self.row(rows.starts, rows.last).len();
        let end = symbol.span.end().min(line_end);
        let mut text = text.trim_matches('\n').trim_end();
        text = self.without_neighbors(Span::new(symbol.span.start(), end), rows, text);
        if self.language.0.commas && self.comma_after(symbol).is_none() {
            text = without_comma(text);
        }
        let Some(ReplacedTail { end, text: new }) = self.with_rest_of_line(text, end..line_end) else {
            return Err(SyntaxTree::entangled(symbol));
        };
        let is_alone = self.alone(symbol, rows);
        let has_lead_beside = is_alone && !is_blank(&self.text[rows.starts[rows.first]..symbol.span.start()]);
        let leads = if has_lead_beside { self.leading_lines(&new, true) } else { LeadingLines::default() };
        // Annotations on the line of the symbol stay unless the new text has its own.
        if !is_alone || has_lead_beside && !leads.annotations {
            if leads.comments {
                return Err(SyntaxTree::entangled(symbol));
            }
            splices.edits.push((Span::new(symbol.span.start(), end), new.trim_start().to_owned()));
            return Ok(splices);
        }
        let from = self.replaced_from(rows, &new, &mut splices.notes);
        let indent = indent_of(self.row(rows.starts, rows.first));
        let start = rows.starts[from] + indent_of(self.row(rows.starts, from)).len();
        let new = self.reindented(&new, &self.target_indents(rows), &mut splices.notes);
        splices.edits.push((Span::new(start, end.max(start)), new[indent.len().min(new.len())..].to_owned()));
        Ok(splices)
    }

    /// Returns the new text of a symbol without the code or comment beside it on its lines, if that is restated.
    fn without_neighbors<'n>(&self, old: Span, rows: &SymbolRows<'_>, new: &'n str) -> &'n str {
        let before = self.text[rows.starts[rows.first]..old.start()].trim();
        let line_end = rows.starts[rows.last] + self.row(rows.starts, rows.last).len();
        let after = self.text[old.end()..line_end].trim();
        // The comma behind the neighbors may be stated or not.
        let (all, after) =
            if self.language.0.commas { (without_comma(new), without_comma(after)) } else { (new, after) };
        let bare = all.trim_start().strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).map(str::trim);
        // Brackets alone may as well belong to the symbol.
        let is_code = |text: &str| text == "-" || text.contains(char::is_alphanumeric);
        let bare = bare.filter(|bare| !bare.is_empty() && (is_code(before) || is_code(after)));
        // The indentation of the first line shows how the others are indented.
        bare.map_or(new, |bare| if before.is_empty() { all[..all.len() - after.len()].trim_end() } else { bare })
    }

    /// Returns the first row to replace: comments and annotations above stay if the new text has none.
    fn replaced_from(&self, rows: &SymbolRows<'_>, new: &str, notes: &mut Vec<String>) -> usize {
        let own = self.declared_on(rows);
        if rows.above == own {
            return own;
        }
        let leads = self.leading_lines(new, own == rows.first);
        let above = self.above(rows.starts, rows.first);
        let from = match (leads.comments, leads.annotations) {
            (false, false) => own,
            (false, true) => above.annotations.min(rows.first),
            (true, _) => rows.above,
        };
        if from > rows.above {
            notes.push(format!("The lines above it were kept: {}.", lines(rows.above + 1, from)));
        }
        from
    }

    /// Returns what is above the declaration in a new text. Unless `anywhere`, a comment between annotations is not
    /// counted as one above them.
    fn leading_lines(&self, new: &str, anywhere: bool) -> LeadingLines {
        let mut leads = LeadingLines::default();
        let Some(parsed) = parse(new, self.language, ParseLimits::CHECK) else { return leads };
        let starts = parsed.starts();
        for line in 0..new.lines().count() {
            let at = starts[line] + indent_of(parsed.row(starts, line)).len();
            let chain = parsed.chain(at);
            match (any_above(&chain, line, is_comment), any_above(&chain, line, is_annotation)) {
                (true, _) => leads.comments |= !leads.annotations || anywhere,
                (_, true) => leads.annotations = true,
                _ => break,
            }
        }
        leads
    }

    /// Returns the row where the declaration itself begins, after its own annotations.
    fn declared_on(&self, rows: &SymbolRows<'_>) -> usize {
        let mut row = rows.first;
        while row < rows.last {
            let line = self.row(rows.starts, row);
            let at = rows.starts[row] + indent_of(line).len();
            let chain = self.chain(at);
            let lead = chain.iter().rev().find(|it| (is_annotation(**it) || is_comment(**it)) && it.start_byte() == at);
            match lead {
                Some(lead)
                    if !is_blank(line)
                        && self.ends_line(rows.starts, lead.end_byte(), crate::path::last_row(*lead)) =>
                {
                    row = crate::path::last_row(*lead) + 1;
                }
                _ => break,
            }
        }
        row.min(rows.last)
    }

    /// Returns the number of blank lines directly above and below.
    fn gaps(&self, rows: &SymbolRows<'_>) -> (usize, usize) {
        let above = (0..rows.above).rev().take_while(|row| self.is_blank_row(rows, *row)).count();
        let below = (rows.last + 1..rows.starts.len()).take_while(|row| self.is_blank_row(rows, *row)).count();
        (above, below)
    }

    /// True for a blank row.
    fn is_blank_row(&self, rows: &SymbolRows<'_>, row: usize) -> bool {
        is_blank(self.row(rows.starts, row))
    }

    fn insert(&self, symbol: &Symbol, rows: &SymbolRows<'_>, text: &str, action: SymbolAction) -> Result<Splices> {
        if !self.alone(symbol, rows) {
            return Err(SyntaxTree::entangled(symbol));
        }
        if is_blank(text) {
            return Err(Error::new(Code::CallInvalid, "There is no text to insert.").next("Give text."));
        }
        let mut splices = Splices::default();
        let target = self.target_indents(rows);
        let mut new = self.reindented(text.trim_matches('\n').trim_end(), &target, &mut splices.notes);
        if self.language.0.commas {
            new.truncate(new.trim_end_matches(',').len());
            if action == SymbolAction::InsertBefore || self.comma_after(symbol).is_some() {
                new.push(',');
            } else {
                splices.edits.push((Span::at(symbol.span.end()), ",".to_owned()));
            }
        }
        let (above, below) = self.gaps(rows);
        let alone = above == 0 && below == 0 && rows.last > rows.first;
        let mut gap =
            "\n".repeat(if above > 0 { above } else { below.max(usize::from(alone && rows.above == 0)) }.min(2));
        if action == SymbolAction::InsertAfter && self.keeps_blank_rows(symbol.last - 1) {
            gap.clear();
        }
        let (at, new) = if action == SymbolAction::InsertBefore {
            (rows.starts[rows.above], format!("{new}\n{gap}"))
        } else {
            match rows.starts.get(rows.last + 1) {
                Some(next) => (*next, format!("{gap}{new}\n")),
                None if self.text.ends_with('\n') => (self.text.len(), format!("{gap}{new}\n")),
                None => (self.text.len(), format!("\n{gap}{new}")),
            }
        };
        splices.edits.push((Span::at(at), new));
        Ok(splices)
    }

    fn delete(&self, symbol: &Symbol, rows: &SymbolRows<'_>) -> Result<Splices> {
        if !self.alone(symbol, rows) {
            return Err(SyntaxTree::entangled(symbol));
        }
        if self.is_only_content(symbol) {
            return Err(Error::new(
                Code::SymbolEntangled,
                format!("{} is the only content of its block.", symbol.path),
            )
            .next("Delete the block around it, or replace it."));
        }
        let (above, below) = self.gaps(rows);
        let next = rows.last + 1 + below;
        // One of two gaps is deleted too; at the end of a block there is only the one above.
        let own = self.depth_of_row(rows, rows.first);
        let closes = next >= rows.starts.len() || self.depth_of_row(rows, next) < own;
        let opens = rows.above == above || above == 0 && self.depth_of_row(rows, rows.above - 1) < own;
        let keeps_above = rows.above > above && self.keeps_blank_rows(rows.above - above - 1);
        let (up, down) = match (opens, closes) {
            _ if keeps_above => (0, below),
            (true, _) => (above, below),
            (_, true) => (above, 0),
            _ => (0, above.min(below)),
        };
        let start = rows.starts[rows.above - up];
        let end = rows.starts.get(rows.last + 1 + down).copied().unwrap_or(self.text.len());
        let mut splices = Splices::default();
        if self.language.0.commas
            && self.comma_after(symbol).is_none()
            && let Some(comma) = self.comma_before(symbol)
        {
            splices.edits.push((comma, String::new()));
        }
        splices.edits.push((Span::new(start, end), String::new()));
        if rows.above < rows.first {
            splices
                .notes
                .push(format!("The lines above it were removed with it: {}.", lines(rows.above + 1, rows.first)));
        }
        Ok(splices)
    }

    /// Returns the indentation of the symbol and that of its body.
    fn target_indents(&self, rows: &SymbolRows<'_>) -> TargetIndents<'_> {
        let own = indent_of(self.row(rows.starts, rows.first));
        let indents = |range: Range<usize>| {
            range.filter(|row| !self.is_blank_row(rows, *row)).map(|row| indent_of(self.row(rows.starts, row)))
        };
        let body = indents(self.declared_on(rows) + 1..rows.last + 1).find(|indent| indent.len() > own.len());
        let outer = indents(0..rows.above).rev().find(|indent| indent.len() < own.len());
        let level = outer.and_then(|outer| own.strip_prefix(outer)).unwrap_or_default();
        TargetIndents { own, body, level, is_block_by_indent: self.language.name() == "python" }
    }

    /// Returns the width of a row's indentation.
    fn depth_of_row(&self, rows: &SymbolRows<'_>, row: usize) -> usize {
        indent_of(self.row(rows.starts, row)).len()
    }
}

/// True if a node of the chain that begins at or above the line passes the test.
fn any_above(chain: &[Node<'_>], line: usize, test: fn(Node<'_>) -> bool) -> bool {
    chain.iter().any(|it| test(*it) && it.start_position().row <= line)
}

/// Returns a text without the comma at its end.
fn without_comma(text: &str) -> &str {
    text.strip_suffix(',').map_or(text, str::trim_end)
}

/// Describes a range of lines.
fn lines(first: usize, last: usize) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}-{last}") }
}
