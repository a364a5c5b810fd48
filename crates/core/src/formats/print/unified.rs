//! Printer of unified diffs with git's headers, and with the line ends and byte order marks of the files.

use super::git_name::{ended_name, quoted_name};
use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::locate::op::FileMode;
use crate::text::change::ChangeSet;
use crate::text::charset::Charset;
use crate::text::explain::{self, DiffHunk, DiffLine, LineKind};
use crate::text::snapshot::Snapshot;
use std::fmt::Write as _;

pub(super) fn print(deltas: &[FileDelta<'_>], context: usize) -> Result<String> {
    let mut out = String::new();
    for delta in deltas {
        file(delta, context, &mut out)?;
    }
    Ok(out)
}

fn file(delta: &FileDelta<'_>, context: usize, out: &mut String) -> Result<()> {
    let (old, new) = (delta.old_path(), delta.path);
    if [old, new].iter().any(|path| path.is_empty() || path.contains('\0')) {
        return Err(unsaid(delta.path, "its name has no spelling"));
    }
    let (a, b) = (quoted_name("a/", old.as_bytes()), quoted_name("b/", new.as_bytes()));
    let _ = writeln!(out, "diff --git {a} {b}");
    match (delta.before, delta.after) {
        (None, _) => {
            let _ = writeln!(out, "new file mode {}", octal(delta.modes.1));
        }
        (_, None) => {
            let _ = writeln!(out, "deleted file mode {}", octal(delta.modes.0));
        }
        _ => {
            if let Some(mode) = delta.new_mode() {
                let _ = writeln!(out, "old mode {}\nnew mode {}", octal(delta.modes.0), octal(Some(mode)));
            }
            if old != new {
                let _ = writeln!(
                    out,
                    "rename from {}\nrename to {}",
                    quoted_name("", old.as_bytes()),
                    quoted_name("", new.as_bytes())
                );
            }
        }
    }
    let empty = Snapshot::from_text("");
    let (before, after) = (delta.before.unwrap_or(&empty), delta.after.unwrap_or(&empty));
    let mut hunks = explain::hunks(before, &ChangeSet::diff(before, after), context);
    restore_bytes(&mut hunks, before, after);
    if !hunks.is_empty() {
        // A tab ends a name with spaces, as in git.
        let _ = writeln!(
            out,
            "--- {}\n+++ {}",
            side_name(&a, delta.before.is_some()),
            side_name(&b, delta.after.is_some())
        );
        let mut diff = explain::DiffText::default();
        explain::marked_lines(&hunks, usize::MAX, explain::HunkHeading::Nothing, &mut diff);
        out.push_str(&diff.text);
    }
    Ok(())
}

/// Gives the lines of hunks the CRs and byte order marks that their files have, as git writes and expects them. A line
/// of which nothing else changes is removed and added.
pub(crate) fn restore_bytes(hunks: &mut [DiffHunk], before: &Snapshot, after: &Snapshot) {
    let (old, new) = (LineBytes::of(before), LineBytes::of(after));
    if old.are_plain() && new.are_plain() {
        return;
    }
    for hunk in hunks {
        // The start of a range without lines is the line before it.
        let mut at_old = hunk.old_start - usize::from(hunk.old_lines > 0);
        let mut at_new = hunk.new_start - usize::from(hunk.new_lines > 0);
        for line in std::mem::take(&mut hunk.lines) {
            let (is_old, is_new) = (line.kind != LineKind::Added, line.kind != LineKind::Removed);
            let was = is_old.then(|| old.restored(at_old, &line.text));
            let is = is_new.then(|| new.restored(at_new, &line.text));
            at_old += usize::from(is_old);
            at_new += usize::from(is_new);
            if was == is {
                hunk.lines.push(DiffLine { text: is.unwrap_or_default(), ..line });
                continue;
            }
            let sides = [(LineKind::Removed, was), (LineKind::Added, is)];
            let sides = sides.into_iter().filter_map(|(kind, text)| Some((kind, text?)));
            hunk.lines.extend(sides.map(|(kind, text)| DiffLine { kind, text, ..line.clone() }));
        }
    }
}

/// The bytes of the lines of a file in UTF-8 that its decoded text lacks.
#[derive(Default)]
struct LineBytes {
    has_mark: bool,
    /// True for each line that ends in CRLF; empty if none does.
    crlf: Vec<bool>,
}

impl LineBytes {
    fn of(file: &Snapshot) -> LineBytes {
        if file.codec().charset != Charset::Utf8 {
            return LineBytes::default();
        }
        let lines = file.raw().split(|byte| *byte == b'\n');
        let mut crlf: Vec<bool> =
            if file.line_ends().crlf == 0 { Vec::new() } else { lines.map(|it| it.ends_with(b"\r")).collect() };
        // No line feed follows the last part.
        crlf.pop();
        LineBytes { has_mark: file.codec().mark > 0, crlf }
    }

    /// True if the decoded text lacks nothing.
    fn are_plain(&self) -> bool {
        !self.has_mark && self.crlf.is_empty()
    }

    /// Returns the complete text of a line, counted from 0.
    fn restored(&self, line: usize, text: &str) -> String {
        let mark = if line == 0 && self.has_mark { "\u{FEFF}" } else { "" };
        let end = if self.crlf.get(line).is_some_and(|is_crlf| *is_crlf) { "\r" } else { "" };
        format!("{mark}{text}{end}")
    }
}

/// Returns the name of a side; `/dev/null` if there is no file.
fn side_name(name: &str, there: bool) -> String {
    if there { ended_name(name) } else { "/dev/null".to_owned() }
}

fn octal(mode: Option<FileMode>) -> &'static str {
    match mode {
        Some(FileMode::Executable) => "100755",
        Some(FileMode::Regular) | None => "100644",
    }
}
