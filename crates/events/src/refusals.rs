//! The refused calls of a workspace, with the reasons that the callers were given. The file is beside the history of the
//! workspace, for its owner, and keeps the newest ones.

use crate::append::append;
use crate::event::name;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Maximum bytes of the file; if it is larger, the older half of its lines is dropped.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum characters of a message, of its evidence and of its advice.
const TEXT_CHARS_MAX: usize = 1500;
/// Maximum characters of a path.
const PATH_CHARS_MAX: usize = 4096;
/// Maximum number of facts about the place of a fault.
const FACTS_MAX: usize = 12;

/// A refused call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The time of the answer, in microseconds since 1970.
    pub at: u64,
    /// Name of the tool.
    pub tool: String,
    /// Format of its input, if it has one.
    pub format: String,
    /// The error code.
    pub code: String,
    /// The fault.
    pub message: String,
    /// The evidence, e.g. lines of the file; empty for secrets.
    pub evidence: String,
    /// The next call.
    pub next: String,
    /// The path in the input, if it has one.
    pub path: String,
    /// Bytes of text in the input.
    pub input: u64,
    /// The session.
    pub session: String,
    /// The model, if known.
    pub model: String,
    /// The place of the fault in the arguments or in the file: names with numbers or short texts.
    pub facts: Map<String, Value>,
}

/// Adds a refused call to the file, which is created if it is missing.
///
/// Errors: those of the disk.
pub fn push_refusal(file: &Path, refusal: &Refusal) -> io::Result<()> {
    append(file, refusal.to_line().as_bytes(), FILE_BYTES_MAX, drop_older_half)
}

/// Reads the newest refused calls, the newest first. A file that does not exist has none.
///
/// Errors: those of the disk.
pub fn newest_refusals(file: &Path, most: usize) -> io::Result<Vec<Refusal>> {
    let text = match read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    Ok(text.lines().rev().filter_map(Refusal::of_line).take(most).collect())
}

/// Reads the end of a file, which may be larger than its limit.
fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(FILE_BYTES_MAX * 2)))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX * 2).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces a full file by its newer half.
fn drop_older_half(file: &mut File, path: &Path) -> io::Result<()> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size / 2))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let start = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let fresh = crate::append::with_suffix(path, ".new");
    let mut out = crate::append::create_private(&fresh)?;
    out.write_all(&bytes[start..])?;
    std::fs::rename(&fresh, path)
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

impl Refusal {
    fn to_line(&self) -> String {
        let facts = self.facts.iter().filter(|(_, value)| is_short(value)).take(FACTS_MAX);
        let facts: Map<String, Value> = facts.map(|(key, value)| (name(key), value.clone())).collect();
        let line = json!({
            "at": self.at, "tool": name(&self.tool), "format": name(&self.format), "code": name(&self.code),
            "message": cut(&self.message, TEXT_CHARS_MAX), "evidence": cut(&self.evidence, TEXT_CHARS_MAX), "next": cut(&self.next, TEXT_CHARS_MAX),
            "path": cut(&self.path, PATH_CHARS_MAX), "input": self.input,
            "session": name(&self.session), "model": name(&self.model), "facts": facts,
        });
        format!("{line}\n")
    }

    fn of_line(line: &str) -> Option<Refusal> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Some(Refusal {
            at: value["at"].as_u64()?,
            tool: text("tool"),
            format: text("format"),
            code: text("code"),
            message: text("message"),
            evidence: text("evidence"),
            next: text("next"),
            path: text("path"),
            input: value["input"].as_u64().unwrap_or(0),
            session: text("session"),
            model: text("model"),
            facts: value["facts"].as_object().cloned().unwrap_or_default(),
        })
    }
}

/// True for a fact that is short enough to be kept.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::String(text) => text.len() <= 100,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{FILE_BYTES_MAX, Refusal, newest_refusals, push_refusal};
    use serde_json::{Map, json};

    fn refusal(at: u64) -> Refusal {
        let facts = Map::from_iter([("edit".to_owned(), json!(2)), ("candidates".to_owned(), json!([1, 2]))]);
        Refusal {
            at,
            tool: "edit".to_owned(),
            code: "match.not_found".to_owned(),
            message: "Not\nfound.".to_owned(),
            evidence: "x".repeat(9000),
            facts,
            ..Refusal::default()
        }
    }

    #[test]
    fn newest_refusals_come_first_and_are_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("refused");
        assert!(newest_refusals(&file, 9).unwrap().is_empty());
        for at in 1..=3 {
            push_refusal(&file, &refusal(at)).unwrap();
        }
        let found = newest_refusals(&file, 2).unwrap();
        assert_eq!(found.iter().map(|it| it.at).collect::<Vec<_>>(), [3, 2]);
        let newest = &found[0];
        assert_eq!((&*newest.message, newest.evidence.len()), ("Not\nfound.", 1500));
        // Lists are not places.
        assert_eq!(newest.facts, Map::from_iter([("edit".to_owned(), json!(2))]));
    }

    #[test]
    fn file_keeps_the_newer_half_and_survives_damage() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("refused");
        let count = FILE_BYTES_MAX / 1500 + 10;
        for at in 1..=count {
            push_refusal(&file, &refusal(at)).unwrap();
        }
        assert!(std::fs::metadata(&file).unwrap().len() < FILE_BYTES_MAX);
        let found = newest_refusals(&file, usize::MAX).unwrap();
        assert_eq!(found[0].at, count);
        assert!(found.windows(2).all(|pair| pair[0].at == pair[1].at + 1));
        std::fs::write(&file, "no json\n{\"at\": 7}\n").unwrap();
        assert_eq!(newest_refusals(&file, 9).unwrap().len(), 1);
    }
}
