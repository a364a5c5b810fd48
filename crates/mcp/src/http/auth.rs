//! Authentication and admission: all checks of a request before the protocol handles it.

use super::HttpLimits;
use crate::message::{self, InputLine};
use crate::server::McpServer;
use emendate_http::{
    AccessToken, AllowedNames, BodyReader, ConnectionLimits, HttpConnection, HttpRefusal, HttpResponse, HttpService,
    refused, text_body,
};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, watch};

/// The path of the server. A suffix of a request's path names a session.
pub(super) const MCP_PATH: &str = "/mcp";
/// The session header of the older era.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";
/// Bytes of a name in the path.
const SESSION_NAME_BYTES_MAX: usize = 64;
type McpService = StreamableHttpService<McpServer, LocalSessionManager>;

/// The session that a request's path names.
#[derive(Clone)]
struct RequestSession(String);

/// A receiver that is closed once the client of a request is gone.
#[derive(Clone)]
pub(super) struct RequestClient(pub(super) watch::Receiver<()>);

/// The ids of the requests in progress, each with its session.
type RunningRequests = Arc<Mutex<HashSet<(String, RequestId)>>>;

/// A request in progress.
pub(super) struct InFlightRequest {
    running: RunningRequests,
    key: (String, RequestId),
}

impl InFlightRequest {
    /// Registers a request as in progress. `None` if another one in the same session has the same id.
    fn begin(running: &RunningRequests, session: String, id: RequestId) -> Option<InFlightRequest> {
        let key = (session, id);
        let new = running.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        new.then(|| InFlightRequest { running: Arc::clone(running), key })
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// The state shared by all connections.
pub(super) struct AuthLayer {
    pub(super) service: McpService,
    /// The same service with its own shutdown, for streams that last as long as their client wants.
    standing_streams: McpService,
    sessions: Arc<LocalSessionManager>,
    token: AccessToken,
    names: AllowedNames,
    limits: HttpLimits,
    permits: Arc<Semaphore>,
    bodies: BodyReader,
    server: McpServer,
    running: RunningRequests,
}

impl HttpService for AuthLayer {
    fn limits(&self) -> ConnectionLimits {
        self.limits.connections()
    }

    fn end_standing_streams(&self) {
        self.standing_streams.config.cancellation_token.cancel();
    }

    fn end_all_streams(&self) {
        self.service.config.cancellation_token.cancel();
    }

    async fn idle(&self) {
        self.server.idle().await;
    }

    async fn answer(&self, request: Request<Incoming>, connection: &HttpConnection) -> HttpResponse {
        let (mut parts, body) = request.into_parts();
        if let Err(refusal) = self.authorize(&mut parts, connection) {
            return *refusal.0;
        }
        if parts.method == Method::GET {
            return self.standing_streams.handle(Request::from_parts(parts, body)).await;
        }
        if parts.method != Method::POST {
            let mut answer = self.service.handle(Request::from_parts(parts, body)).await;
            if answer.status() == StatusCode::ACCEPTED {
                // The session has ended: known clients take 202 for a failure.
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
            return answer;
        }
        let body = match self.bodies.read(body).await {
            Ok(body) => body,
            Err(refusal) => return *refusal.0,
        };
        if let Some(messages) = message::batch(&body) {
            return self.answer_batch(&parts, messages).await.unwrap_or_else(|refusal| *refusal.0);
        }
        let in_flight = match self.understood(&body).await.and_then(|id| self.begin(&parts, id)) {
            Ok(in_flight) => in_flight,
            Err(refusal) => return *refusal.0,
        };
        let (connected, client) = watch::channel(());
        parts.extensions.insert(RequestClient(client));
        let answer = self.service.handle(Request::from_parts(parts, Full::new(body))).await;
        // A stream is in progress until it ends, and its client is there until the connection is closed.
        answer.map(|body| {
            body.map_frame(move |frame| {
                let _held = (&in_flight, &connected);
                frame
            })
            .boxed()
        })
    }
}

impl AuthLayer {
    pub(super) fn new(server: McpServer, token: AccessToken, names: AllowedNames, limits: HttpLimits) -> AuthLayer {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(limits.session_idle);
        let sessions = Arc::new(sessions);
        AuthLayer {
            service: service(&server, &sessions, limits),
            standing_streams: service(&server, &sessions, limits),
            server,
            sessions,
            token,
            names,
            limits,
            permits: Arc::new(Semaphore::new(limits.connections)),
            bodies: BodyReader::new(limits.bytes, limits.body),
            running: RunningRequests::default(),
        }
    }

    /// Registers a request of a session as in progress. Without a session, each request is an exchange of its own.
    pub(super) fn begin(&self, parts: &Parts, id: Option<RequestId>) -> Result<Option<InFlightRequest>, HttpRefusal> {
        let session = parts.headers.get(SESSION_HEADER).and_then(|session| session.to_str().ok());
        let (Some(session), Some(id)) = (session, id) else { return Ok(None) };
        let message = "A request with this id is still running; give every request a different id.";
        match InFlightRequest::begin(&self.running, session.to_owned(), id.clone()) {
            Some(in_flight) => Ok(Some(in_flight)),
            None => Err(fault(ErrorData::invalid_request(message, None), Some(id))),
        }
    }

    /// Checks the token, the host and the origin.
    fn authorize(&self, parts: &mut Parts, connection: &HttpConnection) -> Result<(), HttpRefusal> {
        let mut hosts = parts.headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let named = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
        if !host.is_some_and(|host| self.is_own_host(host))
            || hosts.next().is_some()
            || !named.is_none_or(|host| self.is_own_host(host))
        {
            return Err(refused(
                StatusCode::FORBIDDEN,
                "This server does not answer to that host name; see --http-host.",
            ));
        }
        if !parts.headers.get_all(ORIGIN).iter().all(|origin| self.names.has_origin(origin.as_bytes())) {
            return Err(refused(StatusCode::FORBIDDEN, "Web pages of that origin may not connect; see --http-origin."));
        }
        let Some(rest) = parts.uri.path().strip_prefix(MCP_PATH) else {
            return Err(refused(StatusCode::NOT_FOUND, "The only address here is /mcp."));
        };
        let mut shown = parts.headers.get_all(AUTHORIZATION).iter();
        if !shown.next().is_some_and(|shown| self.token.is_in(shown.as_bytes())) || shown.next().is_some() {
            let mut refusal =
                refused(StatusCode::UNAUTHORIZED, "Send the server's token: Authorization: Bearer TOKEN.");
            refusal.0.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
            return Err(refusal);
        }
        if !connection.admit(&self.permits) {
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "Too many connections are open."));
        }
        let name = rest.strip_prefix('/').unwrap_or(rest);
        if !parts
            .headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
        {
            let words = "Compressed requests are not supported; send the body without Content-Encoding.";
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
        }
        if (!rest.is_empty() && !rest.starts_with('/'))
            || name.len() > SESSION_NAME_BYTES_MAX
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        {
            return Err(refused(StatusCode::NOT_FOUND, "A session's name has letters, digits and -_. only."));
        }
        if !name.is_empty() {
            let name = RequestSession(name.to_owned());
            parts.extensions.insert(name);
        }
        Ok(())
    }

    /// True for a name of this server.
    fn is_own_host(&self, host: &str) -> bool {
        self.names.has_host(host)
    }

    /// Answers bodies that are not messages, as on standard input, with the request's id if it is known. Returns the id
    /// of a request.
    async fn understood(&self, body: &[u8]) -> Result<Option<RequestId>, HttpRefusal> {
        let message = match message::read(body) {
            InputLine::Message(message) => message,
            InputLine::Fault(error, id) => return Err(fault(error, id)),
            InputLine::Batch(_) | InputLine::Nothing => {
                return Err(fault(ErrorData::invalid_request("There is no message.", None), None));
            }
        };
        let begins = matches!(&*message, ClientJsonRpcMessage::Request(it) if matches!(it.request, ClientRequest::InitializeRequest(_)));
        if begins && self.sessions.sessions.read().await.len() >= self.limits.sessions {
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, "Too many sessions are open; end some."));
        }
        Ok(match *message {
            ClientJsonRpcMessage::Request(request) => Some(request.id),
            _ => None,
        })
    }
}

