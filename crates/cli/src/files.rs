//! `read`, `edit`, `multi-edit`, `write` and `apply`: conversion of arguments to the input of the tool of that name.

use crate::args::{
    ApplyArgs, CheckArgs, ConfirmArgs, ConvertArgs, EditArgs, ExtraArgs, MultiEditArgs, OutlineArgs, ReadArgs,
    ScopeArgs, SearchArgs, TextArgs, WriteArgs,
};
use crate::context::CliContext;
use crate::flags::Flags;
use crate::listing::ListingColors;
use crate::output::ChangeView;
use crate::reject_file::RejectFile;
use crate::{approval, git_patch, input, line_slice, output, pager, progress, signals, styled};
use data_encoding::BASE64;
use emendate::core::formats::detect::without_mark;
use emendate::core::formats::malformed;
use emendate::core::line_format::LINE_FORMATS;
use emendate::core::{Code, Error, Result, Vocabulary};
use emendate::exit_status;
use emendate::fs::shown;
use emendate::{AskingCall, CallContext, Engine, LineMatcher, LineRange, RAW_PATH, Reply, SeedCodes, raw_path, tool};
use serde_json::{Map, Value};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// A call of a tool: its name, the path as typed with its field, and the rest of the input.
pub(crate) struct ToolCall {
    tool: &'static str,
    /// The field of a path, and the path; `None` if none was given.
    path: Option<(&'static str, PathBuf)>,
    fields: Map<String, Value>,
    /// The form in which changes are shown.
    view: ChangeView,
    /// The call may take long: a bar shows the progress, and Ctrl-C cancels the call before anything is written.
    long: bool,
    /// Exit status 1 if the reply reports problems, or unknown results.
    finds: bool,
    /// The edit, or the list of edits, came as JSON.
    as_json: bool,
    /// The new file for rejected edits.
    reject_file: Option<PathBuf>,
    /// The exit status is 1 if an edit was skipped.
    whole: bool,
}

impl ToolCall {
    pub(crate) fn new(tool: &'static str, key: &'static str, path: PathBuf, fields: InputFields) -> ToolCall {
        ToolCall::of(tool, Some((key, path)), fields)
    }

    /// The same call with a bar that shows its progress.
    pub(crate) fn long_running(self) -> ToolCall {
        ToolCall { long: true, ..self }
    }

    /// The same call with changes shown in this way.
    pub(crate) fn viewed(self, view: ChangeView) -> ToolCall {
        ToolCall { view, ..self }
    }

    /// Creates a call whose path may be omitted.
    pub(crate) fn of(tool: &'static str, path: Option<(&'static str, PathBuf)>, fields: InputFields) -> ToolCall {
        ToolCall {
            tool,
            path,
            as_json: fields.0.contains_key("edits"),
            fields: fields.0,
            view: ChangeView::Diff,
            long: false,
            finds: false,
            reject_file: None,
            whole: false,
        }
    }
}

/// The fields whose empty value is a text of its own: to be filled, written or searched for.
const TEXT_FIELDS: &[&str] = &[
    "old_string", "new_string", "content", "text", "input", "pattern", "new_text", "new_source", "start_line_text",
    "end_line_text",
];

/// Refuses an empty value of an option: in a script, it comes from a variable that is not set. The engine takes it for an
/// option that was not given, as models mean it.
///
/// Errors: `call.invalid`.
fn check_filled(ask: &ToolCall) -> Result<()> {
    let may_be_empty =
        |field: &str| TEXT_FIELDS.contains(&field) && (ask.tool, field) != ("replace_in_files", "old_string");
    let Some((field, _)) = ask.fields.iter().find(|(field, value)| *value == "" && !may_be_empty(field)) else {
        return Ok(());
    };
    let name = Flags::of(ask.tool, ask.as_json).field(field).unwrap_or_else(|| "an argument".to_owned());
    Err(usage(&format!("The value of {name} is empty."), "Give a value; an option can be omitted instead."))
}

