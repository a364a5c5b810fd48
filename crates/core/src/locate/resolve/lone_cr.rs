//! Edits of a file whose only line ends are lone CRs. Everything that compares lines sees its text as one line, so an
//! edit of several lines is searched for literally, with CRs as its line ends.

use crate::locate::op::{ExpectedMatches, Locator, Op, TextQuery};
use crate::text::change::ChangeSet;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::{Code, Error, Result};
use std::borrow::Cow;

/// The note about edits whose line ends were converted.
pub(super) const NOTE: &str = "The lines of the file end with CR; the line ends of the edit were converted to CR.";

/// Returns the operations with CRs as their line ends, if the file has only these and any of the operations has a line
/// end.
pub(super) fn in_lone_cr<'o>(text: &str, ops: &'o [Op]) -> Cow<'o, [Op]> {
    let bytes = text.as_bytes();
    // Most files have a line feed near their start, so this costs them nothing.
    let has_line_feed = memchr::memchr(b'\n', bytes).is_some();
    if has_line_feed || !ops.iter().any(has_line_end) || memchr::memchr(b'\r', bytes).is_none() {
        return Cow::Borrowed(ops);
    }
    Cow::Owned(ops.iter().map(|op| translated(text, op).unwrap_or_else(|| op.clone())).collect())
}

/// Checks that edits by line number leave a file of CRs with one kind of line end: for them its text is one line, so
/// the lines that they add would come after the last CR, with a line feed.
///
/// Errors: `edit.unparsable`.
pub(super) fn check_line_ends(base: &Snapshot, ops: &[Op], changes: &ChangeSet) -> Result<()> {
    let bytes = base.text().as_bytes();
    let by_number = ops.iter().any(|op| matches!(op.at, Locator::Lines(_)));
    if !by_number || memchr::memchr(b'\n', bytes).is_some() || memchr::memchr(b'\r', bytes).is_none() {
        return Ok(());
    }
    let after = base.after(changes)?;
    if !(after.text().contains('\n') && after.text().contains('\r')) {
        return Ok(());
    }
    Err(Error::new(
        Code::EditUnparsable,
        "The lines of this file end with CR alone, so it is one line for an edit by line number; the edit would add lines \
         that end with LF.",
    )
    .next("Send the edit with old and new text: line ends are converted to CR there."))
}

fn has_line_end(op: &Op) -> bool {
    match &op.at {
        Locator::Find(find) => find.old.contains('\n') || op.text.contains('\n'),
        Locator::Hunk(_) => true,
        // A whole text with both characters says itself which line ends it has.
        Locator::Whole => op.text.contains('\n') && !op.text.contains('\r'),
        _ => false,
    }
}

/// Returns one operation with CRs; `None` for one without line ends, and for a hunk that is not found.
fn translated(text: &str, op: &Op) -> Option<Op> {
    let find = match &op.at {
        Locator::Whole if has_line_end(op) => {
            return Some(Op { at: Locator::Whole, text: op.text.replace('\n', "\r") });
        }
        Locator::Find(find) if has_line_end(op) => find.clone(),
        Locator::Hunk(hunk) => TextQuery::new(&hunk.old_text(), ExpectedMatches::Unique),
        _ => return None,
    };
    let (mut old, mut new) = (find.old.replace('\n', "\r"), op.text.replace('\n', "\r"));
    // The last line may have no line end.
    if let Some(open) = old.strip_suffix('\r').filter(|open| !text.contains(&old) && text.ends_with(open)) {
        old = open.to_owned();
        if new.ends_with('\r') {
            new.pop();
        }
    }
    if matches!(op.at, Locator::Hunk(_)) || find.lines {
        let mut spans = whole_lines(text, &old);
        let first = spans.next()?;
        if find.expected == ExpectedMatches::Unique && spans.next().is_none() {
            return Some(Op { at: Locator::Exactly(first), text: new });
        }
    }
    Some(Op { at: Locator::Find(TextQuery { old, line: None, lines: false, ..find }), text: new })
}

/// Returns the places where these lines are whole lines of the text.
fn whole_lines<'t>(text: &'t str, lines: &'t str) -> impl Iterator<Item = Span> + 't {
    let bytes = text.as_bytes();
    let begins = move |at: usize| at == 0 || bytes[at - 1] == b'\r';
    let ends = move |at: usize| at == text.len() || lines.ends_with('\r');
    let found = memchr::memmem::find_iter(bytes, lines).filter(|_| !lines.is_empty());
    found.filter(move |&at| begins(at) && ends(at + lines.len())).map(move |at| Span::new(at, at + lines.len()))
}

