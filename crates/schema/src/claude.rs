//! The documented settings of Claude Code: known fields are checked for their types, others are accepted.

/// The schema, as JSON.
pub static SETTINGS: &str = include_str!("claude-settings.json");
