//! The query and the replacement, and the change of one file.

use crate::tools::replace::ReplaceInput;
use crate::tools::search::{BoundedRegex, GroupSlots, PatternOptions};
use emendate_core::formats::replace::Replacement;
use emendate_core::work::{self, STEP_BYTES};
use emendate_core::{
    Advice, Code, Error, Matching, Op, OpOrder, ResolveSettings, ResolvedEdit, Result, Snapshot, Span, TextEdit,
    TextNames, check_amount, normalize_text, resolve, resolve_texts,
};
use grep_matcher::Match;
use memchr::memmem::Finder;

const EXACT_SETTINGS: ResolveSettings = ResolveSettings {
    matching: Matching::Exact,
    stale: false,
    partial: false,
    emptied_lines: false,
    omissions: false,
    context: None,
};

/// A query and its replacement.
pub(super) enum ReplaceQuery {
    Text { finder: Box<Finder<'static>>, op: Op },
    Pattern { regex: Box<BoundedRegex>, template: Vec<TemplatePart> },
}

/// A part of the replacement template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplatePart {
    Text(String),
    Group(usize),
}

impl TemplatePart {
    fn filled<'t>(&'t self, found: Match, groups: &GroupSlots, text: &'t str) -> &'t str {
        match self {
            TemplatePart::Text(part) => part,
            TemplatePart::Group(0) => text.get(found.start()..found.end()).unwrap_or_default(),
            TemplatePart::Group(nth) => groups.group(*nth).and_then(|it| text.get(it)).unwrap_or_default(),
        }
    }
}

/// The change of one file.
#[derive(Default)]
pub(super) struct TextChange {
    pub(super) edit: Option<ResolvedEdit>,
    /// The number of replacements; without an edit, that of matches which have the new text already.
    pub(super) places: usize,
}

impl ReplaceQuery {
    /// Errors: `call.invalid`, `edit.no_change`.
    pub(super) fn new(args: &ReplaceInput, names: &TextNames) -> Result<ReplaceQuery> {
        match (&args.old_string, &args.pattern) {
            (Some(old), None) if !args.regex && !args.ignore_case && !args.multiline => {
                if old.is_empty() {
                    return Err(invalid("The text to replace is empty.", "Give the text to replace."));
                }
                let edit = Replacement {
                    old_string: old.clone(),
                    new_string: args.new_string.clone(),
                    replace_all: Some(true),
                    ..Replacement::default()
                };
                let finder = Finder::new(&normalize_text(old)).into_owned();
                Ok(ReplaceQuery::Text { finder: Box::new(finder), op: edit.to_op_of(names)? })
            }
            (Some(_), None) => {
                let next = Advice::named(
                    "For a regular expression give {pattern} instead, with {regex=true}; omit the flags for plain \
                     text.",
                )
                .or(Advice::named("Give {regex} for a regular expression; omit the flags for plain text."));
                Err(invalid("old_string is plain text; regex, ignore_case and multiline are for pattern.", next))
            }
            (None, Some(pattern)) if args.regex => {
                let look = PatternOptions { literal: false, ignore_case: args.ignore_case, multiline: args.multiline };
                let regex = BoundedRegex::new(pattern, look, &as_plain_text())?;
                let template = template(&normalize_text(&args.new_string), &regex)?;
                Ok(ReplaceQuery::Pattern { regex: Box::new(regex), template })
            }
            (None, Some(_)) => Err(invalid(
                "pattern needs regex: true.",
                Advice::named("Set {regex} to true if it is a regular expression; give plain text as {old_string}."),
            )),
            (Some(_), Some(_)) => Err(invalid("old_string and pattern are both given.", "Give one of them.")),
            (None, None) => Err(invalid(
                "The text to replace is missing.",
                Advice::named("Give {old_string} for plain text, or {pattern} with {regex} set."),
            )),
        }
    }

