//! `emend history --follow`.

use crate::args::HistoryArgs;
use crate::context::CliContext;
use crate::files::usage;
use crate::{disconnect, history, output};
use chrono::Local;
use emendate::core::Result;
use emendate::{FeedItem, FeedOptions};
use serde_json::json;
use std::time::Duration;

/// Interval at which the command finds out that nobody reads its output any more.
const READER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Prints each new operation until nobody reads it.
///
/// Errors: a beginning that does not exist; those of the session store and of the output.
pub(crate) fn follow(context: &CliContext<'_>, args: &HistoryArgs) -> Result<u8> {
    if context.global.dry_run {
        return Err(usage("`--dry-run` works on a copy of the history, which nothing changes.", "Leave it out."));
    }
    let path = args.file.as_ref().or(args.path.as_ref());
    let engine = context.open()?;
    let mut feed = engine.history().follow(&FeedOptions {
        since: args.since.as_deref().map(|since| history::moment(since, Local::now()).unwrap_or(since.to_owned())),
        last: args.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0),
        session: args.by.clone(),
        path: path.map(|path| context.absolute(path)).transpose()?,
    })?;
    if context.global.json {
        output::value(&json!({ "type": "start", "cursor": feed.cursor() }))?;
    }
    output::notices(&engine);
    loop {
        let item = feed.wait(READER_CHECK_INTERVAL)?;
        output::notices(&engine);
        if disconnect::is_stdout_unread() {
            return Ok(0);
        }
        let Some(item) = item else { continue };
        let cursor = feed.cursor();
        match item {
            FeedItem::Operation(operation) if context.global.json => {
                output::value(&json!({ "type": "operation", "cursor": cursor, "operation": operation.row }))?;
            }
            FeedItem::Operation(operation) => output::operation(context, &operation)?,
            FeedItem::Reset if context.global.json => {
                output::value(&json!({ "type": "reset", "cursor": cursor }))?;
            }
            FeedItem::Reset => output::note("the history was replaced; its operations follow from the first one"),
            _ => {}
        }
    }
}
