//! Reply limits in a configuration file.

use crate::context::config::rule::invalid;
use crate::context::config::{Config, RuleSource, file};
use crate::model::reply_limits::{CONFIGURED_DATA_BYTES_MIN, CONFIGURED_TEXT_CHARS_MIN, ReplyLimits};
use emendate_core::Result;

impl Config {
    /// Limits on the size of replies.
    pub fn reply_limits(&self) -> ReplyLimits {
        self.reply
    }

    /// The error in a project's file, if there is one. Nothing is edited then.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Adds reply limits. A project cannot raise them.
    pub(super) fn add_reply_limits(&mut self, file: &file::ReplySection, source: RuleSource<'_>) -> Result<()> {
        let limits = &mut self.reply;
        let rows = [
            ("reply.text", file.text, &mut limits.text, CONFIGURED_TEXT_CHARS_MIN),
            ("reply.data", file.data, &mut limits.data, CONFIGURED_DATA_BYTES_MIN),
            ("reply.read", file.read, &mut limits.read, CONFIGURED_TEXT_CHARS_MIN),
        ];
        for (key, value, slot, least) in rows {
            if let Some(value) = value.filter(|value| *value < least) {
                return Err(invalid(source.origin, &format!("{key}: {value} is less than {least}")));
            }
            self.origins.lower(slot, key, value, source);
        }
        let with = |original| if original { limits.with_original() } else { ReplyLimits { original: 0, ..*limits } };
        let limits = file.original.map(with);
        self.origins.set(&mut self.reply, "reply.original", limits, source);
        Ok(())
    }
}