#[cfg(test)]
mod tests {
    use super::super::resolve;
    use crate::formats::{Format, FormatInput};
    use crate::locate::op::{
        ExpectedMatches, FileAction, Hunk, HunkLine, HunkLineKind, Locator, Op, OpOrder, ResolveSettings, TextQuery,
    };
    use crate::text::snapshot::Snapshot;

    fn applied(text: &str, op: Op) -> Option<String> {
        let base = Snapshot::from_text(text);
        let resolved = resolve(&base, &[op], OpOrder::Together, ResolveSettings::default()).ok()?;
        String::from_utf8(resolved.changes.apply(&base)).ok()
    }

    fn edit(text: &str, old: &str, new: &str) -> Option<String> {
        applied(text, Op { at: Locator::Find(TextQuery::new(old, ExpectedMatches::Unique)), text: new.to_owned() })
    }

    fn patch(text: &str, lines: &[&str]) -> Option<String> {
        let kind = |mark| match mark {
            b'+' => HunkLineKind::Added,
            b'-' => HunkLineKind::Removed,
            _ => HunkLineKind::Context,
        };
        let line = |line: &&str| HunkLine { kind: kind(line.as_bytes()[0]), text: line[1..].to_owned() };
        applied(text, Hunk { lines: lines.iter().map(line).collect(), ..Hunk::default() }.into_op())
    }

    #[test]
    fn lines_are_replaced_with_their_line_ends() {
        let text = "one\rtwo\rthree\rfour";
        assert_eq!(edit(text, "two\nthree\n", "2\n3\n").as_deref(), Some("one\r2\r3\rfour"));
        assert_eq!(edit(text, "two", "2\n2b").as_deref(), Some("one\r2\r2b\rthree\rfour"));
        assert_eq!(edit(text, "three\nfour\n", "3\n4\n").as_deref(), Some("one\rtwo\r3\r4"));
        assert_eq!(edit(text, "two\rthree", "2\r3").as_deref(), Some("one\r2\r3\rfour"));
        assert_eq!(edit("a\rb\ra\rb\r", "a\nb", "x"), None);
        assert_eq!(edit(text, "two\nfour", "x"), None);
    }

    #[test]
    fn whole_text_keeps_the_line_ends_of_the_file() {
        let whole = |text: &str, new: &str| applied(text, Op { at: Locator::Whole, text: new.to_owned() });
        assert_eq!(whole("one\rtwo\r", "one\n2\nthree\n").as_deref(), Some("one\r2\rthree\r"));
        assert_eq!(whole("one\rtwo\r", "one\ntwo\n"), None);
        assert_eq!(whole("one\rtwo\r", "1\r2\n").as_deref(), Some("1\r2\n"));
        assert_eq!(whole("one\rtwo\n", "1\n2\n").as_deref(), Some("1\n2\n"));
    }

    #[test]
    fn edits_by_line_number_add_no_other_line_ends() {
        let insert = |text: &str, format: &dyn Format| {
            let input =
                serde_json::json!({ "command": "insert", "path": "/a", "insert_line": 1, "insert_text": "new\n" });
            let request = format.parse(FormatInput::Json(input)).unwrap_or_else(|error| panic!("{error}"));
            let FileAction::Edit { ops, .. } = request.files[0].action.clone() else { panic!() };
            applied(text, ops[0].clone())
        };
        let editor = crate::formats::format_by_name("text_editor").unwrap();
        assert_eq!(insert("one\rtwo\r", editor), None);
        assert_eq!(insert("one\rtwo", editor), None);
        assert_eq!(insert("one\n", editor).as_deref(), Some("one\nnew\n"));
        assert_eq!(insert("one\rtwo\n", editor).as_deref(), Some("one\rtwo\nnew\n"));
    }

    #[test]
    fn hunks_are_whole_lines() {
        let text = "no one\rone\rtwo\rthree";
        assert_eq!(patch(text, &["-one", "+1", " two"]).as_deref(), Some("no one\r1\rtwo\rthree"));
        assert_eq!(patch(text, &[" two", "-three", "+3"]).as_deref(), Some("no one\rone\rtwo\r3"));
        assert_eq!(patch("no one\rtwo\r", &["-one", "+1", " two"]), None);
        assert_eq!(patch("a\rb\ra\rb\r", &["-a", "+x", " b"]), None);
    }
}
