//! The tool `list`: the files below a directory, without ignored ones.

use crate::context::call::Call;
use crate::context::walk::{self, WalkFilter, WalkStats};
use crate::model::call_handle::CallPhase;
use crate::model::raw_path::{self, RawPath};
use crate::model::reply::{Answer, counted};
use crate::model::reply_limits::note_part;
use crate::tools::aliases::{DIRECTORY_NAMES, alias};
use crate::tools::outputs::FILES_BELOW;
use crate::tools::shown_count::ShownCount;
use crate::tools::tool::{Annotations, Tool};
use crate::tools::tool_input::ToolInput;
use emendate_core::{Advice, Code, Error, Notes, Result, formats, work};
use emendate_fs::{SafePath, shown};
use emendate_os::paths::with_slashes;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

/// The entries of a reply.
pub(crate) const ENTRIES: ShownCount = ShownCount { default: 500, most: 10_000, what: "entries" };

/// The input of `list`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct ListInput {
    /// The absolute path of the directory.
    path: String,
    /// Levels of directories to show; what is deeper is counted (default: all).
    #[serde(default)]
    depth: Option<usize>,
    /// Only these files: `*.rs`, `src/**`; a pattern that starts with `!` excludes.
    #[serde(default)]
    glob: Vec<String>,
    /// Also files and directories whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Also what .gitignore and .ignore files exclude.
    #[serde(default)]
    no_ignore: bool,
    /// Entries to show (default 500).
    #[serde(default)]
    limit: Option<usize>,
}

/// A file, or a directory that is not shown in detail.
struct ListEntry {
    /// The path of the entry relative to the listed directory; a directory ends with `/`.
    name: String,
    /// Number of files in it.
    files: usize,
}

/// The row of the tool `list` in the table.
pub(crate) const TOOL: Tool = Tool {
    name: "list",
    title: "List files",
    summary: "list the files below a directory, without ignored and hidden ones",
    prompt: "\
Lists the files below a directory, one path a line, relative to it. Ignored (.gitignore) and hidden files are skipped unless no_ignore or hidden is set; glob picks files. With depth, what is deeper is counted by directory.",
    annotations: Annotations::READS,
    rest: "Name a directory below it, or give depth or glob.",
    example: r#"{"path": "/work/src", "depth": 2}"#,
    other_names: &["ls", "list_files", "list_dir", "list_directory"],
    aliases: &[alias("path", DIRECTORY_NAMES), alias("depth", &["max_depth", "levels"])],
    outputs: &[&FILES_BELOW],
    input: ToolInput::new(|call, _, input| list(call, input), || vec![schema_for!(ListInput), schema_for!(RawPath)]),
    ..Tool::ROW
};

/// Runs the tool `list`.
pub(crate) fn list(call: Call<'_>, mut input: Value) -> Result<Answer> {
    let raw = raw_path::take_beside(&mut input, "path")?;
    let args: ListInput = formats::from_json(formats::FormatInput::Json(input))?;
    let path = call.store().resolve_path(raw.as_deref().unwrap_or(Path::new(&args.path)))?;
    if call.store().list(&path)?.is_none() {
        if let Ok(Some(_)) = call.store().metadata(&path) {
            return Err(Error::new(Code::PathInvalid, "The path is a file, not a directory.")
                .evidence(path.shown())
                .next(format!("Read it, or list {}.", shown(path.absolute().parent().unwrap_or(path.absolute())))));
        }
        return Err(Error::new(Code::FileMissing, "The directory does not exist.")
            .evidence(path.shown())
            .next("List the directory above it to see the names that are there."));
    }
    files_below(call, &path, &args)
}

/// Lists a directory like the tool without further fields; `None` for anything else.
pub(crate) fn list_directory(call: Call<'_>, path: &SafePath) -> Option<Result<Answer>> {
    let args =
        ListInput { path: String::new(), depth: None, glob: Vec::new(), hidden: false, no_ignore: false, limit: None };
    call.store().list(path).ok()??;
    Some(files_below(call, path, &args))
}