/// Calls the tool and shows the reply; returns the exit status.
pub(crate) fn run(context: &CliContext<'_>, ask: Result<ToolCall>) -> u8 {
    let seed = ask.as_ref().ok().and_then(|ask| tool(ask.tool)).map_or(SeedCodes::None, |tool| tool.seed);
    let opened = ask.and_then(|mut ask| {
        check_filled(&ask)?;
        let path = ask.path.take().map(|(key, path)| spelled(ask.tool, key, context.absolute(&path)?));
        Ok((path.transpose()?, ask, context.open()?))
    });
    let opened = opened.and_then(|(path, ask, engine)| {
        let is_dry = context.global.dry_run || ask.fields.get("dry_run").is_some_and(|it| *it == true);
        let reject_file = ask.reject_file.as_deref().filter(|_| !is_dry).map(RejectFile::create).transpose()?;
        Ok((path, ask, engine, reject_file))
    });
    let (path, mut ask, engine, reject_file) = match opened {
        Ok(all) => all,
        Err(error) => {
            return output::reply(context, &Reply::refusal(error, seed), ChangeView::Diff, &ListingColors::default());
        }
    };
    pager::configure(engine.config().pager());
    ask.fields.extend(path.map(|(key, path)| (key.to_owned(), Value::from(path))));
    let input = Value::Object(ask.fields);
    signals::end_programs_on_signal(&engine, !ask.long);
    context.note_missing_history(ask.tool);
    // A program that reads JSON also writes it: its advice stays in the fields of calls.
    let flags = (!context.global.json).then(|| Flags::of(ask.tool, ask.as_json));
    let names = flags.as_ref().map(|flags| -> &dyn Vocabulary { flags });
    let asking = AskingCall { profile: None, tool: ask.tool, input: &input };
    let mut reply = approval::call_or_wait(context, &engine, asking, |caller| {
        let call = |caller: &CallContext| engine.call_as(caller, ask.tool, input.clone(), names);
        if ask.long { progress::with_progress(caller.clone(), call) } else { call(caller) }
    });
    if ask.tool == "history" && ask.view == ChangeView::Diff && !context.global.json && !io::stdout().is_terminal() {
        git_patch::complete(&engine, &context.caller(), &input, &mut reply);
    }
    let rejected = reject_file.map_or(Ok(()), |file| file.keep(&reply));
    let colors = listing_colors(context, &engine, ask.tool, &input, &reply);
    let mut status = output::reply(context, &reply, ask.view, &colors);
    if ask.tool == "convert" && !context.global.json {
        output::notes_beside(&reply);
    }
    output::notices(&engine);
    if let Err(error) = rejected {
        output::error(&error);
        status = exit_status(error.code());
    }
    let found = ask.finds && finds(&reply) || ask.whole && left_out(&reply);
    if found && status == 0 { 1 } else { status }
}

/// Collects the facts that the colours of a reply depend on.
fn listing_colors(
    context: &CliContext<'_>,
    engine: &Engine,
    tool: &'static str,
    input: &Value,
    reply: &Reply,
) -> ListingColors {
    let is_file = tool == "read" && input["format"] == "plain";
    let colors = ListingColors { tool, is_file, ..ListingColors::default() };
    let (true, Ok(answer)) = (styled::has_color() && !context.global.json, &reply.result) else { return colors };
    let numbered = input["format"].as_str().is_none_or(|format| format == LINE_FORMATS[0].name);
    match tool {
        "search" => {
            let is_set = |field: &str| input[field] == true;
            let pattern = input["pattern"].as_str().filter(|_| !is_set("multiline"));
            let matcher = pattern.and_then(|it| LineMatcher::new(it, is_set("literal"), is_set("ignore_case")));
            ListingColors { numbered, matcher, ..colors }
        }
        "read" if numbered => {
            let range = number(&answer.data, "offset").zip(number(&answer.data, "lines"));
            let path = input["file_path"].as_str().map(Path::new);
            let tokens = path.zip(range).map(|(path, (first, lines))| {
                engine.review().line_colors(&context.caller(), path, LineRange { first, last: first + lines })
            });
            ListingColors { numbered, tokens: tokens.unwrap_or_default(), ..colors }
        }
        _ => colors,
    }
}

/// Returns a number of a reply.
fn number(data: &Map<String, Value>, field: &str) -> Option<usize> {
    data.get(field).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok())
}

