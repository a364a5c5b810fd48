//! `undo`, `redo`, `history`, `show`, `diff`, `restore` and `gc`.

use crate::args::{DiffArgs, FilePartArgs, GcArgs, HistoryArgs, RestoreArgs, ShowArgs, UndoArgs};
use crate::context::CliContext;
use crate::files::{InputFields, ToolCall, usage};
use crate::output;
use emendate::core::Result;
use emendate::history::Retention;
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

fn ask(tool: &'static str, file: Option<&PathBuf>, fields: InputFields) -> ToolCall {
    ToolCall::of(tool, file.map(|file| ("file_path", file.clone())), fields).long_running()
}

/// Adds the files of an operation to show.
fn part(fields: InputFields, part: &FilePartArgs) -> InputFields {
    let limit = if part.all { Some(u64::from(u32::MAX)) } else { part.limit };
    fields.put("limit", limit).put("from", part.from.clone())
}

/// Builds the input of `undo`.
pub(crate) fn undo(args: &UndoArgs, redo: bool) -> ToolCall {
    let fields = InputFields::default()
        .put("id", args.id.clone())
        .put("last", args.last)
        .put("redo", redo.then_some(true))
        .put("any_session", Some(true));
    ask("undo", args.file.as_ref(), fields)
}

/// Builds the input of `history` for a list.
pub(crate) fn history(args: &HistoryArgs) -> ToolCall {
    let fields =
        InputFields::default().put("session", args.by.clone()).put("limit", args.limit).put("from", args.from.clone());
    ask("history", args.file.as_ref().or(args.path.as_ref()), fields)
}

/// Builds the input of `history` for one operation.
pub(crate) fn show(args: &ShowArgs) -> ToolCall {
    ask("history", args.file.as_ref(), part(InputFields::default().put("id", Some(args.id.clone())), &args.part))
}

/// Builds the input of `history` for two moments.
pub(crate) fn diff(args: &DiffArgs) -> Result<ToolCall> {
    let ends = args.range.split_once("..");
    let Some((from, to)) = ends.filter(|(from, to)| !from.is_empty() && !to.is_empty() && !to.starts_with('.')) else {
        return Err(usage(&format!("`{}` is not two operations.", args.range), "Write ID..ID, e.g. 17..20."));
    };
    let fields = InputFields::default().put("id", Some(from)).put("to", Some(to));
    Ok(ask("history", args.file.as_ref(), part(fields, &args.part)))
}

/// Builds the input of `restore`.
pub(crate) fn restore(args: &RestoreArgs) -> Result<ToolCall> {
    // A path may contain anything, the name of an operation no `@`.
    let bytes = args.target.as_os_str().as_bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'@').filter(|&at| at > 0);
    let named = at.and_then(|at| Some((&bytes[..at], std::str::from_utf8(&bytes[at + 1..]).ok()?)));
    let Some((path, id)) = named else {
        let what = format!("`{}` names no operation.", args.target.display());
        return Err(usage(&what, "Write PATH@ID, e.g. src/main.rs@17; see `emend history --file PATH`."));
    };
    let path = Path::new(OsStr::from_bytes(path)).to_owned();
    Ok(ask("restore", Some(&path), InputFields::default().put("id", Some(id))))
}

/// `emend gc`.
pub(crate) fn gc(desk: &CliContext<'_>, args: &GcArgs) -> Result<u8> {
    let engine = desk.open()?;
    let bytes = args.size.map(|megabytes| megabytes.saturating_mul(1 << 20));
    let freed = engine.collect_garbage(Retention { days: args.days, bytes })?;
    if desk.global.json {
        let data = json!({
            "operations": freed.operations, "contents": freed.contents, "bytes": freed.bytes,
            "dryRun": desk.global.dry_run,
        });
        output::value(&json!({ "ok": true, "data": data }))?;
    } else {
        let mut out = output::stdout();
        // A dry run collected the garbage of a copy.
        let (freed_verb, were) = if desk.global.dry_run { ("Would free", "would be") } else { ("Freed", "were") };
        let line = format!(
            "{freed_verb} {} bytes: {} operations and {} contents {were} dropped.",
            freed.bytes, freed.operations, freed.contents
        );
        output::ignore_broken_pipe(out.plain(&line).and_then(|()| out.flush()))?;
    }
    output::notices(&engine);
    Ok(0)
}
