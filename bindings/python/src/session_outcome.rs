//! Outcomes of calls that read and change files, as immutable Python objects.

use crate::exception::exception;
use crate::outcome::{ChangedSpan, spans};
use emendate::FileOutcomeKind;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;

/// The text of a file, or of some of its lines.
#[pyclass(frozen, get_all, module = "emendate")]
pub(crate) struct ReadOutcome {
    /// The absolute path, after links were resolved.
    path: PathBuf,
    /// The text of the lines, decoded and with `\n` line ends.
    text: String,
    /// The number of the first line, from 1.
    start: usize,
    /// The number of the last line; less than `start` for an empty file.
    end: usize,
    /// The number of lines of the file.
    total_lines: usize,
    /// The tag of the version, which names it in later calls.
    tag: String,
    /// True if the text is that of the whole file.
    is_complete: bool,
    /// Notes, such as the target of a link.
    notes: Vec<String>,
}

impl From<emendate::ReadOutcome> for ReadOutcome {
    fn from(read: emendate::ReadOutcome) -> ReadOutcome {
        let (tag, is_complete) = (read.tag().to_string(), read.is_complete());
        ReadOutcome {
            path: read.path,
            text: read.text,
            start: read.lines.start,
            end: read.lines.end.saturating_sub(1),
            total_lines: read.total_lines,
            tag,
            is_complete,
            notes: read.notes,
        }
    }
}

#[pymethods]
impl ReadOutcome {
    fn __repr__(&self) -> String {
        let ReadOutcome { path, start, end, total_lines, .. } = self;
        format!("ReadOutcome(path='{}', lines {start} to {end} of {total_lines})", path.display())
    }
}

/// The placement of one edit of a call.
#[pyclass(frozen, get_all, module = "emendate")]
pub(crate) struct EditPlacement {
    /// The index of the edit in the call.
    edit: usize,
    /// The tolerance that it needed.
    tier: &'static str,
    /// The places that it changed.
    places: usize,
    /// Tolerances and warnings, as sentences.
    notes: Vec<String>,
}

#[pymethods]
impl EditPlacement {
    fn __repr__(&self) -> String {
        let EditPlacement { edit, tier, places, .. } = self;
        format!("EditPlacement(edit={edit}, tier='{tier}', places={places})")
    }
}

/// The change of one file.
#[pyclass(frozen, get_all, module = "emendate")]
pub(crate) struct FileChangeOutcome {
    /// The absolute path, after links were resolved.
    path: PathBuf,
    /// `created`, `updated`, `unchanged`, `deleted`, `moved`, `copied` or `linked`.
    kind: &'static str,
    /// The former path of a moved file, the path of the copied one, or the target of a link.
    from_path: Option<PathBuf>,
    /// The largest tolerance that an edit needed.
    tier: &'static str,
    /// One entry per edit, block or hunk; empty for a write.
    edits: Py<PyTuple>,
    /// The changed bytes of the file, sorted.
    spans: Vec<ChangedSpan>,
    /// Added lines.
    added: usize,
    /// Removed lines.
    removed: usize,
    /// The file had changed since it was read, and the edit was carried over.
    merged: bool,
    /// Both sides of a conflict are in the text, between markers.
    has_conflict_markers: bool,
    /// Every tolerance and warning, as sentences.
    notes: Vec<String>,
    /// Exceptions of edits that were skipped, if the call is `partial`.
    failed: Py<PyTuple>,
    /// The tag of the new version; `None` for a removed file and in a dry run.
    tag: Option<String>,
    /// The change as a unified diff, if the call asked for it.
    diff: Option<String>,
}

