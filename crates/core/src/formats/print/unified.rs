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

const BYTE_ORDER_MARK: char = '\u{FEFF}';

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

/// Gives the lines of hunks the CRs and byte order marks that their files have, as git writes and expects them.
fn restore_bytes(hunks: &mut [DiffHunk], before: &Snapshot, after: &Snapshot) {
    let (old, new) = (LineBytes::of(before), LineBytes::of(after));
    for hunk in hunks {
        // The start of a range without lines is the line before it.
        let mut at_old = hunk.old_start - usize::from(hunk.old_lines > 0);
        let mut at_new = hunk.new_start - usize::from(hunk.new_lines > 0);
        for DiffLine { kind, text, .. } in &mut hunk.lines {
            let (side, at) = if *kind == LineKind::Added { (&new, at_new) } else { (&old, at_old) };
            side.restore(at, text);
            at_old += usize::from(*kind != LineKind::Added);
            at_new += usize::from(*kind != LineKind::Removed);
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
        let crlf = if file.line_ends().crlf == 0 { Vec::new() } else { lines.map(|it| it.ends_with(b"\r")).collect() };
        LineBytes { has_mark: file.codec().mark > 0, crlf }
    }

    /// Completes the text of a line, counted from 0.
    fn restore(&self, line: usize, text: &mut String) {
        if line == 0 && self.has_mark {
            text.insert(0, BYTE_ORDER_MARK);
        }
        if self.crlf.get(line).is_some_and(|is_crlf| *is_crlf) {
            text.push('\r');
        }
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
