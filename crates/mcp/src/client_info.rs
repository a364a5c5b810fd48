//! Information about the caller, for events: the client identifies itself, and may name the model behind it.

use emendate::{CallContext, ClientInfo};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;

/// The key of a request's `_meta` for the model.
pub const MODEL_KEY: &str = "io.github.emendate/model";

/// The key of a request's `_meta` that asks for the former text of a changed file in the data of the result.
pub const ORIGINAL_KEY: &str = "io.github.emendate/original";

/// The key for the trace that the request belongs to, by the protocol's convention.
const TRACE_KEY: &str = "traceparent";
/// Bytes of that value: a later version of it may be longer than today's 55.
const TRACEPARENT_BYTES_MAX: usize = 200;

/// True for a request that asks for the former text of the file.
pub(crate) fn wants_original(context: &RequestContext<RoleServer>) -> bool {
    context.meta.get(ORIGINAL_KEY).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns the info of a call, with the information of this request about its client.
pub(crate) fn of(caller: &CallContext, context: &RequestContext<RoleServer>) -> Arc<ClientInfo> {
    let mut front = caller.client.as_deref().cloned().unwrap_or_default();
    if let Some(client) = context.client_info() {
        front.client = format!("{} {}", client.name, client.version);
    }
    if let Some(model) = context.meta.get(MODEL_KEY).and_then(Value::as_str) {
        model.clone_into(&mut front.model);
    }
    if let Some(trace) =
        context.meta.get(TRACE_KEY).and_then(Value::as_str).filter(|it| it.len() <= TRACEPARENT_BYTES_MAX)
    {
        trace.clone_into(&mut front.traceparent);
    }
    Arc::new(front)
}
