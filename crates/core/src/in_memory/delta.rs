//! Differences between texts, and changes printed in another format.

use super::files::applied_files;
use super::function_names::TextFunction;
use super::limited;
use super::options::ApplyOptions;
use super::outcome::{AppliedFiles, ChangedFile, ChangedSpan, FileChangeKind};
use crate::advice::NoNames;
use crate::error::Result;
use crate::formats::print::{FileDelta, FileVersions, PrintFormat, restore_bytes};
use crate::note::Notes;
use crate::text::change::ChangeSet;
use crate::text::explain;
use crate::text::snapshot::Snapshot;
use crate::text::view::View;

/// Context lines around each hunk.
const CONTEXT_LINES: usize = 3;

/// The difference between two texts: changed lines, trimmed to the bytes that differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TextDiff {
    /// The changed bytes, sorted.
    pub spans: Vec<ChangedSpan>,
    /// Added lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
    before: Snapshot,
    after: Snapshot,
    changes: ChangeSet,
}

/// Computes the difference between two texts. Its time is bounded for any input: where lines repeat too often, the
/// difference is coarser than possible, but never wrong.
///
/// ```
/// let diff = emendate_core::diff("a\nb\nc\n", "a\nB\nc\n")?;
/// assert_eq!((diff.added, diff.removed), (1, 1));
/// assert_eq!(diff.unified("x.txt"), "--- x.txt\n+++ x.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
/// assert!(diff.to_patch("x.txt", "search_replace")?.starts_with("x.txt\n"));
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: `content.binary` for a text that a file could not have as text, such as one with NUL characters.
pub fn diff(before: &str, after: &str) -> Result<TextDiff> {
    compared(before, after).map_err(|error| error.rendered_for(&NoNames))
}

fn compared(before: &str, after: &str) -> Result<TextDiff> {
    let (before, after) = (Snapshot::open_text(before)?, Snapshot::open_text(after)?);
    let changes = ChangeSet::diff(&before, &after);
    let stat = explain::count_changes(&before, &changes);
    let spans = ChangedSpan::all_of(&before, &changes);
    Ok(TextDiff { spans, added: stat.added, removed: stat.removed, before, after, changes })
}

impl TextDiff {
    /// True if both texts are the same.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Formats the difference as a unified diff for people, with the line ends and byte order marks of the texts.
    /// [`TextDiff::to_patch`] formats one to be applied, or refuses.
    pub fn unified(&self, path: &str) -> String {
        let mut hunks = explain::hunks(&self.before, &self.changes, CONTEXT_LINES);
        restore_bytes(&mut hunks, &self.before, &self.after);
        explain::unified(path, &hunks, usize::MAX).text
    }

    /// Prints the difference in a format of [`PRINT_FORMATS`](crate::formats::print::PRINT_FORMATS), such that applying the
    /// result to the text before gives exactly the text after.
    ///
    /// Errors: `edit.no_change` for equal texts; `call.invalid` for an unknown format, and for a change that the format
    /// cannot express.
    pub fn to_patch(&self, path: &str, format: &str) -> Result<String> {
        let format = PrintFormat::requested(format)?;
        let deltas = if self.is_empty() { None } else { Some(FileDelta::edited(path, &self.before, &self.after)) };
        format.print(deltas.as_slice())
    }
}

/// A patch in another format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchText {
    /// The patch.
    pub text: String,
    /// The format of the given patch: the one that was named, or the detected one.
    pub from: &'static str,
    /// The format of `text`.
    pub to: &'static str,
    /// Every tolerance needed to parse and place the given patch.
    pub notes: Notes,
}

/// Applies a patch to files, and prints the changes in another format: one of
/// [`PRINT_FORMATS`](crate::formats::print::PRINT_FORMATS). The result is read back before it is returned.
///
/// ```
/// use emendate_core::{ApplyOptions, convert};
/// use std::collections::BTreeMap;
///
/// let files = BTreeMap::from([("a.rs".to_owned(), "let a = 1;\n".to_owned())]);
/// let blocks = "a.rs\n<<<<<<< SEARCH\nlet a = 1;\n=======\nlet a = 2;\n>>>>>>> REPLACE\n";
/// let patch = convert(&files, blocks, "unified_diff", &ApplyOptions::new())?;
/// assert_eq!(patch.from, "search_replace");
/// assert!(patch.text.contains("-let a = 1;\n+let a = 2;\n"));
/// # Ok::<(), emendate_core::Error>(())
/// ```
///
/// Errors: those of [`apply_files`](crate::apply_files); `call.invalid` for an unknown format, and for a change that it cannot express.
pub fn convert<V: View + ?Sized>(files: &V, patch: &str, to: &str, options: &ApplyOptions) -> Result<PatchText> {
    limited(options, TextFunction::Convert, || {
        let target = PrintFormat::requested(to)?;
        let AppliedFiles { format, files: changed, mut notes } = applied_files(files, patch, options)?;
        let mut versions = Vec::with_capacity(changed.len());
        for (path, file) in &changed {
            let from = match &file.kind {
                FileChangeKind::Renamed { from } => Some(&**from),
                _ => None,
            };
            let is_source = |it: &ChangedFile| matches!(&it.kind, FileChangeKind::Renamed { from } if *from == *path);
            if from.is_some()
                && let Some(lost) = files.file(path)?.filter(|_| !changed.values().any(is_source))
            {
                versions.push(FileVersions::removed(path.clone(), lost));
            }
            let before = files.file(from.unwrap_or(path))?;
            let after = file.text.as_deref().map(Snapshot::open_text).transpose()?;
            notes.extend(file.notes.iter().cloned());
            versions.push(FileVersions {
                path: path.clone(),
                from: from.map(str::to_owned),
                before,
                after,
                executable: (None, file.executable),
            });
        }
        let deltas: Vec<FileDelta<'_>> = versions.iter().map(FileVersions::delta).collect();
        Ok(PatchText { text: target.print(&deltas)?, from: format, to: target.name, notes })
    })
}
