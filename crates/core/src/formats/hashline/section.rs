//! Sections: the edits of one file, and the conversion of sections to a request.

use super::body::{BodyMeaning, OpenOp};
use super::broken;
use super::dialect::{CURRENT, HashlineDialect, SEED};
use super::header::HeaderTag;
use super::token::OpKind;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::line_edits::{self, LineEdit};
use crate::locate::op::{FileAction, FileRequest, Locator, Op, OpOrder, Request};
use crate::note::Notes;
use crate::text::content::Handle;
use std::collections::HashMap;

/// The edits of one file.
pub(super) struct HashlineSection {
    pub(super) dialect_row: &'static HashlineDialect,
    pub(super) path: String,
    pub(super) tag: Option<HeaderTag>,
    /// 1-based line of the section's header.
    at: usize,
    ops: Vec<Op>,
    /// The action on the file itself, with its line.
    file: Option<(OpKind, usize)>,
    notes: Vec<&'static str>,
    /// The first comment before the first operation.
    pub(super) comment: Option<(usize, String)>,
}

impl HashlineSection {
    pub(super) fn new(
        dialect_row: &'static HashlineDialect,
        path: String,
        tag: Option<HeaderTag>,
        at: usize,
    ) -> HashlineSection {
        HashlineSection { dialect_row, path, tag, at, ops: Vec::new(), file: None, notes: Vec::new(), comment: None }
    }

    /// True as long as there is no operation.
    pub(super) fn is_untouched(&self) -> bool {
        self.ops.is_empty() && self.file.is_none()
    }

    /// Adds a completed operation.
    ///
    /// Errors: contradictory operations on the file.
    pub(super) fn take(&mut self, open: OpenOp, settled: BodyMeaning) -> Result<()> {
        for note in settled.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let OpenOp { op, source, at, .. } = open;
        if let OpKind::Remove | OpKind::Move(_) = op.kind {
            let alone = op.kind != OpKind::Remove || self.ops.is_empty();
            if !alone || self.file.is_some() {
                return Err(with_file(at, &source));
            }
            self.file = Some((op.kind, at));
            return Ok(());
        }
        if self.file.is_some() {
            return Err(with_file(at, &source));
        }
        let rows = LineEdit {
            target: op.place,
            anchors: op.words,
            check: op.check,
            old: settled.old,
            context: settled.context,
            cut_to: op.keep,
            paste: op.paste,
            source_text: source,
            source_line: at,
        };
        self.ops.push(Op { at: Locator::Lines(Box::new(rows)), text: settled.text });
        Ok(())
    }

    /// Returns the last operation, unless it is about the file itself, and the version that it refers to.
    pub(super) fn last_op(&self) -> Option<(&Op, Option<Handle>)> {
        let base = self.tag.map(|tag| tag.handle(self.dialect_row.header));
        self.ops.last().filter(|_| self.file.is_none()).map(|op| (op, base))
    }

    fn uses_registers(&self) -> bool {
        self.ops.iter().any(|op| match &op.at {
            Locator::Lines(rows) => rows.paste.is_some() || rows.cut_to.as_ref().is_some_and(|it| it.0.is_some()),
            _ => false,
        })
    }
}

fn with_file(at: usize, source: &str) -> Error {
    let what = format!("`{source}` cannot be combined with the other operations on this file.");
    broken(at, &what, source).next("One of `REM` and `MV` per file: `REM` alone, `MV` below all line operations.")
}

/// Creates the error for a text that begins with something else; `line` is its first line.
pub(super) fn no_header(line: &str, at: usize) -> Error {
    let got: String = line.chars().take(120).collect();
    let current = (CURRENT.read)(line).is_some() || line.starts_with('[');
    let dialect = if current { &CURRENT } else { &SEED };
    let form = dialect.form.replace("TAG", "HASH");
    let what = if super::stray::is_unified(line) {
        format!(
            "unified-diff hunk header (`@@ -N,M +N,M @@`) is not valid in hashline. File sections start with `{form}`; use {}.",
            dialect.ops
        )
    } else {
        format!(
            "input must begin with \"{form}\" on the first non-blank line for anchored edits; got: {got:?}. Example: \"{}\" then edit ops.",
            dialect.sample
        )
    };
    Error::new(Code::EditUnparsable, what)
        .next(format!("Copy the header that read printed, with its tag. {}", dialect.shape()))
        .fact("line", at)
}

