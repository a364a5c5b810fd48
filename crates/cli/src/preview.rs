//! `emend preview`: what a text of edits says, while it arrives.

use crate::args::PreviewArgs;
use crate::{io_error, show};
use emendate::core::LineKind;
use emendate::core::Result;
use emendate::core::formats::named;
use emendate::core::formats::stream::{Action, Event, Manner, PatchStream};
use serde_json::{Value, json};
use std::io::Read as _;

/// Bytes taken from standard input at once.
const CHUNK: usize = 64 << 10;

/// Reads standard input to its end, telling events as they come.
pub(crate) fn run(args: &PreviewArgs, as_json: bool) -> Result<u8> {
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
        tell(&mut events, as_json)?;
    }
    let understood = stream.finish(&mut events);
    tell(&mut events, as_json)?;
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

fn tell(events: &mut Vec<Event>, as_json: bool) -> Result<()> {
    for event in events.drain(..) {
        if as_json {
            show::value(&object(&event))?;
        } else if let Some(line) = line(&event) {
            show::page(&line)?;
        }
    }
    Ok(())
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
        Event::HunkDone | Event::FileDone => return None,
    })
}
