//! Size limits of a reply. [`ReplyLimits::fit`] enforces them where a reply is created, for every tool and transport.
//! The code that renders replies stays below them by itself, so that nothing large is built only to be cut here.

use crate::model::attachment::ATTACHMENTS;
use emendate_core::Error;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

/// Bytes of a reply's data as JSON, for programs.
pub const REPLY_DATA_BYTES_MAX: usize = 256 << 10;
/// Characters of a reply's text, for models.
pub const REPLY_TEXT_CHARS_MAX: usize = 25_000;
/// Characters of a reply (seed 001, `maxResultSizeChars`).
pub const READ_REPLY_CHARS_MAX: usize = 100_000;

/// Characters of a line that are shown.
pub(crate) const LINE_CHARS_MAX: usize = 2000;
/// The smallest values that a configuration may set: below them a refusal would be incomprehensible.
pub(crate) const CONFIGURED_DATA_BYTES_MIN: usize = 4 << 10;
pub(crate) const CONFIGURED_TEXT_CHARS_MIN: usize = 1_000;
/// The limits for a person at a terminal, who has a pager.
const PERSON_DATA_BYTES_MAX: usize = 32 << 20;
const PERSON_TEXT_CHARS_MAX: usize = 16 << 20;

/// Characters of header and notes in addition to the lines of a read.
const READ_OVERHEAD_CHARS: usize = 8_192;

/// The name of the field that lists omissions.
const OMITTED_FIELD: &str = "omitted";
/// Advice on how to get the omitted parts of an error.
const REST_OF_ERROR_ADVICE: &str = "A call with fewer or shorter parts has a shorter answer.";
/// Omissions that a reply lists.
const LISTED_OMISSIONS_MAX: usize = 20;
/// Bytes reserved for that list.
const OMISSIONS_BYTES_RESERVED: usize = 3_000;
/// Fields that are useless in part: they are omitted as a whole.
const INDIVISIBLE_FIELDS: &[&str] = &["originalFile", "rejected", "converted"];
/// The limits on strings and lists tried first; each further try halves both.
const FIRST_STRING_CAP: usize = 64 << 10;
const FIRST_LIST_CAP: usize = 16 << 10;
const CAP_HALVINGS_MAX: u32 = 15;
/// Bytes of JSON that a cut string needs in addition to its kept part.
const CUT_MARK_BYTES: usize = 64;

/// Size limits of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Characters of text.
    pub text: usize,
    /// Bytes of data as JSON; images and documents that were requested have limits of their own.
    pub data: usize,
    /// Characters of a read, which shows lines that the call requested.
    pub read: usize,
    /// Bytes of a changed file's former text in the data; 0 unless it is requested.
    pub original: usize,
}

impl Default for ReplyLimits {
    fn default() -> ReplyLimits {
        ReplyLimits { text: REPLY_TEXT_CHARS_MAX, data: REPLY_DATA_BYTES_MAX, read: READ_REPLY_CHARS_MAX, original: 0 }
    }
}

/// Bytes of a snippet (seed 000), and of the smallest one worth showing.
const SNIPPET_BYTES_MAX: usize = 1000;
const SNIPPET_BYTES_MIN: usize = 200;
/// Bytes of the diff of one file: in the text of a reply, and in its data.
const TEXT_DIFF_BYTES_MAX: usize = 8000;
pub(crate) const DATA_DIFF_BYTES_MAX: usize = 64 << 10;
/// Bytes of the diff in a refusal: of a file that changed since it was read, and since the operation to undo.
pub(crate) const STALE_DIFF_BYTES_MAX: usize = 6000;
pub(crate) const UNDO_DIFF_BYTES_MAX: usize = 4000;
/// Bytes of the diff of one file in a question to a person.
pub(crate) const QUESTION_DIFF_BYTES_MAX: usize = 256 << 10;
/// Bytes of the original file in a reply that has it.
const ORIGINAL_FILE_BYTES_MAX: usize = 64 << 10;
/// Files that a reply about a change lists; further ones are counted.
pub(crate) const LISTED_FILES_MAX: usize = 100;
/// Files of a call up to which the context shown in replies counts as read.
const READ_BY_REPLY_FILES_MAX: usize = 8;

