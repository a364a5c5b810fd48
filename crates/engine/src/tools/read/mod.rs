//! Reading: lines in a line format, the tag of the version, and the record of what was shown.

pub(crate) mod cells;
pub(crate) mod lines;
pub(crate) mod media;
mod tool_row;

use crate::context::call::Call;
use crate::context::options::line_format_named;
use crate::context::policy::Access;
use crate::context::{LoadedFile, encoding};
use crate::model::raw_path;
use crate::model::reply::Answer;
use crate::model::reply_limits::LINE_CHARS_MAX;
use crate::pipeline::plan::anchor_edits::anchor_map;
use crate::pipeline::plan::large::read::open_lines;
use crate::pipeline::plan::large::{LoadedSource, SHOWN_AS_WHOLE, check_whole_allowed, load_sized};
use crate::pipeline::plan::notebook;
use crate::session::base;
use crate::session::names::name_in_header;
use crate::session::suggest::file_not_found;
use crate::tools::list::list_directory;
use crate::tools::shown_count::zero_limit;
use emendate_core::anchor_map::{AnchorMap, AnchorWord};
use emendate_core::line_format::{LINE_FORMATS, LineFormat, LineMark};
use emendate_core::omission::cut_mark;
use emendate_core::{Advice, Code, ContentId, EncodingEvidence, Error, Phrase, Result, Snapshot, advice, formats};
use emendate_fs::{FileMeta, SafePath, shown};
use emendate_history::{LineSet, Record, RecordOrigin};
use emendate_media::MediaKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;

pub(crate) use tool_row::TOOL;

/// Lines shown by default.
pub const READ_LINES_DEFAULT: usize = 2000;
/// Parts that the refusal of a large read lists.
const LISTED_PARTS_MAX: usize = 20;

/// The input of `read`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Args")]
pub(crate) struct ReadInput {
    /// The absolute path of the file to read.
    file_path: String,
    /// The line to start at, 1 for the first.
    #[serde(default)]
    offset: Option<usize>,
    /// How many lines to show (default 2000).
    #[serde(default)]
    limit: Option<usize>,
    /// How lines are marked: `numbered` (default), `plain`, `hashline`, `hashline_put`, `anchors` or `anchors_tab`.
    #[serde(default)]
    format: Option<String>,
    /// The file's encoding, if it is neither UTF-8 nor marked.
    #[serde(default)]
    encoding: Option<String>,
    /// Only this symbol, as outline lists it, e.g. `Parser.next`, instead of offset and limit.
    #[serde(default)]
    symbol: Option<String>,
    /// Of a notebook, only these cells: `3`, `3-7`, `3-` (0 for the first), or an id.
    #[serde(default)]
    cells: Option<String>,
    /// Of a PDF, only these pages: `3`, `1-3`, `5-`.
    #[serde(default)]
    pub(crate) pages: Option<String>,
    /// For a PDF, the file itself in base64, instead of its text or in addition to the requested pages.
    #[serde(default)]
    pub(crate) base64: Option<bool>,
    /// Make an image smaller, to at most this number of pixels on its longer side.
    #[serde(default)]
    pub(crate) max_side: Option<u32>,
}

/// A rendered page of a file.
struct TextPage {
    text: String,
    lines: LineSet,
    /// Lines that were cut, with the number of omitted characters.
    cut: Vec<(usize, usize)>,
    from: usize,
    shown: usize,
    total: usize,
}

/// How the lines of a file are marked.
#[derive(Clone, Copy)]
struct MarkedLines<'a> {
    line_format: &'a LineFormat,
    /// The anchors of all lines, if the format has them.
    words: &'a [AnchorWord],
}