    /// Returns a note about a replacement that other tools would read differently.
    pub(super) fn remark(&self) -> Option<&'static str> {
        let ReplaceQuery::Pattern { template, .. } = self else { return None };
        let has_escape = |part: &TemplatePart| matches!(part, TemplatePart::Text(text) if text.contains(r"\n") || text.contains(r"\t"));
        template.iter().any(has_escape).then_some(
            r"The new text has \n or \t as a backslash and a letter; a line end or a tab is written as itself.",
        )
    }

    /// Returns the change of a file.
    ///
    /// Errors: text that cannot be written in the file's encoding; a match inside a character; `edit.too_much_work`.
    pub(super) fn change(&self, file: &Snapshot) -> Result<TextChange> {
        work::spend_bytes(file.text().len())?;
        match self {
            ReplaceQuery::Text { finder, op } => {
                if finder.find(file.text().as_bytes()).is_none() {
                    return Ok(TextChange::default());
                }
                let mut resolved = resolve(file, std::slice::from_ref(op), OpOrder::Together, EXACT_SETTINGS)?;
                let places = resolved.ops.iter().map(|op| op.places).sum();
                // Replies report outcomes of single edits only for one file; for ten thousand files they would only
                // take memory.
                resolved.ops.clear();
                Ok(TextChange { edit: Some(resolved), places })
            }
            ReplaceQuery::Pattern { regex, template } => {
                let Replacements { edits, unchanged, .. } = replacements(regex, template, file.text())?;
                if edits.is_empty() {
                    return Ok(TextChange { edit: None, places: unchanged });
                }
                Ok(TextChange { edit: Some(resolve_texts(file, &edits)?), places: edits.len() })
            }
        }
    }
}

/// Returns the words that ask for plain text in place of an expression.
fn as_plain_text() -> Advice {
    Advice::named("give {old_string} in place of {pattern}, without {regex},").or(Advice::named("omit {regex}"))
}

fn invalid(what: &str, next: impl Into<Advice>) -> Error {
    Error::new(Code::CallInvalid, what).next(next)
}

/// Collects the replacement of each match that changes something. The limits are checked before each one is built.
///
/// Errors: a match inside a character; `edit.too_much_work`, `call.too_much_work`.
fn replacements<'t>(regex: &BoundedRegex, template: &'t [TemplatePart], text: &'t str) -> Result<Replacements<'t>> {
    let named = template.iter().filter_map(|part| match part {
        TemplatePart::Group(0) | TemplatePart::Text(_) => None,
        TemplatePart::Group(nth) => Some(*nth),
    });
    let mut found =
        Replacements { text, template, groups: GroupSlots::new(named), edits: Vec::new(), unchanged: 0, fresh: 0 };
    let (mut at, mut last_end) = (0, None);
    while let Some(one) = regex.find_at(text.as_bytes(), at) {
        // The search for one match may have taken milliseconds.
        work::check()?;
        at = if one.is_empty() { behind_char(text, one.end()) } else { one.end() };
        if one.is_empty() && last_end == Some(one.end()) {
            continue;
        }
        last_end = Some(one.end());
        found.add(regex, one)?;
    }
    work::check()?;
    Ok(found)
}

/// Returns the offset after the character at an offset; at the end of the text, the one beyond it.
fn behind_char(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(at + 1, |ch| at + ch.len_utf8())
}

/// The replacements in one text, collected during the search.
struct Replacements<'t> {
    text: &'t str,
    template: &'t [TemplatePart],
    /// The groups that the template names.
    groups: GroupSlots,
    edits: Vec<TextEdit>,
    /// Matches that have the new text already.
    unchanged: usize,
    /// Bytes of their new texts.
    fresh: usize,
}

impl Replacements<'_> {
    fn add(&mut self, regex: &BoundedRegex, found: Match) -> Result<()> {
        let Some(old) = self.text.get(found.start()..found.end()) else {
            return Err(invalid("A match begins or ends inside a character.", "Correct the pattern: omit (?-u)."));
        };
        if !self.groups.is_empty() && !regex.groups(self.text.as_bytes(), found, &mut self.groups)? {
            work::check()?;
            return Err(Error::new(Code::InternalBug, "The groups of a match were not found; nothing was written."));
        }
        let parts = || self.template.iter().map(|part| part.filled(found, &self.groups, self.text));
        let length = parts().fold(0usize, |sum, part| sum.saturating_add(part.len()));
        work::spend(1 + length / STEP_BYTES + self.template.len())?;
        check_amount(self.edits.len() + 1, self.fresh.saturating_add(length))?;
        let new: String = parts().collect();
        // The empty text after a final line end is not a line for `^` or `$`, and an empty file has no lines.
        let behind = found.start() == self.text.len() && (self.text.is_empty() || self.text.ends_with('\n'));
        if behind {
            return Ok(());
        }
        if old == new {
            self.unchanged += 1;
        } else {
            self.fresh += length;
            self.edits.push(TextEdit { span: Span::new(found.start(), found.end()), text: new });
        }
        Ok(())
    }
}

