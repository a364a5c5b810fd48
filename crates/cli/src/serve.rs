//! The interfaces for programs: one call, calls line by line, and MCP.

use crate::args::{CallArgs, McpArgs};
use crate::context::CliContext;
use crate::requests::{NdjsonCall, Next, Requests};
use crate::waiting_calls::{self, Outcome};
use crate::{approval, disconnect, input, output, signals, styled};
#[cfg(feature = "http")]
use crate::{http, review};
use emendate::core::Result;
use emendate::{AskingCall, CallContext, Engine, Reply, SeedCodes, tool};
use serde_json::{Map, Value};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `emend call`: one JSON object on standard output, whatever happens; the exit status.
pub(crate) fn call(context: &CliContext<'_>, args: &CallArgs) -> u8 {
    let seed = tool(&args.tool).map_or(SeedCodes::None, |tool| tool.seed);
    let text = if args.input == "-" { input::stdin("the tool's input as JSON") } else { Ok(args.input.clone()) };
    match text.and_then(|text| Ok((text, context.open()?))) {
        Ok((text, engine)) => {
            signals::end_programs_on_signal(&engine, true);
            let status = output::json(
                &call_and_wait(&engine, &context.caller_for_client("call", ""), &args.tool, &text),
                &args.tool,
            );
            output::notices(&engine);
            status
        }
        Err(error) => output::json(&Reply::refusal(error, seed), &args.tool),
    }
}

/// Makes a call, and waits for the person whom it may need.
fn call_and_wait(engine: &Engine, caller: &CallContext, tool: &str, text: &str) -> Reply {
    let make = |caller: &CallContext| engine.call_json(caller, tool, text);
    let reply = make(caller);
    let Ok(input) = serde_json::from_str(text) else { return reply };
    let call = AskingCall { profile: None, tool, input: &input };
    engine.questions().wait_for_person(caller, call, reply, make, approval::note_question)
}

/// `emend mcp`: serves until the input ends, or over HTTP until a signal comes.
pub(crate) fn mcp(context: &CliContext<'_>, args: &McpArgs) -> Result<u8> {
    // Opened before this process gives up access to what is not beneath the roots.
    #[cfg(feature = "http")]
    let listener = http::open_listener(&args.http)?;
    let engine = Arc::new(context.open_for_server()?);
    output::notices(&engine);
    #[cfg(feature = "http")]
    let review = if args.review { Some(review::open_beside(context, &engine)?) } else { None };
    if args.restrict {
        restrict(context, &engine)?;
    }
    #[cfg(feature = "http")]
    let review = review.map(|page| page.start(&engine)).transpose()?;
    let caller = context.caller_for_client("mcp", args.profile.name);
    let conversation = context.conversation_file();
    let session = conversation.map(|file| Arc::new(move || file.session()) as emendate_mcp::SessionSource);
    let options = emendate_mcp::ServerOptions { profile: args.profile, structured: args.structured, session };
    #[cfg(feature = "http")]
    if let Some(listener) = listener {
        emendate_mcp::serve_http(engine, caller, options, listener)?;
        review.into_iter().for_each(emendate_review::ReviewThread::stop);
        return Ok(0);
    }
    signals::end_programs_on_signal(&engine, true);
    disconnect::watch_stdout(&engine);
    emendate_mcp::serve(engine, caller, options)?;
    #[cfg(feature = "http")]
    review.into_iter().for_each(emendate_review::ReviewThread::stop);
    Ok(0)
}

/// Restricts this process to the roots and the state directory. Called before any thread is started, because threads
/// inherit the restriction.
fn restrict(context: &CliContext<'_>, engine: &Engine) -> Result<()> {
    let state = context.state();
    let state = state.directory().filter(|directory| directory.is_dir());
    if let Some(note) = emendate::fs::restrict(engine.roots().into_iter().chain(state))? {
        output::note(&note);
    }
    Ok(())
}

/// `emend serve --ndjson`: answers the requests in order until the input ends. A call that may wait for a person is
/// answered once they have decided, without delaying the others.
pub(crate) fn serve(context: &CliContext<'_>) -> Result<u8> {
    let engine = context.open_for_server()?;
    output::notices(&engine);
    signals::end_programs_on_signal(&engine, true);
    disconnect::watch_stdout(&engine);
    let mut caller = context.caller_for_client("serve", "");
    let requests = Requests::read(io::stdin())?;
    let mut replies = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    loop {
        let mut next = requests.poll()?;
        if matches!(next, Next::Idle) {
            // Replies to requests that came together are sent together.
            if let Err(error) = replies.flush() {
                return ended(&error);
            }
            engine.remarks().confirm_replies(None);
            engine.history().finish_background_work();
            output::notices(&engine);
            next = requests.wait()?;
        }
        let outcome = match next {
            Next::Request(request) => {
                caller.handle = Some(request.handle);
                let outcome = answer(&engine, &caller, request.id, request.call);
                requests.answered();
                outcome
            }
            Next::Answered(call, end) => call.resume(&engine, &caller, end),
            Next::Idle | Next::End => break,
        };
        let answered = match outcome {
            Outcome::Reply(id, reply) => line(id, &reply),
            Outcome::Waiting(call) => {
                approval::note_question(call.question());
                requests.start_waiting(call)?;
                continue;
            }
        };
        let written = serde_json::to_writer(&mut replies, &answered).map_err(io::Error::from);
        if let Err(error) = written.and_then(|()| replies.write_all(b"\n")) {
            return ended(&error);
        }
        if engine.client_gone_flag().load(Ordering::Relaxed) {
            return Ok(0);
        }
    }
    output::notices(&engine);
    styled::ignore_broken_pipe(replies.flush())?;
    Ok(0)
}

/// Ends the command after a reply could not be written.
///
/// Errors: the failure, unless the reader of the replies is gone.
fn ended(error: &io::Error) -> Result<u8> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(0) } else { Err(output::output_error(error)) }
}

/// Makes the call of a request.
fn answer(engine: &Engine, caller: &CallContext, id: Value, call: Result<NdjsonCall>) -> Outcome {
    match call {
        Ok(NdjsonCall { tool, input, waits: true }) => waiting_calls::call(engine, caller, id, tool, input),
        Ok(NdjsonCall { tool, input, waits: false }) => Outcome::Reply(id, engine.call(caller, &tool, input)),
        Err(error) => Outcome::Reply(id, Reply::refusal(error, SeedCodes::None)),
    }
}

/// The reply line to a request.
fn line(id: Value, reply: &Reply) -> Value {
    let mut out = Map::new();
    out.insert("id".to_owned(), id);
    if let Value::Object(fields) = reply.to_json() {
        out.extend(fields);
    }
    Value::Object(out)
}
