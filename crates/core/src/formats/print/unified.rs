//! Printer of unified diffs with git's headers.

use super::git_name::{ended_name, quoted_name};
use super::{FileDelta, unsaid};
use crate::error::Result;
use crate::locate::op::FileMode;
use crate::text::change::ChangeSet;
use crate::text::explain;
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
    let hunks = explain::hunks(before, &ChangeSet::diff(before, after), context);
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
