//! The behaviour of the Codex 0.169 tool: its strict grammar, its placement of chunks and its messages. The emulation is
//! pure: it reads a tree through a closure and returns what would be written. It differs where the tool loses data: a
//! patch that fails changes nothing, and a move to the same path is an edit.

mod grammar;
mod place;
mod tree;

use grammar::CodexOperation;
use tree::CodexTree;

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodexPathState {
    /// Nothing.
    Missing,
    /// A regular file, or a link to one, with these bytes.
    File(Vec<u8>),
    /// A directory.
    Directory,
    /// Nothing can exist there, because a parent is not a directory.
    Blocked,
}

/// One change, after the ones before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodexChange {
    /// The absolute path.
    pub path: String,
    /// The change.
    pub how: CodexChangeKind,
}

/// The change of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodexChangeKind {
    /// The path is created, with its folders and these bytes.
    Created(Vec<u8>),
    /// The file gets these bytes.
    Edited(Vec<u8>),
    /// The file is removed.
    Removed,
    /// The file is moved to another absolute path, with these bytes.
    Moved {
        /// The other path.
        to: String,
        /// The bytes at the other path.
        bytes: Vec<u8>,
    },
}

/// A patch that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodexOutcome {
    /// The changes in the order of the patch.
    pub changes: Vec<CodexChange>,
    /// The output of the tool.
    pub stdout: String,
}

/// A patch that does not apply; nothing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The text that the tool prints on stderr, its line end included.
    pub stderr: String,
    /// The exit status.
    pub exit: u8,
}

/// The output of the tool for empty input.
pub const USAGE: &str = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n";

/// Applies this patch in this absolute `folder` as the tool would; `look` returns the state of an absolute path.
pub fn apply(patch: &str, folder: &str, look: impl Fn(&str) -> CodexPathState) -> Result<CodexOutcome, Failure> {
    if patch.is_empty() {
        return Err(Failure { stderr: USAGE.to_owned(), exit: 2 });
    }
    let operations = grammar::read(patch).map_err(failed)?;
    if operations.is_empty() {
        return Err(failed("No files were modified.".to_owned()));
    }
    let mut work =
        CodexRun { tree: CodexTree::new(look), folder, changes: Vec::new(), changed_paths: Default::default() };
    for operation in operations {
        work.operate(operation)?;
    }
    let mut stdout = "Success. Updated the following files:\n".to_owned();
    for (mark, names) in ["A ", "M ", "D "].into_iter().zip(&work.changed_paths) {
        for name in names {
            stdout.extend([mark, name, "\n"]);
        }
    }
    Ok(CodexOutcome { changes: work.changes, stdout })
}

fn failed(message: String) -> Failure {
    Failure { stderr: message + "\n", exit: 1 }
}

/// The processing of one patch.
struct CodexRun<'a, L> {
    tree: CodexTree<L>,
    folder: &'a str,
    changes: Vec<CodexChange>,
    /// Names of files added, changed and deleted, as they are in the patch.
    changed_paths: [Vec<String>; 3],
}

impl<L: Fn(&str) -> CodexPathState> CodexRun<'_, L> {
    fn operate(&mut self, operation: CodexOperation) -> Result<(), Failure> {
        match operation {
            CodexOperation::Add { path, text } => {
                let at = self.absolute(&path)?;
                let bytes = text.into_bytes();
                self.write(&at, &bytes)?;
                self.changed_paths[0].push(path);
                self.changes.push(CodexChange { path: at, how: CodexChangeKind::Created(bytes) });
            }
            CodexOperation::Delete { path } => {
                let at = self.absolute(&path)?;
                match self.tree.look(&at) {
                    CodexPathState::File(_) => {}
                    _ => return Err(failed(format!("Failed to delete file {at}"))),
                }
                self.tree.remove(&at);
                self.changed_paths[2].push(path);
                self.changes.push(CodexChange { path: at, how: CodexChangeKind::Removed });
            }
            CodexOperation::Update { path, to, chunks } => {
                let from = self.absolute(&path)?;
                let to_path = to.as_deref().map(|to| self.absolute(to)).transpose()?;
                let text = self.read(&from)?;
                let bytes = place::apply(&text, &chunks, &from);
                let bytes = bytes.map_err(failed)?.into_bytes();
                let how = match to_path.filter(|it| *it != from) {
                    None => {
                        self.tree.write(&from, bytes.clone());
                        CodexChangeKind::Edited(bytes)
                    }
                    Some(to) => {
                        self.write(&to, &bytes)?;
                        self.tree.remove(&from);
                        CodexChangeKind::Moved { to, bytes }
                    }
                };
                self.changed_paths[1].push(to.unwrap_or(path));
                self.changes.push(CodexChange { path: from, how });
            }
        }
        Ok(())
    }

    fn absolute(&self, name: &str) -> Result<String, Failure> {
        if name.contains('\0') {
            return Err(failed(format!("'{name}' is invalid on 'linux'")));
        }
        Ok(tree::absolute(self.folder, name))
    }

    fn read(&self, at: &str) -> Result<String, Failure> {
        let looked = self.tree.look(at);
        let why = match looked {
            CodexPathState::Missing => "No such file or directory (os error 2)".to_owned(),
            CodexPathState::Blocked => "Not a directory (os error 20)".to_owned(),
            CodexPathState::Directory => format!("path `{at}` is not a file"),
            CodexPathState::File(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Ok(text),
                Err(error) => error.utf8_error().to_string(),
            },
        };
        Err(failed(format!("Failed to read file to update {at}: {why}")))
    }

    /// Writes a file that is new, or should be.
    fn write(&mut self, at: &str, bytes: &[u8]) -> Result<(), Failure> {
        match self.tree.look(at) {
            CodexPathState::Directory | CodexPathState::Blocked => {
                return Err(failed(format!("Failed to write file {at}")));
            }
            CodexPathState::File(_) | CodexPathState::Missing => {}
        }
        self.tree.write(at, bytes.to_vec());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
