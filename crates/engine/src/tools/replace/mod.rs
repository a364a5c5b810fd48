//! The tool `replace_in_files`: one replacement in every file below a directory that contains the text, as one
//! operation for all files or none.

pub(crate) mod gather;
pub(crate) mod query;
pub(crate) mod render;

use crate::context::call::Call;
use crate::context::config_error::check_config_readable;
use crate::context::history_stores::key;
use crate::context::policy::Access;
use crate::context::walk::{WalkFilter, WalkStats};
use crate::context::{LoadedFile, walk};
use crate::model::call_context::CallContext;
use crate::model::call_handle::{CallHandle, CallPhase};
use crate::model::call_origin::CallOrigin;
use crate::model::call_size::check_call_size;
use crate::model::reply::Answer;
use crate::pipeline::plan::file_plan::{FilePlan, SeenUpdate, recycle};
use crate::pipeline::plan::notebook;
use crate::pipeline::report::diagnose;
use crate::pipeline::run::plan_and_commit;
use crate::session::suggest::file_not_found;
use crate::tools::aliases::{NEW_NAMES, OLD_NAMES, SCOPE_ALIASES, alias};
use crate::tools::outputs::{OutputGroup, any, flag, list, number, text};
use crate::tools::replace::gather::{FileFinding, scan_files};
use crate::tools::replace::query::ReplaceQuery;
use crate::tools::tool::{Annotations, REST_OF_FILES, Tool};
use crate::tools::tool_input::ToolInput;
use emendate_core::{Advice, Code, Error, ResolvedEdit, Result, TextNames, formats};
use emendate_fs::{PATH_MAX_BYTES, SafePath};
use emendate_history::{LineSet, Record};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

/// Files that one call may change.
pub(crate) const REPLACED_FILES_MAX: usize = 10_000;
/// Files whose failures are reported.
const REPORTED_FAILURES_MAX: usize = 20;

/// The input of `replace_in_files`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct ReplaceInput {
    /// The absolute path of the directory or file.
    path: String,
    /// The text to replace everywhere, exactly as in the files.
    #[serde(default)]
    old_string: Option<String>,
    /// Instead of `old_string`, with regex: a regular expression, in the syntax of search.
    #[serde(default)]
    pattern: Option<String>,
    /// The new text. If it is empty, exactly the old text is deleted. With regex, $1 or ${name} is what that group matched, $$ a dollar sign.
    new_string: String,
    /// pattern is a regular expression.
    #[serde(default)]
    regex: bool,
    /// With regex: ignore case.
    #[serde(default)]
    ignore_case: bool,
    /// With regex: let the pattern match across lines; `.` matches line ends, too.
    #[serde(default)]
    multiline: bool,
    /// Only these files: `*.rs`, `src/**`; a pattern that starts with `!` excludes.
    #[serde(default, alias = "globs")]
    glob: Vec<String>,
    /// Also files and directories whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Also what .gitignore and .ignore files exclude.
    #[serde(default)]
    no_ignore: bool,
    /// How many replacements there must be in all files together; nothing is written if there are more or fewer.
    #[serde(default)]
    expected: Option<usize>,
    /// How many files must change.
    #[serde(default)]
    expected_files: Option<usize>,
    /// Show what would change; write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Allow the edit to make JSON, TOML or YAML invalid, if that is intended (default: refused).
    #[serde(default)]
    allow_invalid: bool,
    /// Write what cannot be undone afterwards (default: refused).
    #[serde(default)]
    irreversible: bool,
    /// Replace again although this very call was already done (default: refused).
    #[serde(default)]
    repeat: bool,
}

/// The matches below the directory.
#[derive(Default)]
pub(crate) struct ReplaceMatches {
    pub(crate) plans: Vec<FilePlan>,
    /// Replacements in each file.
    pub(crate) places: Vec<usize>,
    pub(crate) searched: usize,
    /// Matches that have the new text already, in files that do not change.
    pub(crate) unchanged: usize,
    pub(crate) left: SkippedFiles,
}

impl ReplaceMatches {
    fn total(&self) -> usize {
        self.places.iter().sum()
    }
}

/// Skipped files.
#[derive(Clone, Default)]
pub(crate) struct SkippedFiles {
    /// Files that contain the text and may not be edited.
    pub(crate) guarded: Vec<String>,
    /// Files that contain the text and are notebooks.
    pub(crate) notebooks: Vec<String>,
    /// The number of files that may not be read.
    pub(crate) denied: usize,
    pub(crate) binary: usize,
    /// Files that are too large to be changed as a whole.
    pub(crate) large: usize,
    pub(crate) unread: usize,
    /// Directories that could not be read.
    pub(crate) closed: usize,
}

/// The fields that the data of a reply may have.
const REPLACEMENTS: OutputGroup = OutputGroup {
    title: "Replacements in a directory",
    fields: &[
        text("headline", "What was done, in one line."),
        number("replacements", "The number of places."),
        list("files", "One entry a file: filePath and replacements."),
        number("filesSearched", "The number of files that were searched."),
        any("guarded", "Files that the policy keeps from being edited."),
        flag("dryRun", "Nothing was written."),
        text("operation", "The name of the operation in the history."),
    ],
};

