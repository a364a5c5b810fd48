//! Events about calls and their results, for the owner of the machine (`emend stats`, `[events]`).

use crate::caller::Caller;
use crate::config::Config;
use crate::engine::Engine;
use crate::policy;
use crate::reply::Reply;
use crate::shelves::State;
use emendate_core::Vocabulary;
use emendate_events::{Begun, Event, Sink};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the counters file in the state directory.
pub const COUNTERS: &str = "counts";
/// Paths of one event.
const PATHS: usize = 100;

/// The origin of a call, for events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Front {
    /// The front end: `cli`, `call`, `serve`, `mcp` or `hook`.
    pub transport: &'static str,
    /// Its profile, if it has one.
    pub profile: &'static str,
    /// The calling program by its own name.
    pub client: String,
    /// The model, if it is known.
    pub model: String,
    /// The trace that its calls belong to, as W3C's `traceparent`, if it is known.
    pub traceparent: String,
}

impl Front {
    /// Creates the info for a front end and the model behind it.
    pub fn new(transport: &'static str, model: Option<&str>) -> Arc<Front> {
        Arc::new(Front { transport, model: model.unwrap_or_default().to_owned(), ..Front::default() })
    }
}

/// Opens the target of events according to the configuration; also returns a notice about it.
pub(crate) fn sink(config: &Config, state: &State) -> (Sink, Option<String>) {
    let directory = match state {
        State::Directory(directory) => Some(directory),
        State::Memory | State::Nowhere => None,
    };
    let mut sink = Sink::default();
    if let Some(directory) = directory.filter(|_| config.events.counts) {
        sink = sink.counters(directory.join(COUNTERS));
    }
    let Some(file) = config.events.file.as_deref() else { return (sink, None) };
    let path = match (file.strip_prefix("~/"), config.home(), directory) {
        (Some(rest), Some(home), _) => home.join(rest),
        _ if Path::new(file).is_absolute() => PathBuf::from(file),
        (None, _, Some(directory)) => directory.join(file),
        _ => return (sink, Some(format!("Events are not written: there is no folder that `{file}` could be in."))),
    };
    (sink.file(path, config.events.megabytes.saturating_mul(1 << 20), config.events.paths), None)
}

impl Engine {
    /// Calls a tool and records an event. Never panics: an internal fault is reported as `internal.bug`.
    pub fn call(&self, caller: &Caller, name: &str, input: Value) -> Reply {
        self.call_as(caller, name, input, None)
    }

    /// Calls a tool with advice in the names of a client.
    pub fn call_as(&self, caller: &Caller, name: &str, input: Value, names: Option<&dyn Vocabulary>) -> Reply {
        let Some(begun) = self.events().begin() else { return self.answered(caller, name, input, names) };
        let asked = Asked::of(&input, self.events().wants_paths());
        // The format becomes known during the call, and an error does not tell it.
        let watch = caller.watch.clone().unwrap_or_default();
        let own = caller.watch.is_none().then(|| Caller { watch: Some(watch.clone()), ..caller.clone() });
        let caller = own.as_ref().unwrap_or(caller);
        let reply = self.answered(caller, name, input, names);
        self.events().push(event(caller, name, asked, &reply, (begun, watch.format())));
        reply
    }

    /// Finishes background work of calls: stores contents for the history, and writes events. For front ends, after
    /// sending an answer; the rest is done when the engine is dropped.
    pub fn catch_up(&self) {
        self.settle_history();
        self.events().flush_in_time();
    }
}

/// Summary of a call's input, taken before the call consumes it.
struct Asked {
    bytes: usize,
    paths: Vec<String>,
}

impl Asked {
    fn of(input: &Value, paths: bool) -> Asked {
        let named = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let named = ["file_path", "path", "notebook_path", "directory"].into_iter().filter_map(named);
        Asked { bytes: text_bytes(input), paths: if paths { named.collect() } else { Vec::new() } }
    }
}

/// Total bytes of all texts in a value.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.values().map(text_bytes).sum(),
        _ => 0,
    }
}

fn event(caller: &Caller, name: &str, asked: Asked, reply: &Reply, (begun, format): (Begun, &'static str)) -> Event {
    let front = caller.front.as_deref();
    let (at, micros) = begun.end();
    let mut event = Event {
        at,
        micros,
        // A name that is not a tool's may be arbitrary text.
        tool: crate::tools::tool(name).map_or("unknown", |tool| tool.name),
        format,
        code: "ok",
        dry_run: caller.dry_run,
        input: asked.bytes,
        transport: front.map_or("library", |front| front.transport),
        profile: front.map_or("", |front| front.profile),
        client: front.map_or(String::new(), |front| front.client.clone()),
        model: front.map_or(String::new(), |front| front.model.clone()),
        session: caller.session.clone(),
        traceparent: front.map_or(String::new(), |front| front.traceparent.clone()),
        paths: asked.paths,
        ..Event::default()
    };
    match &reply.result {
        Ok(answer) => {
            event.output = answer.text.len();
            let files = answer.data.get("files").and_then(Value::as_array).into_iter().flatten();
            files.filter_map(Value::as_object).chain([&answer.data]).for_each(|file| done(&mut event, file));
        }
        Err(error) => {
            event.code = error.code().as_str();
            let parts = [error.message(), error.evidence_text(), error.next_step()];
            event.output = parts.iter().map(|part| part.len()).sum();
        }
    }
    event.paths.truncate(PATHS);
    event
}

/// Adds the data of a reply about one file.
fn done(event: &mut Event, data: &Map<String, Value>) {
    let number = |key: &str| data.get(key).and_then(Value::as_u64);
    let edits = data.get("edits").and_then(Value::as_array).into_iter().flatten();
    let tiers = edits.filter_map(|edit| edit.get("tier")?.as_u64()).chain(number("tier"));
    event.tier = tiers.chain(event.tier).max();
    event.lines.0 += number("linesAdded").unwrap_or(0);
    event.lines.1 += number("linesRemoved").unwrap_or(0);
    event.dry_run |= data.get("dryRun").and_then(Value::as_bool).unwrap_or(false);
    if data.contains_key("writtenBy") {
        event.files += 1;
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let moved = text("from").filter(|_| text("type") == Some("move"));
        event.instructions |= text("filePath").into_iter().chain(moved).map(Path::new).any(policy::is_instructions);
        // More than the input named.
        if let Some(path) =
            text("filePath").filter(|path| !event.paths.is_empty() && !event.paths.iter().any(|known| known == path))
        {
            event.paths.push(path.to_owned());
        }
    }
}