/// True when the reply reports a problem, or an unknown result.
fn finds(reply: &Reply) -> bool {
    has_count(reply, "problems") || has_count(reply, "unknown")
}

/// True for a reply whose count under `key` is not zero.
fn has_count(reply: &Reply, key: &str) -> bool {
    reply.result.as_ref().is_ok_and(|answer| answer.data.get(key).is_some_and(|it| *it != 0))
}

/// True if edits could not be applied.
fn left_out(reply: &Reply) -> bool {
    reply.result.as_ref().is_ok_and(|answer| answer.data.contains_key("rejected"))
}

/// Returns the field for a path, and its text: bytes in base64 if it is not UTF-8 and the tool accepts that.
fn spelled(tool: &str, key: &'static str, path: PathBuf) -> Result<(&'static str, String)> {
    match (path.into_os_string().into_string(), emendate::tool(tool)) {
        (Ok(path), _) => Ok((key, path)),
        (Err(path), Some(tool)) if tool.takes_raw_paths() && matches!(key, "file_path" | "path") => {
            Ok((RAW_PATH, raw_path(Path::new(&path)).unwrap_or_default()))
        }
        (Err(path), _) => Err(Error::new(
            Code::PathInvalid,
            format!("The path {} is not UTF-8, and this command cannot name it.", shown(&path)),
        )
        .next("Rename the file, or make a link with another name to it.")),
    }
}

/// Fields of an input; those without a value are omitted.
#[derive(Default)]
pub(crate) struct InputFields(Map<String, Value>);

impl InputFields {
    /// Adds the filters for the files of a directory.
    fn scope(self, scope: &ScopeArgs) -> InputFields {
        self.put("glob", (!scope.glob.is_empty()).then(|| scope.glob.clone()))
            .put("hidden", scope.hidden.then_some(true))
            .put("no_ignore", scope.no_ignore.then_some(true))
    }

