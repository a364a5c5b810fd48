//! Who calls, as events tell it: the client says what it is, and may say which model is behind it.

use emendate::{Caller, Front};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;

/// Where a request's `_meta` may name the model.
pub const MODEL_KEY: &str = "io.github.emendate/model";

/// Where it may name the trace that it belongs to, by the protocol's convention.
const TRACE_KEY: &str = "traceparent";
/// Bytes of that: a later version of it may be longer than today's 55.
const TRACE: usize = 200;

/// The front end of a call, with what this request says of its client.
pub(crate) fn of(caller: &Caller, context: &RequestContext<RoleServer>) -> Arc<Front> {
    let mut front = caller.front.as_deref().cloned().unwrap_or_default();
    if let Some(client) = context.client_info() {
        front.client = format!("{} {}", client.name, client.version);
    }
    if let Some(model) = context.meta.get(MODEL_KEY).and_then(Value::as_str) {
        model.clone_into(&mut front.model);
    }
    if let Some(trace) = context.meta.get(TRACE_KEY).and_then(Value::as_str).filter(|it| it.len() <= TRACE) {
        trace.clone_into(&mut front.traceparent);
    }
    Arc::new(front)
}