/// The row of the tool `replace_in_files` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "replace_in_files",
    title: "Replace in many files",
    summary: "replace a text, or a regular expression, in every file below a directory, all or nothing",
    prompt: "\
Replaces a text in every file below a directory, in one operation: all files or none. old_string is plain text, taken exactly; or pattern with \
regex: true, where $1 in new_string is what the first group matched. glob picks files (\"*.rs\", \"!tests/**\"); ignored and hidden files are \
skipped as in search. expected is the number of replacements in all files together; without it the reply counts and lists them and writes \
nothing. dry_run shows the diffs.",
    annotations: Annotations::EDITS,
    rest: REST_OF_FILES,
    example: r#"{"path": "/work/src", "old_string": "old_name(", "new_string": "new_name(", "glob": ["*.rs"], "expected": 12}"#,
    aliases: &[
        SCOPE_ALIASES[0],
        alias("old_string", OLD_NAMES),
        alias("new_string", NEW_NAMES),
        alias("new_string", &["new_text"]),
        SCOPE_ALIASES[1],
        SCOPE_ALIASES[2],
        alias("expected", &["expected_replacements", "expected_count"]),
    ],
    outputs: &[&REPLACEMENTS],
    input: ToolInput::new(replace_in_files, || vec![schema_for!(ReplaceInput)]),
    ..Tool::ROW
};

/// Runs the tool `replace_in_files`.
pub(crate) fn replace_in_files(call: Call<'_>, tool: &'static str, input: Value) -> Result<Answer> {
    check_config_readable(&call)?;
    let mut origin = CallOrigin::new(tool, &input);
    let args: ReplaceInput = formats::from_json(formats::FormatInput::Json(input))?;
    origin.allows_invalid = args.allow_invalid;
    origin.irreversible = args.irreversible;
    origin.repeat = args.repeat;
    let what = ReplaceQuery::new(&args, call.caller.texts.as_ref().unwrap_or(&TextNames::FIELDS))?;
    let dry_run = args.dry_run || call.caller.dry_run;
    let handle = call.caller.handle.clone().unwrap_or_default();
    let (mut places, mut searched, mut left) = (Vec::new(), 0, SkippedFiles::default());
    let mut locks = Vec::new();
    let mut receipts = plan_and_commit(call, origin, dry_run, || {
        // No file is locked while all of them are searched, also after a lost race.
        locks.clear();
        let found = found_in_files(call, &args, &what, &handle)?;
        check_counts(call.caller, &args, &found, dry_run)?;
        // A file that changed before it was locked is noticed by the check before the write.
        locks = call.lock_paths(found.plans.iter().map(|plan| plan.path.absolute()));
        (places, searched, left) = (found.places, found.searched, found.left);
        Ok(found.plans)
    })?;
    drop(locks);
    diagnose::diagnose(&call, &mut receipts);
    let answer = render::answer(&receipts, &places, searched, &left, what.remark(), dry_run);
    for receipt in receipts {
        recycle(&call, receipt.plan);
    }
    Ok(answer)
}

/// Scans every file, and plans the changes.
///
/// Errors: `match.not_found` if no file has the text; `call.too_large`; every file that has the text and cannot
/// take the new one; `call.cancelled`.
fn found_in_files(
    call: Call<'_>,
    args: &ReplaceInput,
    what: &ReplaceQuery,
    handle: &CallHandle,
) -> Result<ReplaceMatches> {
    let (places, walked) = candidate_files(call, args, handle)?;
    let is_one_file = walked.is_none();
    let walked = walked.unwrap_or_default();
    handle.begin(CallPhase::Reading, places.len());
    let looked = scan_files(&call, &places, what, handle)?;
    let mut found = ReplaceMatches { searched: places.len(), ..ReplaceMatches::default() };
    (found.left.denied, found.left.closed) = (walked.denied, walked.closed);
    found.left.unread = walked.unreached;
    let (mut failed, mut bytes, mut names) = (Vec::new(), 0, HashSet::new());
    let mut changing = Vec::new();
    for (path, looked) in places.into_iter().zip(looked) {
        match looked {
            FileFinding::Without => {}
            FileFinding::Unchanged(places) => found.unchanged += places,
            FileFinding::Unread(error) if is_one_file => {
                let is_content = matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable);
                // This tool takes no encoding.
                return Err(if is_content {
                    error.next("Use a program that understands this file type.")
                } else {
                    error
                });
            }
            FileFinding::Unread(error) => match error.code() {
                Code::ContentBinary | Code::ContentUndecodable => found.left.binary += 1,
                Code::FileTooLarge => found.left.large += 1,
                _ => found.left.unread += 1,
            },
            FileFinding::Gone => found.left.unread += 1,
            FileFinding::Guarded => found.left.guarded.push(path.shown()),
            FileFinding::Failed(error) => failed.push(error.prefixed(&format!("{}: ", path.shown()))),
            FileFinding::With(now, resolved, count) => {
                let now = *now;
                bytes += now.snapshot.raw().len().max(resolved.changes.len_after(&now.snapshot));
                if notebook::is_named(&path) {
                    found.left.notebooks.push(path.shown());
                } else if now.meta.links < 2 || names.insert((now.meta.dev, now.meta.ino)) {
                    // Two names of one file count once.
                    found.places.push(count);
                    changing.push((path, now, resolved));
                }
            }
        }
        if changing.len() > REPLACED_FILES_MAX {
            return Err(too_many());
        }
        check_call_size(changing.len(), bytes).map_err(|error| error.next(narrower()))?;
    }
    let of = changing.len() + failed.len();
    failed.truncate(REPORTED_FAILURES_MAX);
    match Error::combine(failed, of) {
        Some(error) => Err(error),
        None if changing.is_empty() => Err(render::not_found(args, &found)),
        None => {
            found.plans = plans_of(call, changing)?;
            Ok(found)
        }
    }
}

