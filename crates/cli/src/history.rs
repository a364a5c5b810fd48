//! `undo`, `redo`, `history`, `show`, `diff`, `restore` and `gc`.

use crate::args::{
    DiffArgs, FilePartArgs, GcArgs, HistoryArgs, RestoreArgs, RewindArgs, ShowArgs, SnapshotArgs, UndoArgs,
};
use crate::context::CliContext;
use crate::files::{InputFields, ToolCall, usage};
use crate::output::{self, ChangeView};
use crate::styled;
use chrono::{DateTime, Local, NaiveDate, TimeDelta};
use emendate::HUNKS_PER_CALL_MAX;
use emendate::core::{Error, Result};
use emendate::history::Retention;
use emendate_os::ffi::OsStrExt as _;
use serde_json::json;
use std::ffi::OsStr;
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
///
/// Errors: `call.invalid` for a path without hunks.
pub(crate) fn undo(args: &UndoArgs, redo: bool) -> Result<ToolCall> {
    let fields = InputFields::default()
        .put("id", args.id.clone())
        .put("last", args.last)
        .put("redo", redo.then_some(true))
        .put("irreversible", args.irreversible.then_some(true))
        .put("turn", args.turn.then_some(true))
        .put("since", args.since.clone())
        .put("any_session", args.any_session.then_some(true));
    let Some(target) = &args.hunks else { return Ok(ask("undo", args.file.as_ref(), fields)) };
    let (path, Some(hunks)) = HunkList::split_path(target)? else {
        let what = format!("`{}` names no hunks.", target.display());
        return Err(usage(
            &what,
            "Write PATH:NUMBERS, e.g. src/main.rs:2 or src/main.rs:1,3-5; `emend show ID` has them.",
        ));
    };
    Ok(ask("undo", Some(&path), fields.put("hunks", Some(hunks.0))))
}

/// Numbers of hunks, as people write them: `2`, or `1,3-5`.
pub(crate) struct HunkList(pub(crate) Vec<u64>);

impl HunkList {
    /// Parses a list; more numbers than a call may have are left to the engine to refuse.
    ///
    /// Errors: `call.invalid`.
    fn parse(text: &str) -> Result<HunkList> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) else { return Err(no_list(text)) };
            if first == 0 || last < first {
                return Err(no_list(text));
            }
            numbers.extend((first..=last).take(HUNKS_PER_CALL_MAX + 1));
            if numbers.len() > HUNKS_PER_CALL_MAX {
                break;
            }
        }
        Ok(HunkList(numbers))
    }

    /// Splits `PATH:NUMBERS`. A path may have colons, so what does not look like numbers belongs to it, and an existing
    /// file with exactly that name takes precedence.
    ///
    /// Errors: `call.invalid` for numbers that are not hunks.
    pub(crate) fn split_path(target: &Path) -> Result<(PathBuf, Option<HunkList>)> {
        let bytes = target.as_os_str().as_bytes();
        let colon = bytes.iter().rposition(|&byte| byte == b':').filter(|&at| at > 0);
        let parts = colon.and_then(|at| Some((bytes.get(..at)?, std::str::from_utf8(bytes.get(at + 1..)?).ok()?)));
        match parts.filter(|(_, list)| looks_like_hunks(list) && !target.exists()) {
            Some((path, list)) => Ok((Path::new(OsStr::from_bytes(path)).to_owned(), Some(HunkList::parse(list)?))),
            None => Ok((target.to_owned(), None)),
        }
    }
}

/// True for numbers, commas and hyphens.
fn looks_like_hunks(list: &str) -> bool {
    !list.is_empty() && list.bytes().all(|byte| byte.is_ascii_digit() || b",-".contains(&byte))
}

/// The error for a list of hunks that cannot be read.
fn no_list(text: &str) -> Error {
    usage(&format!("`{text}` is not a list of hunks."), "Write numbers from 1, such as 2, 1,3 or 2-4.")
}