/// Runs the tool `read`.
pub(crate) fn read(call: Call<'_>, mut input: Value) -> Result<Answer> {
    let raw = raw_path::take(&mut input)?;
    let mut args: ReadInput = formats::from_json(formats::FormatInput::Json(input))?;
    let line_format =
        args.format.as_deref().map_or(Ok(call.caller.line_format.unwrap_or(&LINE_FORMATS[0])), line_format_named)?;
    let declared = args.encoding.as_deref().map(encoding::encoding_from_call).transpose()?;
    let path = raw.as_deref().unwrap_or(Path::new(&args.file_path));
    let safe_path = call.resolve_path(path, Access::Read)?;
    let by_lines = args.offset.is_some() || args.limit.is_some() || args.format.is_some();
    let plain = declared.is_none() && args.symbol.is_none() && args.cells.is_none();
    let in_parts = plain && !line_format.anchors && (by_lines || !notebook::is_named(&safe_path));
    let sized = match load_sized(&call, &safe_path) {
        Err(error) if error.code() == Code::PathNotRegular && plain && !by_lines => {
            return list_directory(call, &safe_path).unwrap_or(Err(error));
        }
        sized => sized?,
    };
    let version = match sized {
        LoadedSource::Whole(version) => version,
        LoadedSource::Big(source) => {
            let from = args.offset.unwrap_or(1).max(1);
            let lines = from..from.saturating_add(args.limit.unwrap_or(READ_LINES_DEFAULT));
            let size = source.meta().size;
            let opened = if in_parts {
                open_lines(&call, &safe_path, source, &lines, line_format.header.is_some())?
            } else {
                None
            };
            if let Some(opened) = opened {
                return show(call, &safe_path, opened, &args, line_format, None);
            }
            check_whole_allowed(&call, &safe_path, size, SHOWN_AS_WHOLE)?;
            call.version(&safe_path)?
        }
    };
    let Some(version) = version else { return Err(file_not_found(call, &safe_path)) };
    // A call that names an encoding is about text.
    if let Some(kind) = MediaKind::of(&version.bytes).filter(|_| declared.is_none()) {
        let answer = with_meta(media::show_media(call, &safe_path, kind, &version.bytes, &args)?, version.meta, true);
        let record = record(ContentId::of(&version.bytes), version.meta, version.racy, LineSet::all(), &args);
        let unkept = base::remember(call, &safe_path, record, None);
        return Ok(with_names(with_notes(answer, link_note(&safe_path).into_iter().chain(unkept)), &safe_path));
    }
    let opened = call.load_decoded(&safe_path, version, declared, "")?;
    let not_a_notebook = match read_cells(call, &safe_path, &opened, &args)? {
        NotebookView::Shown(answer) => return Ok(answer),
        NotebookView::Unreadable(why) => Some(why),
        NotebookView::NotAsked => None,
    };
    if let Some(symbol) = &args.symbol {
        if args.offset.is_some() || args.limit.is_some() {
            return Err(Error::new(Code::CallInvalid, "Give either symbol, or offset and limit.")
                .next(Advice::named("Omit {offset} and {limit}; the symbol determines the lines.")));
        }
        let (offset, limit) = call.grammars().lines_of(&safe_path, opened.snapshot.text(), symbol)?;
        (args.offset, args.limit) = (Some(offset), Some(limit));
    }
    show(call, &safe_path, opened, &args, line_format, not_a_notebook)
}

/// Shows the requested lines of a file, or of a sparse snapshot that has them.
fn show(
    call: Call<'_>,
    path: &SafePath,
    opened: LoadedFile,
    args: &ReadInput,
    line_format: &'static LineFormat,
    not_a_notebook: Option<String>,
) -> Result<Answer> {
    let words = line_format.anchors.then(|| anchor_map(&call, path, &opened.snapshot)).transpose()?;
    let words = words.as_ref().map_or(&[][..], AnchorMap::words);
    let most = call.reply_limits().read;
    let mut page = page(path, &opened.snapshot, args, MarkedLines { line_format, words }, most)?;
    let LoadedFile { snapshot, meta, racy } = opened;
    let record = record(snapshot.id(), meta, racy, page.lines.clone(), args);
    let unkept = base::remember(call, path, record, Some(&snapshot));
    let header =
        line_format.header.and_then(|header| Some(header.line(&name_in_header(call, path), snapshot.short_tag()?)));
    if let Some(header) = &header {
        page.text.insert_str(0, &format!("{header}\n"));
    }
    let read_on = page.next_line().filter(|_| args.limit.is_none()).map(|next| {
        let advice = advice!["Read on with ", Phrase::Set("offset", next.into()), "."].or(advice![
            "To read on, call ",
            raw_path::read(path, json!({ "offset": next })),
            "."
        ]);
        format!("Lines {} to {} of {} are shown. {}", page.from, next - 1, page.total, call.render(&advice))
    });
    let more = read_on.into_iter().chain(not_a_notebook).chain(link_note(path)).chain(unkept);
    let mut answer = with_meta(answer(&snapshot, &mut page, more), meta, false);
    answer.data.extend(header.map(|header| ("header".to_owned(), header.into())));
    let answer = with_names(answer, path);
    call.recycle(snapshot);
    Ok(answer)
}

