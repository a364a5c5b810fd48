//! The service: checks of a request, and its way to a page or an action.

use crate::access::{LoginFailure, Visitor, VisitorAccess, cookie};
use crate::action::{self, ActionOutcome};
use crate::live::{self, HistoryState};
use crate::pages;
use crate::request::Fields;
use crate::state::ReviewState;
use crate::ticks::Ticks;
use crate::view::{PREFERENCES_COOKIE, PageContext, Preferences};
use crate::visits::Visits;
use crate::{ReviewOptions, assets, respond};
use emendate::core::{Error, Result};
use emendate::{CallContext, Engine, FeedOptions};
use emendate_http::{
    AccessToken, AllowedNames, BodyReader, BoundListener, ConnectionLimits, HttpConnection, HttpRefusal, HttpResponse,
    HttpService,
};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, SET_COOKIE};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// Concurrent calls of the engine.
pub(crate) const CONCURRENT_CALLS_MAX: usize = 4;
/// Connections that are logged in.
const CONNECTIONS_MAX: usize = 128;
/// Bytes of a form.
const FORM_BYTES_MAX: usize = 8 << 20;
/// Longest wait for a change of the history.
const WATCH_TIMEOUT: Duration = Duration::from_millis(500);

/// The service.
pub(crate) struct ReviewService(Arc<ReviewState>);

impl ReviewService {
    pub(crate) fn new(
        engine: Arc<Engine>,
        caller: CallContext,
        options: ReviewOptions,
        bound: &BoundListener,
        token: AccessToken,
    ) -> Result<ReviewService> {
        let names = AllowedNames::new(bound, &options.hosts, &[])?;
        Ok(ReviewService(Arc::new(ReviewState {
            engine,
            caller,
            seen: std::sync::Mutex::default(),
            visits: Visits::open(options.visits.clone()),
            ticks: Ticks::open(options.ticks.clone()),
            options,
            access: VisitorAccess::new(token, names, bound.address.port()),
            bodies: BodyReader::new(FORM_BYTES_MAX, Duration::from_secs(60)),
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            calls: Semaphore::new(CONCURRENT_CALLS_MAX),
            running: watch::Sender::new(0),
            closing: watch::Sender::new(false),
            history: watch::Sender::new(HistoryState::default()),
        })))
    }

    /// Follows the history, and notifies the pages of changes.
    pub(crate) fn watch_history(&self) {
        let (engine, state) = (Arc::clone(&self.0.engine), Arc::downgrade(&self.0));
        tokio::task::spawn_blocking(move || {
            while state.upgrade().is_some_and(|state| !*state.closing.borrow()) {
                if follow(&engine, &state).is_err() {
                    // The next attempt may succeed.
                    std::thread::sleep(WATCH_TIMEOUT);
                }
            }
        });
    }
}

/// Notifies the pages of each change of the history, until the server ends.
fn follow(engine: &Engine, state: &Weak<ReviewState>) -> Result<(), Error> {
    let mut feed = engine.history().follow(&FeedOptions::default())?;
    loop {
        let now = HistoryState::read(engine);
        match state.upgrade() {
            Some(state) if !*state.closing.borrow() => state.tell(now),
            _ => return Ok(()),
        }
        if feed.wait(WATCH_TIMEOUT)?.is_some() {
            // Changes that come together are reported together.
            while feed.wait(Duration::ZERO)?.is_some() {}
        }
    }
}

impl HttpService for ReviewService {
    fn limits(&self) -> ConnectionLimits {
        let minute = Duration::from_secs(60);
        ConnectionLimits { head: minute / 2, write_timeout: minute, unauthenticated_connections: 64, finish: minute }
    }

    async fn answer(&self, request: Request<Incoming>, connection: &HttpConnection) -> HttpResponse {
        match Arc::clone(&self.0).answer(request, connection).await {
            Ok(response) => response,
            Err(refusal) => *refusal.0,
        }
    }

    fn end_standing_streams(&self) {
        self.0.closing.send_replace(true);
    }

    async fn idle(&self) {
        // `self` holds the sender, so the channel stays open.
        let _ = self.0.running.subscribe().wait_for(|calls| *calls == 0).await;
    }
}

impl ReviewState {
    /// Notifies the pages of the state of the history, if it has changed.
    fn tell(&self, now: HistoryState) {
        self.history.send_if_modified(|known| {
            let is_new = *known != now;
            *known = now;
            is_new
        });
    }

