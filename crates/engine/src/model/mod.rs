//! The values that the stages pass to each other.

pub(crate) mod approval;
pub(crate) mod attachment;
pub(crate) mod call_context;
pub(crate) mod call_handle;
pub(crate) mod call_origin;
pub(crate) mod call_size;
pub(crate) mod change_counts;
pub(crate) mod change_kind;
pub(crate) mod client_info;
pub(crate) mod code_numbers;
pub(crate) mod file_limits;
pub(crate) mod hunk_numbers;
pub(crate) mod question;
pub(crate) mod raw_path;
pub(crate) mod reply;
pub(crate) mod reply_limits;