/// Builds the input of `history` for a list.
pub(crate) fn history(args: &HistoryArgs) -> Result<ToolCall> {
    let since = args.since.as_deref().map(|text| moment(text, Local::now())).transpose()?;
    let fields = InputFields::default()
        .put("session", args.by.clone())
        .put("limit", args.limit)
        .put("since", since)
        .put("from", args.from.clone());
    Ok(ask("history", args.file.as_ref().or(args.path.as_ref()), fields))
}

/// Returns a moment as RFC 3339: a time before `now` such as `2h`, a local date, or a moment that is written so already.
///
/// Errors: `call.invalid` for anything else.
pub(crate) fn moment(text: &str, now: DateTime<Local>) -> Result<String> {
    let ago = text.split_at_checked(text.len().saturating_sub(1)).and_then(|(number, unit)| {
        let number: i64 = number.parse().ok()?;
        match unit {
            "m" => TimeDelta::try_minutes(number),
            "h" => TimeDelta::try_hours(number),
            "d" => TimeDelta::try_days(number),
            "w" => TimeDelta::try_weeks(number),
            _ => None,
        }
    });
    let found = ago.and_then(|ago| now.checked_sub_signed(ago)).or_else(|| start_of_date(text));
    let found = found.or_else(|| DateTime::parse_from_rfc3339(text).ok().map(|at| at.with_timezone(&Local)));
    found.map(|at| at.to_rfc3339()).ok_or_else(|| {
        usage(&format!("`{text}` is not a time."), "Write --since 2h, 30m, 3d, 2w, 2026-11-23 or 2026-11-23T10:00:00Z.")
    })
}

/// Returns the first moment of a local date such as `2026-11-23`.
fn start_of_date(text: &str) -> Option<DateTime<Local>> {
    let start = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?;
    start.and_local_timezone(Local).earliest()
}

/// Returns how the diffs of an operation are shown.
fn view(part: &FilePartArgs) -> ChangeView {
    if part.stat { ChangeView::Stat } else { ChangeView::Diff }
}

/// Builds the input of `history` for one operation.
///
/// Errors: `call.invalid` for numbers that are not hunks.
pub(crate) fn show(args: &ShowArgs) -> Result<ToolCall> {
    let (path, hunks) = match args.hunks.as_deref().map(HunkList::split_path).transpose()? {
        Some((path, hunks)) => (Some(path), hunks),
        None => (args.file.clone(), None),
    };
    let fields = InputFields::default().put("id", Some(args.id.clone())).put("hunks", hunks.map(|list| list.0));
    Ok(ask("history", path.as_ref(), part(fields, &args.part)).viewed(view(&args.part)))
}

/// Builds the input of `history` for two moments.
pub(crate) fn diff(args: &DiffArgs) -> Result<ToolCall> {
    let ends = args.range.split_once("..");
    let Some((from, to)) = ends.filter(|(from, to)| !from.is_empty() && !to.starts_with('.')) else {
        let what = format!("`{}` is not two operations.", args.range);
        return Err(usage(&what, "Write ID..ID, e.g. 17..20, or MARK.. for what changed until now."));
    };
    let to = if to.is_empty() { "now" } else { to };
    let fields = InputFields::default().put("id", Some(from)).put("to", Some(to));
    Ok(ask("history", args.file.as_ref(), part(fields, &args.part)).viewed(view(&args.part)))
}

/// Builds the input of `restore`.
pub(crate) fn restore(args: &RestoreArgs) -> Result<ToolCall> {
    // A path may contain `@`, the name of an operation cannot: the last `@` separates them.
    let bytes = args.target.as_os_str().as_bytes();
    let at = bytes.iter().rposition(|&byte| byte == b'@').filter(|&at| at > 0);
    let named = at.and_then(|at| Some((&bytes[..at], std::str::from_utf8(&bytes[at + 1..]).ok()?)));
    let Some((path, id)) = named else {
        let what = format!("`{}` names no operation.", args.target.display());
        return Err(usage(&what, "Write PATH@ID, e.g. src/main.rs@17; see `emend history --file PATH`."));
    };
    let path = Path::new(OsStr::from_bytes(path)).to_owned();
    let hunks = args.hunks.as_deref().map(HunkList::parse).transpose()?.map(|list| list.0);
    let fields = InputFields::default().put("id", Some(id)).put("hunks", hunks);
    Ok(ask("restore", Some(&path), fields.put("irreversible", args.irreversible.then_some(true))))
}

