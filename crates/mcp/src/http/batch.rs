//! Batches over HTTP, which only revision 2025-03-26 of the protocol has. The library reads one message from each
//! request, so the messages of a batch go to it one by one, in order, and their answers to the client together.

use super::auth::{AuthLayer, RequestClient, SESSION_HEADER, fault};
use crate::message::{self, BATCH_MESSAGES_MAX, InputLine};
use emendate_http::{HttpRefusal, HttpResponse, text_body};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use serde_json::Value;
use tokio::sync::watch;

/// The header with the revision of the protocol, which clients of revisions without batches send.
const REVISION_HEADER: &str = "mcp-protocol-version";
/// The revision that has batches, and that a server assumes without the header.
const REVISION: &str = "2025-03-26";

impl AuthLayer {
    /// Answers a batch: with the answers to its requests in one array, or with 202 if it has none.
    ///
    /// Errors: a refusal of the whole batch; messages before the refused one have been carried out.
    pub(super) async fn answer_batch(&self, parts: &Parts, messages: Vec<Value>) -> Result<HttpResponse, HttpRefusal> {
        let refuse = |told: String| fault(ErrorData::invalid_request(told, None), None);
        let revision = parts.headers.get(REVISION_HEADER).map(HeaderValue::as_bytes);
        if revision.is_some_and(|revision| revision != REVISION.as_bytes())
            || !parts.headers.contains_key(SESSION_HEADER)
        {
            let told =
                format!("Only sessions of revision {REVISION} have batches; send one message with each request.");
            return Err(refuse(told));
        }
        match messages.len() {
            0 => return Err(refuse("This batch is empty.".to_owned())),
            1..=BATCH_MESSAGES_MAX => {}
            _ => return Err(refuse(message::too_many_messages())),
        }
        let mut answers = Vec::new();
        for one in messages {
            let bytes = serde_json::to_vec(&one).unwrap_or_default();
            match message::read(&bytes) {
                InputLine::Message(message) => answers.extend(self.part_of_batch(parts, &message, bytes).await?),
                InputLine::Fault(error, id) => answers.extend(json_of(&ServerJsonRpcMessage::error(error, id))),
                InputLine::Batch(_) => {
                    let error = ErrorData::invalid_request("This is not a JSON-RPC message.", None);
                    answers.extend(json_of(&ServerJsonRpcMessage::error(error, None)));
                }
                InputLine::Nothing => {}
            }
        }
        if answers.is_empty() {
            let mut accepted = Response::new(text_body(""));
            *accepted.status_mut() = StatusCode::ACCEPTED;
            return Ok(accepted);
        }
        let mut answer = Response::new(text_body(Value::Array(answers).to_string()));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(answer)
    }

    /// Gives a message of a batch to the service; returns the answers to it.
    ///
    /// Errors: a response of the service that is no answer to the message, such as that for a session that has ended.
    async fn part_of_batch(
        &self,
        parts: &Parts,
        message: &ClientJsonRpcMessage,
        bytes: Vec<u8>,
    ) -> Result<Vec<Value>, HttpRefusal> {
        let id = match message {
            ClientJsonRpcMessage::Request(request) => {
                if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    let error = ErrorData::invalid_request("initialize is not part of a batch.", None);
                    let refusal = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                    return Ok(json_of(&refusal).into_iter().collect());
                }
                Some(request.id.clone())
            }
            _ => None,
        };
        let is_request = id.is_some();
        let _in_flight = match self.begin(parts, id) {
            Ok(in_flight) => in_flight,
            Err(refusal) => return Ok(messages_of(*refusal.0).await),
        };
        let (_connected, client) = watch::channel(());
        let mut parts = parts.clone();
        parts.headers.remove(CONTENT_LENGTH);
        parts.extensions.insert(RequestClient(client));
        let answer = self.service.handle(Request::from_parts(parts, Full::new(Bytes::from(bytes)))).await;
        match answer.status() {
            StatusCode::ACCEPTED => Ok(Vec::new()),
            StatusCode::OK if is_request => Ok(messages_of(answer).await),
            _ => Err(HttpRefusal(Box::new(answer))),
        }
    }
}

/// Returns a message as JSON.
fn json_of(message: &ServerJsonRpcMessage) -> Option<Value> {
    serde_json::to_value(message).ok()
}

/// Returns the answers in a response: its body, or the data of its events. Notifications of the server are left out,
/// because an array of answers has none.
async fn messages_of(response: HttpResponse) -> Vec<Value> {
    let is_stream =
        response.headers().get(CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
    let Ok(body) = response.into_body().collect().await;
    let body = body.to_bytes();
    let texts: Vec<&[u8]> = if is_stream {
        body.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:")).collect()
    } else {
        vec![&body]
    };
    let messages = texts.into_iter().filter_map(|text| serde_json::from_slice::<Value>(text).ok());
    messages.filter(|message| message.get("method").is_none()).collect()
}
