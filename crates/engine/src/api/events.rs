//! Events about calls and their results, for the owner of the machine (`emend stats`, `[events]`).

use crate::api::call::call_caught;
use crate::context::call::Call;
use crate::context::policy;
use crate::model::call_context::CallContext;
use crate::model::reply::Reply;
use crate::model::reply_limits::LISTED_FILES_MAX;
use crate::session::refusals::{RefusedCall, keep_refusal, note_model};
use emendate_core::Vocabulary;
use emendate_events::{CallTimer, Event};
use serde_json::{Map, Value};
use std::path::Path;

/// Paths of one event.
const EVENT_PATHS_MAX: usize = 100;

/// Calls a tool with advice in the names of a client, and records an event. Never panics: an internal fault is
/// reported as `internal.bug`.
pub(crate) fn call_as(call: Call<'_>, name: &str, input: Value, names: Option<&dyn Vocabulary>) -> Reply {
    let begun = call.events().begin();
    let (asked, path) = (InputSummary::of(&input, call.events().wants_paths()), first_path(&input));
    // The format becomes known during the call, and an error does not contain it: the handle records it.
    let watch = call.caller.handle.clone().unwrap_or_default();
    let own = call.caller.handle.is_none().then(|| CallContext { handle: Some(watch.clone()), ..call.caller.clone() });
    let call = call.of(own.as_ref());
    let reply = call_caught(call, name, input, names);
    let at = emendate_events::now();
    match &reply.result {
        Err(error) => {
            let tool = crate::api::tool_table::tool(name).map_or("unknown", |tool| tool.name);
            let (format, path) = (watch.format(), path.as_deref());
            keep_refusal(call, &RefusedCall { at, tool, format, path, input: asked.bytes }, error);
        }
        Ok(answer) if answer.data.contains_key("operation") => note_model(call, at),
        Ok(_) => {}
    }
    if let Some(begun) = begun {
        call.events().push(event(call.caller, name, asked, &reply, begun, watch.format()));
    }
    reply
}

/// Fields of an input that hold a path.
const PATH_FIELDS: [&str; 4] = ["file_path", "path", "notebook_path", "directory"];

/// Returns the first path of an input.
fn first_path(input: &Value) -> Option<String> {
    PATH_FIELDS.into_iter().find_map(|key| text_field(input, key))
}

/// Summary of a call's input, taken before the call consumes it.
struct InputSummary {
    bytes: usize,
    paths: Vec<String>,
}

impl InputSummary {
    fn of(input: &Value, paths: bool) -> InputSummary {
        let named = PATH_FIELDS.into_iter().filter_map(|key| text_field(input, key));
        InputSummary { bytes: text_bytes(input), paths: if paths { named.collect() } else { Vec::new() } }
    }
}

/// Returns a field that is a text.
fn text_field(input: &Value, key: &str) -> Option<String> {
    input.get(key).and_then(Value::as_str).map(str::to_owned)
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

fn event(
    caller: &CallContext,
    name: &str,
    asked: InputSummary,
    reply: &Reply,
    begun: CallTimer,
    format: &'static str,
) -> Event {
    let front = caller.client.as_deref();
    let (at, micros) = begun.end();
    let mut event = Event {
        at,
        micros,
        // A name that is not a tool's may be arbitrary text.
        tool: crate::api::tool_table::tool(name).map_or("unknown", |tool| tool.name),
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
            // A reply lists only the first of many files.
            if event.files == LISTED_FILES_MAX {
                let all = number_of(&answer.data, "filesTotal").and_then(|all| usize::try_from(all).ok());
                event.files = all.unwrap_or(event.files);
            }
        }
        Err(error) => {
            event.code = error.code().as_str();
            let parts = [error.message(), error.evidence_text(), error.next_step()];
            event.output = parts.iter().map(|part| part.len()).sum();
        }
    }
    event.paths.truncate(EVENT_PATHS_MAX);
    event
}

/// Adds the data of a reply about one file.
fn done(event: &mut Event, data: &Map<String, Value>) {
    let edits = data.get("edits").and_then(Value::as_array).into_iter().flatten();
    let tiers = edits.filter_map(|edit| edit.get("tier")?.as_u64()).chain(number_of(data, "tier"));
    event.tier = tiers.chain(event.tier).max();
    event.lines.0 += number_of(data, "linesAdded").unwrap_or(0);
    event.lines.1 += number_of(data, "linesRemoved").unwrap_or(0);
    event.dry_run |= data.get("dryRun").and_then(Value::as_bool).unwrap_or(false);
    if data.contains_key("writtenBy") {
        event.files += 1;
        let moved = text_of(data, "from").filter(|_| text_of(data, "type") == Some("move"));
        event.instructions |=
            text_of(data, "filePath").into_iter().chain(moved).map(Path::new).any(policy::is_instructions);
        // A path that the input did not name.
        if let Some(path) = text_of(data, "filePath")
            .filter(|path| !event.paths.is_empty() && !event.paths.iter().any(|known| known == path))
        {
            event.paths.push(path.to_owned());
        }
    }
}

/// Returns a field that is a text.
fn text_of<'a>(data: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    data.get(key).and_then(Value::as_str)
}

/// Returns a field that is a number.
fn number_of(data: &Map<String, Value>, key: &str) -> Option<u64> {
    data.get(key).and_then(Value::as_u64)
}