    /// Runs a call of the engine on another thread; `None` if it panicked.
    async fn call<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&ReviewState) -> T + Send + 'static,
    ) -> Option<T> {
        let _place = self.calls.acquire().await.ok()?;
        self.running.send_modify(|calls| *calls += 1);
        let state = Arc::clone(&self);
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&state);
            state.running.send_modify(|calls| *calls -= 1);
            done
        });
        done.await.ok()
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        connection: &HttpConnection,
    ) -> Result<HttpResponse, HttpRefusal> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        if let Err(words) = self.access.check_source(&parts, path == "/login") {
            return Ok(respond::plain(StatusCode::FORBIDDEN, words));
        }
        if parts.method != Method::GET && parts.method != Method::POST {
            return Ok(respond::plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET and POST are answered."));
        }
        if let Some(asset) = assets::asset(&path) {
            return Ok(respond::asset(asset.media_type, asset.bytes));
        }
        if path == "/login" {
            if parts.method == Method::GET {
                return Ok(respond::page(StatusCode::OK, pages::login::page("")));
            }
            let fields = Fields::parse(&self.bodies.read(body).await?);
            return Ok(self.log_in(&fields));
        }
        let Some(visitor) = self.access.visitor(&parts.headers) else {
            let words = "This page needs the address that `emend review` printed.";
            return Ok(respond::page(StatusCode::UNAUTHORIZED, pages::login::page(words)));
        };
        if !connection.admit(&self.connections) {
            return Ok(respond::plain(StatusCode::SERVICE_UNAVAILABLE, "Too many connections are open."));
        }
        if parts.method == Method::POST {
            return self.act(&parts, &path, body, &visitor).await;
        }
        if path == "/events" {
            return Ok(live::stream(self.history.subscribe(), self.closing.subscribe()));
        }
        Ok(self.show(&parts, path, visitor).await)
    }

    /// Exchanges the token for a cookie.
    fn log_in(&self, fields: &Fields) -> HttpResponse {
        match self.access.log_in(fields.bytes("token").unwrap_or_default()) {
            Ok(cookie) => respond::redirect("/", Some(&cookie)),
            Err(LoginFailure::Wrong) => respond::page(
                StatusCode::FORBIDDEN,
                pages::login::page("That is not the token of this server. `emend review` prints it when it starts."),
            ),
            Err(LoginFailure::TooMany) => respond::page(
                StatusCode::TOO_MANY_REQUESTS,
                pages::login::page("Too many wrong tokens: wait a minute."),
            ),
            Err(LoginFailure::Internal) => {
                respond::plain(StatusCode::INTERNAL_SERVER_ERROR, "The system provides no random numbers.")
            }
        }
    }

    /// Shows a page.
    async fn show(self: Arc<Self>, parts: &Parts, path: String, visitor: Visitor) -> HttpResponse {
        let fields = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let saved = cookie(&parts.headers, PREFERENCES_COOKIE).unwrap_or_default();
        let preferences = Preferences::read(saved).changed_by(&fields);
        let new_cookie = (preferences.saved() != saved
            && (fields.text("layout").is_some() || fields.text("ws").is_some()))
        .then(|| format!("{}={}; SameSite=Strict; Path=/; Max-Age=31536000", PREFERENCES_COOKIE, preferences.saved()));
        let csrf = visitor.csrf.clone();
        let shown = self
            .call(move |state| {
                state.ticks.refresh();
                pages::show(&PageContext::new(state, &csrf, &fields, preferences), &path)
            })
            .await;
        let mut response = shown.unwrap_or_else(|| {
            respond::plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "This page failed; the terminal of the server has the reason.",
            )
        });
        if let Some(cookie) = new_cookie.and_then(|cookie| cookie.parse().ok()) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    /// Performs the action of a button.
    async fn act(
        self: Arc<Self>,
        parts: &Parts,
        path: &str,
        body: Incoming,
        visitor: &Visitor,
    ) -> Result<HttpResponse, HttpRefusal> {
        let fields = Fields::parse(&self.bodies.read(body).await?);
        let header = parts.headers.get("x-emend-csrf").and_then(|value| value.to_str().ok());
        let sent = header.or_else(|| fields.text("csrf")).unwrap_or_default();
        if !visitor.sent(sent) {
            return Ok(respond::plain(StatusCode::FORBIDDEN, "This form is not one of this server's pages."));
        }
        if path != "/act" {
            return Ok(respond::plain(StatusCode::NOT_FOUND, "There is no such address."));
        }
        if self.options.read_only {
            return Ok(respond::plain(StatusCode::FORBIDDEN, "The server was started with --read-only."));
        }
        let wants_json = parts.headers.get(ACCEPT).is_some_and(|accept| accept.as_bytes() == b"application/json");
        let csrf = visitor.csrf.clone();
        let done = self
            .call(move |state| {
                let outcome = action::run(state, &fields);
                state.engine.history().finish_background_work();
                respond_to(state, &csrf, &fields, &outcome, wants_json)
            })
            .await;
        Ok(done.unwrap_or_else(|| respond::plain(StatusCode::INTERNAL_SERVER_ERROR, "The action failed.")))
    }
}

/// Answers a script with JSON, and a form with a page.
fn respond_to(
    state: &ReviewState,
    csrf: &str,
    fields: &Fields,
    outcome: &ActionOutcome,
    wants_json: bool,
) -> HttpResponse {
    if wants_json {
        return respond::json(outcome.status(), &outcome.to_json(state, fields));
    }
    let none = Fields::default();
    let page = PageContext::new(state, csrf, &none, Preferences::default());
    respond::page(outcome.status(), pages::outcome::page(&page, fields, outcome))
}
