//! Errors of the engine as exceptions of `emendate.errors`.

use emendate_core::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The function that makes an exception of the code's class.
static MADE_BY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Makes the exception of an error's family.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let made_by = MADE_BY.get_or_try_init(py, || {
        py.import("emendate.errors").and_then(|errors| Ok(errors.getattr("error_of")?.unbind()))
    })?;
    let facts = serde_json::Value::Object(error.data().clone()).to_string();
    let parts = (error.code().as_str(), error.message(), error.evidence_text(), error.next_step(), facts);
    made_by.bind(py).call1(parts)
}

/// Turns an error into the exception of its family, to be raised.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).map_or_else(|failed| failed, PyErr::from_value)
}
