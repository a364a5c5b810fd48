//! Checks the tables: every format is complete, every error code is documented and shown by a scene, and the generated
//! pages are up to date.

use crate::docs;
use crate::repo::Repo;
use emendate::core::CODES;
use emendate::core::formats::{FORMATS, Format, FormatInput};

/// Codes that no scene can show, with the reason.
pub(crate) static NOT_SHOWN: &[(&str, &str)] = &[
    ("call.cancelled", "needs a caller that cancels a running call; shown by the tests of crates/engine"),
    ("conflict.raced", "needs another writer between the check and the write; shown by the tests of crates/fs"),
    ("io.no_space", "needs a full disk; shown by the tests of crates/fs"),
    ("io.read_only", "needs a read-only file system"),
    ("io.failed", "needs a broken disk"),
    ("io.partial", "needs a disk that breaks between two writes; shown by the tests of crates/fs"),
    ("operation.uncertain", "needs a damaged history; shown by crates/cli/tests/command/damage.rs"),
    ("lock.timeout", "needs another process that holds the lock for seconds"),
    ("internal.bug", "a scene that shows it shows a bug"),
];

pub(super) fn formats(_: &Repo) -> Vec<String> {
    FORMATS.iter().flat_map(|format| incomplete(*format)).collect()
}

fn incomplete(format: &dyn Format) -> Vec<String> {
    let spec = format.spec();
    let mut out = Vec::new();
    let mut missing = |what: &str| out.push(format!("{} has no {what}", spec.name));
    if spec.summary.is_empty() || spec.summary.contains('\n') {
        missing("summary of one line");
    }
    if spec.prompt.len() < 40 {
        missing("prompt");
    }
    // A text format shows its grammar in the prompt, and its example proves that it is a text format.
    if spec.schema.is_none() && spec.example.trim_start().starts_with('{') {
        missing("schema");
    }
    match format.parse(FormatInput::Text(spec.example.to_owned())) {
        Ok(request) if !request.files.is_empty() => {}
        Ok(_) => missing("example that asks for something"),
        Err(error) => missing(&format!("example that parses: {error}")),
    }
    out
}

pub(super) fn codes(repo: &Repo) -> Vec<String> {
    let mut out = Vec::new();
    for row in CODES {
        let shown = docs::example(repo, row.name);
        let excused = NOT_SHOWN.iter().any(|(name, _)| *name == row.name);
        match shown {
            None if !excused => out.push(format!("no scene shows {}", row.name)),
            Some(scene) if excused => out.push(format!("{scene} shows {}, which is listed as impossible", row.name)),
            _ => {}
        }
    }
    let unknown = NOT_SHOWN.iter().filter(|(name, _)| !CODES.iter().any(|row| row.name == *name));
    out.extend(unknown.map(|(name, _)| format!("{name} is listed as impossible to show, but is not a code")));
    out
}

pub(super) fn documentation(repo: &Repo) -> Vec<String> {
    let stale = docs::PAGES.iter().filter(|page| repo.text(page.path) != Some(&*page.text(repo)));
    stale.map(|page| format!("{} is not up to date; run `cargo xtask docs`", page.path)).collect()
}
