//! Replies in the form of MCP: text for the model, data for programs in `_meta`.

use crate::list;
use emendate::core::Error;
use emendate::{ATTACHMENTS, Answer, Reply, SeedCodes};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Map, Value};

/// The key of a result's `_meta` for the data: `{"data": …}` of a success, `{"code", "error_code", "next", "retryable",
/// "op"?, "data"?}` of a failure.
pub const DATA_KEY: &str = "io.github.emendate/data";

/// Bytes of text from which a result itself requests room.
const LARGE_RESULT_BYTES: usize = 25_000;

/// Converts a reply to a result. `structured` repeats the whole reply as structured content.
pub(crate) fn of(reply: Reply, structured: bool) -> CallToolResult {
    let whole = structured.then(|| reply.to_json());
    let mut attached = Vec::new();
    let (text, data, failed) = match reply.result {
        Ok(Answer { text, mut data, .. }) => {
            attached = attachments(&mut data);
            (text, Map::from_iter([("data".to_owned(), Value::Object(data))]), false)
        }
        Err(error) => (error.to_string(), failure(&error, reply.seed), true),
    };
    let mut meta = if text.len() > LARGE_RESULT_BYTES { list::size() } else { MetaObject::new() };
    meta.insert(DATA_KEY.to_owned(), Value::Object(data));
    let content = std::iter::once(ContentBlock::text(text)).chain(attached).collect();
    let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = whole;
    result.with_meta(Some(meta))
}

/// Converts images and documents to content blocks; the data keeps their descriptions without the bytes.
fn attachments(data: &mut Map<String, Value>) -> Vec<ContentBlock> {
    let Some(Value::Array(list)) = data.get_mut(ATTACHMENTS) else { return Vec::new() };
    list.iter_mut().filter_map(attachment_block).collect()
}

/// Converts an attachment to a block of content; `None` if it has no data.
fn attachment_block(attachment: &mut Value) -> Option<ContentBlock> {
    let Value::Object(fields) = attachment else { return None };
    let Some(Value::String(bytes)) = fields.shift_remove("data") else { return None };
    let media_type = fields.get("mediaType")?.as_str()?;
    Some(match fields.get("uri").and_then(Value::as_str) {
        None => ContentBlock::image(bytes, media_type),
        Some(uri) => ContentBlock::resource(ResourceContents::blob(bytes, uri).with_mime_type(media_type)),
    })
}

/// Returns the data of an error; its text is in the content.
fn failure(error: &Error, seed: SeedCodes) -> Map<String, Value> {
    let Value::Object(mut fields) = error.to_json() else { return Map::new() };
    fields.retain(|name, _| !matches!(&**name, "message" | "evidence"));
    let number = seed.number(error.code());
    fields.insert("error_code".to_owned(), number.into());
    // The name of this field up to version 0.1.
    fields.insert("seed_code".to_owned(), number.into());
    fields
}
