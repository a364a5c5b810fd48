//! Search with results in a line format, so that they can be edited at once. Lines shown by a search count as read from
//! one version of their file, which is loaded whole first; a large file is streamed, and has no line format if it
//! changed meanwhile.

pub(crate) mod folded;
pub(crate) mod large;
pub(crate) mod multiline;
pub(crate) mod outcome;
pub(crate) mod pattern;
pub(crate) mod regex;
pub(crate) mod shown_lines;
mod tool_row;

use crate::context::call::Call;
use crate::context::options::line_format_named;
use crate::context::policy::Access;
pub(crate) use crate::context::walk::{
    GLOB_BYTES_MAX, IGNORE_FILE_BYTES_MAX, WALKED_ENTRIES_MAX, WalkFilter, WalkStats,
};
use crate::context::{LoadedFile, walk};
use crate::model::call_handle::CallPhase;
use crate::model::raw_path;
use crate::model::reply::{Answer, counted};
use crate::pipeline::plan::anchor_edits::anchor_map;
use crate::pipeline::plan::large::{LoadedSource, load_sized};
use crate::session::base;
use crate::session::names::name_in_header;
use crate::session::suggest::file_not_found;
use crate::tools::read;
use crate::tools::search::outcome::{SearchOutcome, SearchedFile, SearchedLine};
use crate::tools::search::pattern::{LINE_ENDS_ADVICE, names_carriage_return};
pub(crate) use crate::tools::search::pattern::{PATTERN_BYTES_MAX, PatternOptions, SearchPattern};
pub(crate) use crate::tools::search::regex::{BoundedRegex, GroupSlots};
use crate::tools::search::shown_lines::{HitSink, ROW_OVERHEAD_BYTES, ShownLines};
use crate::tools::shown_count::ShownCount;
use emendate_core::anchor_map::{AnchorMap, AnchorWord};
use emendate_core::line_format::{LINE_FORMATS, LineFormat, LineMark};
use emendate_core::{Advice, Code, Error, Notes, Result, formats, work};
use emendate_fs::SafePath;
use emendate_history::{LineSet, RecordOrigin};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) use tool_row::TOOL;

/// The hits of a reply.
pub(crate) const HITS: ShownCount = ShownCount { default: 100, most: 2000, what: "hits" };
/// Context lines of a hit.
pub(crate) const CONTEXT_LINES_MAX: usize = 50;
/// Bytes of all files of one search. Regular expressions take time proportional to them, so this bounds the time too.
const SEARCHED_BYTES_MAX: usize = 512 << 20;

/// The input of `search`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct SearchInput {
    /// A regular expression (ripgrep's syntax), or plain text with literal.
    pattern: String,
    /// The absolute path of the directory or file to search.
    #[serde(alias = "file_path")]
    path: String,
    /// The pattern is plain text.
    #[serde(default)]
    pub(crate) literal: bool,
    /// Ignore case.
    #[serde(default)]
    pub(crate) ignore_case: bool,
    /// Let the pattern match across lines; `.` matches line ends, too.
    #[serde(default)]
    pub(crate) multiline: bool,
    /// Only these files: `*.rs`, `src/**`; a pattern that starts with `!` excludes.
    #[serde(default, deserialize_with = "one_or_many")]
    pub(crate) glob: Vec<String>,
    /// Also files and directories whose names begin with a dot.
    #[serde(default)]
    pub(crate) hidden: bool,
    /// Also what .gitignore and .ignore files exclude.
    #[serde(default)]
    pub(crate) no_ignore: bool,
    /// Lines to show before and after each hit (default 0).
    #[serde(default)]
    pub(crate) context: usize,
    /// Number of hits to show (default 100).
    #[serde(default)]
    pub(crate) limit: Option<usize>,
    /// How lines are marked, as in read.
    #[serde(default)]
    format: Option<String>,
}

impl SearchInput {
    /// Creates the input of a search for a regular expression, without options.
    pub(crate) fn of(pattern: String) -> SearchInput {
        SearchInput { pattern, ..SearchInput::default() }
    }
}

/// The query, and the results so far.
struct SearchRun<'a> {
    call: Call<'a>,
    line_format: &'static LineFormat,
    pattern: SearchPattern,
    searcher: Searcher,
    multiline: bool,
    /// Lines shown above and below each hit.
    context_lines: usize,
    limit: usize,
    /// Bytes for the text of the reply.
    most: usize,
    text: String,
    files: Vec<SearchedFile>,
    hits: usize,
    searched: usize,
    bytes: usize,
    /// The reason for ending early.
    cut: Option<SearchEnd>,
    binary: usize,
    unread: usize,
    /// Files that were too large to be searched.
    large: usize,
    /// Files with hits that are secrets under another name.
    denied: usize,
    /// The reason why shown lines do not count as read, if any.
    unkept: Option<String>,
    /// Notes about the call itself.
    notes: Notes,
    /// Advice if nothing is found.
    hint: Option<&'static str>,
}