/// The budget of a reply for the change of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileBudget {
    /// Bytes of the snippet.
    pub(crate) snippet: usize,
    /// Bytes of the diff.
    pub(crate) diff: usize,
    /// Bytes of the structured patch.
    pub(crate) patch: usize,
    /// Bytes of the patches of single edits.
    pub(crate) edits: usize,
    /// Bytes of the original file.
    pub(crate) original: usize,
    /// True if shown lines count as read. With many files the whole reply may be cut, so they do not count.
    pub(crate) counts: bool,
}

impl Default for FileBudget {
    fn default() -> FileBudget {
        ReplyLimits::default().file_budget(1)
    }
}

/// An omitted part.
struct Omission {
    field: String,
    unit: Cow<'static, str>,
    shown: usize,
    of: usize,
}

impl Omission {
    fn new(field: impl Into<String>, unit: &'static str, shown: usize, of: usize) -> Omission {
        Omission { field: field.into(), unit: Cow::Borrowed(unit), shown, of }
    }

    fn to_json(&self) -> Value {
        json!({ "field": self.field, "shown": self.shown, "of": self.of, "unit": self.unit })
    }

    /// The reverse of [`Omission::to_json`]; `path` leads to the object that contains the field.
    fn from_json(value: &Value, path: &str) -> Option<Omission> {
        let field = format!("{path}{}", value["field"].as_str()?);
        let unit = Cow::Owned(value["unit"].as_str()?.to_owned());
        Some(Omission { field, unit, shown: number_field(value, "shown")?, of: number_field(value, "of")? })
    }
}

/// Returns a field that is a number.
fn number_field(value: &Value, key: &str) -> Option<usize> {
    value[key].as_u64().and_then(|number| usize::try_from(number).ok())
}

/// Records in the data of a reply, or of one of its files, that only a part of a field was built. The reply lists the
/// field among the omissions.
pub(crate) fn note_part(data: &mut Map<String, Value>, field: &str, unit: &'static str, shown: usize, of: usize) {
    if shown >= of {
        return;
    }
    let omission = Omission::new(field, unit, shown, of).to_json();
    let omitted = data.entry(OMITTED_FIELD).or_insert_with(|| json!({ "fields": [] }));
    if let Some(fields) = omitted["fields"].as_array_mut() {
        fields.push(omission);
    }
}

/// Removes and returns what builders recorded with [`note_part`].
fn noted_parts(data: &mut Map<String, Value>) -> Vec<Omission> {
    let mut omissions = Vec::new();
    take_noted(data, "", &mut omissions);
    for (nth, file) in data.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        if let Some(file) = file.as_object_mut().filter(|file| file.contains_key(OMITTED_FIELD)) {
            take_noted(file, &format!("files[{nth}]."), &mut omissions);
        }
    }
    omissions
}

/// Moves the records of one object to `omissions`; `path` leads to the object.
fn take_noted(fields: &mut Map<String, Value>, path: &str, omissions: &mut Vec<Omission>) {
    let omitted = fields.shift_remove(OMITTED_FIELD);
    let noted = omitted.as_ref().and_then(|omitted| omitted["fields"].as_array()).into_iter().flatten();
    omissions.extend(noted.filter_map(|it| Omission::from_json(it, path)));
}

impl ReplyLimits {
    /// The limits for a person at a terminal.
    #[must_use]
    pub fn for_person(self) -> ReplyLimits {
        ReplyLimits {
            text: PERSON_TEXT_CHARS_MAX,
            data: PERSON_DATA_BYTES_MAX,
            read: self.read.max(READ_REPLY_CHARS_MAX),
            ..self
        }
    }

