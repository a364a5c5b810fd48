//! The event of one call.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

/// Maximum characters of a name that comes from outside: of a model, a client, a session.
const NAME_CHARS_MAX: usize = 100;

/// A call and its result. Contains no contents, and paths only if [`Sink`](crate::Sink) is configured to write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Start time, in microseconds since 1970.
    pub at: u64,
    /// Duration in microseconds.
    pub micros: u64,
    /// Name of the tool.
    pub tool: &'static str,
    /// Format of its input, if it has one.
    pub format: &'static str,
    /// `ok`, or the error code.
    pub code: &'static str,
    /// The highest matching tier that was needed.
    pub tier: Option<u64>,
    /// Nothing was to be written.
    pub dry_run: bool,
    /// Bytes of text in the input.
    pub input: usize,
    /// Bytes of text in the reply.
    pub output: usize,
    /// Number of changed files.
    pub files: usize,
    /// Numbers of added and removed lines.
    pub lines: (u64, u64),
    /// A file that agents read as instructions, such as `CLAUDE.md`, was changed.
    pub instructions: bool,
    /// The front end: `cli`, `call`, `serve`, `mcp`, `hook` or `library`.
    pub transport: &'static str,
    /// The profile, if the front end has one.
    pub profile: &'static str,
    /// The calling program, as it names itself.
    pub client: String,
    /// The model, if known.
    pub model: String,
    /// The session.
    pub session: String,
    /// The files.
    pub paths: Vec<String>,
    /// The trace that the call belongs to, as W3C's `traceparent`, empty if the caller did not name one.
    pub traceparent: String,
}

/// Removes control characters from a name and cuts it.
pub(crate) fn name(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(NAME_CHARS_MAX).collect()
}

impl Event {
    /// Formats the event as a line of JSON.
    pub(crate) fn to_line(&self, paths: bool) -> String {
        let at = DateTime::<Utc>::from_timestamp_micros(i64::try_from(self.at).unwrap_or(i64::MAX));
        let mut out = Map::new();
        out.insert("time".to_owned(), at.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Micros, true).into());
        out.append(&mut self.fields(paths));
        format!("{}\n", Value::Object(out))
    }

    /// Returns all fields but the time, with their names in the file: strings, numbers and booleans; with `paths` also
    /// a list of strings. Names from outside are cut.
    pub fn fields(&self, paths: bool) -> Map<String, Value> {
        let mut out = Map::new();
        put(&mut out, "tool", self.tool.into());
        put(&mut out, "ok", (self.code == "ok").into());
        put(&mut out, "code", self.code.into());
        put(&mut out, "micros", self.micros.into());
        put(&mut out, "bytes_in", self.input.into());
        put(&mut out, "bytes_out", self.output.into());
        put(&mut out, "files", self.files.into());
        put(&mut out, "lines_added", self.lines.0.into());
        put(&mut out, "lines_removed", self.lines.1.into());
        put(&mut out, "transport", self.transport.into());
        // The name of this field up to version 0.1.
        put(&mut out, "door", self.transport.into());
        if let Some(tier) = self.tier {
            put(&mut out, "tier", tier.into());
        }
        if self.dry_run {
            put(&mut out, "dry_run", true.into());
        }
        if self.instructions {
            put(&mut out, "instructions", true.into());
        }
        let words = [("format", self.format), ("profile", self.profile), ("client", &self.client)];
        let words = words.into_iter().chain([
            ("model", &*self.model),
            ("session", &self.session),
            ("traceparent", &self.traceparent),
        ]);
        words.filter(|(_, word)| !word.is_empty()).for_each(|(key, word)| put(&mut out, key, name(word).into()));
        if paths {
            put(&mut out, "paths", self.paths.clone().into());
        }
        out
    }
}

/// Adds a field.
fn put(out: &mut Map<String, Value>, key: &str, value: Value) {
    out.insert(key.to_owned(), value);
}
