//! The history as resources: each operation as a diff, and its files before and after.

use emendate::core::line_format::clip;
use emendate::core::{Code, Error};
use emendate::{Answer, CallContext, Engine, HistoryEntry, OperationSide, RAW_PATH};
use emendate_os::ffi::{OsStrExt as _, OsStringExt as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Map, Value, json};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The common prefix of all URIs.
const URI_PREFIX: &str = "emend://history/";
const DIFF_MEDIA_TYPE: &str = "text/x-diff";
/// Operations on one page of the list.
const OPERATIONS_PER_PAGE: usize = 50;
/// Advice on how to get the omitted parts of an operation.
const REST_ADVICE: &str = "The resources ID/before/PATH and ID/after/PATH have the texts of each file.";
/// The error for an invalid query.
const INVALID_QUERY: &str = "The address of a file may end in ?offset=N&limit=N, in lines; nothing else is understood.";
/// The characters that are not escaped in the path of a URI.
const URI_PATH_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const SIDES: [(&str, OperationSide); 2] = [("before", OperationSide::Before), ("after", OperationSide::After)];

/// Returns a page of the operations, the newest first.
pub(crate) fn list(engine: &Engine, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let page = engine.history().entries(cursor, OPERATIONS_PER_PAGE).map_err(|error| match error.code() {
        Code::CallInvalid => ErrorData::invalid_params(error.message().to_owned(), None),
        _ => internal(&error),
    })?;
    let mut list = ListResourcesResult::with_all_items(page.entries.into_iter().map(resource_of).collect());
    list.next_cursor = page.next;
    Ok(list)
}

/// Describes an operation as a resource.
fn resource_of(HistoryEntry { id, title, line }: HistoryEntry) -> Resource {
    Resource::new(format!("{URI_PREFIX}{id}"), id)
        .with_title(title)
        .with_description(line)
        .with_mime_type(DIFF_MEDIA_TYPE)
}

/// Returns the templates of all URIs.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let operation = ResourceTemplate::new(format!("{URI_PREFIX}{{id}}"), "operation")
        .with_title("Operation")
        .with_description(
            "The changes of an operation: a diff, and its files as JSON. id as in the replies of edits (17-3fa9).",
        )
        .with_mime_type(DIFF_MEDIA_TYPE);
    ListResourceTemplatesResult::with_all_items(
        std::iter::once(operation).chain(SIDES.map(|(name, moment)| file_template(name, moment))).collect(),
    )
}

/// Describes the files before or after an operation as a template of resources.
fn file_template(name: &str, moment: OperationSide) -> ResourceTemplate {
    let when = if moment == OperationSide::Before { "before" } else { "when it had done" };
    ResourceTemplate::new(format!("{URI_PREFIX}{{id}}/{name}{{+path}}"), format!("file-{name}"))
        .with_title(format!("File {name} an operation"))
        .with_description(format!("What a file of an operation held {when} its work. path is absolute."))
}

/// Reads the resource of a URI.
pub(crate) fn read(engine: &Engine, caller: &CallContext, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    // An empty id would be one that was not given.
    let Some(rest) = uri.strip_prefix(URI_PREFIX).filter(|rest| !rest.is_empty()) else {
        return Err(not_found(uri, format!("There is no resource {}.", clip(uri))));
    };
    let (id, tail) = rest.split_once('/').map_or((rest, None), |(id, tail)| (id, Some(tail)));
    let Some(tail) = tail else {
        let reply = engine.call(caller, "history", json!({ "id": id }));
        let Answer { mut text, data, .. } = reply.result.map_err(|error| resource_failure(uri, &error))?;
        let mut data = linked(id, data);
        // The URIs made the data longer.
        engine.config().reply_limits().fit(&mut text, &mut data, REST_ADVICE);
        let data = Value::Object(data).to_string();
        let diff = ResourceContents::text(text, uri).with_mime_type(DIFF_MEDIA_TYPE);
        return Ok(ReadResourceResult::new(vec![
            diff,
            ResourceContents::text(data, uri).with_mime_type("application/json"),
        ]));
    };
    let (name, path) = tail.split_at(tail.find('/').unwrap_or(tail.len()));
    let Some((_, moment)) = SIDES.into_iter().find(|(known, _)| *known == name) else {
        let what = format!("There is no resource {}: it is ID/before/PATH or ID/after/PATH.", clip(uri));
        return Err(not_found(uri, what));
    };
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let lines = query.map(|query| lines(query).ok_or_else(|| not_found(uri, INVALID_QUERY.to_owned()))).transpose()?;
    let path = emendate_os::paths::of_address(OsString::from_vec(percent_decode_str(path).collect()));
    let bytes =
        engine.history().content_at(caller, id, &path, moment, lines).map_err(|error| resource_failure(uri, &error))?;
    Ok(ReadResourceResult::new(vec![match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, uri),
        Err(bytes) => {
            let blob = data_encoding::BASE64.encode(bytes.as_bytes());
            ResourceContents::blob(blob, uri).with_mime_type("application/octet-stream")
        }
    }]))
}

