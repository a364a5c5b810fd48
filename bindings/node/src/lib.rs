//! The native module of the npm package `emendate`: it translates between Node and the engine, and decides nothing.
//!
//! Every call runs on a thread of Node's pool and returns a promise of an envelope, which is JSON
//! (`emendate_javascript`); `index.js` has the classes that people use.

mod job;
mod session_call;
mod session_outcome;
mod workspace;

use crate::job::Job;
use crate::workspace::NativeHandle;
use emendate::{PROFILES, ToolView, unique_session};
use emendate_core::work::{Meter, WORK_STEPS_MAX};
use emendate_core::{ArgumentStyle, Code, Error};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::{Value, json};

/// Calls a function on text. A handle stops it.
#[napi]
pub fn call_text(name: String, input: String, handle: Option<&NativeHandle>) -> AsyncTask<Job> {
    let flag = handle.map(NativeHandle::stop_flag).unwrap_or_default();
    Job::start(move || {
        let limit = emendate_javascript::step_limit(&input).unwrap_or(WORK_STEPS_MAX);
        let _entered = Meter::new(limit, flag).enter();
        emendate_javascript::call(&name, &input)
    })
}

/// Calls a function that only returns names.
#[napi]
#[allow(clippy::needless_pass_by_value, reason = "strings of JavaScript are converted")]
pub fn names(name: String) -> String {
    emendate_javascript::call(&name, "{}")
}

/// Returns a name for a session that no other one has.
#[napi]
pub fn session_name() -> String {
    unique_session("node")
}

/// Returns the profiles: name, summary and instructions of each.
#[napi]
pub fn profile_rows() -> String {
    let rows = PROFILES.iter().map(
        |profile| json!({ "name": profile.name, "summary": profile.summary, "instructions": profile.instructions }),
    );
    Value::Array(rows.collect()).to_string()
}

/// Returns the tools of a profile.
#[napi]
#[allow(clippy::needless_pass_by_value, reason = "strings of JavaScript are converted")]
pub fn tool_rows(profile: String) -> String {
    let row = |view: &'static ToolView| {
        let tool = view.tool_row();
        json!({
            "name": view.name,
            "title": tool.title,
            "description": view.prompt(),
            "inputSchema": view.schema(),
            "readOnly": tool.annotations.read_only,
            "destructive": tool.annotations.destructive,
            "idempotent": tool.annotations.idempotent,
        })
    };
    let rows = named_profile(&profile).map(|profile| profile.views.iter().map(row).collect());
    emendate_javascript::envelope(rows)
}

/// Returns every method of a session that advice may name, with each of its parameters.
#[napi]
pub fn session_parameters() -> String {
    json!(emendate::session_parameters(ArgumentStyle::JavaScript)).to_string()
}

/// Returns a profile whose tools can be called: also one of an adapter.
///
/// Errors: `call.invalid` for a name that no profile has.
fn called_profile(name: &str) -> Result<&'static emendate::Profile, Error> {
    emendate::adapter_profile(name).map_or_else(|| named_profile(name), Ok)
}

/// Errors: `call.invalid` for a name that no profile has.
fn named_profile(name: &str) -> Result<&'static emendate::Profile, Error> {
    emendate::profile(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Error::new(Code::CallInvalid, format!("There is no profile `{name}`."))
            .next(format!("Use one of: {}.", names.join(", ")))
    })
}