    /// The limits of a reply that has the former text of the changed file.
    #[must_use]
    pub(crate) fn with_original(self) -> ReplyLimits {
        ReplyLimits { original: ORIGINAL_FILE_BYTES_MAX, ..self }
    }

    /// Returns the limits of a tool whose text is a range that the call requested.
    #[must_use]
    pub(crate) fn for_reads(self) -> ReplyLimits {
        ReplyLimits { text: self.text.max(self.read + READ_OVERHEAD_CHARS), ..self }
    }

    /// Returns the budget for the change of each file, in a reply about `files` files.
    pub(crate) fn file_budget(self, files: usize) -> FileBudget {
        let counts = files <= READ_BY_REPLY_FILES_MAX;
        let files = files.clamp(1, LISTED_FILES_MAX);
        let snippet = (self.text / 2 / files).min(SNIPPET_BYTES_MAX);
        FileBudget {
            snippet: if snippet < SNIPPET_BYTES_MIN { 0 } else { snippet },
            diff: (self.text / 2 / files).min(TEXT_DIFF_BYTES_MAX),
            patch: self.data / 4 / files,
            edits: self.data / 4 / files,
            original: if files == 1 { self.original.min(self.data / 4) } else { 0 },
            counts,
        }
    }

    /// Cuts an answer to these limits; `rest` describes how to get the omitted parts.
    pub fn fit(self, text: &mut String, data: &mut Map<String, Value>, rest: &str) {
        let mut omissions = noted_parts(data);
        omissions.extend(cut_text(text, self.text, "text", rest));
        self.fit_data(data, &mut omissions);
        note(data, &omissions, rest);
    }

    /// Cuts an error to these limits: its message, evidence and advice together, and its facts.
    pub(crate) fn fit_error(self, error: &mut Error) {
        let parts = error.parts();
        let mut omissions = noted_parts(parts.data);
        let ends = self.text / 5;
        omissions.extend(cut_text(parts.message, ends, "message", ""));
        omissions.extend(cut_text(parts.next, ends, "next", ""));
        let left = self.text - parts.message.chars().count() - parts.next.chars().count();
        omissions.extend(cut_text(parts.evidence, left.saturating_sub(10), "evidence", REST_OF_ERROR_ADVICE));
        self.fit_data(parts.data, &mut omissions);
        note(parts.data, &omissions, REST_OF_ERROR_ADVICE);
    }

    fn fit_data(self, data: &mut Map<String, Value>, omissions: &mut Vec<Omission>) {
        // The list of omissions needs room, too.
        let room = if omissions.is_empty() { self.data } else { self.data - OMISSIONS_BYTES_RESERVED };
        if is_small(data, &mut (room / 6)) || Caps::NONE.bytes_of_fields(data) <= room {
            return;
        }
        // Data that was requested in base64 has limits of its own.
        let attached = data.shift_remove(ATTACHMENTS);
        if json_bytes(data) > room {
            let most = self.data - OMISSIONS_BYTES_RESERVED;
            let caps = (0..CAP_HALVINGS_MAX).map(Caps::of).find(|caps| caps.bytes_of_fields(data) <= most);
            let caps = caps.unwrap_or_else(|| Caps::of(CAP_HALVINGS_MAX));
            caps.cut_fields(data, "", omissions);
            drop_largest(data, most, omissions);
        }
        data.extend(attached.map(|attached| (ATTACHMENTS.to_owned(), attached)));
    }
}

/// Records the omissions.
fn note(data: &mut Map<String, Value>, omissions: &[Omission], rest: &str) {
    if omissions.is_empty() {
        return;
    }
    let fields: Vec<Value> = omissions.iter().take(LISTED_OMISSIONS_MAX).map(Omission::to_json).collect();
    let more = omissions.len().saturating_sub(LISTED_OMISSIONS_MAX);
    data.insert(OMITTED_FIELD.to_owned(), json!({ "fields": fields, "more": more, "next": rest }));
}

