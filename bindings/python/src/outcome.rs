//! Results of the functions on text, as immutable Python objects.

use crate::exception::raised;
use emendate_core::FileChangeKind;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

/// A replacement, in bytes of UTF-8: `text[start:end]` became `new_text[new_start:new_end]`.
#[pyclass(frozen, get_all, eq, hash, module = "emendate")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ChangedSpan {
    /// The first replaced byte of the text before.
    start: usize,
    /// The end of the replaced bytes; equal to `start` for an insertion.
    end: usize,
    /// The first byte of the replacement in the new text.
    new_start: usize,
    /// Its end; equal to `new_start` for a deletion.
    new_end: usize,
}

#[pymethods]
impl ChangedSpan {
    fn __repr__(&self) -> String {
        let ChangedSpan { start, end, new_start, new_end } = self;
        format!("ChangedSpan(start={start}, end={end}, new_start={new_start}, new_end={new_end})")
    }
}

/// Returns the spans of a change.
pub(crate) fn spans(all: &[emendate_core::ChangedSpan]) -> Vec<ChangedSpan> {
    let one = |span: &emendate_core::ChangedSpan| ChangedSpan {
        start: span.before.start,
        end: span.before.end,
        new_start: span.after.start,
        new_end: span.after.end,
    };
    all.iter().map(one).collect()
}

/// The outcome of an edit of one text. Bytes outside of `spans` are those of the text before.
#[pyclass(frozen, module = "emendate")]
pub(crate) struct Applied {
    text: Py<PyString>,
    parts: emendate_core::AppliedText,
}

impl Applied {
    pub(crate) fn new(py: Python<'_>, mut parts: emendate_core::AppliedText) -> Applied {
        let text = PyString::new(py, &std::mem::take(&mut parts.text)).unbind();
        Applied { text, parts }
    }
}

#[pymethods]
impl Applied {
    /// The new text.
    #[getter]
    fn text(&self, py: Python<'_>) -> Py<PyString> {
        self.text.clone_ref(py)
    }

    /// The format of the patch: the one that was named, or the detected one.
    #[getter]
    fn format(&self) -> &'static str {
        self.parts.format
    }

    /// The largest tolerance that an edit needed, such as `exact` or `indent_shift`.
    #[getter]
    fn tier(&self) -> &'static str {
        self.parts.tier.name()
    }

    /// Every tolerance, as sentences. Empty for an exact edit.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.parts.notes.texts()
    }

    /// The changed bytes, sorted.
    #[getter]
    fn spans(&self) -> Vec<ChangedSpan> {
        spans(&self.parts.spans)
    }

    /// The edits, blocks or hunks that were applied.
    #[getter]
    fn edits(&self) -> usize {
        self.parts.edits
    }

    /// The places that they changed.
    #[getter]
    fn places(&self) -> usize {
        self.parts.places
    }

    /// Added lines.
    #[getter]
    fn added(&self) -> usize {
        self.parts.added
    }

    /// Removed lines.
    #[getter]
    fn removed(&self) -> usize {
        self.parts.removed
    }

    /// The new path, if the patch moves the file.
    #[getter]
    fn new_path(&self) -> Option<&str> {
        self.parts.new_path.as_deref()
    }

    fn __repr__(&self) -> String {
        let (format, tier) = (self.parts.format, self.parts.tier.name());
        format!("Applied(format='{format}', tier='{tier}', +{} -{} lines)", self.parts.added, self.parts.removed)
    }
}

/// The change of one file.
#[pyclass(frozen, module = "emendate")]
pub(crate) struct ChangedFile(emendate_core::ChangedFile);

#[pymethods]
impl ChangedFile {
    /// `created`, `updated`, `deleted`, `renamed` or `copied`.
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.0.kind {
            FileChangeKind::Created => "created",
            FileChangeKind::Deleted => "deleted",
            FileChangeKind::Renamed { .. } => "renamed",
            FileChangeKind::Copied { .. } => "copied",
            _ => "updated",
        }
    }

    /// The path that a renamed or copied file comes from.
    #[getter(from_path)]
    fn former_path(&self) -> Option<&str> {
        match &self.0.kind {
            FileChangeKind::Renamed { from } | FileChangeKind::Copied { from } => Some(from),
            _ => None,
        }
    }

    /// The new text; `None` for a deleted file.
    #[getter]
    fn text(&self) -> Option<&str> {
        self.0.text.as_deref()
    }

    /// The largest tolerance that an edit needed.
    #[getter]
    fn tier(&self) -> &'static str {
        self.0.tier.name()
    }

    /// Every tolerance, as sentences.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.texts()
    }

    /// The changed bytes, sorted.
    #[getter]
    fn spans(&self) -> Vec<ChangedSpan> {
        spans(&self.0.spans)
    }

    /// The edits, blocks or hunks that were applied.
    #[getter]
    fn edits(&self) -> usize {
        self.0.edits
    }

    /// The places that they changed.
    #[getter]
    fn places(&self) -> usize {
        self.0.places
    }

    /// Added lines.
    #[getter]
    fn added(&self) -> usize {
        self.0.added
    }

    /// Removed lines.
    #[getter]
    fn removed(&self) -> usize {
        self.0.removed
    }

    /// Whether the patch makes the file executable or not; `None` if it says nothing.
    #[getter]
    fn executable(&self) -> Option<bool> {
        self.0.executable
    }

    fn __repr__(&self) -> String {
        format!("ChangedFile(kind='{}', +{} -{} lines)", self.kind(), self.0.added, self.0.removed)
    }
}

