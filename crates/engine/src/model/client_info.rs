//! The program behind a call.

use std::sync::Arc;

/// The origin of a call, for events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    /// The front end: `cli`, `call`, `serve`, `mcp` or `hook`.
    pub transport: &'static str,
    /// The profile of the client, if it has one.
    pub profile: &'static str,
    /// The calling program by its own name.
    pub client: String,
    /// The model, if it is known.
    pub model: String,
    /// The trace that its calls belong to, as W3C's `traceparent`, if it is known.
    pub traceparent: String,
}

impl ClientInfo {
    /// Creates the info for a front end and the model behind it.
    pub fn new(transport: &'static str, model: Option<&str>) -> Arc<ClientInfo> {
        Arc::new(ClientInfo { transport, model: model.unwrap_or_default().to_owned(), ..ClientInfo::default() })
    }
}
