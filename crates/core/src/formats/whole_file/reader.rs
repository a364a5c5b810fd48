//! Parsing of lines to files: a state machine. Errors are reported at the end.

use super::draft::{ClosedFence, TextDraft};
use super::element::{CONTENT_TAG, FileTag, file_tag};
use super::mistakes::{BETWEEN_FILES_ADVICE, broken, edit_inside, nested_fence};
use super::text_end::TextEnd;
use super::text_lines::{
    announced_lines, are_missing, follows_content, is_edit, is_text, named, perhaps_named, precedes_name,
    without_margin,
};
use crate::error::{Error, Result};
use crate::formats::fence;
use crate::formats::line_parser::{FileActionKind, ParseOptions, StreamEvent};
use crate::formats::name;
use crate::locate::fence_name::FenceName;
use crate::note::Notes;
use crate::text::lines::count_lines;
use std::mem;

/// A file with its whole text.
pub(super) struct FileContent {
    pub(super) path: String,
    pub(super) text: String,
    /// 1-based line of the request on which the file begins.
    pub(super) at: usize,
    /// True if the name may be an ordinary word.
    pub(super) must_exist: bool,
    /// The origin of the name, if it is not above the fence.
    pub(super) fence: Option<FenceName>,
    /// The line that closes the fence around the text.
    pub(super) closing: Option<String>,
}

/// Maximum bytes of blank lines above the first line of a text that may be an edit.
const BLANK_BYTES_MAX: usize = 256;

/// Parses a tag that opens a file.
pub(super) fn opens_tag(line: &str) -> Option<TextEnd> {
    let line = line.trim_start();
    let end = || file_tag(line).map(|tag| TextEnd::File(tag.close));
    line.starts_with(CONTENT_TAG).then_some(TextEnd::Content).or_else(end)
}

#[derive(Default)]
enum WholeFileState {
    #[default]
    Between,
    Open(TextDraft),
    /// Inside `<write_to_file>`, before its text. Contains the path and the start line.
    Head(Option<String>, usize),
    /// Inside `<write_to_file>`, after its text.
    Tail,
}

/// A parser of files, fed line by line.
pub(super) struct WholeFileReader {
    options: ParseOptions,
    state: WholeFileState,
    count: usize,
    /// True if the current line, and the line that opened the text, end in `\r\n`.
    crlf: bool,
    opened_crlf: bool,
    /// The last two lines, the nearest first.
    above: [String; 2],
    closed: Option<ClosedFence>,
    /// The last line since the file before that is only a name.
    heading: Option<String>,
    /// The indentation of the fence that opened last.
    margin: String,
    /// The line of the first fence whose indentation was removed from its text.
    unindented: Option<usize>,
    files: Vec<FileContent>,
    /// The texts and lines of fences without a name; more than two are only counted.
    nameless: Vec<FileContent>,
    /// The line of a fence inside a fence without a name.
    nested: Option<usize>,
    failed: Option<Error>,
}

impl WholeFileReader {
    pub(super) fn new(options: &ParseOptions) -> WholeFileReader {
        WholeFileReader {
            options: options.clone(),
            state: WholeFileState::Between,
            count: 0,
            crlf: false,
            opened_crlf: false,
            above: <[String; 2]>::default(),
            closed: None,
            heading: None,
            margin: String::new(),
            unindented: None,
            files: Vec::new(),
            nameless: Vec::new(),
            nested: None,
            failed: None,
        }
    }

    /// Sets whether the next line ends in `\r\n`.
    pub(super) fn next_line_end(&mut self, crlf: bool) {
        self.crlf = crlf;
    }

