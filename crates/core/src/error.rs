//! The only error type. An error teaches: it contains what went wrong, the evidence, and the next call that would work.

use core::fmt;
use serde_json::{Map, Value, json};

use crate::advice::{Advice, Vocabulary};
use crate::code::Code;

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// An error, as text for a model and fields for a program. Its size is one word.
#[derive(Clone, PartialEq)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone, PartialEq)]
struct ErrorInner {
    code: Code,
    message: String,
    /// The message as a value, if it names fields.
    stated: Option<Advice>,
    evidence: String,
    next: String,
    /// The next step as a value, if it depends on the client.
    advice: Option<Advice>,
    /// Advice within the evidence, as in the error of a batch.
    advised: Vec<FailureAdvice>,
    op: Option<u32>,
    /// The errors of a batch.
    failures: Vec<Error>,
    contexts: Vec<ErrorContext>,
    data: Map<String, Value>,
}

/// The subject of an error, for code that decides by it. [`Error::about`] also renders it as facts for programs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorContext {
    /// A text was searched for in a file without text.
    EmptyFile,
    /// A text has line numbers that were copied from a reply.
    LineNumbers,
    /// The file already has the change.
    AlreadyApplied,
    /// The text of the file that was probably meant.
    Suggestion(String),
    /// The lines that are most similar to the text that was searched for.
    Nearest {
        /// The first line, from 1.
        from: usize,
        /// The last line.
        to: usize,
        /// The text of these lines.
        text: String,
        /// The similarity, from 0 to 1.
        likeness: f64,
    },
    /// The places that match, by id and line.
    Candidates(Vec<(String, usize)>),
    /// The size of a file that is larger than allowed.
    FileSize(u64),
    /// The reason why a large file would have to be written in place.
    WrittenInPlace(String),
    /// A file did not fit on its disk.
    FullDisk {
        /// The number of the device.
        device: u64,
        /// The bytes of the file.
        needed: u64,
        /// The bytes that are free.
        free: u64,
        /// The quota of the user is used up, whatever is free.
        has_quota: bool,
    },
    /// A file would have become larger than the process may make one; the number of the system's error.
    SizeLimit(i32),
    /// A person declined the change.
    Declined,
}

impl ErrorContext {
    /// Returns the fact for programs.
    fn fact(&self) -> (&'static str, Value) {
        match self {
            ErrorContext::EmptyFile => ("reason", "empty_file".into()),
            ErrorContext::LineNumbers => ("reason", "line_numbers".into()),
            ErrorContext::AlreadyApplied => ("already_applied", true.into()),
            ErrorContext::Suggestion(text) => ("suggestion", text.as_str().into()),
            ErrorContext::Nearest { from, to, text, likeness } => {
                let rounded = (likeness * 1000.0).round() / 1000.0;
                ("nearest", json!({ "from": from, "to": to, "text": text, "similarity": rounded }))
            }
            ErrorContext::Candidates(places) => {
                let list = places.iter().map(|(id, line)| json!({ "id": id, "line": line }));
                ("candidates", list.collect())
            }
            ErrorContext::FileSize(size) => ("size", (*size).into()),
            ErrorContext::WrittenInPlace(why) => ("in_place", why.as_str().into()),
            ErrorContext::FullDisk { device, .. } => ("device", (*device).into()),
            ErrorContext::SizeLimit(errno) => ("errno", (*errno).into()),
            ErrorContext::Declined => ("declined", true.into()),
        }
    }
}

/// The parts of an error that a reply limit may shorten.
pub struct ErrorParts<'e> {
    /// The first line(s).
    pub message: &'e mut String,
    /// The evidence.
    pub evidence: &'e mut String,
    /// The next call that would work.
    pub next: &'e mut String,
    /// The facts for programs.
    pub data: &'e mut Map<String, Value>,
}

/// Advice of one failure of a batch.
#[derive(Clone, PartialEq)]
struct FailureAdvice {
    /// Index of the failure in `data.errors`.
    failure: usize,
    /// Span of the advice in the evidence.
    span: core::ops::Range<usize>,
    advice: Advice,
}