/// Converts all sections to a request; those of one path are joined at the position of the first one.
///
/// Errors: no section, different tags, no tag, registers used across joined sections.
pub(super) fn request(sections: Vec<HashlineSection>, mut notes: Notes) -> Result<Request> {
    let mut merged: Vec<HashlineSection> = Vec::with_capacity(sections.len());
    let mut known: HashMap<String, usize> = HashMap::new();
    let registers = sections.iter().any(HashlineSection::uses_registers);
    for section in sections {
        if section.is_untouched() {
            return Err(idle(&section));
        }
        let at = *known.entry(section.path.clone()).or_insert(merged.len());
        let last = merged.len().saturating_sub(1);
        let Some(first) = merged.get_mut(at) else {
            merged.push(section);
            continue;
        };
        if registers && at != last {
            return Err(interleaved(&section));
        }
        merge(first, section)?;
    }
    if merged.is_empty() {
        return Err(Error::new(Code::EditUnparsable, "No hashline sections found in input.").next(SEED.shape()));
    }
    let mut files = Vec::with_capacity(merged.len());
    for section in merged {
        let many = known.len() > 1;
        notes.extend(
            section
                .notes
                .iter()
                .map(|note| if many { format!("{}: {note}", section.path) } else { (*note).to_owned() }),
        );
        files.push(asked(section)?);
    }
    Ok(Request { files, notes })
}

/// Creates the error for a header without operations.
fn idle(section: &HashlineSection) -> Error {
    let source = section.dialect_row.headed(&section.path, section.tag.map_or_else(String::new, |tag| tag.to_string()));
    let what = format!("the section of {} has no operation.", section.path);
    broken(section.at, &what, &source)
        .next(format!("Write an operation below its header, or omit the header. {}", section.dialect_row.shape()))
}

fn merge(first: &mut HashlineSection, section: HashlineSection) -> Result<()> {
    match (first.tag, section.tag) {
        (Some(a), Some(b)) if a != b => {
            let what = format!(
                "Conflicting hashline snapshot tags for {}: #{a} and #{b}. Re-read the file and retry with one current header.",
                first.path
            );
            return Err(broken(section.at, &what, &shown_header(&section))
                .next("Use the newest header for all hunks of the file; all numbers mean that version."));
        }
        (None, tag) => first.tag = tag,
        _ => {}
    }
    if let Some((_, at)) = first.file.as_ref().or(section.file.as_ref().filter(|(kind, _)| *kind == OpKind::Remove)) {
        return Err(with_file(*at, &shown_header(&section)));
    }
    first.ops.extend(section.ops);
    first.file = section.file;
    first.notes.extend(section.notes.into_iter().filter(|note| !first.notes.contains(note)).collect::<Vec<_>>());
    Ok(())
}

/// Returns the header of a section in the form in which a caller writes it.
fn shown_header(section: &HashlineSection) -> String {
    section.dialect_row.headed(&section.path, "…")
}

fn interleaved(section: &HashlineSection) -> Error {
    let what = format!("sections of {} are not adjacent, so the order of `CUT` and `PUT` is not clear.", section.path);
    broken(section.at, &what, &section.path).next("Put all hunks of a file under one header.")
}

fn asked(section: HashlineSection) -> Result<FileRequest> {
    let HashlineSection { dialect_row: dialect, path, tag, ops, file, .. } = section;
    // Anchors refer to the same lines in any version.
    if tag.is_none() && line_edits::are_all_by_anchor(&ops) && file.is_none() {
        return Ok(FileRequest::new(path, FileAction::Edit { ops, order: OpOrder::Together }));
    }
    let Some(tag) = tag else {
        let what = format!(
            "Missing hashline snapshot tag for anchored edit to {path}; use `{}` from your latest read/search output. To create a new file, use the write tool.",
            dialect.headed(&path, "tag")
        );
        let hint = format!("Read {path} in this format and copy its header.");
        return Err(Error::new(Code::EditUnparsable, what).next(hint).fact("path", path));
    };
    let action = match file {
        None => FileAction::Edit { ops, order: OpOrder::Together },
        Some((OpKind::Move(to), _)) => FileAction::Move { to, ops },
        Some(_) => FileAction::Delete { text: None },
    };
    let base = Some(tag.handle(dialect.header));
    Ok(FileRequest { base, ..FileRequest::new(path, action) })
}