    /// Parses the next line.
    pub(super) fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        self.count += 1;
        if self.failed.is_some() {
            return;
        }
        if !matches!(self.state, WholeFileState::Open(_)) {
            self.opened_crlf = self.crlf;
        }
        let next = match mem::take(&mut self.state) {
            WholeFileState::Between => self.between(line, out),
            WholeFileState::Head(path, at) => self.head(path, at, line, out),
            WholeFileState::Open(draft) => self.open(draft, line, out),
            WholeFileState::Tail => self.tail(line),
        };
        match next {
            Ok(state) => self.state = state,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Ends the text. Returns the files and the notes.
    ///
    /// Errors: `edit.unparsable` with the line of the request.
    pub(super) fn end(mut self, out: &mut Vec<StreamEvent>) -> Result<(Vec<FileContent>, Notes)> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match mem::take(&mut self.state) {
            WholeFileState::Open(draft) if draft.end == TextEnd::Content && draft.ends.is_some() => {
                self.complete(draft, out);
            }
            WholeFileState::Open(TextDraft { path, at, .. }) => {
                let of = path.map_or(String::new(), |path| format!(" of {path}"));
                return Err(broken(at, &format!("the text{of} is not closed; it may have been cut off.")));
            }
            WholeFileState::Head(_, at) => return Err(broken(at, "<write_to_file> has no <content>.")),
            WholeFileState::Between | WholeFileState::Tail => {}
        }
        let mut notes = Notes::new();
        if let Some(line) = self.unindented {
            notes.push(format!(
                "The fence on line {line} is indented; its indentation was removed from the text in it."
            ));
        }
        match (&self.options.file, &mut *self.nameless) {
            (Some(path), [_])
                if self.files.is_empty()
                    && let Some(line) = self.nested =>
            {
                return Err(nested_fence(line, path));
            }
            (Some(path), [one]) if self.files.is_empty() => {
                let (text, fence) = (mem::take(&mut one.text), one.fence.take().or(Some(FenceName::Call)));
                let closing = one.closing.take();
                self.files.push(FileContent {
                    path: path.clone(),
                    text,
                    at: one.at,
                    must_exist: false,
                    fence,
                    closing,
                });
            }
            (Some(path), [_, second, ..]) if self.files.is_empty() => {
                let what = format!("this fence has no name either, so it is not clear which one is {path}.");
                let next =
                    "Send only the fence with the text of the file, or put the file's path alone on the line above it.";
                return Err(broken(second.at, &what).next(next));
            }
            (_, [first, ..]) if !self.files.is_empty() => {
                notes.push(format!("Fences without a file name were ignored (the first on line {}).", first.at));
            }
            _ => {}
        }
        Ok((self.files, notes))
    }

    fn between(&mut self, line: &str, out: &mut Vec<StreamEvent>) -> Result<WholeFileState> {
        if let Some((end, info)) = TextEnd::of_fence(line) {
            line[..line.len() - line.trim_start().len()].clone_into(&mut self.margin);
            return self.fence(end, info, out);
        }
        if let Some(FileTag { path, rest, close }) = file_tag(line) {
            let draft = self.begin(Some(self.options.name(path)), TextEnd::File(close), out);
            return if rest.trim().is_empty() { Ok(WholeFileState::Open(draft)) } else { self.open(draft, rest, out) };
        }
        if let Some(rest) = line.trim_start().strip_prefix(CONTENT_TAG) {
            return self.head(None, self.count, rest, out);
        }
        if line.trim() == "</file>" {
            return Err(broken(
                self.count,
                "</file> closes a text that is already closed: the text itself contains that tag.",
            )
            .next("Write this file in a fence, with its path alone on the line above."));
        }
        if let Some(closed) = &mut self.closed
            && self.above[0].is_empty()
            && self.above[1].is_empty()
        {
            closed.followed |= !line.trim().is_empty() && name::alone(line).is_none();
        }
        self.remember(line);
        Ok(WholeFileState::Between)
    }

    /// Remembers a line between files. A blank line counts as blank only once there was text, because directly after a
    /// fence both remembered lines are empty.
    fn remember(&mut self, line: &str) {
        self.heading = name::alone(line).filter(|name| name::has_extension(name)).or_else(|| self.heading.take());
        self.above.swap(0, 1);
        self.above[0].clear();
        self.above[0].push_str(if line.trim().is_empty() { " " } else { line });
    }

    /// Handles a fence that opens.
    fn fence(&mut self, end: TextEnd, info: &str, out: &mut Vec<StreamEvent>) -> Result<WholeFileState> {
        let near = usize::from(self.above[0].trim().is_empty());
        let path = named(info, &self.above[near]).map(|name| self.options.name(&name));
        let path = path.or_else(|| self.call_file(&self.above[near]));
        if let (None, TextEnd::Tag(tag)) = (&path, end) {
            // The tag is within some text.
            self.remember(tag);
            return Ok(WholeFileState::Between);
        }
        let name_line = path.as_ref().map(|_| self.count.saturating_sub(1 + near));
        if info.is_empty()
            && let Some(closed) = &self.closed
            && closed.end == end
            && closed.may_go_on(self.count, name_line)
        {
            let what = format!("this fence may belong to the text of {}, so its end is not clear.", closed.path);
            let error = broken(self.count, &what);
            return Err(if name_line.is_some() { error.next(BETWEEN_FILES_ADVICE) } else { error });
        }
        if path.is_some() && !is_text(info) {
            return Err(edit_inside(self.count));
        }
        let labelled = !info.is_empty();
        self.closed = self.closed.take().filter(|_| path.is_none());
        let perhaps = perhaps_named(info, &self.above[near]).filter(|_| path.is_none());
        // The word above the fence may be the name of another file than that of the call.
        let other = self.options.file.as_ref().and_then(|file| perhaps.filter(|word| !name::is_same_file(word, file)));
        let heading = self.heading.as_deref().filter(|_| path.is_none());
        let heading =
            heading.filter(|name| self.options.file.as_ref().is_some_and(|file| !name::is_same_file(name, file)));
        let other = other.or(heading).map(|word| FenceName::Contradicted(word.to_owned()));
        if let Some(word) = perhaps.filter(|_| self.options.file.is_none()) {
            let word = self.options.name(word);
            let draft = TextDraft { must_exist: true, labelled, ..self.begin(Some(word), end, out) };
            return Ok(WholeFileState::Open(TextDraft { info: Some(info.to_owned()), ..draft }));
        }
        let info = Some(info.to_owned()).filter(|_| is_text(info));
        Ok(WholeFileState::Open(TextDraft { info, labelled, fence: other, ..self.begin(path, end, out) }))
    }

