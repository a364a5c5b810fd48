//! A reply as MCP shows it: text for the model, data for programs in `_meta`.

use crate::list;
use emendate::core::Error;
use emendate::{ATTACHMENTS, Answer, Reply, SeedCodes};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Map, Value};

/// Where a result's `_meta` keeps the machine data: `{"data": …}` of a success,
/// `{"code", "seed_code", "next", "retryable", "op"?, "data"?}` of a failure.
pub const DATA_KEY: &str = "io.github.emendate/data";

/// Bytes of text from which on a result asks for room by itself.
const LARGE: usize = 25_000;

/// The result of a call. `structured` repeats the whole reply as structured content.
pub(crate) fn of(reply: Reply, structured: bool) -> CallToolResult {
    let whole = structured.then(|| reply.to_json());
    let mut attached = Vec::new();
    let (text, data, failed) = match reply.result {
        Ok(Answer { text, mut data }) => {
            attached = attachments(&mut data);
            (text, Map::from_iter([("data".to_owned(), Value::Object(data))]), false)
        }
        Err(error) => (error.to_string(), failure(&error, reply.seed), true),
    };
    let mut meta = if text.len() > LARGE { list::size() } else { MetaObject::new() };
    meta.insert(DATA_KEY.to_owned(), Value::Object(data));
    let content = std::iter::once(ContentBlock::text(text)).chain(attached).collect();
    let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = whole;
    result.with_meta(Some(meta))
}

/// Images and documents become content of their own; the data keeps what they are, without their bytes.
fn attachments(data: &mut Map<String, Value>) -> Vec<ContentBlock> {
    let Some(Value::Array(list)) = data.get_mut(ATTACHMENTS) else { return Vec::new() };
    let block = |attachment: &mut Value| {
        let Value::Object(fields) = attachment else { return None };
        let Some(Value::String(bytes)) = fields.shift_remove("data") else { return None };
        let media_type = fields.get("mediaType")?.as_str()?;
        Some(match fields.get("uri").and_then(Value::as_str) {
            None => ContentBlock::image(bytes, media_type),
            Some(uri) => ContentBlock::resource(ResourceContents::blob(bytes, uri).with_mime_type(media_type)),
        })
    };
    list.iter_mut().filter_map(block).collect()
}

/// What programs are told of an error; its words are in the text.
fn failure(error: &Error, seed: SeedCodes) -> Map<String, Value> {
    let Value::Object(mut fields) = error.to_json() else { return Map::new() };
    fields.retain(|name, _| !matches!(&**name, "message" | "evidence"));
    fields.insert("seed_code".to_owned(), seed.number(error.code()).into());
    fields
}
