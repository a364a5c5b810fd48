//! Comments of a person on what a session did: its next reply delivers them. They are recorded as delivered when a
//! front end confirms that its replies were sent; if a process dies before that, the comments are delivered once more.

use crate::context::Context;
use crate::context::call::Call;
use crate::context::history_stores::log_path;
use crate::context::memory::DeliveredComment;
use crate::model::raw_path;
use crate::model::reply::Reply;
use emendate_core::Code;
use emendate_history::{CommentFilter, StoredComment};
use serde_json::{Value, json};

/// Comments that one reply delivers; the next one delivers the rest.
pub(crate) const COMMENTS_PER_REPLY_MAX: usize = 20;

/// Adds the open comments for the session to a reply.
pub(crate) fn with_open_comments(call: Call<'_>, mut reply: Reply) -> Reply {
    let is_cancelled = reply.result.as_ref().is_err_and(|error| error.code() == Code::CallCancelled);
    if call.caller.dry_run || is_cancelled {
        return reply;
    }
    let mut found = Vec::new();
    for root in 0..call.root_count() {
        let Some(history) = call.history_stores.opened(root).filter(|history| history.may_have_open_comments()) else {
            continue;
        };
        let limit = COMMENTS_PER_REPLY_MAX.saturating_add(call.delivered_comments().len());
        let filter =
            CommentFilter { session: Some(&call.caller.session), open: true, limit, ..CommentFilter::default() };
        // Without the store they are delivered another time.
        found.extend(history.comments(&filter).unwrap_or_default().into_iter().map(|comment| (root, comment)));
    }
    if found.is_empty() {
        return reply;
    }
    let mut delivered = call.delivered_comments();
    found.retain(|(root, comment)| !delivered.iter().any(|it| it.root == *root && it.number == comment.number));
    found.truncate(COMMENTS_PER_REPLY_MAX);
    let mut rows = Vec::new();
    for (root, comment) in found {
        let note = text_of(&comment);
        rows.push(data_of(root, &comment));
        delivered.push(DeliveredComment { root, number: comment.number, session: comment.session });
        match &mut reply.result {
            Ok(answer) => answer.add_reminder(note),
            Err(error) => *error = error.clone().evidence(note),
        }
    }
    drop(delivered);
    match &mut reply.result {
        _ if rows.is_empty() => {}
        Ok(answer) => drop(answer.data.insert("comments".to_owned(), rows.into())),
        Err(error) => *error = error.clone().fact("comments", rows),
    }
    reply
}

/// Records the comments of replies that have reached their session; `None` for those of all sessions.
pub(crate) fn record_deliveries(context: &Context, session: Option<&str>) {
    let mut delivered = context.delivered_comments();
    if delivered.is_empty() {
        return;
    }
    let is_meant = |it: &DeliveredComment| session.is_none_or(|session| it.session == session);
    let (mut sent, rest): (Vec<_>, Vec<_>) = delivered.drain(..).partition(is_meant);
    *delivered = rest;
    drop(delivered);
    sent.sort_by_key(|it| it.root);
    for of_root in sent.chunk_by(|one, next| one.root == next.root) {
        let numbers: Vec<u64> = of_root.iter().map(|it| it.number).collect();
        // If that fails, they are delivered once more.
        let _ = context.history(of_root[0].root).mark_delivered(&numbers);
    }
}

/// Forgets that replies had comments, if they are not confirmed: the next ones deliver them again.
pub(crate) fn recall_deliveries(context: &Context, session: Option<&str>) {
    context.delivered_comments().retain(|it| session.is_some_and(|session| it.session != session));
}

/// Returns the name of a comment, which is unique among the roots.
pub(crate) fn comment_id(root: usize, number: u64) -> String {
    if root == 0 { number.to_string() } else { format!("{root}:{number}") }
}

/// Renders a comment for a reply.
fn text_of(comment: &StoredComment) -> String {
    let file = comment.path.as_ref().map(|path| emendate_fs::shown(log_path(path)));
    let place = match (file, comment.line) {
        (Some(file), Some(line)) => format!("line {line} of {file}, operation {}", comment.operation),
        (Some(file), None) => format!("{file}, operation {}", comment.operation),
        (None, _) => format!("operation {}", comment.operation),
    };
    format!("A person commented on {place}: {}", comment.text)
}

fn data_of(root: usize, comment: &StoredComment) -> Value {
    let path = comment.path.as_ref().map(|path| log_path(path));
    let row = json!({
        "id": comment_id(root, comment.number),
        "operation": comment.operation.to_string(),
        "filePath": path.map(emendate_fs::shown),
        "line": comment.line,
        "text": comment.text,
    });
    match path {
        Some(path) => raw_path::file_json(path, row),
        None => row,
    }
}