/// Returns a service of the library. Access is checked by [`AuthLayer`], before the library's own checks.
fn service(server: &McpServer, sessions: &Arc<LocalSessionManager>, limits: HttpLimits) -> McpService {
    let server = server.clone();
    McpService::new(move || Ok(server.clone()), Arc::clone(sessions), transport_config(limits))
}

/// Returns the library's settings; hosts are checked before the library sees a request.
fn transport_config(limits: HttpLimits) -> rmcp::transport::StreamableHttpServerConfig {
    let config = rmcp::transport::StreamableHttpServerConfig::default().disable_allowed_hosts();
    config.with_json_response(true).with_max_request_body_bytes(limits.bytes)
}

/// Creates a protocol error.
pub(super) fn fault(error: ErrorData, id: Option<RequestId>) -> HttpRefusal {
    let message = ServerJsonRpcMessage::error(error, id);
    let mut answer = Response::new(text_body(serde_json::to_vec(&message).unwrap_or_default()));
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    HttpRefusal(Box::new(answer))
}

/// Waits until the client of a request has closed its connection; forever for requests over other transports.
pub(crate) async fn disconnected(context: &RequestContext<RoleServer>) {
    match context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<RequestClient>()) {
        // Nothing is ever sent.
        Some(RequestClient(client)) => while client.clone().changed().await.is_ok() {},
        None => std::future::pending().await,
    }
}

/// Returns the session under which a call's reads count: the one that the path names; else one for each session of the
/// older era, and for each program that uses the newer one. `None` for requests over other transports.
pub(crate) fn session(base: &str, context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<Parts>()?;
    if let Some(RequestSession(name)) = parts.extensions.get() {
        return Some(name.clone());
    }
    let of_session = parts.headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let own = of_session.unwrap_or_else(|| context.client_info().map(|client| client.name).unwrap_or_default());
    Some(format!(
        "{base}/{}",
        own.chars()
            .filter(|it| it.is_ascii_alphanumeric() || "-_.".contains(*it))
            .take(SESSION_NAME_BYTES_MAX)
            .collect::<String>()
    ))
}