    /// Returns the file of the call if a line is its name, whatever characters that has.
    fn call_file(&self, line: &str) -> Option<String> {
        let name = self.options.name(line.trim());
        let is_path = name::has_extension(&name) || name.contains('/') && name.contains(char::is_alphanumeric);
        let is_name = |file: &&String| **file == name || is_path && name::is_same_file(&name, file);
        self.options.file.as_ref().filter(is_name).cloned()
    }

    /// Begins a text on this line.
    fn begin(&mut self, path: Option<String>, end: TextEnd, out: &mut Vec<StreamEvent>) -> TextDraft {
        if let Some(path) = &path {
            out.push(StreamEvent::File { path: path.clone(), action: FileActionKind::Write });
        }
        let (at, text) = (self.count, String::new());
        let (must_exist, labelled) = (false, false);
        TextDraft { path, must_exist, fence: None, info: None, labelled, at, end, text, ends: None, emitted: 0 }
    }

    /// Looks for the name of the file in one of the first lines of a fence.
    fn find_name(&self, draft: &mut TextDraft, line: &str, out: &mut Vec<StreamEvent>) {
        let Some(info) = draft.info.take() else { return };
        let Some(found) = name::in_comment(line, &info) else {
            draft.info = Some(info).filter(|_| draft.text.is_empty() && precedes_name(line));
            return;
        };
        let line = line.to_owned();
        let (path, must_exist) = match (&draft.path, &self.options.file) {
            (Some(path), _) if !draft.must_exist => {
                draft.fence = name::is_same_file(&found.path, path).then_some(FenceName::Repeated(line));
                return;
            }
            (_, Some(path)) if name::is_same_file(&found.path, path) => (path.clone(), false),
            (_, Some(path)) => {
                let extension = |path: &str| path.rsplit('.').next().map(str::to_owned);
                let is_other = found.certain || extension(path) == extension(&found.path);
                draft.fence = draft.fence.take().or_else(|| is_other.then_some(FenceName::Contradicted(line)));
                return;
            }
            (_, None) => (self.options.name(&found.path), !found.certain),
        };
        out.push(StreamEvent::File { path: path.clone(), action: FileActionKind::Write });
        (draft.path, draft.must_exist, draft.fence) = (Some(path), must_exist, Some(FenceName::Comment(line)));
    }

