//! Reply limits in a configuration file.

use super::rule::invalid;
use super::{Config, Source, file};
use crate::reply_limits::{LEAST_DATA, LEAST_TEXT, ReplyLimits};
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
    pub(super) fn add_reply_limits(&mut self, file: &file::Reply, source: Source<'_>) -> Result<()> {
        let limits = &mut self.reply;
        let rows = [
            ("reply.text", file.text, &mut limits.text, LEAST_TEXT),
            ("reply.data", file.data, &mut limits.data, LEAST_DATA),
            ("reply.read", file.read, &mut limits.read, LEAST_TEXT),
        ];
        let mut said = Vec::new();
        for (key, value, slot, least) in rows {
            let Some(value) = value else { continue };
            if value < least {
                return Err(invalid(source.origin, &format!("{key}: {value} is less than {least}")));
            }
            if source.trusted || value < *slot {
                *slot = value;
                said.push(key);
            }
        }
        for key in said {
            self.came_from(key, source);
        }
        Ok(())
    }
}
