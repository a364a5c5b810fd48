//! Edits for which a text names several files, as a heading with one name above a sentence with another one does.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{FileAction, FileRequest, Locator, Request};
use crate::text::snapshot::Snapshot;
use crate::work::{self, STEP_BYTES};
use memchr::memmem;

impl Request {
    /// Gives every file that has rivals the only one of its names that can be meant: that of a file that exists, or the
    /// only such file with the texts that the edits search for.
    ///
    /// Errors: [`Code::EditUnparsable`] if several names are possible.
    pub fn choose_names(
        &mut self,
        exists: impl Fn(&str) -> bool,
        text: impl Fn(&str) -> Option<Snapshot>,
    ) -> Result<()> {
        let Request { files, notes } = self;
        for file in files.iter_mut().filter(|file| !file.rivals.is_empty()) {
            let names: Vec<&str> = std::iter::once(&file.path).chain(&file.rivals).map(String::as_str).collect();
            let possible: Vec<&str> =
                names.iter().copied().filter(|name| exists(name) != file.action.creates()).collect();
            // A file that cannot be read may have the text.
            let fits = |name: &&&str| text(name).is_none_or(|text| has_targets(file, text.text()));
            let chosen = match &*possible {
                [] => continue,
                [only] => (*only).to_owned(),
                several => {
                    let fitting: Vec<&&str> = several.iter().filter(fits).collect();
                    let [only] = *fitting else { return Err(unclear(several)) };
                    notes.push(format!(
                        "The lines above a block name {}; only {only} has the text that the block searches for.",
                        several.join(" and ")
                    ));
                    (*only).to_owned()
                }
            };
            file.path = chosen;
            file.rivals.clear();
        }
        Ok(())
    }
}

/// True if a text has all texts that the edits of a file search for.
fn has_targets(file: &FileRequest, text: &str) -> bool {
    let FileAction::Edit { ops, .. } = &file.action else { return true };
    ops.iter().all(|op| match &op.at {
        Locator::Find(find) => {
            !work::spend_or_end(1 + text.len() / STEP_BYTES)
                && memmem::find(text.as_bytes(), find.old.trim_end_matches('\n').as_bytes()).is_some()
        }
        _ => false,
    })
}

fn unclear(names: &[&str]) -> Error {
    let what = format!("The lines above a block name {}, and it is not clear which is meant.", names.join(" and "));
    Error::new(Code::EditUnparsable, what).next("Put the path of the file alone on the line directly above the block.")
}
