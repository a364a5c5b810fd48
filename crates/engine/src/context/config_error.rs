//! A project's configuration that cannot be parsed: files can be read, but not edited.

use crate::context::Context;
use crate::context::config::Config;
use emendate_core::{Code, Error, Result};

/// Returns a configuration that denies edits, because the rules of the project are unknown.
pub(crate) fn restrict(mut config: Config, error: &Error, notices: &mut Vec<String>) -> Config {
    notices.push(format!("{} Files can be read; edits are refused until it is corrected.", error.message()));
    config.broken.get_or_insert_with(|| error.message().to_owned());
    config
}

/// Errors: `access.denied` if a project's configuration cannot be parsed.
pub(crate) fn check_config_readable(context: &Context) -> Result<()> {
    let Some(what) = context.config().broken() else { return Ok(()) };
    Err(Error::new(
        Code::AccessDenied,
        "The project's configuration cannot be understood, so its rules are unknown and nothing is edited.",
    )
    .evidence(what)
    .next("Tell the person to correct that file; files can be read meanwhile."))
}
