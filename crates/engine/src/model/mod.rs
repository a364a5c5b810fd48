//! The values that the stages pass to each other.

pub(crate) mod attachment;
pub(crate) mod call_context;
pub(crate) mod call_handle;
pub(crate) mod file_plan;
pub(crate) mod hunk_numbers;
pub(crate) mod options;
pub(crate) mod raw_path;
pub(crate) mod reply;
pub(crate) mod reply_limits;
