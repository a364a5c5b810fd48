//! Searching: hits in marks, so that they can be edited at once. Every file is read as a whole version first, and what a
//! hit shows counts as read of that version; so a file that changes while it is searched needs no special care.

mod walk;

use crate::caller::Caller;
use crate::engine::{Engine, Opened};
use crate::log;
use crate::policy::Access;
use crate::raw_path;
use crate::read::{self, shown_line};
use crate::reply::Answer;
use crate::watch::Step;
use emendate_core::marks::{MARKS, Mark, Marks};
use emendate_core::words::{Word, Words};
use emendate_core::{Code, Error, Result, ShortTag, Snapshot, formats};
use emendate_fs::Place;
use emendate_history::{How, Lines, Record};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
pub(crate) use walk::{Scope, Walked};

/// Hits shown when the call names no limit, and the most it can name.
const HITS: usize = 100;
const MOST_HITS: usize = 2000;
/// Lines around a hit.
const CONTEXT: usize = 50;
/// Characters of a reply.
const REPLY: usize = 50_000;
/// Bytes of all files of one search. Regular expressions take time in proportion to them, so this bounds the time too.
const BYTES: usize = 512 << 20;

/// The input of `search`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// A regular expression (ripgrep's syntax), or plain text with literal.
    pattern: String,
    /// The absolute path of the folder or file to search.
    #[serde(alias = "file_path")]
    path: String,
    /// The pattern is plain text.
    #[serde(default)]
    literal: bool,
    /// Capital and small letters count as the same.
    #[serde(default)]
    ignore_case: bool,
    /// The pattern may reach over line ends, and `.` matches them.
    #[serde(default)]
    multiline: bool,
    /// Which files: `*.rs`, `src/**`; with `!` in front, which not.
    #[serde(default, deserialize_with = "one_or_many")]
    glob: Vec<String>,
    /// Also files and folders whose names begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Also what .gitignore and .ignore files leave out.
    #[serde(default)]
    no_ignore: bool,
    /// Lines to show before and after each hit (default 0).
    #[serde(default)]
    context: usize,
    /// How many hits to show (default 100).
    #[serde(default)]
    limit: Option<usize>,
    /// How lines are marked, as in read.
    #[serde(default)]
    format: Option<String>,
}

/// What is looked for, and what was found so far.
struct Search<'a> {
    engine: &'a Engine,
    caller: &'a Caller,
    marks: &'static Marks,
    matcher: RegexMatcher,
    searcher: Searcher,
    limit: usize,
    text: String,
    files: Vec<Value>,
    hits: usize,
    searched: usize,
    bytes: usize,
    /// Why it ended before all was searched.
    cut: Option<&'static str>,
    binary: usize,
    unread: usize,
    /// Files with hits that are secrets by another name.
    denied: usize,
    /// Why what was shown does not count as read, if so.
    unkept: Option<String>,
}

impl Engine {
    /// The tool `search`.
    pub(crate) fn search(&self, caller: &Caller, mut input: Value) -> Result<Answer> {
        let raw = raw_path::take_beside(&mut input, "path")?;
        let args: Args = formats::from_json(formats::Input::Json(input))?;
        let marks = args.format.as_deref().map_or(Ok(caller.marks.unwrap_or(&MARKS[0])), read::marks)?;
        let place = self.store().admit(raw.as_deref().unwrap_or(Path::new(&args.path)))?;
        let look = Look { literal: args.literal, ignore_case: args.ignore_case, multiline: args.multiline };
        let mut search = Search {
            engine: self,
            caller,
            marks,
            matcher: matcher(&args.pattern, look, "set literal")?,
            searcher: SearcherBuilder::new()
                .line_number(true)
                .multi_line(args.multiline)
                .before_context(args.context.min(CONTEXT))
                .after_context(args.context.min(CONTEXT))
                .binary_detection(BinaryDetection::none())
                .bom_sniffing(false)
                .build(),
            limit: args.limit.unwrap_or(HITS).clamp(1, MOST_HITS),
            text: String::new(),
            files: Vec::new(),
            hits: 0,
            searched: 0,
            bytes: 0,
            cut: None,
            binary: 0,
            unread: 0,
            denied: 0,
            unkept: None,
        };
        let walked = if self.store().list(&place)?.is_some() {
            let globs = Scope::globs(place.absolute(), &args.glob)?;
            let scope = Scope { globs, hidden: args.hidden, all: args.no_ignore, watch: caller.watch.clone() };
            caller.begin(Step::Reading, 0);
            let walked = self.walk(&place, &scope, &mut |place| search.file(place))?;
            caller.go_on()?;
            walked
        } else {
            let place = self.admit(place.asked(), Access::Read)?;
            let Some(opened) = self.snapshot(&place, None, "")? else { return Err(self.missing(&place, caller)) };
            search.version(&place, opened)?;
            Walked::default()
        };
        Ok(search.answer(&place.shown(), &walked))
    }
}

