//! The stages of an edit: plan, check, commit, report.

pub(crate) mod checks;
pub(crate) mod commit;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
