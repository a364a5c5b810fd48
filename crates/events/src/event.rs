//! One call, as it is told.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};

/// Characters of a name that somebody else gave: of a model, a client, a session.
const NAME: usize = 100;

/// One call and what came of it. Neither contents nor paths are in it; paths only where [`Sink`](crate::Sink) was told so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// When it began, in microseconds since 1970.
    pub at: u64,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// The tool.
    pub tool: &'static str,
    /// The format of its input, where it has one.
    pub format: &'static str,
    /// `ok`, or the code of the failure.
    pub code: &'static str,
    /// The highest tier of matching that was needed.
    pub tier: Option<u64>,
    /// Nothing was to be written.
    pub dry_run: bool,
    /// Bytes of text in the input.
    pub input: usize,
    /// Bytes of text in the reply.
    pub output: usize,
    /// Files that were changed.
    pub files: usize,
    /// Lines that were added and removed.
    pub lines: (u64, u64),
    /// A file that agents read as instructions, such as `CLAUDE.md`, was changed.
    pub instructions: bool,
    /// The front end: `cli`, `call`, `serve`, `mcp`, `hook` or `library`.
    pub door: &'static str,
    /// The profile, where the front end has one.
    pub profile: &'static str,
    /// The program that called, as it calls itself.
    pub client: String,
    /// The model, where it was told.
    pub model: String,
    /// The session.
    pub session: String,
    /// The files.
    pub paths: Vec<String>,
    /// The trace that the call belongs to, as W3C's `traceparent`, where the caller told it. Not in the lines.
    pub traceparent: String,
}

/// A name that somebody gave, fit for a line.
pub(crate) fn name(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(NAME).collect()
}

impl Event {
    /// As one line of JSON.
    pub(crate) fn line(&self, paths: bool) -> String {
        let at = DateTime::<Utc>::from_timestamp_micros(i64::try_from(self.at).unwrap_or(i64::MAX));
        let mut out = Map::new();
        out.insert("time".to_owned(), at.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Micros, true).into());
        out.append(&mut self.fields(paths));
        format!("{}\n", Value::Object(out))
    }

    /// All that is told of it but its time, by the names that the lines have: strings, numbers and booleans; with `paths`
    /// a list of strings too. What somebody else gave as a name is cut to something that fits a line.
    pub fn fields(&self, paths: bool) -> Map<String, Value> {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_owned(), value);
        };
        put("tool", self.tool.into());
        put("ok", (self.code == "ok").into());
        put("code", self.code.into());
        put("micros", self.micros.into());
        put("bytes_in", self.input.into());
        put("bytes_out", self.output.into());
        put("files", self.files.into());
        put("lines_added", self.lines.0.into());
        put("lines_removed", self.lines.1.into());
        put("door", self.door.into());
        if let Some(tier) = self.tier {
            put("tier", tier.into());
        }
        if self.dry_run {
            put("dry_run", true.into());
        }
        if self.instructions {
            put("instructions", true.into());
        }
        let words = [("format", self.format), ("profile", self.profile), ("client", &self.client)];
        let words = words.into_iter().chain([("model", &*self.model), ("session", &self.session)]);
        words.filter(|(_, word)| !word.is_empty()).for_each(|(key, word)| put(key, name(word).into()));
        if paths {
            put("paths", self.paths.clone().into());
        }
        out
    }
}