/// The reason why a search ends before everything is searched.
#[derive(Clone, Copy, PartialEq)]
enum SearchEnd {
    ReplyFull,
    MoreHits,
    MuchSearched,
    ManyFiles,
}

impl SearchEnd {
    fn text(self) -> &'static str {
        match self {
            SearchEnd::ReplyFull => "the reply would be too long",
            SearchEnd::MoreHits => "there are more hits",
            SearchEnd::MuchSearched => "there was too much to search",
            SearchEnd::ManyFiles => "there are too many files",
        }
    }
}

/// Runs the tool `search`.
pub(crate) fn search(call: Call<'_>, mut input: Value) -> Result<Answer> {
    let raw = raw_path::take_beside(&mut input, "path")?;
    let args: SearchInput = formats::from_json(formats::FormatInput::Json(input))?;
    // A quarter of the text is reserved for notes.
    let most = call.reply_limits().text * 3 / 4;
    let path = raw.as_deref().unwrap_or(Path::new(&args.path));
    let (search, walked, safe_path) = run(call, &args, path, most)?;
    Ok(search.answer(&safe_path.shown(), &walked))
}

/// Searches for programs.
pub(crate) fn search_files(call: Call<'_>, args: &SearchInput, path: &Path) -> Result<SearchOutcome> {
    let (search, walked, _) = run(call, args, path, usize::MAX)?;
    Ok(search.outcome(&walked))
}

/// Searches; the text for a reply has at most `most` bytes.
fn run<'a>(
    call: Call<'a>,
    args: &SearchInput,
    path: &Path,
    most: usize,
) -> Result<(SearchRun<'a>, WalkStats, SafePath)> {
    let line_format =
        args.format.as_deref().map_or(Ok(call.caller.line_format.unwrap_or(&LINE_FORMATS[0])), line_format_named)?;
    let safe_path = call.store().resolve_path(path)?;
    let scope = WalkFilter::new(call.caller, &safe_path, &args.glob, args.hidden, args.no_ignore)?;
    let look = PatternOptions { literal: args.literal, ignore_case: args.ignore_case, multiline: args.multiline };
    let mut notes = Notes::new();
    let limit = HITS.checked(args.limit, &mut notes)?;
    let mut search = SearchRun {
        call,
        line_format,
        pattern: SearchPattern::new(&args.pattern, look)?,
        searcher: SearcherBuilder::new()
            .line_number(true)
            .before_context(args.context.min(CONTEXT_LINES_MAX))
            .after_context(args.context.min(CONTEXT_LINES_MAX))
            .binary_detection(BinaryDetection::none())
            .bom_sniffing(false)
            .build(),
        multiline: args.multiline,
        context_lines: args.context.min(CONTEXT_LINES_MAX),
        limit,
        most,
        text: String::new(),
        files: Vec::new(),
        hits: 0,
        searched: 0,
        bytes: 0,
        cut: None,
        binary: 0,
        unread: 0,
        large: 0,
        denied: 0,
        unkept: None,
        notes,
        hint: (!args.literal && names_carriage_return(&args.pattern)).then_some(LINE_ENDS_ADVICE),
    };
    if args.context > CONTEXT_LINES_MAX {
        search.notes.push(format!("context: at most {CONTEXT_LINES_MAX} lines are shown before and after a hit."));
    }
    let walked = if call.store().list(&safe_path)?.is_some() {
        call.caller.begin(CallPhase::Reading, 0);
        let walked = walk::walk(&call, &safe_path, &scope, &mut |safe_path| search.file(safe_path))?;
        call.caller.check_cancelled()?;
        walked
    } else {
        let safe_path = call.resolve_path(safe_path.requested(), Access::Read)?;
        if search.look_into(&safe_path, None)?.is_none() {
            return Err(file_not_found(call, &safe_path));
        }
        WalkStats::default()
    };
    Ok((search, walked, safe_path))
}

/// Deserializes a list, or a single entry.
fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a glob, or a list of globs")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::One(glob) => vec![glob],
        OneOrMany::Many(globs) => globs,
    })
}

