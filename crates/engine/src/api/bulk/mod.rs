//! Functions on many texts: the work on one row, and rows on threads. Rows share nothing, and none can fail the others.

pub(crate) mod reward;
pub(crate) mod row;