/// Cuts a text in the middle, at nearby line ends if possible, and notes how much is missing.
fn cut_text(text: &mut String, most: usize, field: &str, rest: &str) -> Option<Omission> {
    // There are never more characters than bytes.
    if text.len() <= most {
        return None;
    }
    let of = text.chars().count();
    if of <= most {
        return None;
    }
    let room = most.saturating_sub(rest.chars().count() + 100);
    let (head, tail) = (room - room / 8, room / 8);
    let (mut start, mut end) = (byte_of_char(text, head), byte_of_char(text, of - tail));
    // Whole lines are worth more than the last characters of the room.
    if let Some(at) = text[..start].rfind('\n').filter(|at| *at + 1 >= start / 2) {
        start = at + 1;
    }
    if let Some(at) = text[end..].find('\n').filter(|at| *at < (text.len() - end) / 2) {
        end += at + 1;
    }
    let left = text[start..end].chars().count();
    let rest = if rest.is_empty() { String::new() } else { format!(" {rest}") };
    let mark = format!("⟪{left} characters are not shown here.{rest}⟫\n");
    text.replace_range(start..end, &mark);
    Some(Omission::new(field, "characters", of - left, of))
}

/// Returns the offset of a character, or the end.
fn byte_of_char(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// The limits on every string and list.
#[derive(Clone, Copy)]
struct Caps {
    string: usize,
    list: usize,
}

impl Caps {
    const NONE: Caps = Caps { string: usize::MAX, list: usize::MAX };

    fn of(nth: u32) -> Caps {
        Caps { string: (FIRST_STRING_CAP >> nth).max(256), list: (FIRST_LIST_CAP >> nth).max(1) }
    }

    /// Returns an upper bound of the bytes of fields as JSON after cutting, which is quicker to compute than the JSON.
    fn bytes_of_fields(self, fields: &Map<String, Value>) -> usize {
        2 + fields
            .iter()
            .map(|(key, value)| {
                let left = matches!(value, Value::String(text) if self.drops(key, text));
                if left { 0 } else { string_bytes(key) + 2 + self.bytes(value) }
            })
            .sum::<usize>()
    }

    fn drops(self, key: &str, text: &str) -> bool {
        text.len() > self.string && INDIVISIBLE_FIELDS.contains(&key)
    }

    /// The same for one value.
    fn bytes(self, value: &Value) -> usize {
        match value {
            Value::String(text) => match self.end(text) {
                end if end < text.len() => string_bytes(&text[..end]) + CUT_MARK_BYTES,
                _ => string_bytes(text),
            },
            Value::Array(items) => 2 + items.iter().take(self.list).map(|item| self.bytes(item) + 1).sum::<usize>(),
            Value::Object(fields) => self.bytes_of_fields(fields),
            Value::Number(number) => number.as_u64().map_or(32, |it| 1 + it.checked_ilog10().unwrap_or(0) as usize),
            Value::Bool(_) | Value::Null => 5,
        }
    }

    /// Returns the offset at which a string is cut.
    fn end(self, text: &str) -> usize {
        if text.len() <= self.string {
            return text.len();
        }
        (0..=self.string).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
    }

    fn cut_fields(self, fields: &mut Map<String, Value>, path: &str, omissions: &mut Vec<Omission>) {
        for (key, of) in fields
            .iter()
            .filter_map(|(key, value)| match value {
                Value::String(text) if self.drops(key, text) => Some((key.clone(), text.chars().count())),
                _ => None,
            })
            .collect::<Vec<_>>()
        {
            fields.shift_remove(&key);
            omissions.push(Omission::new(format!("{path}{key}"), "characters", 0, of));
        }
        for (key, value) in fields.iter_mut() {
            self.cut(value, &format!("{path}{key}"), omissions);
        }
    }

    fn cut(self, value: &mut Value, path: &str, omissions: &mut Vec<Omission>) {
        match value {
            Value::String(text) => {
                let end = self.end(text);
                if end < text.len() {
                    let (shown, left) = (text[..end].chars().count(), text[end..].chars().count());
                    text.truncate(end);
                    // Writing to a String cannot fail.
                    let _ = write!(text, "⟪{left} more characters⟫");
                    omissions.push(Omission::new(path, "characters", shown, shown + left));
                }
            }
            Value::Array(items) => {
                let of = items.len();
                if of > self.list {
                    items.truncate(self.list);
                    omissions.push(Omission::new(path, "entries", self.list, of));
                }
                for (nth, item) in items.iter_mut().enumerate() {
                    self.cut(item, &format!("{path}[{nth}]"), omissions);
                }
            }
            Value::Object(fields) => self.cut_fields(fields, &format!("{path}."), omissions),
            _ => {}
        }
    }
}

/// Omits the largest fields one by one, if cutting was not sufficient.
fn drop_largest(data: &mut Map<String, Value>, most: usize, omissions: &mut Vec<Omission>) {
    while json_bytes(data) > most {
        let largest = data.iter().map(|(key, value)| (json_bytes(value), key.clone())).max();
        let Some((of, key)) = largest else { return };
        data.shift_remove(&key);
        omissions.push(Omission::new(key, "bytes", 0, of));
    }
}

/// True when all texts, plus a few bytes for each value, take at most `left` bytes; the sum is at least a sixth of the
/// JSON.
fn is_small(fields: &Map<String, Value>, left: &mut usize) -> bool {
    fn takes(left: &mut usize, bytes: usize) -> bool {
        left.checked_sub(bytes).inspect(|rest| *left = *rest).is_some()
    }
    fn of(value: &Value, left: &mut usize) -> bool {
        match value {
            Value::String(text) => takes(left, text.len() + 8),
            Value::Array(items) => takes(left, 8) && items.iter().all(|item| of(item, left)),
            Value::Object(fields) => is_small(fields, left),
            _ => takes(left, 8),
        }
    }
    takes(left, 8) && fields.iter().all(|(key, value)| takes(left, key.len()) && of(value, left))
}

/// Bytes of each byte of a string as JSON.
static JSON_ESCAPED_BYTES: [u8; 256] = {
    let mut all = [1; 256];
    let mut byte = 0;
    while byte < 0x20 {
        all[byte] = 6;
        byte += 1;
    }
    let short = b"\"\\\n\r\t\x08\x0c";
    let mut nth = 0;
    while nth < short.len() {
        all[short[nth] as usize] = 2;
        nth += 1;
    }
    all
};

/// Bytes of a string as JSON.
fn string_bytes(text: &str) -> usize {
    2 + text.bytes().map(|byte| usize::from(JSON_ESCAPED_BYTES[usize::from(byte)])).sum::<usize>()
}

/// Bytes of a value as JSON.
fn json_bytes(value: &impl serde::Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // A counter accepts everything, and a JSON value can be serialized.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use super::{CONFIGURED_DATA_BYTES_MIN, CONFIGURED_TEXT_CHARS_MIN, Caps, ReplyLimits, json_bytes};
    use emendate_core::{Code, Error};
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    const LIMITS: ReplyLimits =
        ReplyLimits { text: CONFIGURED_TEXT_CHARS_MIN, data: CONFIGURED_DATA_BYTES_MIN, read: 100_000, original: 0 };

    fn fields(value: Value) -> Map<String, Value> {
        if let Value::Object(fields) = value { fields } else { Map::new() }
    }

    #[test]
    fn small_reply_stays_unchanged() {
        let (mut text, mut data) = ("x".repeat(CONFIGURED_TEXT_CHARS_MIN), fields(json!({ "a": "b".repeat(4000) })));
        let (old_text, old_data) = (text.clone(), data.clone());
        LIMITS.fit(&mut text, &mut data, "Read on.");
        assert_eq!((text, data), (old_text, old_data));
    }

    #[test]
    fn omitted_parts_are_counted() {
        let mut text: String = (0..1000).map(|nth| format!("line {nth}\n")).collect();
        let mut data = fields(json!({
            "filePath": "/a", "originalFile": "o".repeat(9000), "list": vec!["entry"; 5000], "long": "é".repeat(9000),
            "attachments": [{ "data": "x".repeat(9000) }],
        }));
        LIMITS.fit(&mut text, &mut data, "Read on.");
        assert!(text.chars().count() <= CONFIGURED_TEXT_CHARS_MIN);
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 999\n"), "{text}");
        assert!(text.contains(" characters are not shown here. Read on.⟫\nline "), "{text}");
        assert_eq!((data["filePath"].as_str(), data.get("originalFile")), (Some("/a"), None));
        let omitted: Vec<&str> =
            data["omitted"]["fields"].as_array().unwrap().iter().map(|it| it["field"].as_str().unwrap()).collect();
        assert_eq!(omitted, ["text", "originalFile", "list", "long"]);
        assert_eq!(data["omitted"]["fields"][2]["of"], 5000);
        assert_eq!(data["omitted"]["next"], "Read on.");
        assert_eq!(data["attachments"][0]["data"].as_str().unwrap().len(), 9000);
    }

    #[test]
    fn no_more_is_cut_than_the_limit_requires() {
        let numbers: Vec<Value> = (0..100).map(|nth| json!({ "line": nth, "text": "t" })).collect();
        let mut data = fields(json!({ "diff": "d".repeat(6000), "edits": numbers }));
        let limits = ReplyLimits { data: 2 * CONFIGURED_DATA_BYTES_MIN, ..LIMITS };
        assert!(json_bytes(&data) > limits.data);
        limits.fit(&mut String::new(), &mut data, "Read on.");
        assert_eq!(data["edits"].as_array().unwrap().len(), 100);
        assert!(data["diff"].as_str().unwrap().len() >= 2048);
    }

    #[test]
    fn error_keeps_its_message_and_advice() {
        let mut error = Error::new(Code::MatchNotFound, "It is not there.")
            .evidence("e\n".repeat(10_000))
            .next("Do this.")
            .fact("nearest", json!({ "text": "t".repeat(100_000) }));
        LIMITS.fit_error(&mut error);
        assert!(error.to_string().chars().count() <= CONFIGURED_TEXT_CHARS_MIN);
        assert_eq!((error.message(), error.next_step()), ("It is not there.", "Do this."));
        assert!(json_bytes(error.data()) <= CONFIGURED_DATA_BYTES_MIN);
        let mut long = Error::new(Code::CallInvalid, "m".repeat(5_000)).next("n".repeat(5_000));
        LIMITS.fit_error(&mut long);
        assert!(long.to_string().chars().count() <= CONFIGURED_TEXT_CHARS_MIN);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ("[a\\x00\"é\n]{0,40}", 0usize..200).prop_map(|(text, times)| text.repeat(times).into()),
        ];
        leaf.prop_recursive(4, 200, 40, |inner| {
            prop_oneof![
                (prop::collection::vec(inner.clone(), 0..40)).prop_map(Value::from),
                prop::collection::hash_map("[a-z]{1,9}", inner, 0..40).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        /// The limit holds whatever a tool answers.
        #[test]
        fn no_reply_exceeds_the_limits(values in prop::collection::vec(any_value(), 1..6), text in "[ab\né]{0,3000}") {
            let mut data: Map<String, Value> = (0..).map(|nth: u32| nth.to_string()).zip(values).collect();
            prop_assert!(Caps::NONE.bytes_of_fields(&data) >= json_bytes(&data));
            let mut text = text;
            LIMITS.fit(&mut text, &mut data, "Read on.");
            prop_assert!(text.chars().count() <= LIMITS.text);
            prop_assert!(json_bytes(&data) <= LIMITS.data, "{}", json_bytes(&data));
        }
    }
}
