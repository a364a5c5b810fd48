//! The request handler: MCP requests in, calls of the engine, MCP results out.

use crate::approval::{self, ApprovalQuestion};
use crate::client_info;
#[cfg(feature = "http")]
use crate::http::disconnected;
use crate::person::PersonQuestion;
use crate::queues::SessionQueues;
use crate::{CONCURRENT_CHANGES_MAX, ServerOptions, list, progress, resources, result};
use emendate::core::line_format::clip;
use emendate::{CallContext, CallHandle, Engine, Reply, ToolView};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use rmcp::{ServerHandler, model::Tool};
use serde_json::{Map, Value};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch::Sender;
use tokio::sync::{Semaphore, oneshot};

/// Questions of one call: after each answer the call is planned again, and another file may need approval.
const QUESTIONS_MAX: usize = 16;

/// Lifetime of the list of tools in clients' caches. The list depends only on the command line, so it outlives any
/// conversation.
const TOOL_LIST_TTL_MS: u64 = 3_600_000;

/// Methods that are implemented. If one arrives as a custom request, its parameters had the wrong shape.
const SERVED_METHODS: &[&str] = &[
    "initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list",
    "resources/read",
];

/// The server: an engine and its presentation. Shared by all requests and immutable. Clones share the state.
#[derive(Clone)]
pub(crate) struct McpServer {
    engine: Arc<Engine>,
    caller: Arc<CallContext>,
    options: ServerOptions,
    tools: Arc<OnceLock<Vec<Tool>>>,
    /// Bounds the calls that change files. Reads are not counted, so they get a thread even when all changes wait.
    changes: Arc<Semaphore>,
    queues: Arc<SessionQueues>,
    /// The number of calls in progress.
    running: Sender<usize>,
}

impl McpServer {
    pub(crate) fn new(engine: impl Into<Arc<Engine>>, caller: CallContext, options: ServerOptions) -> McpServer {
        McpServer {
            engine: engine.into(),
            caller: Arc::new(caller),
            options,
            tools: Arc::default(),
            changes: Arc::new(Semaphore::new(CONCURRENT_CHANGES_MAX)),
            queues: Arc::default(),
            running: Sender::new(0),
        }
    }

    /// Waits until no call is in progress.
    #[cfg(feature = "http")]
    pub(crate) async fn idle(&self) {
        // `self` holds the sender, so the channel stays open.
        let _ = self.running.subscribe().wait_for(|calls| *calls == 0).await;
    }

    /// Prints the notices of the engine for a person, on standard error.
    pub(crate) fn tell_notices(&self) {
        report_notices(&self.engine);
    }

    /// Returns the tools, which are the same for every client; schemas are built on first use, not at start.
    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| list::tools(self.options.profile))
    }

    /// Returns the tools for this client: with schemas of their results if these are structured and its revision of the
    /// protocol supports them.
    fn tools_for(&self, context: &RequestContext<RoleServer>) -> Vec<Tool> {
        if self.is_structured(context) { list::with_outputs(self.options.profile) } else { self.tools().to_vec() }
    }

    /// True if results are structured and the client's revision of the protocol supports that.
    fn is_structured(&self, context: &RequestContext<RoleServer>) -> bool {
        let knows = || context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2025_06_18);
        self.options.structured && knows()
    }
}

/// Prints notices on standard error: standard output belongs to the protocol.
fn report_notices(engine: &Engine) {
    for notice in engine.notices() {
        // A closed standard error is no reason to fail a call.
        let _ = writeln!(std::io::stderr(), "emend: {notice}");
    }
}

/// Stops a call when its requester is gone; no effect on one that has ended.
struct StopGuard(CallHandle);

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Counts a call during its lifetime.
struct RunningCall<'s>(&'s Sender<usize>);

impl RunningCall<'_> {
    fn begin(calls: &Sender<usize>) -> RunningCall<'_> {
        calls.send_modify(|calls| *calls += 1);
        RunningCall(calls)
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

