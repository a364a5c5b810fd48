//! From a commit to the reply.

pub(crate) mod diagnose;
pub(crate) mod outcome;
pub(crate) mod receipt;
pub(crate) mod rendered;
pub(crate) mod rows;
