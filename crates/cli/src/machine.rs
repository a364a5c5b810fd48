//! The doors for programs: one call, calls line by line, and MCP.

use crate::args::{CallArgs, McpArgs};
use crate::desk::Desk;
#[cfg(feature = "http")]
use crate::http;
use crate::{ending, gone, input, io_error, show};
use emendate::core::formats::malformed;
use emendate::core::{Code, Error, Result};
use emendate::{Caller, Engine, MAX_INPUT, Reply, SeedCodes, State, tool};
use serde_json::{Map, Value};
use std::io::{self, BufRead, BufReader, BufWriter, Write};

/// Bytes of the id of a request, as JSON: the reply repeats it.
const MAX_ID: usize = 1024;
/// Bytes of a request line, which is the JSON of a call.
const MAX_LINE: usize = MAX_INPUT;

/// `emend call`: one JSON object on standard output, whatever happens; the exit status.
pub(crate) fn call(desk: &Desk<'_>, args: &CallArgs) -> u8 {
    let seed = tool(&args.tool).map_or(SeedCodes::None, |tool| tool.seed);
    let text = if args.input == "-" { input::stdin("the tool's input as JSON") } else { Ok(args.input.clone()) };
    match text.and_then(|text| Ok((text, desk.open()?))) {
        Ok((text, engine)) => {
            ending::watch(&engine, true);
            let status = show::json(&engine.call_json(&desk.caller_through("call", ""), &args.tool, &text));
            show::notices(&engine);
            status
        }
        Err(error) => show::json(&Reply::refusal(error, seed)),
    }
}

/// `emend mcp`: serves until the input ends, or over HTTP until a signal comes.
pub(crate) fn mcp(desk: &Desk<'_>, args: &McpArgs) -> Result<u8> {
    // Before this process gives up what is not beneath the roots.
    #[cfg(feature = "http")]
    let door = http::door(&args.http)?;
    let engine = desk.open_to_stay()?;
    show::notices(&engine);
    if args.restrict {
        restrict(desk, &engine)?;
    }
    let caller = desk.caller_through("mcp", args.profile.name);
    let options = emendate_mcp::Options { profile: args.profile, structured: args.structured };
    #[cfg(feature = "http")]
    if let Some(door) = door {
        emendate_mcp::serve_http(engine, caller, options, door)?;
        return Ok(0);
    }
    ending::watch(&engine, true);
    gone::watch(&engine);
    emendate_mcp::serve(engine, caller, options)?;
    Ok(0)
}

/// The roots and the state directory are all that is left to this process. Before any thread is started: they inherit it.
fn restrict(desk: &Desk<'_>, engine: &Engine) -> Result<()> {
    let state = match desk.state() {
        State::Directory(directory) if directory.is_dir() => Some(directory),
        _ => None,
    };
    if let Some(note) = emendate::fs::restrict(engine.roots().into_iter().chain(state.as_deref()))? {
        show::note(&note);
    }
    Ok(())
}

/// `emend serve --ndjson`: answers every line in order until the input ends.
pub(crate) fn serve(desk: &Desk<'_>) -> Result<u8> {
    let engine = desk.open_to_stay()?;
    show::notices(&engine);
    ending::watch(&engine, true);
    gone::watch(&engine);
    let caller = desk.caller_through("serve", "");
    let mut requests = BufReader::with_capacity(64 << 10, io::stdin().lock());
    let mut replies = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let mut line = Vec::new();
    loop {
        let fits = match read_line(&mut requests, &mut line) {
            Ok(Some(fits)) => fits,
            Ok(None) => break,
            Err(error) => return Err(io_error("standard input", &error)),
        };
        let blank = line.iter().all(u8::is_ascii_whitespace);
        if fits && blank {
            continue;
        }
        let answered = answer(&engine, &caller, &line, fits);
        let mut written = serde_json::to_writer(&mut replies, &answered).map_err(io::Error::from);
        written = written.and_then(|()| replies.write_all(b"\n"));
        // A whole request that is already here is answered before anybody is told; half a one may be waiting for us.
        if !requests.buffer().contains(&b'\n') {
            written = written.and_then(|()| replies.flush());
            engine.catch_up();
        }
        match written {
            Ok(()) => show::notices(&engine),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
            Err(error) => return Err(show::unshown(&error)),
        }
    }
    show::quiet_pipe(replies.flush())?;
    Ok(0)
}

/// Reads one line into `line`, without its end; false when it was too long and has been skipped. `None` at the end.
fn read_line(requests: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    // One very large request must not keep its memory for good.
    line.shrink_to(1 << 20);
    line.clear();
    let read = io::Read::take(&mut *requests, MAX_LINE as u64 + 1).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > MAX_LINE {
        skip_line(requests)?;
    }
    Ok(Some(line.len() <= MAX_LINE))
}

fn skip_line(requests: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = requests.fill_buf()?;
        let (len, end) = (buffer.len(), buffer.iter().position(|&byte| byte == b'\n'));
        requests.consume(end.map_or(len, |at| at + 1));
        if len == 0 || end.is_some() {
            return Ok(());
        }
    }
}

/// The reply line to a request line.
fn answer(engine: &Engine, caller: &Caller, line: &[u8], fits: bool) -> Value {
    let (id, reply) = if fits {
        match request(line) {
            Ok((id, name, input)) => (id, engine.call(caller, &name, input)),
            Err((id, error)) => (id, refused(error)),
        }
    } else {
        let error = Error::new(Code::CallTooLarge, format!("The line has more than {MAX_LINE} bytes."));
        (Value::Null, refused(error.next("Send smaller edits in several calls.")))
    };
    let mut out = Map::new();
    out.insert("id".to_owned(), id);
    if let Value::Object(fields) = reply.to_json() {
        out.extend(fields);
    }
    Value::Object(out)
}

fn refused(error: Error) -> Reply {
    Reply::refusal(error, SeedCodes::None)
}

/// Takes a request apart: id, tool, input. A failure keeps the id where it could be read.
fn request(line: &[u8]) -> Result<(Value, String, Value), (Value, Error)> {
    let wrong = |what: &str| {
        Error::new(Code::CallInvalid, what)
            .next(r#"Send {"id": 1, "tool": "read", "input": {"file_path": "/a"}} on one line."#)
    };
    let value = serde_json::from_slice(line).map_err(|error| (Value::Null, malformed(&error)))?;
    let Value::Object(mut fields) = value else {
        return Err((Value::Null, wrong("A request is a JSON object.")));
    };
    let id = fields.shift_remove("id").unwrap_or(Value::Null);
    if id.to_string().len() > MAX_ID {
        return Err((Value::Null, wrong(&format!("The id has more than {MAX_ID} bytes."))));
    }
    let name = match fields.shift_remove("tool") {
        Some(Value::String(name)) => name,
        Some(_) => return Err((id, wrong("The field `tool` must be a string."))),
        None => return Err((id, wrong("The request names no `tool`."))),
    };
    let input = fields.shift_remove("input").unwrap_or_else(|| Value::Object(Map::new()));
    match fields.keys().next() {
        Some(unknown) => Err((id, wrong(&format!("A request has no field `{unknown}`.")))),
        None => Ok((id, name, input)),
    }
}