/// Waits until the client has closed the connection of a request, which only HTTP has.
#[cfg(not(feature = "http"))]
pub(crate) async fn disconnected(_: &RequestContext<RoleServer>) {
    std::future::pending::<()>().await;
}

fn modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl McpServer {
    /// Runs a call of the engine on a separate thread.
    async fn work(
        &self,
        offer: &'static ToolView,
        caller: CallContext,
        input: Map<String, Value>,
        question: PersonQuestion,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Reply, PersonQuestion), ErrorData> {
        let handle = CallHandle::default();
        // Held until the change is written: the next one need not wait for the language servers' reports on this one.
        if offer.tool_row().annotations.read_only {
            handle.hold(self.queues.read_turn(&caller.session).await);
        } else {
            let turn = self.queues.change_turn(&caller.session).await;
            let permit = Arc::clone(&self.changes).acquire_owned().await.map_err(|error| internal_failure(&error))?;
            handle.hold((turn, permit));
        }
        if context.ct.is_cancelled() {
            question.withdraw();
            // Cancelled before it began.
            return Err(internal_failure(&"The call was cancelled before it began."));
        }
        // However this ends: an abandoned call stops before it writes.
        let _stop = StopGuard(handle.clone());
        let caller = CallContext { handle: Some(handle.clone()), ..caller };
        let engine = Arc::clone(&self.engine);
        let reported = question.reported();
        let held = handle.clone();
        let (answer, work) = oneshot::channel();
        drop(tokio::task::spawn_blocking(move || {
            // The session continues, so its earlier replies have been sent.
            engine.remarks().confirm_replies(Some(&caller.session));
            let input = Value::Object(input);
            let reply = offer.call(&engine, &caller, input.clone());
            report_notices(&engine);
            held.release();
            let question = question.next(&engine, &caller, offer.name, &input, &reply);
            // The requester may be gone.
            let _ = answer.send((reply, question));
            // After sending the answer, and on this thread, which is already running.
            engine.history().finish_background_work();
        }));
        let (ended, end) = oneshot::channel();
        let work = async {
            let _ended = ended;
            supervise(work, &handle, context).await
        };
        let (work, ()) = tokio::join!(work, progress::report_progress(context, &handle, end, &reported));
        if context.ct.is_cancelled() {
            // The reply of the call is not sent, so its comments are not delivered.
            self.engine.remarks().recall_replies(None);
        }
        work.map_err(|error| internal_failure(&error))
    }
}

/// Returns the error of a failure inside the server.
fn internal_failure(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl McpServer {
    /// Runs a query of the engine on a separate thread.
    async fn run_query<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        ask: impl FnOnce(&Engine, &CallContext) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let _running = RunningCall::begin(&self.running);
        let handle = CallHandle::default();
        let _stop = StopGuard(handle.clone());
        let caller = CallContext { handle: Some(handle.clone()), ..(*self.caller).clone() };
        let engine = Arc::clone(&self.engine);
        let asked = tokio::task::spawn_blocking(move || ask(&engine, &caller));
        let asked = supervise(asked, &handle, context).await;
        asked.map_err(|error| ErrorData::internal_error(error.to_string(), None))?
    }
}