fn files_below(call: Call<'_>, path: &SafePath, args: &ListInput) -> Result<Answer> {
    let scope = WalkFilter::new(call.caller, path, &args.glob, args.hidden, args.no_ignore)?;
    let mut notes = Notes::new();
    let limit = ENTRIES.checked(args.limit, &mut notes)?;
    let depth = args.depth.unwrap_or(usize::MAX).max(1);
    let (mut entries, mut files): (Vec<ListEntry>, usize) = (Vec::new(), 0);
    call.caller.begin(CallPhase::Reading, 0);
    let walked = walk::walk(&call, path, &scope, &mut |file| {
        files += 1;
        let below = file.absolute().strip_prefix(path.absolute()).unwrap_or(file.absolute());
        let name = collapse_path(below, depth);
        let full = entries.len() > limit;
        match entries.last_mut() {
            Some(last) if last.name == name => last.files += 1,
            _ if full => {}
            _ => entries.push(ListEntry { name, files: 1 }),
        }
        work::spend(1)?;
        call.caller.advance()?;
        Ok(ControlFlow::Continue(()))
    })?;
    call.caller.check_cancelled()?;
    let cut = entries.len() > limit;
    entries.truncate(limit);
    let listing = Listing { path: &path.shown(), entries: &entries, files, cut, limit };
    Ok(listing.answer(call, &walked, notes))
}

/// Returns a path relative to the listed directory, or its ancestor at the requested depth.
fn collapse_path(below: &Path, depth: usize) -> String {
    if below.components().count() <= depth {
        return with_slashes(&shown(below)).into_owned();
    }
    let top: std::path::PathBuf = below.components().take(depth).collect();
    format!("{}/", with_slashes(&shown(&top)))
}

/// The entries below a directory.
struct Listing<'a> {
    path: &'a str,
    entries: &'a [ListEntry],
    /// Number of all files.
    files: usize,
    /// There are more than `limit` entries.
    cut: bool,
    limit: usize,
}

impl Listing<'_> {
    /// Appends the entries for which there is room; returns their number.
    fn write(&self, text: &mut String, room: usize) -> usize {
        let mut chars = text.chars().count();
        for (shown, ListEntry { name, files }) in self.entries.iter().enumerate() {
            let before = text.len();
            text.push_str(name);
            if name.ends_with('/') {
                let _ = write!(text, " ({})", counted(*files, "file"));
            }
            text.push('\n');
            chars += text[before..].chars().count();
            if chars > room {
                text.truncate(before);
                return shown;
            }
        }
        self.entries.len()
    }

    /// Returns the advice for entries that are not shown. A larger limit is of no use if the text has no room.
    fn advice(&self, fits: bool) -> Advice {
        let in_directories = self.entries.iter().any(|entry| entry.name.contains('/'));
        let narrower = if in_directories {
            Advice::named("name a directory below it, or give {depth} or {glob}.")
                .or(Advice::named("name a directory below it, or give {list()} a {list.depth} or {list.glob}."))
                .or("name a directory below it.")
        } else {
            Advice::named("give {glob}.")
                .or(Advice::named("give {list()} a {list.glob}."))
                .or("this tool cannot show the rest.")
        };
        match fits && self.cut && self.limit < ENTRIES.most {
            true if in_directories => {
                Advice::named("name a directory below it, give {depth} or {glob}, or raise {limit}.").or(narrower)
            }
            true => Advice::named("give {glob}, or raise {limit}.").or(narrower),
            false => narrower,
        }
    }

    fn answer(&self, call: Call<'_>, walked: &WalkStats, mut notes: Notes) -> Answer {
        let Listing { path, entries, files, cut, .. } = *self;
        let mut text = format!("{} below {path}\n", counted(files, "file"));
        let room = call.reply_limits().text;
        // The rest is for notes.
        let shown = self.write(&mut text, room - room / 8);
        let fits = shown == entries.len();
        if cut || walked.cut || !fits {
            notes.push(format!("Not everything is shown: {}", call.render(&self.advice(fits))));
        }
        if walked.denied > 0 {
            notes.push(format!("{} may not be read.", counted(walked.denied, "file")));
        }
        let unlisted = walked.closed + walked.unreached;
        if unlisted > 0 {
            notes.push(format!("{} could not be listed.", counted(unlisted, "entry")));
        }
        notes.extend(walked.long_paths().map(|paths| format!("Not listed: {paths}.")));
        if files == 0 && notes.is_empty() {
            notes.push("Hidden and ignored files are skipped unless the call asks for them.".to_owned());
        }
        let reminders = notes.texts();
        let names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
        let data = json!({ "directory": path, "entries": names, "files": files, "truncated": cut || walked.cut, "notes": notes });
        let mut answer = Answer { reminders, ..Answer::with_data(text, data) };
        note_part(&mut answer.data, "text", "entries", shown, entries.len());
        answer
    }
}