    /// Parses a line before the text of `<write_to_file>`.
    fn head(
        &mut self,
        path: Option<String>,
        at: usize,
        line: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<WholeFileState> {
        let rest = line.trim_start();
        if rest.is_empty() {
            return Ok(WholeFileState::Head(path, at));
        }
        if let Some((name, rest)) = rest.strip_prefix("<path>").and_then(|rest| rest.split_once("</path>"))
            && path.is_none()
        {
            return self.head(Some(name.trim().to_owned()), at, rest, out);
        }
        let (Some(rest), Some(path)) = (rest.strip_prefix("<content>"), path.filter(|path| !path.is_empty())) else {
            return Err(broken(self.count, "<write_to_file> needs <path>…</path> and then <content>…</content>."));
        };
        let mut draft = self.begin(Some(self.options.name(&path)), TextEnd::Content, out);
        draft.at = at;
        if rest.trim().is_empty() { Ok(WholeFileState::Open(draft)) } else { self.open(draft, rest, out) }
    }

    /// Parses a line of a text, or its end.
    fn open(&mut self, mut draft: TextDraft, line: &str, out: &mut Vec<StreamEvent>) -> Result<WholeFileState> {
        if draft.info.is_some() && !draft.end.is_on(line) {
            self.find_name(&mut draft, line, out);
        }
        let begins = |text: &str| text.lines().all(|line| line.trim().is_empty() || name::is_frame(line));
        let fresh = draft.text.len() < BLANK_BYTES_MAX
            && (draft.text.trim_start().is_empty() || matches!(draft.end, TextEnd::File(_)) && begins(&draft.text));
        // There is a fence in the text of a file that may not exist: nothing certain is known about either.
        if draft.must_exist && (fresh && is_edit(line) || draft.end.competes(line).is_some_and(|info| !info.is_empty()))
        {
            (draft.path, draft.must_exist) = (None, false);
        }
        if draft.path.is_some() && fresh && is_edit(line) {
            return Err(edit_inside(draft.at));
        }
        match draft.end {
            TextEnd::Fence { .. } | TextEnd::Tag(_) if draft.end.is_on(line) => {
                self.complete(draft, out);
                return Ok(WholeFileState::Between);
            }
            TextEnd::Fence { .. } => match (&draft.path, draft.end.competes(line)) {
                (Some(path), Some(_)) => return Err(nested_fence(self.count, path)),
                (None, Some(_)) => self.nested = self.nested.or(Some(self.count)),
                (_, None) => {}
            },
            TextEnd::Tag(tag) => {
                if fence::tag(line).is_some_and(|(inner, _)| inner == tag) {
                    let path = draft.path.unwrap_or_default();
                    return Err(broken(self.count, &format!("the text of {path} has the tag that is around it.")));
                }
            }
            TextEnd::File(close) => {
                if let Some(last) = line.trim_end().strip_suffix(close) {
                    draft.text.push_str(last);
                    self.complete(draft, out);
                    return Ok(WholeFileState::Between);
                }
            }
            TextEnd::Content => {
                if draft.ends.is_some() && follows_content(line) {
                    self.complete(draft, out);
                    return self.tail(line);
                }
                draft.ends = draft.ends.filter(|_| line.trim().is_empty());
                if let Some(at) = line.rfind("</content>") {
                    let after = line[at + "</content>".len()..].trim_start();
                    let end = draft.text.len() + at;
                    if follows_content(after) {
                        draft.text.push_str(&line[..at]);
                        draft.ends = Some(end);
                        self.complete(draft, out);
                        return self.tail(after);
                    }
                    draft.ends = after.is_empty().then_some(end);
                }
            }
        }
        draft.text.push_str(line);
        // If the fence ends in CRLF as well, the CRLF comes from how the text was sent.
        draft.text.push_str(if self.crlf && !self.opened_crlf { "\r\n" } else { "\n" });
        // Whether the indentation of a fence is removed from its text is known at its end.
        if self.margin.is_empty() || !matches!(draft.end, TextEnd::Fence { .. }) {
            let sure = draft.ends.map_or(draft.text.len(), |end| draft.text[..end].rfind('\n').map_or(0, |at| at + 1));
            draft.emit(sure, out);
        }
        Ok(WholeFileState::Open(draft))
    }

    /// Parses a line below the text of `<write_to_file>`, which may announce the number of its lines.
    fn tail(&self, line: &str) -> Result<WholeFileState> {
        if let (Some(announced), Some(file)) = (announced_lines(line), self.files.last()) {
            let count = count_lines(&file.text);
            if are_missing(count, announced) {
                let what = format!(
                    "the text of {} has {count} of {announced} announced lines; it may have been cut off.",
                    file.path
                );
                return Err(
                    broken(file.at, &what).next("Send the whole text again; if nothing is missing, omit <line_count>.")
                );
            }
        }
        Ok(if line.contains("</write_to_file>") { WholeFileState::Between } else { WholeFileState::Tail })
    }

    /// Completes the text.
    fn complete(&mut self, mut draft: TextDraft, out: &mut Vec<StreamEvent>) {
        draft.text.truncate(draft.ends.unwrap_or(draft.text.len()));
        if let TextEnd::Fence { .. } = draft.end
            && let Some(inside) = without_margin(&draft.text, &self.margin)
        {
            draft.text = inside;
            if let Some(FenceName::Comment(line) | FenceName::Repeated(line) | FenceName::Contradicted(line)) =
                &mut draft.fence
            {
                *line = line.strip_prefix(&*self.margin).unwrap_or(line).to_owned();
            }
            self.unindented = self.unindented.or(Some(draft.at));
        }
        let len = draft.text.len();
        draft.emit(len, out);
        let TextDraft { path, must_exist, fence, labelled, at, end, text, .. } = draft;
        let closing =
            if let TextEnd::Fence { sign, len, .. } = end { Some(sign.to_string().repeat(len)) } else { None };
        self.above = <[String; 2]>::default();
        self.heading = None;
        let Some(path) = path else {
            if self.nameless.len() < 2 {
                self.nameless.push(FileContent { path: String::new(), text, at, must_exist, fence, closing });
            }
            return;
        };
        if let TextEnd::Fence { .. } = end {
            self.closed = Some(ClosedFence { path: path.clone(), end, line: self.count, labelled, followed: false });
        }
        out.push(StreamEvent::FileDone);
        self.files.push(FileContent { path, text, at, must_exist, fence, closing });
    }
}