/// Builds the input of `mark`.
pub(crate) fn mark(name: &str) -> ToolCall {
    ask("mark", None, InputFields::default().put("name", Some(name)))
}

/// Builds the input of `rewind`.
pub(crate) fn rewind(args: &RewindArgs) -> ToolCall {
    let fields = InputFields::default()
        .put("to", Some(args.to.clone()))
        .put("shell", args.shell.then_some(true))
        .put("irreversible", args.irreversible.then_some(true));
    ask("rewind", None, fields)
}

/// Builds the input of `snapshot`.
pub(crate) fn snapshot(args: &SnapshotArgs) -> ToolCall {
    ask("snapshot", None, InputFields::default().put("note", args.note.clone()))
}

/// `emend gc`.
pub(crate) fn gc(context: &CliContext<'_>, args: &GcArgs) -> Result<u8> {
    let engine = context.open()?;
    let bytes = args.size.map(|megabytes| megabytes.saturating_mul(1 << 20));
    let freed = engine.history().collect_garbage(Retention { days: args.days, bytes })?;
    if context.global.json {
        let data = json!({
            "operations": freed.operations, "contents": freed.contents, "bytes": freed.bytes,
            "dryRun": context.global.dry_run,
        });
        output::value(&json!({ "ok": true, "data": data }))?;
    } else {
        let mut out = styled::stdout();
        // A dry run collected the garbage of a copy.
        let (freed_verb, were) = if context.global.dry_run { ("Would free", "would be") } else { ("Freed", "were") };
        let line = format!(
            "{freed_verb} {} bytes: {} operations and {} contents {were} dropped.",
            freed.bytes, freed.operations, freed.contents
        );
        styled::ignore_broken_pipe(out.plain(&line).and_then(|()| out.flush()))?;
    }
    output::notices(&engine);
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::{HUNKS_PER_CALL_MAX, HunkList, moment};
    use chrono::{DateTime, Local};
    use std::path::Path;

    #[test]
    fn hunks_are_numbers_and_ranges_behind_the_last_colon() {
        let split = |text: &str| {
            let (path, hunks) = HunkList::split_path(Path::new(text)).unwrap();
            (path.display().to_string(), hunks.map(|list| list.0))
        };
        assert_eq!(split("src/a.rs:2"), ("src/a.rs".to_owned(), Some(vec![2])));
        assert_eq!(split("C:x:1,3-5"), ("C:x".to_owned(), Some(vec![1, 3, 4, 5])));
        assert_eq!(split("a:b"), ("a:b".to_owned(), None));
        assert_eq!(split(":2"), (":2".to_owned(), None));
        for wrong in ["0", "3-2", "1,,2", "-"] {
            assert!(HunkList::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(HunkList::parse("1-99999999999").unwrap().0.len(), HUNKS_PER_CALL_MAX + 1);
    }

    #[test]
    fn moments_are_ages_dates_or_rfc_3339() {
        let now = DateTime::parse_from_rfc3339("2026-11-23T12:00:00Z").unwrap().with_timezone(&Local);
        let at = |text: &str| {
            let text = moment(text, now).unwrap();
            DateTime::parse_from_rfc3339(&text).unwrap().timestamp() - now.timestamp()
        };
        assert_eq!([at("30m"), at("2h"), at("1d"), at("1w")], [-1800, -7200, -86400, -604_800]);
        assert_eq!(at("2026-11-23T10:00:00Z"), -7200);
        assert!((-3 * 86400..86400).contains(&at("2026-11-22")));
        for wrong in ["", "h", "2y", "yesterday", "2026-13-01", "é"] {
            assert!(moment(wrong, now).is_err(), "{wrong}");
        }
    }
}
