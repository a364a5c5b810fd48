//! Whole texts: the change that a call means if it states the whole content of a file, given the current text.

use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::inside_fence;
use crate::locate::fence_name::FenceName;
use crate::locate::find::{EncodedText, check_new_file, without_copied_numbers, without_entities};
use crate::locate::line_format::clip;
use crate::locate::omission;
use crate::locate::omission::{OmissionVerdict, check_new_text, check_whole_text};
use crate::locate::op::{Locator, Matching, Op, OpOrder, ResolveSettings};
use crate::locate::resolve::resolve;
use crate::note::{Note, Notes};
use crate::text::change::{ChangeSet, Splice};
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work;
use std::borrow::Cow;
use std::collections::HashSet;

/// Extensions of texts that may legitimately be fenced.
const PROSE_EXTENSIONS: &[&str] = &[
    "md", "markdown", "mdx", "mdown", "mkd", "mkdn", "rmd", "qmd", "rst", "adoc", "asciidoc", "asc", "txt", "text",
    "org", "tex", "wiki", "textile", "log", "prompt", "mdc",
];

/// The whole text of a file, as a call writes it.
#[derive(Clone, Copy, Debug)]
pub struct WrittenText<'t> {
    /// The text, perhaps in a fence.
    pub content: &'t str,
    /// The origin of the name of a file in a fence that has no name above it.
    pub fence: Option<&'t FenceName>,
    /// The line that closes the fence around the text.
    pub closing: Option<&'t str>,
}

impl<'t> WrittenText<'t> {
    /// Returns the text without what was added on its way: a fence around it, the name of the file in it, and HTML
    /// entities; and notes about that. `now` is the current text of the file, which may begin with a fence; `meant` is
    /// true if the caller confirmed the text.
    ///
    /// Errors: `edit.omission` for a text that is a part of the file; `edit.unparsable` if there are two names, or if
    /// entities may be meant.
    pub fn unwrap_fence(
        self,
        now: Option<&str>,
        extension: Option<&str>,
        matching: Matching,
        meant: bool,
    ) -> Result<(Cow<'t, str>, Notes)> {
        let (content, note) = self.bare(now, extension, matching, meant)?;
        let mut notes: Notes = note.into_iter().collect();
        let Some(now) = now.filter(|_| !meant && matching == Matching::Standard) else { return Ok((content, notes)) };
        if let Some(closing) = self.closing {
            check_is_complete(now, &content, closing)?;
        }
        let Some(EncodedText { decoded, example }) = without_entities(now, &content) else {
            return Ok((content, notes));
        };
        // Source code has no entities, but the change of a text may be that it gets some.
        if is_prose(extension) {
            return Err(unclear_entities(example));
        }
        notes.push("HTML entities in the text were decoded: the file has the characters themselves.");
        Ok((Cow::Owned(decoded), notes))
    }

    /// Returns the text without a fence or name.
    fn bare(
        self,
        now: Option<&str>,
        extension: Option<&str>,
        matching: Matching,
        meant: bool,
    ) -> Result<(Cow<'t, str>, Option<Note>)> {
        if let Some(fence) = self.fence {
            return fence.file_text(now, self.content, meant);
        }
        let is_kept = matching == Matching::Exact || now.is_some_and(|now| now.trim_start().starts_with(['`', '~']));
        let inside = if is_kept { None } else { without_fence(extension, self.content) };
        Ok((Cow::Borrowed(inside.unwrap_or(self.content)), inside.map(|_| Note::FenceRemoved)))
    }
}

/// The text that a call states for a file, after the removal of tolerated mistakes.
#[derive(Clone, Debug)]
pub struct WholeText<'t> {
    /// The text.
    pub content: Cow<'t, str>,
    /// Tolerances and warnings.
    pub notes: Notes,
    /// The refusal of a text with placeholders, unless each of them certainly keeps lines of the file.
    pub placeholders: Option<Error>,
}