const TOO_LARGE_NOTE: &str = "of more than 536870912 bytes (search it by its own path)";
const _: () = assert!(SEARCHED_BYTES_MAX == 536_870_912);
const CHANGES_MEANWHILE: &str = "it changes while it is searched: read these lines before you edit them";

fn search_failure(error: &std::io::Error) -> Error {
    Error::new(Code::InternalBug, format!("The search failed: {error}."))
}

impl SearchRun<'_> {
    /// Searches a file found by the walk; files that cannot be read as text are counted.
    fn file(&mut self, path: &SafePath) -> Result<ControlFlow<()>> {
        match self.look_into(path, Some(SEARCHED_BYTES_MAX as u64)) {
            Ok(_) => {}
            Err(error) if matches!(error.code(), Code::ContentBinary | Code::ContentUndecodable) => self.binary += 1,
            Err(error) if matches!(error.code(), Code::CallCancelled | Code::CallTooMuchWork | Code::InternalBug) => {
                return Err(error);
            }
            Err(_) => self.unread += 1,
        }
        self.call.caller.advance()?;
        Ok(if self.cut.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Searches a file; `None` if it does not exist. A file of more than `most` bytes is skipped.
    fn look_into(&mut self, path: &SafePath, most: Option<u64>) -> Result<Option<()>> {
        let version = match load_sized(&self.call, path)? {
            LoadedSource::Whole(version) => version,
            LoadedSource::Big(source) if most.is_some_and(|most| source.meta().size > most) => {
                self.large += 1;
                return Ok(Some(()));
            }
            LoadedSource::Big(source) => match self.search_large(path, source)? {
                Some(()) => return Ok(Some(())),
                None => self.call.version(path)?,
            },
        };
        let Some(version) = version else { return Ok(None) };
        let opened = self.call.load_decoded(path, version, None, "")?;
        let mut rows = self.rows_of(path);
        let text = opened.snapshot.text();
        work::spend_bytes(text.len())?;
        if self.multiline {
            multiline::search(&self.pattern, text, self.context_lines, &mut rows)?;
        } else {
            let mut sink = HitSink { pattern: &self.pattern, rows: &mut rows };
            self.searcher
                .search_slice(&self.pattern, text.as_bytes(), &mut sink)
                .map_err(|error| search_failure(&error))?;
        }
        // A pattern finds nothing more once the work of the call has ended.
        work::check()?;
        self.count_searched(text.len(), &rows);
        match (rows.hits.is_empty(), rows.hits.is_empty() || self.may_show(path)) {
            (true, _) => {}
            (false, true) => self.show(path, Some(&opened), rows)?,
            (false, false) => self.deny(),
        }
        self.call.recycle(opened.snapshot);
        Ok(Some(()))
    }

    /// Creates the rows for a file, with the room left in the reply.
    fn rows_of(&self, path: &SafePath) -> ShownLines {
        let room = self.most.saturating_sub(self.text.len() + path.shown().len() + ROW_OVERHEAD_BYTES);
        ShownLines::new(self.limit - self.hits, room)
    }

    /// Counts a file that was searched.
    fn count_searched(&mut self, bytes: usize, rows: &ShownLines) {
        self.searched += 1;
        self.bytes += bytes;
        if rows.full {
            self.cut = Some(SearchEnd::ReplyFull);
        } else if rows.more {
            self.cut = Some(SearchEnd::MoreHits);
        } else if self.bytes > SEARCHED_BYTES_MAX {
            self.cut = Some(SearchEnd::MuchSearched);
        }
    }

    /// Checks for a secret under another name, only if lines of it would be shown.
    fn may_show(&self, path: &SafePath) -> bool {
        self.call.check_access(path, Access::Read).is_ok()
    }

    fn deny(&mut self) {
        self.denied += 1;
        self.cut = None;
    }

    /// Appends the rows of a file, and records them as read from that version; without a version they have no line
    /// format.
    fn show(&mut self, path: &SafePath, opened: Option<&LoadedFile>, rows: ShownLines) -> Result<()> {
        self.hits += rows.hits.len();
        let mut block = String::new();
        if !self.text.is_empty() {
            block.push('\n');
        }
        let header = self.line_format.header.zip(opened.and_then(|it| it.snapshot.short_tag()));
        let header = header.map(|(header, tag)| header.line(&name_in_header(self.call, path), tag));
        let _ = writeln!(
            block,
            "{}",
            header.clone().unwrap_or_else(|| match opened {
                Some(opened) => format!("{} (tag {})", path.shown(), opened.snapshot.id().tag()),
                None => format!("{} ({CHANGES_MEANWHILE})", path.shown()),
            })
        );
        let words = opened.filter(|_| self.line_format.anchors);
        let words = words.map(|it| anchor_map(&self.call, path, &it.snapshot)).transpose()?;
        let words = words.as_ref().map_or(&[][..], AnchorMap::words);
        let line_format = if opened.is_some() { self.line_format } else { &LINE_FORMATS[0] };
        let lines = render(&mut block, line_format, words, &rows);
        self.text.push_str(&block);
        if let Some(opened) = opened {
            let unkept = base::mark_known(self.call, path, opened, lines, RecordOrigin::Read);
            self.unkept = self.unkept.take().or(unkept);
        }
        self.files.push(SearchedFile {
            path: path.absolute().to_owned(),
            content: opened.map(|it| it.snapshot.id()),
            hits: rows.hits,
            lines: rows.shown.into_iter().map(SearchedLine::from).collect(),
            header,
            shown: path.shown(),
        });
        Ok(())
    }

    /// Returns the reason why the search ended early, and notes about what was not searched.
    fn remarks(&mut self, walked: &WalkStats) -> (bool, Notes) {
        let mut notes = std::mem::take(&mut self.notes);
        let cut = self.cut.or(walked.cut.then_some(SearchEnd::ManyFiles));
        if let Some(end) = cut {
            let narrower =
                Advice::named("Narrow {pattern}, {path} or {glob}.").or("Narrow what is searched, and where.");
            let advice = if end == SearchEnd::MoreHits && self.limit < HITS.most {
                Advice::named("Narrow {pattern}, {path} or {glob}, or raise {limit}.").or(narrower)
            } else {
                narrower
            };
            notes.push(format!(
                "The search ended early: {}. {} in {}. {}",
                end.text(),
                counted(self.hits, "hit"),
                counted(self.files.len(), "file"),
                self.call.render(&advice)
            ));
        }
        let left: Vec<String> = [
            (walked.denied + self.denied, "that may not be read"),
            (self.binary, if self.binary == 1 { "that is not text" } else { "that are not text" }),
            (self.unread + walked.unreached, "that could not be read"),
            (self.large, TOO_LARGE_NOTE),
        ]
        .into_iter()
        .filter(|(files, _)| *files > 0)
        .map(|(files, why)| format!("{} {why}", counted(files, "file")))
        .chain((walked.closed > 0).then(|| format!("{} that could not be listed", counted(walked.closed, "directory"))))
        .chain(walked.long_paths())
        .collect();
        if !left.is_empty() {
            notes.push(format!("Not searched: {}.", left.join(", ")));
        }
        notes.extend(self.unkept.take());
        if self.hits == 0 {
            notes.extend(self.hint);
        }
        if self.hits == 0 && self.searched == 0 && !walked.cut {
            notes.push(
                "No file was searched: check the path and the globs. Hidden and ignored files \
                       are skipped unless the call asks for them.",
            );
        }
        (cut.is_some(), notes)
    }

    fn outcome(mut self, walked: &WalkStats) -> SearchOutcome {
        let (is_truncated, notes) = self.remarks(walked);
        SearchOutcome { files: self.files, hits: self.hits, files_searched: self.searched, is_truncated, notes }
    }

    fn answer(mut self, beneath: &str, walked: &WalkStats) -> Answer {
        let mut text = std::mem::take(&mut self.text);
        let SearchOutcome { files, hits, files_searched, is_truncated, notes } = self.outcome(walked);
        if text.is_empty() {
            let _ = writeln!(text, "No hits in {} below {beneath}.", counted(files_searched, "file"));
        }
        let reminders = notes.texts();
        let data = json!({
            "files": files.iter().map(SearchedFile::to_json).collect::<Vec<Value>>(),
            "hits": hits,
            "filesSearched": files_searched,
            "truncated": is_truncated,
            "notes": notes,
        });
        Answer { reminders, ..Answer::with_data(text, data) }
    }
}

/// Writes the rows of a file; returns the lines shown completely.
fn render(out: &mut String, line_format: &LineFormat, words: &[AnchorWord], rows: &ShownLines) -> LineSet {
    let mut lines = LineSet::none();
    let mut last = None;
    for row in &rows.shown {
        if last.is_some_and(|last| last + 1 != row.line) {
            out.push_str("--\n");
        }
        last = Some(row.line);
        let after = Some(row.after).filter(|after| *after > 0);
        read::push_line(out, line_format, LineMark::for_line(row.line, words), &row.marked(), after);
        if row.is_whole() {
            lines.add(row.line as u64, row.line as u64);
        }
    }
    lines
}