/// Returns the files to scan, and what is known of the walk unless the call names a single file.
///
/// Errors: `file.not_found` for a path where nothing is; `call.too_large`, and those of the path.
fn candidate_files(
    call: Call<'_>,
    args: &ReplaceInput,
    handle: &CallHandle,
) -> Result<(Vec<SafePath>, Option<WalkStats>)> {
    let path = call.store().resolve_path(Path::new(&args.path))?;
    let scope = WalkFilter::new(call.caller, &path, &args.glob, args.hidden, args.no_ignore)?;
    if call.store().list(&path)?.is_none() {
        let path = call.resolve_path(&args.path, Access::Write)?;
        if call.store().metadata(&path)?.is_none() {
            return Err(file_not_found(call, &path));
        }
        return Ok((vec![path], None));
    }
    let scope = WalkFilter { handle: Some(handle.clone()), ..scope };
    let mut places = Vec::new();
    handle.begin(CallPhase::Listing, 0);
    let walked = walk::walk(&call, &path, &scope, &mut |path| {
        handle.advance(1);
        places.push(path.clone());
        Ok(ControlFlow::Continue(()))
    })?;
    handle.check()?;
    if walked.cut {
        return Err(Error::new(Code::CallTooLarge, format!("There are too many files below {}.", args.path))
            .next("Name subdirectories, one in each call."));
    }
    if let Some((_, number)) = &walked.long {
        let what = format!("{number} paths below {} have more than {PATH_MAX_BYTES} bytes.", args.path);
        return Err(Error::new(Code::CallTooLarge, what)
            .next("Exclude them with a glob such as \"!name/**\", or name another directory. Nothing was written."));
    }
    Ok((places, Some(walked)))
}

/// Creates the plans. Replaced text was not shown, so it is not known afterwards either, unless the session had
/// read it.
fn plans_of(call: Call<'_>, changing: Vec<(SafePath, LoadedFile, ResolvedEdit)>) -> Result<Vec<FilePlan>> {
    // All files are below one directory, so they have one history.
    let Some((first, ..)) = changing.first() else { return Ok(Vec::new()) };
    let paths: Vec<&[u8]> = changing.iter().map(|(path, ..)| key(path)).collect();
    let known = call.sessions(first).latest_of(&call.caller.session, &paths)?;
    Ok(changing
        .into_iter()
        .zip(known)
        .map(|((path, now, resolved), known)| unseen_plan(path, now, resolved, known))
        .collect())
}

/// Plans the change of a file, with what the session knew of it.
fn unseen_plan(path: SafePath, now: LoadedFile, resolved: ResolvedEdit, known: Option<Record>) -> FilePlan {
    let known = known.filter(|record| record.content == now.snapshot.id());
    let unseen = known.is_none();
    let lines = known.map_or_else(LineSet::all, |record| {
        crate::session::base::after_writing(&record.lines, &now.snapshot, &resolved.changes)
    });
    let plan = FilePlan::edit(path, now, resolved, lines);
    FilePlan { seen: SeenUpdate { unseen, ..plan.seen }, ..plan }
}

/// Returns the advice where too much would change.
fn narrower() -> Advice {
    Advice::named("Narrow {path} or {glob}, and send several calls. Nothing was written.")
        .or("Send several calls, each for fewer files. Nothing was written.")
}

fn too_many() -> Error {
    Error::new(Code::CallTooLarge, format!("More than {REPLACED_FILES_MAX} files would change.")).next(narrower())
}

/// Checks the expected counts before anything is written. A model states the count in place of reads.
///
/// Errors: `match.count`, also if a model states no count.
fn check_counts(caller: &CallContext, args: &ReplaceInput, found: &ReplaceMatches, dry_run: bool) -> Result<()> {
    let (places, files) = (found.total(), found.plans.len());
    if differs(args.expected, places) || differs(args.expected_files, files) {
        return Err(render::wrong_count(args, found));
    }
    if !dry_run && !caller.allows_unread() && args.expected.is_none() {
        return Err(render::count_required(found));
    }
    Ok(())
}

/// True for a number that is not the expected one.
fn differs(expected: Option<usize>, count: usize) -> bool {
    expected.is_some_and(|expected| expected != count)
}
