//! `emend preview`: the edits in a text while it arrives, and the effect of its line operations on the files.

use crate::args::PreviewArgs;
use crate::context::CliContext;
use crate::{io_error, output};
use emendate::core::HunkLineKind;
use emendate::core::Result;
use emendate::core::formats::format_by_name;
use emendate::core::formats::line_parser::{FileActionKind, ParseOptions, StreamEvent};
use emendate::core::formats::stream::PatchStream;
use emendate::core::{Handle, Op};
use emendate::{CallContext, Engine, LinePreview};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::io::Read as _;
use std::path::PathBuf;

/// Bytes read from standard input at a time.
const CHUNK_BYTES: usize = 64 << 10;

/// Prints events as they occur.
struct Viewer<'a> {
    context: &'a CliContext<'a>,
    /// Opened for the first line operation; `None` if there is nothing to look up.
    engine: OnceCell<Option<(Engine, CallContext)>>,
    /// The file of the previous event.
    path: String,
    as_json: bool,
}

/// Reads standard input to its end, and prints the events.
pub(crate) fn run(context: &CliContext<'_>, args: &PreviewArgs) -> Result<u8> {
    let as_json = context.global.json;
    let mut viewer = Viewer { context, engine: OnceCell::new(), path: String::new(), as_json };
    let mut stream = PatchStream::new(args.format.as_deref().and_then(format_by_name), ParseOptions::default());
    let mut input = std::io::stdin().lock();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut events = Vec::new();
    loop {
        let count = input.read(&mut chunk).map_err(|error| io_error("standard input", &error))?;
        if count == 0 {
            break;
        }
        stream.push(&chunk[..count], &mut events);
        viewer.tell(&mut events)?;
    }
    let understood = stream.finish(&mut events);
    viewer.tell(&mut events)?;
    let understood = understood?;
    let files = understood.request.files.len();
    let format = understood.format.spec().name;
    if as_json {
        output::value(&json!({ "event": "end", "format": format, "files": files, "notes": understood.request.notes }))?;
    } else {
        output::page(&format!("{format}: {files} {}", if files == 1 { "file" } else { "files" }))?;
        understood.request.notes.iter().for_each(|note| output::note(&note.to_string()));
    }
    Ok(0)
}

impl Viewer<'_> {
    fn tell(&mut self, events: &mut Vec<StreamEvent>) -> Result<()> {
        for event in events.drain(..) {
            if let StreamEvent::File { path, .. } = &event {
                self.path.clone_from(path);
            }
            if let StreamEvent::Rows { op, base } = &event {
                self.rows(op, *base)?;
            } else if self.as_json {
                output::value(&object(&event))?;
            } else if let Some(line) = line(&event) {
                output::page(&line)?;
            }
        }
        Ok(())
    }

    /// Prints a line operation as it would apply to the file. One that cannot be placed is omitted.
    fn rows(&self, op: &Op, base: Option<Handle>) -> Result<()> {
        let context = self.context;
        let open = || context.open_read_only().ok().map(|engine| (engine, context.caller()));
        let Some((engine, caller)) = self.engine.get_or_init(open) else { return Ok(()) };
        let path = context.cwd.clone().unwrap_or_default().join(PathBuf::from(&self.path));
        let Some(preview) = engine.preview_lines(caller, &path, op, base) else { return Ok(()) };
        if self.as_json {
            return output::value(&edit(&self.path, &preview));
        }
        output::page(&format!("  = {}", headline(&preview)))?;
        preview.old.iter().try_for_each(|old| output::page(&format!("    was {old}")))
    }
}

fn edit(path: &str, preview: &LinePreview) -> Value {
    let LinePreview { verb, at, range, old, text } = preview;
    json!({ "event": "edit", "path": path, "verb": verb, "at": at, "range": range, "old": old, "text": text })
}

fn headline(preview: &LinePreview) -> String {
    let LinePreview { verb, at, range, .. } = preview;
    match (at, range) {
        (Some(at), Some([line, _])) => format!("{verb} {at} {line}"),
        (Some(at), None) => format!("{verb} {at}"),
        (None, Some([from, to])) => format!("{verb} {from}..{to}"),
        (None, None) => (*verb).to_owned(),
    }
}

fn word(action: &FileActionKind) -> &'static str {
    match action {
        FileActionKind::Add => "add",
        FileActionKind::Update => "update",
        FileActionKind::Delete => "delete",
        FileActionKind::Move { .. } => "move",
        FileActionKind::Write => "write",
    }
}

fn mark(kind: HunkLineKind) -> &'static str {
    match kind {
        HunkLineKind::Context | HunkLineKind::Bare => " ",
        HunkLineKind::Removed => "-",
        HunkLineKind::Added => "+",
    }
}

fn object(event: &StreamEvent) -> Value {
    match event {
        StreamEvent::File { path, action } => {
            let to = if let FileActionKind::Move { to } = action { Some(to) } else { None };
            json!({ "event": "file", "path": path, "action": word(action), "to": to })
        }
        StreamEvent::Hunk { line } => json!({ "event": "hunk", "line": line }),
        StreamEvent::Line { kind, text } => json!({ "event": "line", "mark": mark(*kind), "text": text }),
        StreamEvent::Rows { .. } => Value::Null,
        StreamEvent::HunkDone => json!({ "event": "hunk_done" }),
        StreamEvent::FileDone => json!({ "event": "file_done" }),
    }
}

fn line(event: &StreamEvent) -> Option<String> {
    Some(match event {
        StreamEvent::File { path, action: FileActionKind::Move { to } } => format!("move {path} -> {to}"),
        StreamEvent::File { path, action } => format!("{} {path}", word(action)),
        StreamEvent::Hunk { line } => format!("  @@ line {line}"),
        StreamEvent::Line { kind, text } => format!("  {}{text}", mark(*kind)),
        StreamEvent::Rows { .. } | StreamEvent::HunkDone | StreamEvent::FileDone => return None,
    })
}
