//! The handler: MCP requests in, calls of the engine, MCP results out.

use crate::approval::{self, Question};
use crate::front;
use crate::{CHANGES, Options, list, progress, resources, result};
use emendate::{Caller, Engine, Offer, Reply, Watch};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    ErrorData, Implementation, InitializeRequestParams, InitializeResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, model::Tool};
use serde_json::{Map, Value};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch::Sender;
use tokio::sync::{Semaphore, oneshot};

/// Questions of one call: after each answer the file is looked at again, and may be another one.
const QUESTIONS: usize = 16;

/// How long clients may keep the list of tools. It is fixed by the command line, so it outlives any conversation.
const TTL_MS: u64 = 3_600_000;

/// Methods that are answered here. Their parameters had the wrong shape if they arrive as custom requests.
const SERVED: &[&str] = &[
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// The server: an engine and how it is presented. Shared by all requests; nothing in it changes. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Server {
    engine: Arc<Engine>,
    caller: Arc<Caller>,
    options: Options,
    tools: Arc<OnceLock<Vec<Tool>>>,
    /// Bounds the calls that change files. Reads are not counted, so they find a thread even when all changes wait.
    changes: Arc<Semaphore>,
    /// How many calls are under way.
    running: Sender<usize>,
}

impl Server {
    pub(crate) fn new(engine: Engine, caller: Caller, options: Options) -> Server {
        Server {
            engine: Arc::new(engine),
            caller: Arc::new(caller),
            options,
            tools: Arc::default(),
            changes: Arc::new(Semaphore::new(CHANGES)),
            running: Sender::new(0),
        }
    }

    /// Waits until no call is under way.
    #[cfg(feature = "http")]
    pub(crate) async fn idle(&self) {
        // The sender is here, so there is an end to wait for.
        let _ = self.running.subscribe().wait_for(|calls| *calls == 0).await;
    }

    /// Shows a person what the engine has to say, on standard error.
    pub(crate) fn tell_notices(&self) {
        tell(&self.engine);
    }

    /// The tools are the same for every client; schemas are made when first asked for, not at start.
    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| list::tools(self.options.profile))
    }

    /// The tools as this client is shown them: with schemas of their results where these are structured and its revision of
    /// the protocol has such schemas.
    fn tools_for(&self, context: &RequestContext<RoleServer>) -> Vec<Tool> {
        let knows = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2025_06_18);
        if self.options.structured && knows { list::with_outputs(self.options.profile) } else { self.tools().to_vec() }
    }
}

/// Notices go to standard error: standard output belongs to the protocol.
fn tell(engine: &Engine) {
    for notice in engine.notices() {
        // Nobody may be listening there; that is no reason to fail a call.
        let _ = writeln!(std::io::stderr(), "emend: {notice}");
    }
}

/// Stops a call that nobody waits for any more; one that has ended does not mind.
struct Stopping(Watch);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Counts a call for as long as it lives.
struct Running<'s>(&'s Sender<usize>);

impl Running<'_> {
    fn begin(calls: &Sender<usize>) -> Running<'_> {
        calls.send_modify(|calls| *calls += 1);
        Running(calls)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

