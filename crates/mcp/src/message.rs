//! One line of input: a message or several, an error to be answered, or nothing.
//!
//! The library's own parser would suffice for well-formed clients. It does not answer a request of the wrong shape (or
//! answers without its id), so that the client waits forever, and it copies the text of an edit several times.

use crate::id_scan;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData, MetaObject, RequestId,
    RequestMetaObject,
};
use serde_json::{Map, Value};

/// Maximum number of messages in a batch, whose answers are kept until all are there.
pub(crate) const BATCH_MESSAGES_MAX: usize = 50;

/// A parsed line.
pub(crate) enum InputLine {
    /// A message for the service.
    Message(Box<ClientJsonRpcMessage>),
    /// An error to be answered, with the id of its request if that is known.
    Fault(ErrorData, Option<RequestId>),
    /// Several of them in one array.
    Batch(Vec<InputLine>),
    /// Nothing to handle.
    Nothing,
}

/// Parses a line.
pub(crate) fn read(line: &[u8]) -> InputLine {
    // RFC 8259 allows parsers to ignore a byte order mark.
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return InputLine::Nothing;
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(messages)) => InputLine::Batch(messages.into_iter().map(one).collect()),
        Ok(value) => one(value),
        Err(error) => InputLine::Fault(
            ErrorData::parse_error(format!("This line cannot be read as JSON: {error}."), None),
            id_scan::of(line),
        ),
    }
}

/// Returns the messages of a body that is a batch; `None` for any other.
#[cfg(feature = "http")]
pub(crate) fn batch(body: &[u8]) -> Option<Vec<Value>> {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii();
    body.starts_with(b"[").then(|| serde_json::from_slice(body).ok())?
}

/// The refusal of a batch with more messages than allowed.
pub(crate) fn too_many_messages() -> String {
    format!("The batch has more than {BATCH_MESSAGES_MAX} messages; send several.")
}

/// Parses one message.
fn one(value: Value) -> InputLine {
    match value {
        Value::Object(object) => message(object),
        _ => invalid("This is not a JSON-RPC message.", None),
    }
}

fn invalid(message: &'static str, id: Option<RequestId>) -> InputLine {
    InputLine::Fault(ErrorData::invalid_request(message, None), id)
}

fn message(object: Map<String, Value>) -> InputLine {
    let Some(id) = object.get("id") else { return notification(object) };
    let Ok(id) = serde_json::from_value::<RequestId>(id.clone()) else {
        return invalid("An id is a string or an integer.", None);
    };
    let Some(method) = object.get("method") else {
        return answer(object).unwrap_or_else(|| invalid("A request has a method.", Some(id)));
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("A request says \"jsonrpc\": \"2.0\".", Some(id));
    }
    if method.as_str() == Some("tools/call") {
        return call(object, id);
    }
    match serde_json::from_value(Value::Object(object)) {
        Ok(message) => InputLine::Message(Box::new(message)),
        Err(_) => invalid("This is not a JSON-RPC message.", Some(id)),
    }
}

/// Parses a client's response to a request of ours, if it is one. A malformed response is ignored: the request then
/// times out.
fn answer(object: Map<String, Value>) -> Option<InputLine> {
    if !object.contains_key("result") && !object.contains_key("error") {
        return None;
    }
    Some(
        serde_json::from_value(Value::Object(object)).map_or(InputLine::Nothing, |it| InputLine::Message(Box::new(it))),
    )
}

/// Handles a notification, which is never answered, not even an invalid one.
fn notification(object: Map<String, Value>) -> InputLine {
    if !object.contains_key("method") {
        return answer(object).unwrap_or_else(|| invalid("A message has a method.", None));
    }
    serde_json::from_value(Value::Object(object))
        .map_or(InputLine::Nothing, |message| InputLine::Message(Box::new(message)))
}

/// Takes a call apart manually: its texts are moved from the line's JSON to the engine.
fn call(mut object: Map<String, Value>, id: RequestId) -> InputLine {
    let Some(Value::Object(mut params)) = object.remove("params") else {
        return invalid_params("tools/call needs params with a name and arguments.", id);
    };
    let Some(Value::String(name)) = params.remove("name") else {
        return invalid_params("tools/call needs the name of a tool.", id);
    };
    let mut call = CallToolRequestParams::new(name);
    match params.remove("arguments") {
        None | Some(Value::Null) => {}
        Some(Value::Object(arguments)) => call = call.with_arguments(arguments),
        // JSON in a text: the engine reads it, or answers in a way that the model sees.
        Some(text @ Value::String(_)) => {
            call = call.with_arguments(Map::from_iter([("arguments".to_owned(), text)]));
        }
        Some(_) => return invalid_params("The arguments of tools/call are an object.", id),
    }
    // A person's answer to a question of the previous attempt.
    match take_field("inputResponses", &mut params).map(serde_json::from_value) {
        None => {}
        Some(Ok(responses)) => call = call.with_input_responses(responses),
        Some(Err(_)) => return invalid_params("The inputResponses of tools/call are an object.", id),
    }
    match take_field("requestState", &mut params) {
        None => {}
        Some(Value::String(state)) => call = call.with_request_state(state),
        Some(_) => return invalid_params("The requestState of tools/call is a text.", id),
    }
    let mut request = CallToolRequest::new(call);
    if let Some(Value::Object(meta)) = params.remove("_meta") {
        request.extensions.insert(RequestMetaObject(MetaObject(meta)));
    }
    InputLine::Message(Box::new(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), id)))
}

/// Removes a field and returns its value unless it is null.
fn take_field(key: &'static str, params: &mut Map<String, Value>) -> Option<Value> {
    params.remove(key).filter(|it| !it.is_null())
}

/// Returns the refusal of a call's parameters.
fn invalid_params(what: &'static str, id: rmcp::model::RequestId) -> InputLine {
    InputLine::Fault(ErrorData::invalid_params(what, None), Some(id))
}

#[cfg(test)]
mod tests {
    use super::{InputLine, read};
    use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
    use serde_json::{Value, json};

    /// Returns the arguments of a call with these in its line; `None` for a fault.
    fn arguments_of(given: &Value) -> Option<Value> {
        let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "read", "arguments": given } });
        let InputLine::Message(message) = read(line.to_string().as_bytes()) else { return None };
        let ClientJsonRpcMessage::Request(request) = *message else { panic!() };
        let ClientRequest::CallToolRequest(call) = request.request else { panic!() };
        Some(call.params.arguments.map_or(Value::Null, Value::Object))
    }

    #[test]
    fn arguments_in_a_text_are_read_by_the_engine() {
        let plain = json!({ "file_path": "/a" });
        assert_eq!(arguments_of(&plain), Some(plain.clone()));
        let text = Value::from(plain.to_string());
        assert_eq!(arguments_of(&text), Some(json!({ "arguments": text })));
        assert_eq!((arguments_of(&json!(null)), arguments_of(&json!([1]))), (Some(Value::Null), None));
    }
}