impl<'t> WholeText<'t> {
    /// Interprets the text that replaces `now`: copied line numbers are removed, and placeholders are checked unless
    /// lines that look like one are `meant`.
    ///
    /// Errors: `edit.omission`.
    pub fn read(now: &Snapshot, content: &'t str, matching: Matching, meant: bool) -> Result<WholeText<'t>> {
        let bare = match matching {
            Matching::Standard => without_copied_numbers(now, content)?,
            _ => None,
        };
        let mut notes: Notes = bare.iter().map(|_| Note::CopiedNumbers).collect();
        let content = bare.map_or(Cow::Borrowed(content), Cow::Owned);
        if matching == Matching::Standard && !meant {
            check_is_whole(now.text(), &content)?;
        }
        if !meant {
            check_new_text(&content, now.text())?;
        }
        let mut placeholders = None;
        match check_whole_text(now.text(), &content, meant) {
            OmissionVerdict::Refuse(error) => return Err(error),
            OmissionVerdict::Elided(error) => placeholders = Some(error),
            OmissionVerdict::Warn(warning) => notes.push(warning),
            OmissionVerdict::Fine => {}
        }
        Ok(WholeText { content, notes, placeholders })
    }

    /// Interprets the text of a file to be created. Prose may quote a reply of `read`; other text with line numbers of
    /// a reply is refused, and so is every mark of a cut line, unless it is `meant`.
    ///
    /// Errors: `call.invalid`, `edit.omission`.
    pub fn of_new_file(
        extension: Option<&str>,
        content: &'t str,
        matching: Matching,
        meant: bool,
    ) -> Result<WholeText<'t>> {
        if matching == Matching::Standard && !is_prose(extension) {
            check_new_file(content)?;
        }
        if !meant {
            check_new_text(content, "")?;
        }
        let mut notes = Notes::new();
        if let OmissionVerdict::Warn(warning) = check_whole_text("", content, true) {
            notes.push(warning);
        }
        Ok(WholeText { content: Cow::Borrowed(content), notes, placeholders: None })
    }
}

/// Refuses a part of a file that was sent as the whole file: every line is indented, unlike in the file, and the first
/// line is one in the middle of the file.
///
/// Errors: `edit.omission`.
fn check_is_whole(now: &str, content: &str) -> Result<()> {
    let is_indented = |line: &str| line.starts_with([' ', '\t']);
    let is_filled = |line: &&str| !line.trim().is_empty();
    let Some(first) = content.lines().find(is_filled).filter(|line| is_indented(line)) else { return Ok(()) };
    if now.lines().find(is_filled).is_none_or(is_indented) || !work::lines(content).filter(is_filled).all(is_indented) {
        return Ok(());
    }
    let Some(at) = work::lines(now).position(|line| line.trim_end() == first.trim_end()) else { return Ok(()) };
    let what = format!(
        "The text is a part of the file, which begins on its line {}; as the whole text it would delete the rest.",
        at + 1
    );
    Err(Error::new(Code::EditOmission, what).evidence(format!("Line {}: {}", at + 1, first.trim())).next(
        Advice::named(
            "Send the part as an edit (old text and new text), or with `// ... existing code ...` for what stays; if \
         the file is to have only these lines, add {allow_invalid=true}.",
        ),
    ))
}

/// Refuses the text of a file that may have ended at a fence of the file's own: it has none of the lines that the file
/// has only below that fence. `closing` is the line that ended the text.
///
/// Errors: `edit.omission`.
fn check_is_complete(now: &str, content: &str, closing: &str) -> Result<()> {
    let lines: Vec<&str> = work::lines(now).map(str::trim_end).collect();
    let ends = |line: &&str| line.starts_with(closing) && line.trim_start_matches(&closing[..1]).is_empty();
    let Some(at) = lines.iter().position(ends) else { return Ok(()) };
    let above: HashSet<&str> = lines[..at].iter().copied().collect();
    let new: HashSet<&str> = work::lines(content).map(str::trim_end).collect();
    let mut below = lines[at + 1..].iter().filter(|line| !line.is_empty() && !above.contains(*line) && !ends(line));
    if below.any(|line| new.contains(line)) || !omission::gaps(now, content).is_empty() {
        return Ok(());
    }
    let what = format!(
        "The text may be cut off: line {} of the file is like the fence that ends the text, which has none of the lines below it.",
        at + 1
    );
    let sign = &closing[..1];
    let runs = lines.iter().map(|line| line.len() - line.trim_start_matches(sign).len());
    let longer = sign.repeat(1 + runs.max().unwrap_or_default().max(closing.len()));
    let again = format!("Send the whole text in a longer fence ({longer})");
    Err(Error::new(Code::EditOmission, what).evidence(format!("Line {}: {}", at + 1, lines[at])).next(
        advice![again.clone(), "; if the file is to end there, add ", Phrase::Set("allow_invalid", true.into()), "."]
            .or(format!("{again}.")),
    ))
}

/// Creates the error for a text of prose with entities in a line of the file.
fn unclear_entities(example: &str) -> Error {
    let what = "The text has HTML entities where the file has the characters themselves, which may be a mistake.";
    let again = "Send the text with the characters";
    Error::new(Code::EditUnparsable, what).evidence(format!("In the text: {}", clip(example.trim()))).next(
        advice![again, "; if the entities are meant, add ", Phrase::Set("allow_invalid", true.into()), "."]
            .or(format!("{again}.")),
    )
}

