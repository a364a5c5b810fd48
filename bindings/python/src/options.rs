//! Arguments that several functions share.

use emendate_core::{ApplyLimits, ApplyOptions, Code, Error, Matching};

/// Returns the tolerance of that name.
///
/// Errors: `call.invalid`.
pub(crate) fn matching(name: &str) -> Result<Matching, Error> {
    match name {
        "exact" => Ok(Matching::Exact),
        "strict" => Ok(Matching::Strict),
        "standard" => Ok(Matching::Standard),
        _ => Err(Error::new(Code::CallInvalid, format!("`{name}` is not a tolerance."))
            .next("Use one of: exact, strict, standard.")),
    }
}

/// Returns options with the arguments that every function has.
///
/// Errors: `call.invalid` for an unknown tolerance.
pub(crate) fn shared(
    path: Option<&str>,
    tolerance: &str,
    max_bytes: Option<usize>,
    max_steps: Option<u64>,
) -> Result<ApplyOptions, Error> {
    let mut limits = ApplyLimits::default();
    if let Some(bytes) = max_bytes {
        limits = limits.input_bytes(bytes);
    }
    if let Some(steps) = max_steps {
        limits = limits.work_steps(steps);
    }
    let mut options = ApplyOptions::new().matching(matching(tolerance)?).limits(limits);
    options.path = path.map(str::to_owned);
    Ok(options)
}