impl FileChangeOutcome {
    fn new(py: Python<'_>, file: emendate::FileChangeOutcome) -> PyResult<FileChangeOutcome> {
        let tag = file.tag().map(|tag| tag.to_string());
        let (kind, from_path) = match file.kind {
            FileOutcomeKind::Created => ("created", None),
            FileOutcomeKind::Unchanged => ("unchanged", None),
            FileOutcomeKind::Deleted => ("deleted", None),
            FileOutcomeKind::Moved { from } => ("moved", Some(from)),
            FileOutcomeKind::Copied { from } => ("copied", Some(from)),
            FileOutcomeKind::Linked { target } => ("linked", Some(target)),
            _ => ("updated", None),
        };
        let placement = |edit: emendate::EditPlacement| {
            let emendate::EditPlacement { edit, tier, places, notes, .. } = edit;
            Py::new(py, EditPlacement { edit, tier: tier.name(), places, notes: notes.texts() })
        };
        let edits = file.edits.into_iter().map(placement).collect::<PyResult<Vec<_>>>()?;
        let failed = file.failed.iter().map(|error| exception(py, error)).collect::<PyResult<Vec<_>>>()?;
        Ok(FileChangeOutcome {
            path: file.path,
            kind,
            from_path,
            tier: file.tier.name(),
            edits: PyTuple::new(py, edits)?.unbind(),
            spans: spans(&file.spans),
            added: file.added,
            removed: file.removed,
            merged: file.merged,
            has_conflict_markers: file.has_conflict_markers,
            notes: file.notes.texts(),
            failed: PyTuple::new(py, failed)?.unbind(),
            tag,
            diff: file.diff,
        })
    }
}

#[pymethods]
impl FileChangeOutcome {
    fn __repr__(&self) -> String {
        let FileChangeOutcome { path, kind, added, removed, .. } = self;
        format!("FileChangeOutcome(path='{}', kind='{kind}', +{added} -{removed} lines)", path.display())
    }
}

/// The outcome of a call that changes files, or of its dry run.
#[pyclass(frozen, get_all, module = "emendate")]
pub(crate) struct ChangeOutcome {
    /// The operation in the history, for `Session.undo`; `None` for a dry run, and where nothing had to be written.
    operation: Option<String>,
    /// The format of the edit: the one that was named, or the detected one.
    format: &'static str,
    /// The files in the order of the call. The former path of a moved file is part of its new one.
    files: Py<PyTuple>,
    /// The largest tolerance that an edit needed.
    tier: &'static str,
    /// The places that all edits changed.
    places: usize,
    /// Tolerances about the call as a whole.
    notes: Vec<String>,
    /// Edits that were skipped, as a patch, if the call is `partial`.
    rejected: String,
    /// Nothing was written.
    dry_run: bool,
    /// The diffs of all files, if the call asked for them.
    diff: String,
}

impl ChangeOutcome {
    pub(crate) fn new(py: Python<'_>, done: emendate::ChangeOutcome) -> PyResult<ChangeOutcome> {
        let (tier, places, diff) = (done.tier().name(), done.places(), done.diff());
        let file = |file| Py::new(py, FileChangeOutcome::new(py, file)?);
        let files = done.files.into_iter().map(file).collect::<PyResult<Vec<_>>>()?;
        Ok(ChangeOutcome {
            operation: done.operation.map(|id| id.to_string()),
            format: done.format,
            files: PyTuple::new(py, files)?.unbind(),
            tier,
            places,
            notes: done.notes.texts(),
            rejected: done.rejected,
            dry_run: done.dry_run,
            diff,
        })
    }
}

#[pymethods]
impl ChangeOutcome {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("ChangeOutcome(files={})", self.files.bind(py).repr()?))
    }
}

/// The outcome of an undo or a redo.
#[pyclass(frozen, get_all, module = "emendate")]
pub(crate) struct UndoOutcome {
    /// The operations that were undone, the newest first; for a redo, the undo that was undone.
    undone: Vec<String>,
    /// The change of the files, which is an operation of its own.
    change: Py<ChangeOutcome>,
}

impl UndoOutcome {
    pub(crate) fn new(py: Python<'_>, done: emendate::UndoOutcome) -> PyResult<UndoOutcome> {
        let undone = done.undone.iter().map(ToString::to_string).collect();
        Ok(UndoOutcome { undone, change: Py::new(py, ChangeOutcome::new(py, done.change)?)? })
    }
}

#[pymethods]
impl UndoOutcome {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let undone = PyTuple::new(py, &self.undone)?.repr()?;
        Ok(format!("UndoOutcome(undone={undone}, change={})", self.change.bind(py).repr()?))
    }
}
