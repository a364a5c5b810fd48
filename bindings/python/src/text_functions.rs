//! Functions that take texts and return texts.

use crate::exception::raised;
use crate::options::{Count, shared};
use crate::outcome::{Applied, AppliedFiles, PatchText, TextDiff};
use emendate_core::formats::print::PRINT_FORMATS;
use emendate_core::{ApplyOptions, ArgumentStyle, Code, Error};
use pyo3::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Applies what a model wrote, in any text format, to one text. Nothing is applied unless all of it can be.
///
/// Raises `EmendError`: `edit.unparsable` for a text in no format, `match.not_found`, `match.ambiguous` and others.
#[pyfunction]
#[pyo3(signature = (text, patch, *, format=None, path=None, r#match="standard", strip=None, reverse=false,
    placeholders_meant=false, max_bytes=None, max_steps=None))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn apply(
    py: Python<'_>,
    text: &str,
    patch: &str,
    format: Option<String>,
    path: Option<&str>,
    r#match: &str,
    strip: Option<Count>,
    reverse: bool,
    placeholders_meant: bool,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> PyResult<Applied> {
    let applied = py.detach(|| {
        let mut options = shared(path, r#match, max_bytes, max_steps)?;
        (options.format, options.strip) = (format, strip.map(|strip| strip.of("strip")).transpose()?);
        (options.reverse, options.placeholders_meant) = (reverse, placeholders_meant);
        emendate_core::apply(text, patch, &options)
    });
    applied.map(|applied| Applied::new(py, applied)).map_err(|error| raised(py, &error))
}

/// Applies a patch to files in memory, given as a `dict` from paths to texts: all of it, or nothing. The `dict` is not
/// changed; `AppliedFiles.after` returns one with the changes.
///
/// Raises `EmendError`, with all files and edits that cannot be applied.
#[pyfunction]
#[pyo3(signature = (files, patch, *, format=None, path=None, r#match="standard", strip=None, reverse=false,
    overwrite=false, placeholders_meant=false, max_bytes=None, max_steps=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "they are keyword arguments in Python, whose dict is converted"
)]
pub(crate) fn apply_files(
    py: Python<'_>,
    files: BTreeMap<String, String>,
    patch: &str,
    format: Option<String>,
    path: Option<&str>,
    r#match: &str,
    strip: Option<Count>,
    reverse: bool,
    overwrite: bool,
    placeholders_meant: bool,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> PyResult<AppliedFiles> {
    let applied = py.detach(|| {
        let mut options = shared(path, r#match, max_bytes, max_steps)?;
        (options.format, options.reverse) = (format, reverse);
        options.strip = strip.map(|strip| strip.of("strip")).transpose()?;
        (options.overwrite, options.placeholders_meant) = (overwrite, placeholders_meant);
        emendate_core::apply_files(&files, patch, &options)
    });
    AppliedFiles::new(py, applied.map_err(|error| raised(py, &error))?)
}

/// Replaces `old` by `new` in a text. `old` must occur exactly once, unless `replace_all` is set.
///
/// Raises `EmendError`: `match.not_found`, `match.ambiguous`, `edit.no_change`, `edit.omission` and others.
#[pyfunction]
#[pyo3(signature = (text, old, new, *, replace_all=false, path=None, r#match="standard", placeholders_meant=false,
    max_bytes=None, max_steps=None))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
pub(crate) fn edit(
    py: Python<'_>,
    text: &str,
    old: &str,
    new: &str,
    replace_all: bool,
    path: Option<&str>,
    r#match: &str,
    placeholders_meant: bool,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> PyResult<Applied> {
    let edited = py.detach(|| {
        let options = shared(path, r#match, max_bytes, max_steps)?;
        emendate_core::edit(text, old, new, &options.replace_all(replace_all).placeholders_meant(placeholders_meant))
    });
    edited.map(|edited| Applied::new(py, edited)).map_err(|error| raised(py, &error))
}

/// Compares two texts by lines, and then by bytes.
///
/// Raises `EmendError` with `content.binary` for a text with NUL characters.
#[pyfunction]
pub(crate) fn diff(py: Python<'_>, before: &str, after: &str) -> PyResult<TextDiff> {
    py.detach(|| emendate_core::diff(before, after)).map(TextDiff).map_err(|error| raised(py, &error))
}

/// Applies a patch to files in memory, and prints the changes in another format: one of `print_formats()`.
///
/// Raises `EmendError` as `apply_files`, and `call.invalid` for a change that the format cannot express.
#[pyfunction]
#[pyo3(signature = (files, patch, to, *, format=None, path=None, r#match="standard", strip=None, max_bytes=None,
    max_steps=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "they are keyword arguments in Python, whose dict is converted"
)]
pub(crate) fn convert(
    py: Python<'_>,
    files: BTreeMap<String, String>,
    patch: &str,
    to: &str,
    format: Option<String>,
    path: Option<&str>,
    r#match: &str,
    strip: Option<Count>,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> PyResult<PatchText> {
    let converted = py.detach(|| {
        let mut options = shared(path, r#match, max_bytes, max_steps)?;
        (options.format, options.strip) = (format, strip.map(|strip| strip.of("strip")).transpose()?);
        emendate_core::convert(&files, patch, to, &options)
    });
    let patch = converted.map_err(|error| raised(py, &error))?;
    Ok(PatchText { text: patch.text, from_format: patch.from, format: patch.to, notes: patch.notes.texts() })
}

/// The names of all files that a patch in a format may change, for the adapters that build patches.
#[pyfunction]
pub(crate) fn named_files(py: Python<'_>, patch: &str, format: &str) -> PyResult<BTreeSet<String>> {
    let named = py.detach(|| emendate_core::named_files(patch, &ApplyOptions::new().format(format)));
    named.map_err(|error| raised(py, &error))
}

/// Every function on text with the parameters that advice may name.
#[pyfunction]
pub(crate) fn function_parameters() -> Vec<(&'static str, &'static str)> {
    emendate_core::function_parameters(ArgumentStyle::Python)
}

/// Returns how similar two texts are, from 0.0 to 1.0: the very number that
/// `difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()` returns, for characters, or with `by="lines"` for the
/// lists of their lines.
///
/// Raises `EmendError` with `call.too_much_work` for texts that would need more steps than one call may take.
#[pyfunction]
#[pyo3(signature = (a, b, *, by="characters"))]
pub(crate) fn similarity(py: Python<'_>, a: &str, b: &str, by: &str) -> PyResult<f64> {
    let ratio = py.detach(|| match by {
        "characters" => emendate_core::similarity(a, b),
        "lines" => emendate_core::line_similarity(a, b),
        _ => Err(Error::new(Code::CallInvalid, format!("Texts are not compared by `{by}`."))
            .next("Use one of: characters, lines.")),
    });
    ratio.map_err(|error| raised(py, &error))
}

/// The names of the text formats that `apply` takes.
#[pyfunction]
pub(crate) fn text_formats() -> Vec<&'static str> {
    emendate_core::formats::text_formats().map(|format| format.spec().name).collect()
}

/// The names of the formats that `convert` and `TextDiff.to_patch` print.
#[pyfunction]
pub(crate) fn print_formats() -> Vec<&'static str> {
    PRINT_FORMATS.iter().map(|format| format.name).collect()
}