/// Shows a notebook by its cells, unless the call is about lines.
fn read_cells(call: Call<'_>, path: &SafePath, opened: &LoadedFile, args: &ReadInput) -> Result<NotebookView> {
    let by_lines = args.offset.is_some() || args.limit.is_some() || args.symbol.is_some() || args.format.is_some();
    if by_lines && args.cells.is_some() {
        return Err(Error::new(Code::CallInvalid, "Give either cells or options for lines, not both.").next(
            Advice::named("Omit {offset}, {limit}, {symbol} and {format} to see cells.")
                .or("Ask for no lines to see cells."),
        ));
    }
    if by_lines || !(notebook::is_named(path) || args.cells.is_some()) {
        return Ok(NotebookView::NotAsked);
    }
    match cells::page(call, path, opened, args.cells.as_deref()) {
        Err(error) if error.code() == Code::NotebookInvalid && args.cells.is_none() => {
            Ok(NotebookView::Unreadable(error.message().to_owned()))
        }
        Err(error) if error.code() == Code::NotebookInvalid && !notebook::is_named(path) => {
            Err(Error::new(Code::CallInvalid, format!("{} is not a notebook, so it has no cells.", path.shown()))
                .next(Advice::named("Omit {cells} to read it as text.").or("Ask for no cells to read it as text.")))
        }
        Err(error) => Err(error.evidence(path.shown())),
        Ok(page) => {
            let record = record(opened.snapshot.id(), opened.meta, opened.racy, page.lines, args);
            let unkept = base::remember(call, path, record, Some(&opened.snapshot));
            let answer = with_meta(page.answer, opened.meta, false);
            Ok(NotebookView::Shown(with_names(with_notes(answer, link_note(path).into_iter().chain(unkept)), path)))
        }
    }
}

/// Returns the note about a file that was named by a link.
pub(super) fn link_note(path: &SafePath) -> Option<String> {
    path.via_link().map(|link| format!("{} is a symbolic link; this is {}.", shown(link), path.shown()))
}

/// Appends notes to an answer.
fn with_notes(mut answer: Answer, notes: impl IntoIterator<Item = String>) -> Answer {
    answer.reminders.extend(notes);
    answer
}

/// Adds the time of the file's last change, in milliseconds, and whether it is text (seed 003).
fn with_meta(mut answer: Answer, meta: FileMeta, is_binary: bool) -> Answer {
    answer.data.insert("mtime".to_owned(), (meta.mtime_ns / 1_000_000).into());
    answer.data.insert("isBinary".to_owned(), is_binary.into());
    answer
}

/// Adds the names of the file.
fn with_names(mut answer: Answer, path: &SafePath) -> Answer {
    if let Some(bytes) = raw_path::base64_path(path.absolute()) {
        if !answer.text.ends_with('\n') {
            answer.text.push('\n');
        }
        answer.text.push_str(&raw_path::hint(&bytes));
        answer.text.push('\n');
    }
    if let Some(bytes) = raw_path::base64_if_needed(path.absolute()) {
        answer.data.insert(raw_path::RAW_PATH_FIELD.to_owned(), bytes.into());
    }
    answer.data.insert("filePath".to_owned(), path.shown().into());
    answer
}

/// A notebook shown by cells.
enum NotebookView {
    Shown(Answer),
    /// The file is named like a notebook, but is shown as text for this reason.
    Unreadable(String),
    NotAsked,
}

