//! The version a call refers to, the names in it, and the advice that follows from what its session saw.

pub(crate) mod base;
pub(crate) mod comments;
pub(crate) mod decorated_names;
pub(crate) mod failure_advice;
pub(crate) mod in_doubt;
pub(crate) mod last_change;
pub(crate) mod names;
pub(crate) mod outside;
pub(crate) mod own_changes;
pub(crate) mod refusals;
pub(crate) mod registers;
pub(crate) mod suggest;
pub(crate) mod turns;
pub(crate) mod windows_paths;