/// Returns the content of a text that is entirely in one fence, for a type of file in which a fence cannot be intended.
fn without_fence<'t>(extension: Option<&str>, content: &'t str) -> Option<&'t str> {
    if is_prose(Some(extension?)) { None } else { inside_fence(content) }
}

/// True for the extension of a file with prose.
pub(super) fn is_prose(extension: Option<&str>) -> bool {
    extension.is_some_and(|it| PROSE_EXTENSIONS.contains(&&*it.to_ascii_lowercase()))
}

/// Returns the change that makes `content` the whole text; empty if it already is.
///
/// Errors: text that the encoding cannot represent.
pub fn whole_change(now: &Snapshot, content: &str) -> Result<ChangeSet> {
    let op = Op { at: Locator::Whole, text: now.in_own_form(content).into_owned() };
    match resolve(now, &[op], OpOrder::Together, ResolveSettings::default()) {
        Ok(resolved) => Ok(resolved.changes),
        Err(error) if error.code() == Code::EditNoChange => Ok(ChangeSet::none(now)),
        Err(error) => Err(error),
    }
}

/// Returns the change that fills the empty text of a new file, exactly as given.
///
/// Errors: text that the encoding cannot represent.
pub fn new_file_change(empty: &Snapshot, content: &str) -> Result<ChangeSet> {
    let body = if empty.raw().is_empty() { content } else { content.trim_start_matches('\u{FEFF}') };
    let text = empty.codec().encode(body)?;
    let splice = Splice::new(Span::at(empty.raw().len()), text, 0);
    Ok(ChangeSet::new(empty, [splice]).unwrap_or_else(|_| ChangeSet::none(empty)))
}

#[cfg(test)]
mod tests {
    use super::WrittenText;
    use crate::locate::op::Matching;

    fn unwrap(now: &str, content: &str, closing: Option<&str>, extension: &str) -> Result<(String, usize), String> {
        let written = WrittenText { content, fence: None, closing };
        let unwrapped = written.unwrap_fence(Some(now), Some(extension), Matching::Standard, false);
        unwrapped.map(|(text, notes)| (text.into_owned(), notes.len())).map_err(|error| error.to_string())
    }

    #[test]
    fn text_that_ends_at_a_fence_of_the_file_is_refused() {
        let file =
            "P = \"\"\"\nFirst:\n```\nsrc/main.py\n```\nNothing else.\n\"\"\"\n\ndef ask(x):\n    return x + 1\n";
        for cut in ["P = \"\"\"\nFirst line:\n", "", "P = \"\"\"\nFirst:\n\n"] {
            let error = unwrap(file, cut, Some("```"), "py").unwrap_err();
            assert!(error.contains("line 3 of the file") && error.contains("(````)"), "{cut}: {error}");
            assert!(unwrap(file, cut, Some("````"), "py").is_ok() && unwrap(file, cut, None, "py").is_ok(), "{cut}");
        }
        for whole in ["P = \"\"\"\nFirst.\n\"\"\"\n\ndef ask(x):\n    return x + 2\n", "def ask(x):\n    return 2\n"] {
            assert_eq!(unwrap(file, whole, Some("```"), "py"), Ok((whole.to_owned(), 0)));
        }
        let indented = file.replace("```", "    ```");
        assert!(unwrap(&indented, "P = 1\n", Some("```"), "py").is_ok());
    }

    #[test]
    fn entities_of_characters_in_the_file_are_decoded() {
        let file = "if a < b && c:\n    x = \"1\"\n";
        let plain = file.replace('1', "2");
        for encoded in [
            plain.replace('&', "&amp;").replace('<', "&lt;"),
            plain.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;"),
        ] {
            assert_eq!(unwrap(file, &encoded, None, "py"), Ok((plain.clone(), 1)), "{encoded}");
            assert!(unwrap(file, &encoded, None, "md").unwrap_err().contains("allow_invalid"), "{encoded}");
        }
        for (now, kept) in [
            (file, "if a &lt; c:\n    x = 1\n"),
            (file, "if a &lt; b &amp;&amp; c:\n    x = a < b\n"),
            ("if a < b:\n    x = \"&lt;\"\n", "if a &lt; b:\n    x = 1\n"),
            ("<p>a & b</p>\n", "<p>a &amp; b</p>\n"),
        ] {
            assert_eq!(unwrap(now, kept, None, "py"), Ok((kept.to_owned(), 0)), "{kept}");
        }
    }
}