/// Creates a session's record of a read.
fn record(content: ContentId, meta: FileMeta, racy: bool, lines: LineSet, args: &ReadInput) -> Record {
    let (offset, limit) = (args.offset.map(|it| it as u64), args.limit.map(|it| it as u64));
    Record { content, meta, racy, lines, origin: RecordOrigin::Read, offset, limit }
}

/// Renders the requested lines.
///
/// Errors: `read.range` past the end, `read.too_large` with ranges that fit.
fn page(
    path: &SafePath,
    snapshot: &Snapshot,
    args: &ReadInput,
    marked: MarkedLines<'_>,
    most: usize,
) -> Result<TextPage> {
    let text = snapshot.text();
    let total = snapshot.lines().count(text);
    let from = args.offset.unwrap_or(1).max(1);
    let limit = args.limit.unwrap_or(READ_LINES_DEFAULT);
    if limit == 0 {
        return Err(zero_limit("lines"));
    }
    if from > total.max(1) {
        return Err(Error::new(Code::ReadRange, format!("The file has {total} lines, so there is no line {from}."))
            .next(if total == 0 {
                Advice::named("The file is empty; read it without {offset}.")
            } else {
                Advice::named("Read it with {offset=} or less.")
                    .set("offset", total)
                    .or(format!("Read it from line 1 to {total}."))
            })
            .fact("total_lines", total));
    }
    let span = snapshot.lines().span_of(text, from, from.saturating_add(limit - 1));
    let mut page = TextPage {
        text: String::with_capacity(span.len() + span.len() / 4),
        lines: LineSet::none(),
        cut: Vec::new(),
        from,
        shown: 0,
        total,
    };
    let mut chars = 0;
    for (number, line) in (from..).zip(text[span.range()].split_inclusive('\n')) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let before = page.text.len();
        match marked.push(&mut page.text, number, line) {
            None => page.lines.add(number as u64, number as u64),
            Some(left) => page.cut.push((number, left)),
        }
        // Only the new rows are counted, so that the whole remains one pass.
        chars += page.text[before..].chars().count();
        page.shown += 1;
        // A part of a single line is the smallest one, and always fits.
        if chars > most && page.shown > 1 {
            let lines = from..from + limit.min(total - from + 1);
            return Err(too_large(path, snapshot, lines, marked, most));
        }
    }
    if from == 1 && page.shown == total && page.cut.is_empty() {
        page.lines = LineSet::all();
    }
    Ok(page)
}

impl TextPage {
    /// Returns the line after the last one shown, if there is one.
    fn next_line(&self) -> Option<usize> {
        Some(self.from + self.shown).filter(|next| *next <= self.total)
    }
}

impl MarkedLines<'_> {
    /// Appends a line. Returns the number of omitted characters if it is too long to be shown completely.
    fn push(self, out: &mut String, number: usize, line: &str) -> Option<usize> {
        let (shown, left) = clip_line(line);
        push_line(out, self.line_format, LineMark::for_line(number, self.words), shown, left);
        left
    }
}

/// Returns the shown part of a line, and the number of omitted characters if it is too long to be shown completely.
pub(crate) fn clip_line(line: &str) -> (&str, Option<usize>) {
    if line.len() <= LINE_CHARS_MAX {
        return (line, None);
    }
    let end = line.char_indices().nth(LINE_CHARS_MAX);
    end.map_or((line, None), |(at, _)| (&line[..at], Some(line[at..].chars().count())))
}

/// Appends a line that was cut in this way.
pub(crate) fn push_line(out: &mut String, line_format: &LineFormat, mark: LineMark, line: &str, left: Option<usize>) {
    match left {
        None => (line_format.push_line)(out, mark, line),
        Some(left) => {
            (line_format.push_line)(out, mark, &format!("{line} {}", cut_mark(left)));
        }
    }
}