/// Converts an error of the engine.
fn resource_failure(uri: &str, error: &Error) -> ErrorData {
    match error.code() {
        Code::InternalBug | Code::IoFailed => internal(error),
        _ => not_found(uri, format!("{} {}", error.message(), error.next_step()).trim().to_owned()),
    }
}

/// Returns the error of a resource that does not exist.
fn not_found(uri: &str, what: String) -> ErrorData {
    ErrorData::resource_not_found(what, Some(json!({ "uri": clip(uri) })))
}

/// Parses the lines in the query of a URI: the first one, and their number.
fn lines(query: &str) -> Option<(usize, usize)> {
    let mut lines = (1, usize::MAX);
    for part in query.split('&') {
        match part.split_once('=')? {
            ("offset", number) => lines.0 = number.parse().ok()?,
            ("limit", number) => lines.1 = number.parse().ok()?,
            _ => return None,
        }
    }
    Some(lines)
}

fn internal(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.message().to_owned(), None)
}

/// Returns the files of an operation with the URIs of their contents.
fn linked(id: &str, mut data: Map<String, Value>) -> Map<String, Value> {
    let files = data.get_mut("files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        let own = raw_path(file, RAW_PATH, "filePath").unwrap_or_default();
        // A moved file had another path before.
        let old = raw_path(file, "from_b64", "from").unwrap_or_else(|| own.clone());
        for (name, path) in [("before", old), ("after", own)] {
            if file.get(name).is_some_and(Value::is_string) || (name == "before" && file.contains_key("from")) {
                file.insert(format!("{name}Uri"), address(id, name, Path::new(OsStr::from_bytes(&path))).into());
            }
        }
    }
    data
}

/// Returns a path by its exact bytes, or by its text.
fn raw_path(file: &Map<String, Value>, raw: &str, shown: &str) -> Option<Vec<u8>> {
    let raw = text_field(file, raw).and_then(|raw| data_encoding::BASE64.decode(raw.as_bytes()).ok());
    raw.or_else(|| text_field(file, shown).map(|path| path.as_bytes().to_vec()))
}

/// Returns a field that is a text.
fn text_field<'a>(file: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    file.get(key).and_then(Value::as_str)
}

fn address(id: &str, name: &str, path: &Path) -> String {
    format!(
        "{URI_PREFIX}{id}/{name}{}",
        percent_encode(emendate_os::paths::in_address(path).as_bytes(), URI_PATH_ESCAPES)
    )
}

// None of the names is possible on Windows.
#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests play the outside world")]

    use super::{OsStr, RAW_PATH, URI_PREFIX, Value, json, read};
    use emendate::{CallContext, Config, Engine, StateLocation, UnreadPolicy};
    use emendate_os::ffi::OsStrExt as _;
    use rmcp::model::ResourceContents;

    #[test]
    fn files_with_any_name_have_round_tripping_uris() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let engine = Engine::open(std::slice::from_ref(&root), StateLocation::Memory, Config::default()).unwrap();
        let caller = CallContext { unread: UnreadPolicy::Allow, ..CallContext::default() };
        let text = |uri: &str, at: usize| match &read(&engine, &caller, uri).unwrap().contents[at] {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        };
        for name in [&b"a\nb"[..], b"a\\b", "a\u{202E}b".as_bytes(), b"a\xffb"] {
            let path = root.join(OsStr::from_bytes(name));
            std::fs::write(&path, "one\n").unwrap();
            let raw = data_encoding::BASE64.encode(path.as_os_str().as_bytes());
            let edit = json!({ RAW_PATH: raw, "old_string": "one", "new_string": "two" });
            let reply = engine.call(&caller, "edit", edit).to_json();
            let id = reply["data"]["operation"].as_str().unwrap();
            let files: Value = serde_json::from_str(&text(&format!("{URI_PREFIX}{id}"), 1)).unwrap();
            for (side, holds) in [("beforeUri", "one\n"), ("afterUri", "two\n")] {
                assert_eq!(text(files["files"][0][side].as_str().unwrap(), 0), holds, "{path:?}");
            }
        }
    }
}
