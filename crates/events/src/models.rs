//! The models of the sessions of a workspace: the operations of a history have a session, and this file has the model
//! that was behind a session from a moment on.

use crate::append::{append, rotate, with_suffix};
use crate::event::name;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// Bytes of the file; a full one is kept with the suffix `.1`.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Notes that a session uses a model from a moment on, in microseconds since 1970.
///
/// Errors: those of the disk.
pub fn push_model(file: &Path, session: &str, model: &str, at: u64) -> io::Result<()> {
    let line = json!({ "at": at, "session": name(session), "model": name(model) });
    append(file, format!("{line}\n").as_bytes(), FILE_BYTES_MAX, rotate)
}

/// The models of sessions, as they were noted.
#[derive(Clone, Debug, Default)]
pub struct SessionModels {
    /// Time, session and model, in the order of their times.
    rows: Vec<(u64, String, String)>,
}

impl SessionModels {
    /// Reads the file; a file that cannot be read has none.
    pub fn read(file: &Path) -> SessionModels {
        let texts = [with_suffix(file, ".1"), file.to_owned()].map(|file| fs::read_to_string(file).unwrap_or_default());
        let mut rows: Vec<_> = texts.iter().flat_map(|text| text.lines()).filter_map(parse_row).collect();
        rows.sort_by_key(|(at, ..)| *at);
        SessionModels { rows }
    }

    /// Returns the model of a session at a moment; empty if it is not known.
    pub fn model_of(&self, session: &str, at: u64) -> &str {
        let until = self.rows.partition_point(|row| row.0 <= at);
        let session = name(session);
        let last = self.rows[..until].iter().rev().find(|row| row.1 == session);
        last.map_or("", |row| &row.2)
    }

    /// The names of all models.
    pub fn names(&self) -> BTreeSet<&str> {
        self.rows.iter().map(|row| &*row.2).filter(|model| !model.is_empty()).collect()
    }
}

/// Returns the time, session and model of a line; `None` if one is missing.
fn parse_row(line: &str) -> Option<(u64, String, String)> {
    let value: Value = serde_json::from_str(line).ok()?;
    Some((value["at"].as_u64()?, value["session"].as_str()?.to_owned(), value["model"].as_str()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{SessionModels, push_model};

    #[test]
    fn model_is_the_last_one_before_a_moment() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("models");
        for (session, model, at) in [("a", "one", 10), ("b", "two", 15), ("a", "three", 20)] {
            push_model(&file, session, model, at).unwrap();
        }
        let models = SessionModels::read(&file);
        let of = |session, at| models.model_of(session, at).to_owned();
        assert_eq!([of("a", 9), of("a", 10), of("a", 19), of("a", 20)], ["", "one", "one", "three"]);
        assert_eq!([of("b", 99), of("c", 99)], ["two", ""]);
        assert_eq!(models.names().into_iter().collect::<Vec<_>>(), ["one", "three", "two"]);
        assert!(SessionModels::read(&directory.path().join("none")).names().is_empty());
    }
}
