//! `emend review`: serves the review page, and opens it in the browser.

use crate::args::ReviewArgs;
use crate::context::CliContext;
use crate::{io_error, output, signals};
use emendate::core::{Code, Error, Result};
use emendate::history::root_key;
use emendate::{COUNTERS_FILE, CallContext, Engine, StateLocation, UnreadPolicy, unique_session};
use emendate_os::files::{DirBuilderExt as _, OpenOptionsExt as _};
use emendate_review::{ReviewListener, ReviewOptions, ReviewThread};
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Directory of the page below the state directory.
const REVIEW_DIRECTORY: &str = "review";
/// Programs that open an address, in the order in which they are tried.
const OPENERS: &[&str] = &["xdg-open", "open", "wslview"];

/// Runs `emend review`; returns the exit status.
///
/// Errors: those of the engine and of the socket.
pub(crate) fn run(context: &CliContext<'_>, args: &ReviewArgs) -> Result<u8> {
    if context.state() == StateLocation::Nowhere {
        return Err(Error::new(
            Code::CallInvalid,
            "Without a state directory no history is kept, so there is nothing to review.",
        )
        .next("Name a state directory (--state)."));
    }
    let listener = ReviewListener::open(&args.port.to_string())?;
    if context.global.dry_run {
        output::note(&format!("would serve the review page at {}", listener.url()));
        return Ok(0);
    }
    let engine = Arc::new(context.open_for_server()?);
    output::notices(&engine);
    signals::end_programs_on_signal(&engine, false);
    let options = options(context, &engine, args.read_only);
    announce(&listener, options.visits.as_deref().and_then(Path::parent), args.no_open);
    emendate_review::serve_review(engine, reviewer(context), options, listener)?;
    Ok(0)
}

/// A review page that is to be served together with another server.
pub(crate) struct ReviewBeside {
    listener: ReviewListener,
    options: ReviewOptions,
    caller: CallContext,
}

/// Opens the review page beside another server, and prints its address.
///
/// Errors: those of the socket.
pub(crate) fn open_beside(context: &CliContext<'_>, engine: &Engine) -> Result<ReviewBeside> {
    let listener = ReviewListener::open("0")?;
    let options = options(context, engine, false);
    announce(&listener, None, true);
    Ok(ReviewBeside { listener, options, caller: reviewer(context) })
}

impl ReviewBeside {
    /// Serves it.
    ///
    /// Errors: no thread can be started.
    pub(crate) fn start(self, engine: &Arc<Engine>) -> Result<ReviewThread> {
        ReviewThread::start(Arc::clone(engine), self.caller, self.options, self.listener)
    }
}

/// Returns the context of a person at the page.
fn reviewer(context: &CliContext<'_>) -> CallContext {
    let caller = context.caller_for_client("review", "");
    // A person has seen what they undo, and the conversation of an agent is not theirs.
    CallContext { session: unique_session("review"), unread: UnreadPolicy::Allow, person_reads: true, ..caller }
}

/// Returns the options of the page.
pub(crate) fn options(context: &CliContext<'_>, engine: &Engine, read_only: bool) -> ReviewOptions {
    let state = context.state();
    let state = state.directory();
    let root = engine.roots().first().map(|root| root_key(root)).unwrap_or_default();
    let directory = state
        .filter(|_| !context.global.dry_run)
        .map(|state| state.join(REVIEW_DIRECTORY))
        .filter(|directory| fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).is_ok());
    ReviewOptions {
        read_only: read_only || context.global.dry_run,
        hosts: Vec::new(),
        counters: state.map(|state| state.join(COUNTERS_FILE)),
        ticks: directory.as_ref().map(|directory| directory.join(format!("{root}.ticks"))),
        visits: directory.map(|directory| directory.join(root)),
    }
}

/// Prints the address, and opens the browser unless that is not wanted or would open it on another machine.
pub(crate) fn announce(listener: &ReviewListener, directory: Option<&Path>, no_open: bool) {
    let address = listener.login_url();
    output::note(&format!("review page {address}"));
    if env::var_os("SSH_CONNECTION").is_some() {
        let port = listener.port();
        output::note(&format!("on your own machine: ssh -L {port}:127.0.0.1:{port} HOST, then open the address there"));
        return;
    }
    if no_open {
        return;
    }
    if let Err(error) = open(&address, directory) {
        output::note(&format!("no browser was opened ({error}); open the address yourself"));
    }
}

/// Opens the browser by a file that leads to the address: all users can see command lines, and the address has the
/// token.
fn open(address: &str, directory: Option<&Path>) -> Result<()> {
    let directory = directory.map_or_else(env::temp_dir, Path::to_owned);
    let file = directory.join(format!("open-{}.html", std::process::id()));
    write_redirect(&file, address)?;
    let wanted = env::var("BROWSER").ok().filter(|name| !name.is_empty());
    for program in wanted.iter().map(String::as_str).chain(OPENERS.iter().copied()) {
        let mut command = Command::new(program);
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return Ok(());
        }
    }
    Err(Error::new(Code::IoFailed, "neither $BROWSER nor xdg-open is there"))
}

/// Writes a page for its owner that leads to an address.
fn write_redirect(file: &PathBuf, address: &str) -> Result<()> {
    // Left by an earlier process with the same id.
    let _ = fs::remove_file(file);
    let page = format!(
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>emend review</title>\n"
    );
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| io_error(&file.display().to_string(), &error))
}
