//! The grammar as the tool accepts it, and its messages.

/// The first line of a patch.
const BEGIN_MARKER: &str = "*** Begin Patch";
/// The last line of a patch.
const END_MARKER: &str = "*** End Patch";
/// The last line of a chunk that extends to the end of the file.
const END_OF_FILE_MARKER: &str = "*** End of File";

/// One operation of a patch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodexOperation {
    Add { path: String, text: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, chunks: Vec<CodexChunk> },
}

/// A chunk of an update.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CodexChunk {
    pub(super) anchor: Option<String>,
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
    /// Lines that are kept: their indices in `old` and in `new`.
    pub(super) kept: Vec<(usize, usize)>,
    pub(super) at_end: bool,
}

impl CodexChunk {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const ENVIRONMENT: &str = "*** Environment ID:";

/// Parses a patch; the error is the text that the tool prints.
pub(super) fn read(text: &str) -> Result<Vec<CodexOperation>, String> {
    let lines: Vec<&str> = text.trim().lines().collect();
    let lines = match check_ends(&lines) {
        Ok(()) => &lines[..],
        Err(error) => {
            let inner = inside_heredoc(&lines).ok_or(error)?;
            check_ends(inner)?;
            inner
        }
    };
    let mut parser = CodexParser::default();
    for (number, line) in (1..).zip(lines) {
        parser.number = number;
        // The last line is the end of the patch, however it is indented.
        if number == lines.len() {
            parser.end()?;
        } else if number > 1 {
            parser.line(line.strip_suffix('\r').unwrap_or(line))?;
        }
    }
    Ok(parser.operations)
}

fn check_ends(lines: &[&str]) -> Result<(), String> {
    if is_marker(lines.first(), BEGIN_MARKER) == Some(false) {
        return Err(format!("Invalid patch: The first line of the patch must be '{BEGIN_MARKER}'"));
    }
    if lines.len() < 2 || is_marker(lines.last(), END_MARKER) != Some(true) {
        return Err(format!("Invalid patch: The last line of the patch must be '{END_MARKER}'"));
    }
    Ok(())
}

/// True for a line that is the marker; `None` without a line.
fn is_marker(line: Option<&&str>, marker: &str) -> Option<bool> {
    line.map(|line| line.trim() == marker)
}

fn inside_heredoc<'a, 'b>(lines: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let opens = matches!(lines.first(), Some(&("<<EOF" | "<<'EOF'" | "<<\"EOF\"")));
    let closes = lines.last().is_some_and(|line| line.ends_with("EOF"));
    (opens && closes && lines.len() >= 4).then(|| &lines[1..lines.len() - 1])
}

/// The parser's position within a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CodexState {
    #[default]
    Begun,
    Add,
    Delete,
    /// The position is in the update whose header is this line.
    Update(usize),
    Ended,
}

#[derive(Default)]
struct CodexParser {
    state: CodexState,
    /// The number of the current line, from 1.
    number: usize,
    operations: Vec<CodexOperation>,
    environment: bool,
}

impl CodexParser {
    fn invalid(&self, message: &str) -> String {
        format!("Invalid patch hunk on line {}: {message}", self.number)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        match self.state {
            CodexState::Ended if line.trim().is_empty() => Ok(()),
            CodexState::Ended => Err(format!("Invalid patch: The last line of the patch must be '{END_MARKER}'")),
            CodexState::Update(_) => self.update(line),
            _ if self.state == CodexState::Begun
                && self.operations.is_empty()
                && line.trim().starts_with(ENVIRONMENT) =>
            {
                self.environment(line.trim()[ENVIRONMENT.len()..].trim())
            }
            CodexState::Add if line.starts_with('+') => {
                if let Some(CodexOperation::Add { text, .. }) = self.operations.last_mut() {
                    text.push_str(&line[1..]);
                    text.push('\n');
                }
                Ok(())
            }
            _ => self.operation(line.trim()),
        }
    }

    /// Processes a line that must begin an operation or end the patch.
    fn operation(&mut self, line: &str) -> Result<(), String> {
        if self.header(line)? {
            return Ok(());
        }
        let headers = format!("'{ADD}{{path}}', '{DELETE}{{path}}', '{UPDATE}{{path}}'");
        Err(self.invalid(&format!("'{line}' is not a valid hunk header. Valid hunk headers: {headers}")))
    }