/// Waits for the end of work. If its requester cancels it or is gone, it stops before it writes; a write that has begun
/// is finished in any case.
async fn supervise<T>(work: impl Future<Output = T>, handle: &CallHandle, context: &RequestContext<RoleServer>) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = context.ct.cancelled() => {}
        () = disconnected(context) => {}
    }
    handle.stop();
    work.await
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(Implementation::new("emendate", env!("CARGO_PKG_VERSION")).with_title("Emendate"))
            .with_instructions(self.options.profile.instructions)
    }

    /// A client that cancels a call does not read its reply, which may have been sent already.
    async fn on_cancelled(&self, _: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        self.engine.remarks().recall_replies(None);
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let info = self.negotiate_initialize(&request)?;
        // The library shapes later results by the negotiated version, not by the requested one.
        let mut peer = request;
        peer.protocol_version = info.protocol_version.clone();
        context.peer.set_peer_info(peer);
        Ok(info)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(found.with_ttl_ms(TOOL_LIST_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(self.tools_for(&context));
        // Older clients get the shape they know.
        Ok(if modern(&context) {
            list.with_ttl_ms(TOOL_LIST_TTL_MS).with_cache_scope(CacheScope::Public)
        } else {
            list
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offer) = self.options.profile.find_view(&request.name) else {
            return Err(unknown(&request.name, self));
        };
        let mut running = Some(RunningCall::begin(&self.running));
        let front = Some(client_info::of(&self.caller, &context));
        let mut caller = CallContext {
            approval: approval::answer_from_retry(&request),
            client: front,
            original_file: client_info::wants_original(&context),
            ..(*self.caller).clone()
        };
        if let Some(name) = self.options.session.as_ref().and_then(|source| source()) {
            caller.session = name;
        }
        #[cfg(feature = "http")]
        if let Some(name) = crate::http::session(&caller.session, &context) {
            caller.session = name;
        }
        let input = request.arguments.unwrap_or_default();
        let structured = self.is_structured(&context);
        let mut question = PersonQuestion::new(&self.engine, self.options.profile.name, !approval::can_ask(&context));
        for _ in 0..QUESTIONS_MAX {
            let (reply, asked) = self.work(offer, caller.clone(), input.clone(), question, &context).await?;
            question = asked;
            let approval = if let Some(form) = ApprovalQuestion::question_of(&reply, &context) {
                if modern(&context) {
                    return Ok(CallToolResponse::from(form.required()));
                }
                // Nothing is held while the person thinks: no lock, no permit, no thread.
                form.ask(&context).await.ok_or(reply)
            } else {
                // The server may end meanwhile: the question stays.
                running = None;
                question.wait(reply, &context).await
            };
            match approval {
                Ok(approval) => caller.approval = Some(approval),
                Err(reply) => return Ok(CallToolResponse::from(result::of(reply, structured))),
            }
            running = running.or_else(|| Some(RunningCall::begin(&self.running)));
        }
        let what = format!(
            "A person was asked {QUESTIONS_MAX} times, and no answer could be carried out: each time the file had \
             changed, or could not have the corrected text."
        );
        Err(ErrorData::internal_error(what, None))
    }

    /// Refuses a prompt: clients ask for one although none is listed.
    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let what = format!("Unknown prompt: {}. This server has no prompts, only tools.", clip(&request.name));
        Err(ErrorData::invalid_params(what, None))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let list = self.run_query(&context, move |engine, _| resources::list(engine, cursor.as_deref())).await?;
        // The next call may add to it.
        Ok(if modern(&context) { list.with_ttl_ms(0).with_cache_scope(CacheScope::Private) } else { list })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = resources::templates();
        Ok(if modern(&context) {
            list.with_ttl_ms(TOOL_LIST_TTL_MS).with_cache_scope(CacheScope::Public)
        } else {
            list
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read =
            self.run_query(&context, move |engine, caller| resources::read(engine, caller, &request.uri)).await?;
        Ok(if modern(&context) { read.with_ttl_ms(0).with_cache_scope(CacheScope::Private) } else { read }.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if SERVED_METHODS.contains(&&*method) {
            ErrorData::invalid_params(format!("The parameters of {method} have the wrong shape."), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {}.", clip(&method)), None)
        })
    }
}

/// Creates a protocol error, as the specification of both eras requires here.
fn unknown(name: &str, server: &McpServer) -> ErrorData {
    let names: Vec<&str> = server.options.profile.views.iter().map(|offer| offer.name).collect();
    ErrorData::invalid_params(format!("Unknown tool: {}. The tools are: {}.", clip(name), names.join(", ")), None)
}
