//! `emend comment`, `comments` and `reviewed`.

use crate::args::{CommentArgs, CommentsArgs, ReviewedArgs};
use crate::context::CliContext;
use crate::history::HunkList;
use crate::{output, relative_names};
use chrono::{DateTime, Local, SecondsFormat};
use emendate::core::Result;
use emendate::fs::shown;
use emendate::{Comment, ReviewedFile};
use emendate_os::ffi::OsStrExt as _;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Comments on an operation.
///
/// Errors: those of the engine and of the output.
pub(crate) fn comment(context: &CliContext<'_>, args: &CommentArgs) -> Result<u8> {
    let engine = context.open()?;
    let (path, line) = args.place.as_deref().map_or((None, None), |place| {
        let (path, line) = split_line(place);
        (Some(path), line)
    });
    let path = path.map(|path| context.absolute(&path)).transpose()?;
    let comment = engine.remarks().add_comment(&args.id, path.as_deref(), line, &args.text)?;
    if context.global.json {
        output::value(&json!({ "ok": true, "data": { "comment": row(&comment) } }))?;
    } else {
        output::page(&format!("Comment {}: the next reply to {} delivers it.", comment.id, comment.session))?;
    }
    output::notices(&engine);
    Ok(0)
}

/// Splits `PATH:LINE`. A path may have colons.
fn split_line(place: &Path) -> (PathBuf, Option<u64>) {
    let bytes = place.as_os_str().as_bytes();
    let colon = bytes.iter().rposition(|&byte| byte == b':').filter(|&at| at > 0);
    let parts = colon.and_then(|at| Some((bytes.get(..at)?, std::str::from_utf8(bytes.get(at + 1..)?).ok()?)));
    match parts.and_then(|(path, line)| Some((path, line.parse::<u64>().ok()?))) {
        Some((path, line)) => (PathBuf::from(OsStr::from_bytes(path)), Some(line)),
        None => (place.to_owned(), None),
    }
}

/// Lists comments, or deletes one.
///
/// Errors: those of the engine and of the output.
pub(crate) fn comments(context: &CliContext<'_>, args: &CommentsArgs) -> Result<u8> {
    let engine = context.open()?;
    if let Some(id) = &args.delete {
        engine.remarks().delete_comment(id)?;
    }
    let all =
        if args.delete.is_some() { Vec::new() } else { engine.remarks().comments(args.id.as_deref(), args.open)? };
    if context.global.json {
        output::value(&json!({ "ok": true, "data": { "comments": all.iter().map(row).collect::<Vec<_>>() } }))?;
    } else if let Some(id) = &args.delete {
        output::page(&format!("Deleted comment {id}."))?;
    } else {
        let lines: Vec<String> = all.iter().map(line).collect();
        output::page(if lines.is_empty() { "No comments.".to_owned() } else { lines.join("\n") }.as_str())?;
    }
    output::notices(&engine);
    Ok(0)
}

fn row(comment: &Comment) -> Value {
    let at = DateTime::from_timestamp_micros(comment.at).unwrap_or_default();
    json!({
        "id": comment.id,
        "operation": comment.operation,
        "filePath": comment.path.as_deref().map(shown),
        "line": comment.line,
        "session": comment.session,
        "text": comment.text,
        "time": at.to_rfc3339_opts(SecondsFormat::Secs, true),
        "delivered": comment.is_delivered,
    })
}

fn line(comment: &Comment) -> String {
    let at = DateTime::from_timestamp_micros(comment.at).unwrap_or_default().with_timezone(&Local);
    let place = comment.path.as_deref().map(|path| relative_names::in_text(&shown(path)).into_owned());
    let place = match (place, comment.line) {
        (Some(path), Some(line)) => format!("{path}:{line}"),
        (Some(path), None) => path,
        (None, _) => "the whole operation".to_owned(),
    };
    let state = if comment.is_delivered { "delivered" } else { "open" };
    let (id, operation, at) = (&comment.id, &comment.operation, at.format("%Y-%m-%d %H:%M:%S"));
    format!("{id}  {at}  {operation}  {place}  ({state})\n    {}", comment.text.replace('\n', "\n    "))
}

/// Marks hunks as reviewed, or lists what is marked.
///
/// Errors: those of the engine and of the output.
pub(crate) fn reviewed(context: &CliContext<'_>, args: &ReviewedArgs) -> Result<u8> {
    let engine = context.open()?;
    let all = match &args.id {
        None => engine.remarks().reviewed_hunks(None)?,
        Some(id) => {
            let (path, hunks) = match &args.hunks {
                Some(target) => HunkList::split_path(target).map(|(path, hunks)| (Some(path), hunks))?,
                None => (None, None),
            };
            let path = path.map(|path| context.absolute(&path)).transpose()?;
            let hunks: Option<Vec<usize>> =
                hunks.map(|list| list.0.iter().filter_map(|number| usize::try_from(*number).ok()).collect());
            engine.remarks().mark_reviewed(&context.caller(), id, path.as_deref(), hunks.as_deref(), !args.clear)?
        }
    };
    if context.global.json {
        let rows = all
            .iter()
            .map(|file| json!({ "operation": file.operation, "filePath": shown(&file.path), "hunks": file.hunks }));
        output::value(&json!({ "ok": true, "data": { "reviewed": rows.collect::<Vec<_>>() } }))?;
    } else {
        let lines: Vec<String> = all.iter().map(reviewed_line).collect();
        output::page(if lines.is_empty() { "No hunk is marked.".to_owned() } else { lines.join("\n") }.as_str())?;
    }
    output::notices(&engine);
    Ok(0)
}

fn reviewed_line(file: &ReviewedFile) -> String {
    let hunks: Vec<String> = file.hunks.iter().map(u64::to_string).collect();
    format!("{}  {}  hunks {}", file.operation, relative_names::in_text(&shown(&file.path)), hunks.join(","))
}
