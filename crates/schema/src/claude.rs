//! The settings of Claude Code, as they are documented: fields that are known are of their type; others are let through.

/// The schema, as JSON.
pub static SETTINGS: &str = include_str!("claude-settings.json");
