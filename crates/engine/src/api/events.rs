//! Events about calls and their results, for the owner of the machine (`emend stats`, `[events]`).

use crate::api::call::call_caught;
use crate::context::call::Call;
use crate::model::call_context::CallContext;
use crate::model::call_handle::CallHandle;
use crate::model::change_counts::ChangeCounts;
use crate::model::reply::Reply;
use crate::session::refusals::{RefusedCall, keep_refusal, note_model};
use emendate_core::Vocabulary;
use emendate_events::{CallTimer, Event};
use emendate_fs::shown;
use serde_json::Value;
use std::path::PathBuf;

/// Paths of one event.
const EVENT_PATHS_MAX: usize = 100;

/// Calls a tool with advice in the names of a client, and records an event. Never panics: an internal fault is
/// reported as `internal.bug`.
pub(crate) fn call_as(call: Call<'_>, name: &str, input: Value, names: Option<&dyn Vocabulary>) -> Reply {
    let begun = call.events.begin();
    let (asked, path) = (InputSummary::of(&input, call.events.wants_paths()), first_path(&input));
    // The format becomes known during the call, and an error does not contain it: the handle records it.
    let handle = call.caller.handle.clone().unwrap_or_default();
    let own = call.caller.handle.is_none().then(|| CallContext { handle: Some(handle.clone()), ..call.caller.clone() });
    let call = call.of(own.as_ref());
    let reply = call_caught(call, name, input, names);
    let at = emendate_events::now();
    match &reply.result {
        Err(error) => {
            let tool = crate::api::tool_table::tool(name).map_or("unknown", |tool| tool.name);
            let (format, path) = (handle.format(), path.as_deref());
            keep_refusal(call, &RefusedCall { at, tool, format, path, input: asked.bytes }, error);
        }
        Ok(answer) if answer.operation.is_some() => note_model(call, at),
        Ok(_) => {}
    }
    if let Some(begun) = begun {
        call.events.push(event(call.caller, name, asked, &reply, begun, &handle));
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
    /// The paths in it; `None` if events have no paths.
    paths: Option<Vec<String>>,
}

impl InputSummary {
    fn of(input: &Value, paths: bool) -> InputSummary {
        let named = PATH_FIELDS.into_iter().filter_map(|key| text_field(input, key));
        InputSummary { bytes: text_bytes(input), paths: paths.then(|| named.collect()) }
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
    handle: &CallHandle,
) -> Event {
    let client = caller.client.as_deref();
    let (at, micros) = begun.end();
    let mut event = Event {
        at,
        micros,
        // A name that is not a tool's may be arbitrary text.
        tool: crate::api::tool_table::tool(name).map_or("unknown", |tool| tool.name),
        format: handle.format(),
        code: "ok",
        dry_run: caller.dry_run,
        input: asked.bytes,
        transport: client.map_or("library", |client| client.transport),
        profile: client.map_or("", |client| client.profile),
        client: client.map_or(String::new(), |client| client.client.clone()),
        model: client.map_or(String::new(), |client| client.model.clone()),
        session: caller.session.clone(),
        traceparent: client.map_or(String::new(), |client| client.traceparent.clone()),
        ..Event::default()
    };
    match &reply.result {
        Ok(answer) => event.output = answer.text.len(),
        Err(error) => {
            event.code = error.code().as_str();
            let parts = [error.message(), error.evidence_text(), error.next_step()];
            event.output = parts.iter().map(|part| part.len()).sum();
        }
    }
    let changes = handle.take_changes();
    add_changes(&mut event, &changes);
    if let Some(paths) = asked.paths {
        event.paths = paths;
        add_paths(&mut event.paths, &changes);
    }
    event
}

/// Adds what the call changed to its event.
fn add_changes(event: &mut Event, changes: &ChangeCounts) {
    event.files = changes.files;
    event.lines = (changes.added, changes.removed);
    event.tier = changes.tier;
    event.instructions = changes.instructions;
    event.dry_run |= changes.dry_run;
}

/// Adds the changed files that the input did not name.
fn add_paths(paths: &mut Vec<String>, changes: &ChangeCounts) {
    for path in changes.paths.iter().map(PathBuf::as_path).map(shown) {
        if paths.len() < EVENT_PATHS_MAX && !paths.contains(&path) {
            paths.push(path);
        }
    }
}