    pub(crate) fn put(mut self, name: &str, value: Option<impl Into<Value>>) -> InputFields {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    pub(crate) fn extras(self, extras: &ExtraArgs) -> InputFields {
        self.put("tag", extras.tag.clone())
            .put("encoding", extras.encoding.clone())
            .put("allow_invalid", extras.allow_invalid.then_some(true))
            .confirmed(extras.confirm)
    }

    fn confirmed(self, confirm: ConfirmArgs) -> InputFields {
        self.put("repeat", confirm.repeat.then_some(true)).put("irreversible", confirm.irreversible.then_some(true))
    }
}

/// Reads files one after another; returns the status of the first that failed.
pub(crate) fn read_all(context: &CliContext<'_>, args: &ReadArgs) -> u8 {
    let mut status = 0;
    for (nth, path) in args.paths.iter().enumerate() {
        if args.paths.len() > 1 && !context.global.json {
            // As `head` does it.
            let gap = if nth == 0 { "" } else { "\n" };
            let _ = output::heading(&format!("{gap}==> {} <==", shown(path)));
        }
        let one = run(context, read(path, args));
        status = if status == 0 { one } else { status };
    }
    status
}

/// Builds the input of `read`.
fn read(path: &Path, args: &ReadArgs) -> Result<ToolCall> {
    let (path, range) = line_slice::range(path)?;
    let (mut offset, mut limit) = (args.offset, args.limit);
    if let Some((from, lines)) = range {
        if offset.is_some() || limit.is_some() {
            return Err(usage("The lines are given twice.", "Use either PATH:A-B, or --offset and --limit."));
        }
        (offset, limit) = (Some(from), lines);
    }
    let fields = InputFields(Map::new())
        .put("offset", offset)
        .put("limit", limit)
        .put("format", args.format.clone())
        .put("encoding", args.encoding.clone())
        .put("symbol", args.symbol.clone())
        .put("cells", args.part.cells.clone())
        .put("pages", args.part.pages.clone())
        .put("base64", args.part.base64.then_some(true))
        .put("max_side", args.part.max_side);
    Ok(ToolCall::new("read", "file_path", path, fields))
}

/// Builds the input of `outline`.
pub(crate) fn outline(args: &OutlineArgs) -> ToolCall {
    ToolCall::new("outline", "file_path", args.path.clone(), InputFields::default().scope(&args.scope))
}

/// Builds the input of `check`.
///
/// Errors: relative paths if the current directory was removed, and paths that are not UTF-8.
pub(crate) fn check(context: &CliContext<'_>, args: &CheckArgs) -> Result<ToolCall> {
    let paths: Vec<String> = args
        .paths
        .iter()
        .map(|path| {
            let path = context.absolute(path)?;
            path.to_str()
                .map(str::to_owned)
                .ok_or_else(|| usage(&format!("{} is not UTF-8.", shown(&path)), "Name the file by a link to it."))
        })
        .collect::<Result<_>>()?;
    let fields =
        InputFields::default().put("paths", Some(paths)).put("timeout_ms", Some(u64::from(args.timeout) * 1000));
    Ok(ToolCall { finds: true, ..ToolCall::of("check", None, fields) })
}

/// Builds the input of `search`.
pub(crate) fn search(args: &SearchArgs) -> ToolCall {
    let fields = InputFields(Map::new())
        .put("pattern", Some(args.pattern.clone()))
        .put("literal", args.literal.then_some(true))
        .put("ignore_case", args.ignore_case.then_some(true))
        .put("multiline", args.multiline.then_some(true))
        .scope(&args.scope)
        .put("context", args.context)
        .put("limit", args.limit)
        .put("format", args.format.clone());
    ToolCall::new("search", "path", args.path.clone(), fields)
}

/// Builds the input of `replace_in_files`.
pub(crate) fn replace(args: &crate::args::replace::ReplaceArgs) -> ToolCall {
    let fields = InputFields(Map::new())
        .put(if args.regex { "pattern" } else { "old_string" }, Some(args.old.clone()))
        .put("new_string", Some(args.new.clone()))
        .put("regex", args.regex.then_some(true))
        .put("ignore_case", args.ignore_case.then_some(true))
        .put("multiline", args.multiline.then_some(true))
        .scope(&args.scope)
        .put("expected", args.expect)
        .put("expected_files", args.expect_files)
        .put("allow_invalid", args.allow_invalid.then_some(true))
        .confirmed(args.confirm);
    ToolCall { long: true, ..ToolCall::new("replace_in_files", "path", args.path.clone(), fields) }
}

/// Builds the input of `edit`.
pub(crate) fn edit(args: &EditArgs) -> Result<ToolCall> {
    let (fields, as_json) = match (old(args)?, new(args)?) {
        (Some(old), Some(new)) => {
            (InputFields(Map::new()).put("old_string", Some(old)).put("new_string", Some(new)), false)
        }
        _ => (InputFields(object(&input::stdin("a JSON object with old_string and new_string")?)?), true),
    };
    let fields = fields
        .put("at", args.at.clone())
        .put("replace_all", args.all.then_some(true))
        .put("expected_replacements", args.expect)
        .put("match", args.matching.r#match.clone())
        .extras(&args.extras);
    Ok(ToolCall { as_json, ..ToolCall::new("edit", "file_path", args.path.clone(), fields) })
}

fn old(args: &EditArgs) -> Result<Option<String>> {
    let both = [&args.old_file, &args.new_file].iter().all(|file| file.as_deref() == Some(Path::new("-")));
    if both {
        return Err(usage("Standard input cannot be both texts.", "Give one of them by a file or as an argument."));
    }
    given(args.old.as_ref(), args.old_file.as_deref(), "the text to replace")
}

fn new(args: &EditArgs) -> Result<Option<String>> {
    given(args.new.as_ref(), args.new_file.as_deref(), "the new text")
}

pub(crate) fn given(argument: Option<&String>, file: Option<&Path>, what: &str) -> Result<Option<String>> {
    match (argument, file) {
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(file)) => input::text(file, what).map(Some),
        (None, None) => Ok(None),
    }
}

/// Parses a JSON object that contains everything except for the path.
fn object(text: &str) -> Result<Map<String, Value>> {
    if text.trim().is_empty() {
        let next = "Give --old and --new, or {\"old_string\": …, \"new_string\": …} on standard input.";
        return Err(usage("The text to replace is missing.", next));
    }
    match serde_json::from_str(without_mark(text)).map_err(|error| malformed(&error))? {
        Value::Object(fields) if fields.contains_key("file_path") => {
            Err(usage("The file is given twice.", "Omit file_path, or use `emend call edit`."))
        }
        Value::Object(fields) => Ok(fields),
        _ => Err(usage("The input must be a JSON object.", "Send {\"old_string\": …, \"new_string\": …}.")),
    }
}

/// Builds the input of `multi_edit`.
pub(crate) fn multi_edit(args: &MultiEditArgs) -> Result<ToolCall> {
    let edits = edits_of(&args.edits)?;
    let fields = InputFields(Map::new())
        .put("edits", Some(edits))
        .put("order", args.in_turn.then_some("in_turn"))
        .put("match", args.matching.r#match.clone())
        .extras(&args.extras);
    Ok(ToolCall::new("multi_edit", "file_path", args.path.clone(), fields))
}

/// Reads a JSON array of edits.
pub(crate) fn edits_of(file: &Path) -> Result<Value> {
    let text = input::text(file, "a JSON array of edits")?;
    let edits: Value = serde_json::from_str(without_mark(&text))
        .map_err(|error| malformed(&error).next("Send a JSON array, one object for each edit."))?;
    if edits.is_array() {
        return Ok(edits);
    }
    Err(usage("The edits must be a JSON array.", "Send [{…}, …], one object for each edit."))
}

/// Builds the input of `write`.
pub(crate) fn write(args: &WriteArgs) -> Result<ToolCall> {
    let content = input::text(&args.from, "the text of the file")?;
    let fields = InputFields(Map::new()).put("content", Some(content)).extras(&args.extras);
    Ok(ToolCall::new("write", "file_path", args.path.clone(), fields))
}

/// Builds the input of `apply`.
pub(crate) fn apply(args: &ApplyArgs) -> Result<ToolCall> {
    let patch = &args.patch;
    let fields = edits_as_they_are(&args.text)?
        .put("three_way", patch.three_way.then_some(true))
        .put("reject", patch.reject.then_some(true))
        .put("context", patch.context)
        .put("whitespace", patch.whitespace.clone())
        .put("only", (!patch.only.0.is_empty()).then(|| patch.only.0.clone()))
        .put("overwrite", args.overwrite.then_some(true))
        .put("partial", (args.partial || args.reject_file.is_some()).then_some(true))
        .put("allow_invalid", args.allow_invalid.then_some(true))
        .confirmed(args.confirm)
        .put("dry_run", args.check.then_some(true))
        .put("match", args.matching.r#match.clone());
    let ask = ToolCall::new("apply", "directory", args.text.directory.clone().unwrap_or_default(), fields);
    let view = if args.check { ChangeView::Summary } else { ChangeView::Diff };
    let whole = patch.reject || args.reject_file.is_some() || args.check;
    Ok(ToolCall { long: true, view, reject_file: args.reject_file.clone(), whole, ..ask })
}

/// Builds the input of `convert`.
pub(crate) fn convert(args: &ConvertArgs) -> Result<ToolCall> {
    let fields = edits(&args.text)?.put("to", Some(args.to.clone()));
    Ok(ToolCall::new("convert", "directory", args.text.directory.clone().unwrap_or_default(), fields))
}

/// Adds edits as text.
fn edits(args: &TextArgs) -> Result<InputFields> {
    Ok(parse_fields(args).put("input", Some(input::text(&args.edits, "the edits")?)))
}

/// Adds edits as text, or as bytes if they are not UTF-8.
fn edits_as_they_are(args: &TextArgs) -> Result<InputFields> {
    let fields = parse_fields(args);
    Ok(match String::from_utf8(input::bytes(&args.edits, "the edits")?) {
        Ok(text) => fields.put("input", Some(text)),
        Err(error) => fields.put("input_b64", Some(BASE64.encode(error.as_bytes()))),
    })
}

/// Returns the fields that say how a text of edits is parsed.
fn parse_fields(args: &TextArgs) -> InputFields {
    InputFields::default()
        .put("format", args.format.clone())
        .put("file", args.file.clone())
        .put("strip", args.strip)
        .put("reverse", args.reverse.then_some(true))
}

pub(crate) fn usage(what: &str, next: &str) -> Error {
    Error::new(Code::CallInvalid, what).next(next)
}
