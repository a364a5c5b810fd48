//! `emend preview`: the edits in a text while it arrives, and the effect of its line operations on the files.

use crate::args::PreviewArgs;
use crate::desk::Desk;
use crate::{io_error, show};
use emendate::core::LineKind;
use emendate::core::Result;
use emendate::core::formats::named;
use emendate::core::formats::stream::{Action, Event, Manner, PatchStream};
use emendate::core::{Handle, Op};
use emendate::{Caller, Engine, LinePreview};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::io::Read as _;
use std::path::PathBuf;

/// Bytes read from standard input at a time.
const CHUNK: usize = 64 << 10;

/// Prints events as they occur.
struct Viewer<'a> {
    desk: &'a Desk<'a>,
    /// Opened for the first line operation; `None` if there is nothing to look up.
    engine: OnceCell<Option<(Engine, Caller)>>,
    /// The file of the previous event.
    path: String,
    as_json: bool,
}

/// Reads standard input to its end, and prints the events.
pub(crate) fn run(desk: &Desk<'_>, args: &PreviewArgs) -> Result<u8> {
    let as_json = desk.global.json;
    let mut viewer = Viewer { desk, engine: OnceCell::new(), path: String::new(), as_json };
    let mut stream = PatchStream::new(args.format.as_deref().and_then(named), Manner::default());
    let mut input = std::io::stdin().lock();
    let mut chunk = vec![0; CHUNK];
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
        show::value(&json!({ "event": "end", "format": format, "files": files, "notes": understood.request.notes }))?;
    } else {
        show::page(&format!("{format}: {files} {}", if files == 1 { "file" } else { "files" }))?;
        understood.request.notes.iter().for_each(|note| show::note(note));
    }
    Ok(0)
}

impl Viewer<'_> {
    fn tell(&mut self, events: &mut Vec<Event>) -> Result<()> {
        for event in events.drain(..) {
            if let Event::File { path, .. } = &event {
                self.path.clone_from(path);
            }
            if let Event::Rows { op, base } = &event {
                self.rows(op, *base)?;
            } else if self.as_json {
                show::value(&object(&event))?;
            } else if let Some(line) = line(&event) {
                show::page(&line)?;
            }
        }
        Ok(())
    }

    /// Prints a line operation as it would apply to the file. One that cannot be placed is left out.
    fn rows(&self, op: &Op, base: Option<Handle>) -> Result<()> {
        let desk = self.desk;
        let open = || desk.open_to_look().ok().map(|engine| (engine, desk.caller()));
        let Some((engine, caller)) = self.engine.get_or_init(open) else { return Ok(()) };
        let path = desk.cwd.clone().unwrap_or_default().join(PathBuf::from(&self.path));
        let Some(preview) = engine.preview_lines(caller, &path, op, base) else { return Ok(()) };
        if self.as_json {
            return show::value(&edit(&self.path, &preview));
        }
        show::page(&format!("  = {}", headline(&preview)))?;
        preview.old.iter().try_for_each(|old| show::page(&format!("    was {old}")))
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

fn word(action: &Action) -> &'static str {
    match action {
        Action::Add => "add",
        Action::Update => "update",
        Action::Delete => "delete",
        Action::Move { .. } => "move",
        Action::Write => "write",
    }
}

fn mark(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Context | LineKind::Bare => " ",
        LineKind::Removed => "-",
        LineKind::Added => "+",
    }
}

fn object(event: &Event) -> Value {
    match event {
        Event::File { path, action } => {
            let to = if let Action::Move { to } = action { Some(to) } else { None };
            json!({ "event": "file", "path": path, "action": word(action), "to": to })
        }
        Event::Hunk { line } => json!({ "event": "hunk", "line": line }),
        Event::Line { kind, text } => json!({ "event": "line", "mark": mark(*kind), "text": text }),
        Event::Rows { .. } => Value::Null,
        Event::HunkDone => json!({ "event": "hunk_done" }),
        Event::FileDone => json!({ "event": "file_done" }),
    }
}

fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::File { path, action: Action::Move { to } } => format!("move {path} -> {to}"),
        Event::File { path, action } => format!("{} {path}", word(action)),
        Event::Hunk { line } => format!("  @@ line {line}"),
        Event::Line { kind, text } => format!("  {}{text}", mark(*kind)),
        Event::Rows { .. } | Event::HunkDone | Event::FileDone => return None,
    })
}
