//! Arguments that several functions share.

use emendate_core::{ApplyLimits, ApplyOptions, ArgumentStyle, Code, Error, Matching};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// Returns options with the arguments that every function has.
///
/// Errors: `call.invalid` for an unknown tolerance.
pub(crate) fn shared(
    path: Option<&str>,
    tolerance: &str,
    max_bytes: Option<Count>,
    max_steps: Option<Count>,
) -> Result<ApplyOptions, Error> {
    let mut limits = ApplyLimits::default();
    if let Some(bytes) = max_bytes {
        limits = limits.input_bytes(bytes.of("max_bytes")?);
    }
    if let Some(steps) = max_steps {
        limits = limits.work_steps(steps.of("max_steps")?);
    }
    let mut options = ApplyOptions::new()
        .matching(Matching::from_name(tolerance)?)
        .limits(limits)
        .argument_style(ArgumentStyle::Python);
    options.path = path.map(str::to_owned);
    Ok(options)
}

/// A whole number from Python. One that is out of range becomes an error of the engine that names the argument, in place
/// of an `OverflowError` that does not.
#[derive(Clone, Debug)]
pub(crate) struct Count(Result<u64, String>);

impl Count {
    /// Returns the number.
    ///
    /// Errors: `call.invalid` for one that is negative, or too large for `T`.
    pub(crate) fn of<T: TryFrom<u64>>(self, argument: &str) -> Result<T, Error> {
        let number = self.0.and_then(|number| T::try_from(number).map_err(|_| number.to_string()));
        number.map_err(|given| {
            Error::new(Code::CallInvalid, format!("`{argument}` is {given}, which is out of range."))
                .next(format!("Give a number from 0 to {}.", u64::MAX >> 1))
        })
    }
}

impl From<u64> for Count {
    fn from(number: u64) -> Count {
        Count(Ok(number))
    }
}

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Count> {
        match given.extract::<u64>() {
            Ok(number) => Ok(Count(Ok(number))),
            // Python does not print numbers with thousands of digits.
            Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
                Ok(Count(Err(given.repr().map_or_else(|_| "a very large number".to_owned(), |text| text.to_string()))))
            }
            Err(error) => Err(error),
        }
    }
}