/// A list, or the only entry of one by itself.
fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a glob, or a list of globs")]
    enum Either {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Either::deserialize(from)? {
        Either::One(glob) => vec![glob],
        Either::Many(globs) => globs,
    })
}

/// How a pattern is to be taken.
#[derive(Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) literal: bool,
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
}

/// `plain` says how plain text is asked for.
///
/// Errors: `call.invalid` for what is no regular expression.
pub(crate) fn matcher(pattern: &str, look: Look, plain: &str) -> Result<RegexMatcher> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(look.ignore_case).fixed_strings(look.literal).multi_line(true);
    builder.dot_matches_new_line(look.multiline);
    if !look.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        Error::new(Code::CallInvalid, "pattern is not a regular expression that can be searched for.")
            .evidence(error.to_string())
            .next(format!("Correct it, or {plain} for plain text, or set multiline if it holds a line end."))
    })
}

impl Search<'_> {
    /// Searches a file that was found on the way; what cannot be read as text is counted.
    fn file(&mut self, place: &Place) -> Result<ControlFlow<()>> {
        match self.engine.snapshot(place, None, "") {
            Ok(Some(opened)) => self.version(place, opened)?,
            Ok(None) => {}
            Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => self.binary += 1,
            Err(_) => self.unread += 1,
        }
        self.caller.advance()?;
        Ok(if self.cut.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn version(&mut self, place: &Place, opened: Opened) -> Result<()> {
        let text = opened.snapshot.text();
        self.searched += 1;
        self.bytes += text.len();
        let mut rows = Rows { hits: Vec::new(), shown: Vec::new(), left: self.limit - self.hits, more: false };
        let failed = |error: std::io::Error| Error::new(Code::InternalBug, format!("The search failed: {error}."));
        self.searcher.search_slice(&self.matcher, text.as_bytes(), &mut rows).map_err(failed)?;
        if rows.more {
            self.cut = Some("there are more hits");
        } else if self.bytes > BYTES {
            self.cut = Some("there was too much to search");
        }
        if !rows.hits.is_empty() && self.engine.may(place, Access::Read).is_err() {
            // A secret by another name, which is asked only where something would be shown.
            self.denied += 1;
            self.cut = None;
        } else if !rows.hits.is_empty() {
            self.hits += rows.hits.len();
            self.show(place, &opened, &rows)?;
        }
        self.engine.recycle(opened.snapshot);
        Ok(())
    }

    /// Appends the rows of a file, and remembers them as read.
    fn show(&mut self, place: &Place, opened: &Opened, rows: &Rows) -> Result<()> {
        let snapshot = &opened.snapshot;
        let mut block = String::new();
        if !self.text.is_empty() {
            block.push('\n');
        }
        let name = || self.engine.name_in_header(self.caller, place);
        let header = self.marks.header.map(|header| header.line(&name(), ShortTag::of(snapshot.text())));
        let plain = || format!("{} (tag {})", place.shown(), snapshot.id().tag());
        let _ = writeln!(block, "{}", header.clone().unwrap_or_else(plain));
        let words = self.marks.words.then(|| self.engine.words(place, snapshot)).transpose()?;
        let words = words.as_ref().map_or(&[][..], Words::all);
        let (lines, ranges) = render(&mut block, (self.marks, words), snapshot, rows);
        if self.text.len() + block.len() > REPLY && !self.text.is_empty() {
            self.hits -= rows.hits.len();
            self.cut = Some("the reply would be too long");
            return Ok(());
        }
        self.text.push_str(&block);
        let record = Record {
            content: snapshot.id(),
            stamp: opened.stamp,
            racy: opened.racy,
            lines,
            how: How::Read,
            offset: None,
            limit: None,
        };
        let unkept = self.engine.remember(self.caller, place, &record, &log::body(place, snapshot.raw()));
        self.unkept = self.unkept.take().or(unkept);
        let mut file = Map::new();
        file.insert("filePath".to_owned(), place.shown().into());
        file.extend(raw_path::of(place.absolute()).map(|bytes| (raw_path::FIELD.to_owned(), bytes.into())));
        file.insert("tag".to_owned(), snapshot.id().tag().to_string().into());
        file.extend(header.map(|header| ("header".to_owned(), header.into())));
        file.insert("hits".to_owned(), rows.hits.clone().into());
        file.insert("lines".to_owned(), ranges.into_iter().map(|(from, to)| json!([from, to])).collect());
        self.files.push(Value::Object(file));
        Ok(())
    }

    fn answer(self, beneath: &str, walked: &Walked) -> Answer {
        let mut notes = Vec::new();
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let cut = self.cut.or(walked.cut.then_some("there are too many files"));
        if let Some(why) = cut {
            notes.push(format!(
                "The search ended early: {why}. {} in {}. Narrow the pattern, path or glob, or raise limit.",
                count(self.hits, "hit"),
                count(self.files.len(), "file")
            ));
        }
        let left: Vec<String> = [
            (walked.denied + self.denied, "that may not be read"),
            (self.binary, "that is no text"),
            (self.unread, "that could not be read"),
        ]
        .into_iter()
        .filter(|(files, _)| *files > 0)
        .map(|(files, why)| format!("{} {why}", count(files, "file")))
        .chain((walked.closed > 0).then(|| format!("{} that could not be listed", count(walked.closed, "folder"))))
        .collect();
        if !left.is_empty() {
            notes.push(format!("Not searched: {}.", left.join(", ")));
        }
        notes.extend(self.unkept);
        let mut text = self.text;
        if text.is_empty() {
            let _ = writeln!(text, "No hits in {} beneath {beneath}.", count(self.searched, "file"));
            if self.searched == 0 && !walked.cut {
                notes.push(
                    "No file was searched: check path and glob; hidden and ignored files need hidden and no_ignore."
                        .to_owned(),
                );
            }
        }
        for note in &notes {
            read::remind(&mut text, note);
        }
        let data = json!({
            "files": self.files,
            "hits": self.hits,
            "filesSearched": self.searched,
            "truncated": cut.is_some(),
            "notes": notes,
        });
        let Value::Object(data) = data else { return Answer { text, ..Answer::default() } };
        Answer { text, data }
    }
}

/// Writes the rows of a file; the lines that were shown whole, and the ranges of all.
fn render(
    out: &mut String,
    (marks, words): (&Marks, &[Word]),
    snapshot: &Snapshot,
    rows: &Rows,
) -> (Lines, Vec<(usize, usize)>) {
    let text = snapshot.text();
    let mut lines = Lines::none();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &number in &rows.shown {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == number => *to = number,
            _ => ranges.push((number, number)),
        }
    }
    for (at, &(from, to)) in ranges.iter().enumerate() {
        if at > 0 {
            out.push_str("--\n");
        }
        let span = snapshot.lines().span_of(text, from, to);
        for (number, line) in (from..).zip(text[span.range()].split_inclusive('\n')) {
            let line = line.strip_suffix('\n').unwrap_or(line);
            if shown_line(out, marks, Mark::of(number, words), line).is_none() {
                lines.add(number as u64, number as u64);
            }
        }
    }
    (lines, ranges)
}

/// The lines of one file that are to be shown.
struct Rows {
    /// Lines on which a hit begins.
    hits: Vec<usize>,
    /// All lines, sorted, each once.
    shown: Vec<usize>,
    left: usize,
    more: bool,
}

impl Rows {
    fn add(&mut self, from: Option<u64>, lines: usize) -> usize {
        let from = from.and_then(|from| usize::try_from(from).ok()).unwrap_or(1);
        let next = self.shown.last().map_or(1, |last| last + 1);
        self.shown.extend(from.max(next)..from + lines);
        from
    }
}

impl Sink for Rows {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> std::io::Result<bool> {
        if self.hits.len() == self.left {
            self.more = true;
            return Ok(false);
        }
        let from = self.add(hit.line_number(), hit.lines().count());
        self.hits.push(from);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> std::io::Result<bool> {
        self.add(context.line_number(), 1);
        Ok(true)
    }
}
