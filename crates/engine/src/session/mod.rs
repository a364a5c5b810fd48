//! What a session was shown, and what it may leave out because of that.

pub(crate) mod base;
pub(crate) mod decorated_names;
pub(crate) mod failure_advice;
pub(crate) mod in_doubt;
pub(crate) mod names;
pub(crate) mod registers;
pub(crate) mod suggest;
pub(crate) mod windows_paths;
