//! The engine as front ends and embedding programs see it: calls, the tool table, profiles, and arguments.

pub(crate) mod arguments;
pub(crate) mod bulk;
pub(crate) mod call;
pub(crate) mod describe;
pub(crate) mod engine;
pub(crate) mod events;
pub(crate) mod limit;
pub(crate) mod limits;
pub(crate) mod outputs;
pub(crate) mod profile;
pub(crate) mod questions;
pub(crate) mod table_names;
pub(crate) mod tool_schema;
pub(crate) mod tool_table;
pub(crate) mod workspace;
