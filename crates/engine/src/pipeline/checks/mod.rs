//! Checks of plans before they are written: formatters, hooks, validation, approval.

pub(crate) mod approval;
pub(crate) mod formatter;
pub(crate) mod hooks;
pub(crate) mod repeat;
pub(crate) mod syntax_warning;
pub(crate) mod validate;