/// The outcome of a patch of several files.
#[pyclass(frozen, module = "emendate")]
pub(crate) struct AppliedFiles {
    parts: AppliedParts,
    files: Py<PyDict>,
}

struct AppliedParts {
    format: &'static str,
    notes: Vec<String>,
}

impl AppliedFiles {
    pub(crate) fn new(py: Python<'_>, applied: emendate_core::AppliedFiles) -> PyResult<AppliedFiles> {
        let files = PyDict::new(py);
        for (path, file) in applied.files {
            files.set_item(path, Py::new(py, ChangedFile(file))?)?;
        }
        let parts = AppliedParts { format: applied.format, notes: applied.notes.texts() };
        Ok(AppliedFiles { parts, files: files.unbind() })
    }
}

#[pymethods]
impl AppliedFiles {
    /// The format of the patch.
    #[getter]
    fn format(&self) -> &'static str {
        self.parts.format
    }

    /// Every changed file, by its path after the change; a deleted one by its former path.
    #[getter]
    fn files(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        Ok(self.files.bind(py).copy()?.unbind())
    }

    /// Tolerances that belong to no single file.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.parts.notes.clone()
    }

    /// Returns a copy of the given files with the changes.
    fn after(&self, py: Python<'_>, files: &Bound<'_, PyDict>) -> PyResult<Py<PyDict>> {
        let after = files.copy()?;
        // All former paths are freed first, because files may swap their paths.
        for (path, file) in self.files.bind(py).iter() {
            let file = file.cast_into::<ChangedFile>()?;
            let freed = match &file.get().0.kind {
                FileChangeKind::Deleted => path,
                FileChangeKind::Renamed { from } => PyString::new(py, from).into_any(),
                _ => continue,
            };
            if after.contains(&freed)? {
                after.del_item(freed)?;
            }
        }
        for (path, file) in self.files.bind(py).iter() {
            if let Some(text) = &file.cast_into::<ChangedFile>()?.get().0.text {
                after.set_item(path, text)?;
            }
        }
        Ok(after.unbind())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let paths = PyTuple::new(py, self.files.bind(py).keys())?.repr()?;
        Ok(format!("AppliedFiles(format='{}', files={paths})", self.parts.format))
    }
}

/// The difference between two texts.
#[pyclass(frozen, module = "emendate")]
pub(crate) struct TextDiff(pub(crate) emendate_core::TextDiff);

#[pymethods]
impl TextDiff {
    /// The changed bytes, sorted.
    #[getter]
    fn spans(&self) -> Vec<ChangedSpan> {
        spans(&self.0.spans)
    }

    /// Added lines.
    #[getter]
    fn added(&self) -> usize {
        self.0.added
    }

    /// Removed lines.
    #[getter]
    fn removed(&self) -> usize {
        self.0.removed
    }

    /// Returns the difference as a unified diff for people; empty for equal texts.
    fn unified(&self, py: Python<'_>, path: &str) -> String {
        if self.0.is_empty() { String::new() } else { py.detach(|| self.0.unified(path)) }
    }

    /// Returns the difference as a patch in one of `print_formats()`.
    ///
    /// Errors: `EmendError` with `edit.no_change` for equal texts, and `call.invalid` for an unknown format or a change
    /// that the format cannot express.
    fn to_patch(&self, py: Python<'_>, path: &str, format: &str) -> PyResult<String> {
        py.detach(|| self.0.to_patch(path, format)).map_err(|error| raised(py, &error))
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }

    fn __repr__(&self) -> String {
        format!("TextDiff(+{} -{} lines)", self.0.added, self.0.removed)
    }
}

/// A patch in another format.
#[pyclass(frozen, get_all, module = "emendate")]
pub(crate) struct PatchText {
    /// The patch.
    pub(crate) text: String,
    /// The format of the given patch.
    pub(crate) from_format: &'static str,
    /// The format of `text`.
    pub(crate) format: &'static str,
    /// Every tolerance of reading and placing the given patch.
    pub(crate) notes: Vec<String>,
}

#[pymethods]
impl PatchText {
    fn __repr__(&self) -> String {
        format!("PatchText(from_format='{}', format='{}')", self.from_format, self.format)
    }
}