/// Refuses lines of which a reply has no room for all, and lists the parts that fit.
fn too_large(path: &SafePath, snapshot: &Snapshot, lines: Range<usize>, marked: MarkedLines<'_>, most: usize) -> Error {
    let text = snapshot.text();
    let mut parts: Vec<Range<usize>> = Vec::new();
    let (mut start, mut size, mut row) = (lines.start, 0, String::new());
    let span = snapshot.lines().span_of(text, lines.start, lines.end - 1);
    for (number, line) in lines.clone().zip(text[span.range()].split_inclusive('\n')) {
        row.clear();
        marked.push(&mut row, number, line.strip_suffix('\n').unwrap_or(line));
        let chars = row.chars().count();
        if size + chars > most && number > start {
            parts.push(start..number);
            (start, size) = (number, 0);
            if parts.len() == LISTED_PARTS_MAX {
                break;
            }
        }
        size += chars;
    }
    if parts.len() < LISTED_PARTS_MAX {
        parts.push(start..lines.end);
    }
    let shown: Vec<String> = parts.iter().map(|part| format!("{}-{}", part.start, part.end - 1)).collect();
    let list: Vec<Value> = parts.iter().map(|it| json!({ "offset": it.start, "limit": it.len() })).collect();
    let first = parts.first().map_or(json!({}), |part| json!({ "offset": part.start, "limit": part.len() }));
    let total = snapshot.lines().count(text);
    let next = Advice::named("Read one part, e.g. with {offset=} and {limit=}.")
        .set("offset", first["offset"].clone())
        .set("limit", first["limit"].clone());
    Error::new(
        Code::ReadTooLarge,
        format!(
            "The reply would be larger than {most} characters; the file has {total} lines in {} bytes.",
            snapshot.size()
        ),
    )
    .evidence(format!("Parts that fit: lines {}", shown.join(", ")))
    .next(next.or(advice!["Read one part, e.g. call ", raw_path::read(path, first), "."]))
    .fact("total_lines", total)
    .fact("ranges", list)
}

fn answer(snapshot: &Snapshot, page: &mut TextPage, more: impl Iterator<Item = String>) -> Answer {
    let codec = snapshot.codec();
    let mut notes = Vec::new();
    if snapshot.text().is_empty() {
        notes.push("Warning: the file exists but the contents are empty.".to_owned());
    } else if snapshot.text().trim().is_empty() {
        notes.push("Warning: the file exists but the contents are empty: only whitespace.".to_owned());
    }
    if !page.cut.is_empty() {
        let lines: Vec<String> = page.cut.iter().take(10).map(|(line, _)| line.to_string()).collect();
        notes.push(format!("Lines longer than {LINE_CHARS_MAX} characters were cut: {}.", lines.join(", ")));
    }
    if codec.evidence == EncodingEvidence::Guessed {
        let name = codec.charset.name();
        notes.push(format!("The file is not UTF-8; it is shown as {name}, which is a guess. To write non-ASCII text into it, name its encoding."));
    }
    if snapshot.text().contains('\u{FFFD}') && std::str::from_utf8(snapshot.raw()).is_err() {
        notes.push(
            "Bytes that are not characters of the encoding are shown as U+FFFD; they stay as they are unless edited."
                .to_owned(),
        );
    }
    notes.extend(more);
    let text = std::mem::take(&mut page.text);
    let reminders = notes.clone();
    let cut = page.cut.iter().map(|(line, left)| json!({ "line": line, "charactersLeftOut": left }));
    let data = json!({
        "tag": snapshot.id().tag().to_string(),
        "offset": page.from,
        "lines": page.shown,
        "totalLines": page.total,
        "size": snapshot.size(),
        "partial": page.shown < page.total || !page.cut.is_empty(),
        "encoding": codec.charset.name(),
        "byteOrderMark": codec.mark > 0,
        "lineEnds": named_line_ends(snapshot),
        "cutLines": cut.collect::<Vec<Value>>(),
        "notes": notes,
    });
    Answer { reminders, ..Answer::with_data(text, data) }
}

/// The name of the line ends of a file. Lone CRs are named where there are no others, though they are text (decision 8).
fn named_line_ends(snapshot: &Snapshot) -> &'static str {
    let ends = snapshot.line_ends();
    match ends.lf + ends.crlf {
        0 if snapshot.text().contains('\r') => "CR",
        _ if ends.mixed() => "mixed",
        _ => ends.majority().name(),
    }
}