/// Parses the replacement template: `$1`, `${1}`, `${name}`, `$$`. Digits end a number, so `$1_x` is group 1 and `_x`.
///
/// Errors: `call.invalid` for a group that the pattern does not have, because it would silently be empty.
fn template(new: &str, regex: &BoundedRegex) -> Result<Vec<TemplatePart>> {
    let groups = regex.group_count();
    if let Some(group) = backslash_group(new).filter(|&group| group < groups) {
        return sed_group(group);
    }
    let (mut out, mut text, mut rest) = (Vec::new(), String::new(), new);
    while let Some((before, behind)) = rest.split_once('$') {
        text.push_str(before);
        let digits = behind.len() - behind.trim_start_matches(|ch: char| ch.is_ascii_digit()).len();
        let (name, after) = match behind.strip_prefix('{').and_then(|it| it.split_once('}')) {
            _ if behind.starts_with('$') => {
                text.push('$');
                rest = &behind[1..];
                continue;
            }
            Some(named) => named,
            None if digits > 0 => behind.split_at(digits),
            None if regex.group_named(word(behind)).is_some() => return bare_name(word(behind)),
            None => {
                text.push('$');
                rest = behind;
                continue;
            }
        };
        let group = name.parse().ok().or_else(|| regex.group_named(name)).filter(|&nth| nth < groups);
        let Some(group) = group else { return no_such_group(groups, name) };
        out.extend((!text.is_empty()).then(|| TemplatePart::Text(std::mem::take(&mut text))));
        out.push(TemplatePart::Group(group));
        rest = after;
    }
    text.push_str(rest);
    out.extend((!text.is_empty()).then_some(TemplatePart::Text(text)));
    Ok(out)
}

/// Returns the first group that the new text names as other tools do, by `\1`.
fn backslash_group(new: &str) -> Option<usize> {
    let mut chars = new.chars();
    while let Some(ch) = chars.next() {
        if ch == '\\'
            && let Some(group) = chars.next()?.to_digit(10).filter(|group| *group > 0)
        {
            return usize::try_from(group).ok();
        }
    }
    None
}

/// Refuses a group after a backslash.
fn sed_group(group: usize) -> Result<Vec<TemplatePart>> {
    let what = format!("The new text has \\{group}, and the pattern has that group, which is written ${group}.");
    let next = format!(
        "Write ${group} for the group. For the text \\{group}, add an empty group (?<none>) to the pattern, and write \
         \\${{none}}{group}."
    );
    Err(invalid(&what, next))
}

/// Returns the name at the start of a text.
fn word(text: &str) -> &str {
    text.split(|ch: char| !ch.is_ascii_alphanumeric() && ch != '_').next().unwrap_or_default()
}

/// Refuses the name of a group without braces, which other tools read as the group.
fn bare_name(name: &str) -> Result<Vec<TemplatePart>> {
    let what = format!("The new text has ${name}, and `{name}` is a group of the pattern.");
    Err(invalid(&what, format!("Write ${{{name}}} for the group, or $${name} for the text ${name}.")))
}

/// Refuses a group that the pattern lacks.
fn no_such_group(groups: usize, name: &str) -> Result<Vec<TemplatePart>> {
    let what = format!("The new text names a group `{name}`, and the pattern has {} of them.", groups - 1);
    Err(invalid(&what, "Correct the number or name ($0 is the whole match); write $$ for a dollar sign."))
}

#[cfg(test)]
mod tests {
    use super::{TemplatePart, template};
    use crate::tools::search::{BoundedRegex, PatternOptions};
    use emendate_core::Advice;

    #[test]
    fn groups_are_named_and_numbered() {
        let regex = BoundedRegex::new("(a)(?P<word>b)", PatternOptions::default(), &Advice::default()).unwrap();
        let parts = |new: &str| template(new, &regex).map_err(|error| error.to_string());
        let text = |text: &str| TemplatePart::Text(text.to_owned());
        assert_eq!(parts("x").unwrap(), [text("x")]);
        assert_eq!(
            parts("$1_x${word}$$2$").unwrap(),
            [TemplatePart::Group(1), text("_x"), TemplatePart::Group(2), text("$2$")]
        );
        assert_eq!(parts("$0${2}").unwrap(), [TemplatePart::Group(0), TemplatePart::Group(2)]);
        assert_eq!(parts("$words {").unwrap(), [text("$words {")]);
        assert_eq!(parts("$$word {").unwrap(), [text("$word {")]);
        assert!(parts("$word {").unwrap_err().contains("${word}"));
        assert!(parts("\\2").unwrap_err().contains("written $2"));
        assert_eq!(parts("\\3\\\\2\\0").unwrap(), [text("\\3\\\\2\\0")]);
        assert!(parts("$3").unwrap_err().contains("has 2 of them"));
        assert!(parts("${else}").unwrap_err().contains("`else`"));
    }
}