impl Error {
    /// Creates an error with its first line. If the seed documents specify a wording, `message` begins with it.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(ErrorInner {
            code,
            message: message.into(),
            stated: None,
            evidence: String::new(),
            next: String::new(),
            advice: None,
            advised: Vec::new(),
            op: None,
            failures: Vec::new(),
            contexts: Vec::new(),
            data: Map::new(),
        }))
    }

    /// Creates an error whose first line names fields of the call, which each client has under its own names.
    pub fn about_fields(code: Code, message: Advice) -> Error {
        let mut error = Error::new(code, message.text());
        error.0.stated = Some(message);
        error
    }

    /// Appends evidence: lines of the file with numbers, a diff, the offending input.
    #[must_use]
    pub fn evidence(mut self, lines: impl AsRef<str>) -> Error {
        let lines = lines.as_ref().trim_end_matches('\n');
        if !self.0.evidence.is_empty() && !lines.is_empty() {
            self.0.evidence.push('\n');
        }
        self.0.evidence.push_str(lines);
        self
    }

    /// Sets the next call that would work, or what is missing for it; replaces an earlier advice.
    #[must_use]
    pub fn next(mut self, next: impl Into<Advice>) -> Error {
        let next = next.into();
        self.0.next = next.text();
        self.0.advice = (!next.is_plain()).then_some(next);
        self
    }

    /// Returns the next step as a value.
    pub fn advice(&self) -> Advice {
        self.0.advice.clone().unwrap_or_else(|| Advice::from(self.next_step()))
    }

    /// Renders the message and the advice with the names of a client.
    #[must_use]
    pub fn rendered_for(mut self, names: &dyn Vocabulary) -> Error {
        if let Some(message) = self.0.stated.as_ref().and_then(|stated| stated.first_for(names)) {
            self.0.message = message;
        }
        if let Some(advice) = &self.0.advice {
            self.0.next = advice.text_for(names);
        }
        // In reverse order, so that the earlier spans remain valid.
        for FailureAdvice { failure, span, advice } in core::mem::take(&mut self.0.advised).into_iter().rev() {
            let text = advice.text_for(names);
            if self.0.evidence.get(span.clone()).is_some_and(|line| line == advice.text()) {
                self.0.evidence.replace_range(span, &text);
            }
            if let Some(Value::Object(failed)) = self.0.data.get_mut("errors").and_then(|it| it.get_mut(failure)) {
                failed.insert("next".to_owned(), text.into());
            }
        }
        self
    }

    /// Sets the zero-based index of the operation in the request; an index set earlier is kept.
    #[must_use]
    pub fn op(mut self, op: u32) -> Error {
        self.0.op.get_or_insert(op);
        self
    }

    /// Adds the subject of the error, as a value and as a fact.
    #[must_use]
    pub fn about(mut self, context: ErrorContext) -> Error {
        let (key, value) = context.fact();
        self.0.contexts.push(context);
        self.fact(key, value)
    }

    /// Adds the subjects of another error, and its facts.
    #[must_use]
    pub fn with_facts_of(mut self, other: &Error) -> Error {
        self.0.contexts.extend(other.0.contexts.iter().cloned());
        self.0.data.extend(other.0.data.iter().map(|(key, value)| (key.clone(), value.clone())));
        self
    }

    /// The subjects of the error, in the order in which they were added.
    pub fn contexts(&self) -> &[ErrorContext] {
        &self.0.contexts
    }

    /// True if this is a subject of the error.
    pub fn is_about(&self, context: &ErrorContext) -> bool {
        self.0.contexts.contains(context)
    }

    /// The first and last of the lines that are most similar to the text that was searched for.
    pub fn nearest_lines(&self) -> Option<(usize, usize)> {
        self.context(|it| if let ErrorContext::Nearest { from, to, .. } = it { Some((*from, *to)) } else { None })
    }

    /// The text of the file that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        self.context(|it| if let ErrorContext::Suggestion(text) = it { Some(text.as_str()) } else { None })
    }

    /// The size of a file that is larger than allowed.
    pub fn file_size(&self) -> Option<u64> {
        self.context(|it| if let ErrorContext::FileSize(size) = it { Some(*size) } else { None })
    }

    fn context<'e, T>(&'e self, get: impl Fn(&'e ErrorContext) -> Option<T>) -> Option<T> {
        self.0.contexts.iter().find_map(get)
    }

    /// The errors of a batch; the error itself if it is a single one.
    pub fn failures(&self) -> &[Error] {
        if self.0.failures.is_empty() { core::slice::from_ref(self) } else { &self.0.failures }
    }

    /// Adds a machine-readable fact to `data`, which nothing else depends on.
    #[must_use]
    pub fn fact(mut self, key: &str, value: impl Into<Value>) -> Error {
        self.0.data.insert(key.to_owned(), value.into());
        self
    }

    /// Combines all failures of a batch into one error with the code of the first one and the evidence of all. `of` is
    /// the batch size. A single failure is returned unchanged. `None` if there is no failure.
    pub fn combine(mut errors: Vec<Error>, of: usize) -> Option<Error> {
        if errors.len() <= 1 {
            return errors.pop();
        }
        let first = errors.first()?;
        let shown = 20;
        // Advice common to all failures is printed once, at the end; otherwise each failure has its own.
        let same = errors.iter().all(|error| error.0.next == first.0.next);
        let next =
            if same { first.advice() } else { Advice::from("Correct each of these, then send the whole call again.") };
        let mut all =
            Error::new(first.code(), format!("{} of {of} edits cannot be applied; nothing was written.", errors.len()))
                .next(next);
        for (failure, error) in errors.iter().enumerate().take(shown) {
            let mut part = format!("{} [{}]", error.message(), error.code().as_str());
            if !error.0.evidence.is_empty() {
                part.push('\n');
                part.push_str(&error.0.evidence);
            }
            if !same && !error.0.next.is_empty() {
                part.push_str("\nNext: ");
                part.push_str(&error.0.next);
            }
            all = all.evidence(part);
            if let (false, Some(advice)) = (same, &error.0.advice) {
                let end = all.0.evidence.len();
                let span = end.saturating_sub(error.0.next.len())..end;
                all.0.advised.push(FailureAdvice { failure, span, advice: advice.clone() });
            }
        }
        if errors.len() > shown {
            all = all.evidence(format!("… and {} more", errors.len() - shown));
        }
        // The fact shows programs which edits failed, and the reasons for those that the text shows.
        let list: Vec<Value> = errors
            .iter()
            .enumerate()
            .map(|(nth, error)| match error.0.op {
                _ if nth < shown => error.to_json(),
                op => json!({ "code": error.code().as_str(), "op": op }),
            })
            .collect();
        let mut all = all.fact("errors", list);
        all.0.failures = errors;
        Some(all)
    }

    /// The stable, machine-readable cause.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The first line(s): what went wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The evidence; may be empty.
    pub fn evidence_text(&self) -> &str {
        &self.0.evidence
    }

    /// The next call that would work; may be empty.
    pub fn next_step(&self) -> &str {
        &self.0.next
    }

    /// Zero-based index of the operation in the request, if the error belongs to one.
    pub fn op_index(&self) -> Option<usize> {
        self.0.op.and_then(|op| usize::try_from(op).ok())
    }

    /// The facts for programs.
    pub fn data(&self) -> &Map<String, Value> {
        &self.0.data
    }

    /// Mutable access to the texts and facts, for shortening them.
    pub fn parts(&mut self) -> ErrorParts<'_> {
        let ErrorInner { message, evidence, next, data, .. } = &mut *self.0;
        ErrorParts { message, evidence, next, data }
    }

    /// Adds `prefix` before the message, e.g. the edit that the error belongs to.
    #[must_use]
    pub fn prefixed(mut self, prefix: &str) -> Error {
        self.0.message.insert_str(0, prefix);
        self.0.stated = self.0.stated.map(|stated| stated.prefixed(prefix));
        self
    }

    /// Returns `{code, message, evidence, next, retryable, op?, data?}`: the part that is the same in every front end.
    pub fn to_json(&self) -> Value {
        let mut out = json!({
            "code": self.code().as_str(),
            "message": self.message(),
            "evidence": self.evidence_text(),
            "next": self.next_step(),
            "retryable": self.code().retryable(),
        });
        if let Some(fields) = out.as_object_mut() {
            if let Some(op) = self.0.op {
                fields.insert("op".to_owned(), op.into());
            }
            if !self.0.data.is_empty() {
                fields.insert("data".to_owned(), Value::Object(self.0.data.clone()));
            }
        }
        out
    }
}

impl fmt::Display for Error {
    /// Formats the text for a model: message, evidence, `Next: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())?;
        if !self.evidence_text().is_empty() {
            write!(f, "\n{}", self.evidence_text())?;
        }
        if !self.next_step().is_empty() {
            write!(f, "\nNext: {}", self.next_step())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {self}", self.code().as_str())
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::{Code, Error};

    #[test]
    fn batch_error_reports_every_failure() {
        let one = Error::new(Code::MatchNotFound, "edits[0]: not found").evidence("a").op(0).next("read");
        let two = Error::new(Code::MatchAmbiguous, "edits[2]: twice").evidence("b").op(2).next("widen");
        let all = Error::combine(vec![one.clone(), two], 3).unwrap();
        assert_eq!(all.code(), Code::MatchNotFound);
        let text = all.to_string();
        for part in ["2 of 3", "edits[0]: not found", "edits[2]: twice", "Next: read", "Next: widen"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(Error::combine(vec![one.clone()], 3), Some(one));
        assert_eq!(Error::combine(vec![], 3), None);
    }
}
