//! The tools for symbols: outlines, and edits that name a definition.

pub(crate) mod edit;
pub(crate) mod foreign_uses;
pub(crate) mod outline;
pub(crate) mod references;
