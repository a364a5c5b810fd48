//! Errors of the engine as exceptions of `emendate.errors`.

use emendate_core::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The function that makes an exception of the code's class.
static MADE_BY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Turns an error into the exception of its family.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let made_by = MADE_BY.get_or_try_init(py, || Ok(py.import("emendate.errors")?.getattr("error_of")?.unbind()));
    let parts = (error.code().as_str(), error.message(), error.evidence_text(), error.next_step());
    let facts = serde_json::Value::Object(error.data().clone()).to_string();
    match made_by.and_then(|make: &Py<PyAny>| make.bind(py).call1((parts.0, parts.1, parts.2, parts.3, facts))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failed) => failed,
    }
}
