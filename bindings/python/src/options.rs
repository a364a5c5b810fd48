//! Arguments that several functions share.

use emendate_core::{ApplyLimits, ApplyOptions, Error, Matching};

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
    let mut options = ApplyOptions::new().matching(Matching::from_name(tolerance)?).limits(limits);
    options.path = path.map(str::to_owned);
    Ok(options)
}