fn modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl Server {
    /// Calls the engine on a thread of its own.
    async fn work(
        &self,
        offer: &'static Offer,
        caller: Caller,
        input: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, ErrorData> {
        let internal = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
        let turn = if offer.row().annotations.read_only {
            None
        } else {
            Some(Arc::clone(&self.changes).acquire_owned().await.map_err(|error| internal(&error))?)
        };
        if context.ct.is_cancelled() {
            // Nobody waits for it and it has not begun.
            return Err(internal(&"The call was cancelled before it began."));
        }
        let watch = Watch::default();
        // However this ends: a call that nobody waits for stops before it writes.
        let _stop = Stopping(watch.clone());
        let caller = Caller { watch: Some(watch.clone()), ..caller };
        let engine = Arc::clone(&self.engine);
        // The next change need not wait for what language servers say of this one.
        watch.hold(turn);
        let held = watch.clone();
        let (answer, mut work) = oneshot::channel();
        drop(tokio::task::spawn_blocking(move || {
            let reply = offer.call(&engine, &caller, Value::Object(input));
            tell(&engine);
            held.let_go();
            // Whoever waited may be gone.
            let _ = answer.send(reply);
            // Beside the answer, which does not wait for it; and by this thread, which is awake.
            engine.catch_up();
        }));
        let (ended, end) = oneshot::channel();
        let work = async {
            let _ended = ended;
            tokio::select! {
                biased;
                done = &mut work => done,
                () = context.ct.cancelled() => {
                    // It stops before it writes. What it has begun to write is finished, whether anybody waits or not.
                    watch.stop();
                    work.await
                }
            }
        };
        let (work, ()) = tokio::join!(work, progress::tell(context, &watch, end));
        work.map_err(|error| internal(&error))
    }
}

impl Server {
    /// Asks the engine on a thread of its own.
    async fn look<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Engine, &Caller) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (engine, caller) = (Arc::clone(&self.engine), Arc::clone(&self.caller));
        let asked = tokio::task::spawn_blocking(move || ask(&engine, &caller)).await;
        asked.map_err(|error| ErrorData::internal_error(error.to_string(), None))?
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(Implementation::new("emendate", env!("CARGO_PKG_VERSION")).with_title("Emendate"))
            .with_instructions(self.options.profile.instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let info = self.negotiate_initialize(&request)?;
        // The library shapes later results by the version agreed on, not by the one asked for.
        let mut peer = request;
        peer.protocol_version = info.protocol_version.clone();
        context.peer.set_peer_info(peer);
        Ok(info)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(found.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(self.tools_for(&context));
        // Older clients get the shape they know.
        Ok(if modern(&context) { list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public) } else { list })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offer) = self.options.profile.offer_meant(&request.name) else {
            return Err(unknown(&request.name, self));
        };
        let _running = Running::begin(&self.running);
        let front = Some(front::of(&self.caller, &context));
        let mut caller = Caller { approval: approval::given(&request), front, ..(*self.caller).clone() };
        #[cfg(feature = "http")]
        if let Some(name) = crate::http::session(&caller.session, &context) {
            caller.session = name;
        }
        let input = request.arguments.unwrap_or_default();
        for _ in 0..QUESTIONS {
            let reply = self.work(offer, caller.clone(), input.clone(), &context).await?;
            let Some(question) = Question::of(&reply, &context) else {
                return Ok(CallToolResponse::from(result::of(reply, self.options.structured)));
            };
            if modern(&context) {
                return Ok(CallToolResponse::from(question.required()));
            }
            // Nothing is held while the person thinks: no lock, no turn, no thread.
            let Some(answer) = question.put(&context).await else {
                return Ok(CallToolResponse::from(result::of(reply, self.options.structured)));
            };
            caller.approval = Some(answer);
        }
        Err(ErrorData::internal_error("The file kept changing while it was asked about.", None))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let list = self.look(move |engine, _| resources::list(engine, cursor.as_deref())).await?;
        // The next call may add to it.
        Ok(if modern(&context) { list.with_ttl_ms(0).with_cache_scope(CacheScope::Private) } else { list })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = resources::templates();
        Ok(if modern(&context) { list.with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Public) } else { list })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.look(move |engine, caller| resources::read(engine, caller, &request.uri)).await?;
        Ok(if modern(&context) { read.with_ttl_ms(0).with_cache_scope(CacheScope::Private) } else { read }.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if SERVED.contains(&&*method) {
            ErrorData::invalid_params(format!("The parameters of {method} have the wrong shape."), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {method}."), None)
        })
    }
}

/// The specification of both eras asks for a protocol error here.
fn unknown(name: &str, server: &Server) -> ErrorData {
    let names: Vec<&str> = server.options.profile.offers.iter().map(|offer| offer.name).collect();
    ErrorData::invalid_params(format!("Unknown tool: {name}. The tools are: {}.", names.join(", ")), None)
}