    fn environment(&mut self, id: &str) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("Invalid patch: apply_patch environment_id cannot be {what}"));
        if self.environment {
            return wrong("specified more than once");
        }
        if id.is_empty() {
            return wrong("empty");
        }
        self.environment = true;
        Ok(())
    }

    /// Reads a line that begins an operation or ends the patch, if it is one.
    fn header(&mut self, line: &str) -> Result<bool, String> {
        let (state, operation) = if line == END_MARKER {
            self.end()?;
            return Ok(true);
        } else if let Some(path) = line.strip_prefix(ADD) {
            (CodexState::Add, CodexOperation::Add { path: path.to_owned(), text: String::new() })
        } else if let Some(path) = line.strip_prefix(DELETE) {
            (CodexState::Delete, CodexOperation::Delete { path: path.to_owned() })
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            (
                CodexState::Update(self.number),
                CodexOperation::Update { path: path.to_owned(), to: None, chunks: Vec::new() },
            )
        } else {
            return Ok(false);
        };
        self.close()?;
        self.state = state;
        self.operations.push(operation);
        Ok(true)
    }

    fn end(&mut self) -> Result<(), String> {
        self.close()?;
        self.state = CodexState::Ended;
        Ok(())
    }

    /// Ends the current operation. An update must have a chunk, and its last chunk a line.
    fn close(&mut self) -> Result<(), String> {
        let (CodexState::Update(header), Some(CodexOperation::Update { path, chunks, .. })) =
            (self.state, self.operations.last())
        else {
            return Ok(());
        };
        match chunks.last() {
            None => Err(format!("Invalid patch hunk on line {header}: Update file hunk for path '{path}' is empty")),
            Some(chunk) if chunk.is_empty() => Err(self.invalid("Update hunk does not contain any lines")),
            Some(_) => Ok(()),
        }
    }

    fn update(&mut self, line: &str) -> Result<(), String> {
        let bare = line.trim_end();
        let Some(CodexOperation::Update { to, chunks, .. }) = self.operations.last_mut() else { return Ok(()) };
        let fresh = chunks.last().is_some_and(CodexChunk::is_empty);
        if chunks.is_empty() && to.is_none() && bare.starts_with(MOVE) {
            *to = Some(bare[MOVE.len()..].to_owned());
            return Ok(());
        }
        if !fresh && (bare == "@@" || bare.starts_with("@@ ")) {
            let anchor = bare.strip_prefix("@@ ").map(str::to_owned);
            chunks.push(CodexChunk { anchor, ..CodexChunk::default() });
            return Ok(());
        }
        if bare == END_OF_FILE_MARKER && !chunks.last().is_some_and(|chunk| chunk.at_end) {
            return match chunks.last_mut() {
                None => Ok(()),
                Some(_) if fresh => self.close(),
                Some(chunk) => {
                    chunk.at_end = true;
                    Ok(())
                }
            };
        }
        if (!fresh || bare == END_MARKER) && self.header(bare)? {
            return Ok(());
        }
        self.body(line)
    }

    /// Processes a line of a chunk.
    fn body(&mut self, line: &str) -> Result<(), String> {
        let Some(CodexOperation::Update { chunks, .. }) = self.operations.last_mut() else { return Ok(()) };
        if chunks.is_empty() {
            chunks.push(CodexChunk::default());
        }
        let Some(chunk) = chunks.last_mut() else { return Ok(()) };
        if chunk.at_end {
            if line.trim().is_empty() {
                return Ok(());
            }
            return Err(self.expected(line));
        }
        match line.chars().next() {
            Some('+') => chunk.new.push(text_behind_mark(line)),
            Some('-') => chunk.old.push(text_behind_mark(line)),
            None | Some(' ') => {
                let text = line.get(1..).unwrap_or_default();
                chunk.kept.push((chunk.old.len(), chunk.new.len()));
                chunk.old.push(text.to_owned());
                chunk.new.push(text.to_owned());
            }
            Some(_) if chunk.is_empty() => {
                return Err(self.invalid(&format!(
                    "Unexpected line found in update hunk: '{line}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
                )));
            }
            Some(_) => return Err(self.expected(line)),
        }
        Ok(())
    }

    fn expected(&self, line: &str) -> String {
        self.invalid(&format!("Expected update hunk to start with a @@ context marker, got: '{line}'"))
    }
}

/// Returns a line without its mark.
fn text_behind_mark(line: &str) -> String {
    line[1..].to_owned()
}
