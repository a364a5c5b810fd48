//! The history for people who review it: operations, changed files and their differences as values. What is shown in
//! this way does not count as read by any session.

pub(crate) mod cells;
pub(crate) mod difference;
pub(crate) mod large;
pub(crate) mod operations;
pub(crate) mod scope;
pub(crate) mod turn;
pub(crate) mod workspace;
