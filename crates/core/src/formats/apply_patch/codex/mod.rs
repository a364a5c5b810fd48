//! The behaviour of the Codex 0.169 tool: its strict grammar, its placement of chunks and its messages. The emulation is
//! pure: it reads a tree through a closure and returns what would be written.
//!
//! Where the tool loses data we do not follow: see [`EXCEPTIONS`].

mod grammar;
mod place;
mod tree;

use crate::code::Code;
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

impl CodexPathState {
    /// The code of a failure because of this; of a file, because its bytes are no text.
    fn code(&self) -> Code {
        match self {
            CodexPathState::Missing => Code::FileMissing,
            CodexPathState::File(_) => Code::ContentUndecodable,
            CodexPathState::Directory => Code::PathNotRegular,
            CodexPathState::Blocked => Code::PathInvalid,
        }
    }
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
    /// It is created, its folders too, with these bytes.
    Created(Vec<u8>),
    /// It gets these bytes.
    Edited(Vec<u8>),
    /// It is removed.
    Removed,
    /// It goes to another absolute path, with these bytes.
    Moved {
        /// The other path.
        to: String,
        /// Its bytes there.
        bytes: Vec<u8>,
    },
}

/// A patch that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodexOutcome {
    /// In the order of the patch.
    pub changes: Vec<CodexChange>,
    /// The output of the tool.
    pub stdout: String,
}

/// A patch that does not apply; nothing changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The matching error code of ours.
    pub code: Code,
    /// The text that the tool prints on stderr, its line end included.
    pub stderr: String,
    /// The exit status.
    pub exit: u8,
    /// The row of [`EXCEPTIONS`] by which we refuse what the tool would do.
    pub exception: Option<&'static str>,
}

/// A case in which we do not do as the tool does.
pub struct Exception {
    /// Its name.
    pub name: &'static str,
    /// The behaviour of the tool.
    pub theirs: &'static str,
    /// Our behaviour.
    pub ours: &'static str,
}

/// Every case in which we do not do as the tool does: it loses data there, or the change cannot be made in one step.
pub static EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "partial",
        theirs: "operations before a failed one stay applied, and nothing says which",
        ours: "nothing changes",
    },
    Exception { name: "same-path", theirs: "a Move to the path it comes from deletes the file", ours: "it is an edit" },
    Exception {
        name: "add-over",
        theirs: "Add replaces an existing file",
        ours: "refused, unless the call asks to overwrite",
    },
    Exception {
        name: "move-over",
        theirs: "Move replaces an existing file",
        ours: "refused, unless the call asks to overwrite",
    },
    Exception {
        name: "in-place",
        theirs: "files are truncated and written in place, without checking whether they changed since they were read",
        ours: "new contents replace the old in one step, after that check",
    },
    Exception {
        name: "mode",
        theirs: "a moved file loses its permissions, a moved link becomes a file",
        ours: "a moved file keeps its permissions",
    },
    Exception { name: "outside", theirs: "absolute paths, `..` and links lead anywhere", ours: "only below the roots" },
    Exception {
        name: "two-names",
        theirs: "a file and a link to it are both changed, one after the other",
        ours: "refused; name the file by one path",
    },
    Exception {
        name: "file-to-folder",
        theirs: "a file that the patch removes may become a directory in the same patch",
        ours: "refused; send two patches",
    },
];

/// The output of the tool for empty input.
pub const USAGE: &str = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n";

/// Applies this patch in this absolute `folder` as the tool would; `look` returns the state of an absolute path.
/// `overwrite` allows Add and Move to replace files, as the tool does.
pub fn apply(
    patch: &str,
    folder: &str,
    overwrite: bool,
    look: impl Fn(&str) -> CodexPathState,
) -> Result<CodexOutcome, Failure> {
    if patch.is_empty() {
        return Err(Failure { code: Code::CallInvalid, stderr: USAGE.to_owned(), exit: 2, exception: None });
    }
    let operations = grammar::read(patch).map_err(|message| failed(Code::EditUnparsable, message))?;
    if operations.is_empty() {
        return Err(failed(Code::EditNoChange, "No files were modified.".to_owned()));
    }
    let mut work =
        CodexRun { tree: CodexTree::new(look), folder, overwrite, changes: Vec::new(), told: Default::default() };
    for operation in operations {
        work.operate(operation)?;
    }
    let mut stdout = "Success. Updated the following files:\n".to_owned();
    for (mark, names) in ["A ", "M ", "D "].into_iter().zip(&work.told) {
        for name in names {
            stdout.extend([mark, name, "\n"]);
        }
    }
    Ok(CodexOutcome { changes: work.changes, stdout })
}

/// Every absolute path that the patch names, as far as it can be read.
pub fn paths(patch: &str, folder: &str) -> Vec<String> {
    let operations = grammar::read(patch).unwrap_or_default();
    let names = operations.iter().flat_map(|operation| match operation {
        CodexOperation::Add { path, .. } | CodexOperation::Delete { path } => [Some(path), None],
        CodexOperation::Update { path, to, .. } => [Some(path), to.as_ref()],
    });
    names.flatten().map(|name| tree::absolute(folder, name)).collect()
}

fn failed(code: Code, message: String) -> Failure {
    Failure { code, stderr: message + "\n", exit: 1, exception: None }
}

/// A patch on its way.
struct CodexRun<'a, L> {
    tree: CodexTree<L>,
    folder: &'a str,
    overwrite: bool,
    changes: Vec<CodexChange>,
    /// Names of files added, changed and deleted, as the patch says them.
    told: [Vec<String>; 3],
}

impl<L: Fn(&str) -> CodexPathState> CodexRun<'_, L> {
    fn operate(&mut self, operation: CodexOperation) -> Result<(), Failure> {
        match operation {
            CodexOperation::Add { path, text } => {
                let at = self.absolute(&path)?;
                let bytes = text.into_bytes();
                self.write(&at, &bytes, "add-over")?;
                self.told[0].push(path);
                self.changes.push(CodexChange { path: at, how: CodexChangeKind::Created(bytes) });
            }
            CodexOperation::Delete { path } => {
                let at = self.absolute(&path)?;
                match self.tree.look(&at) {
                    CodexPathState::File(_) => {}
                    other => return Err(failed(other.code(), format!("Failed to delete file {at}"))),
                }
                self.tree.remove(&at);
                self.told[2].push(path);
                self.changes.push(CodexChange { path: at, how: CodexChangeKind::Removed });
            }
            CodexOperation::Update { path, to, chunks } => {
                let from = self.absolute(&path)?;
                let to_path = to.as_deref().map(|to| self.absolute(to)).transpose()?;
                let text = self.read(&from)?;
                let bytes = place::apply(&text, &chunks, &from);
                let bytes = bytes.map_err(|message| failed(Code::MatchNotFound, message))?.into_bytes();
                let how = match to_path.filter(|it| *it != from) {
                    None => {
                        self.tree.write(&from, bytes.clone());
                        CodexChangeKind::Edited(bytes)
                    }
                    Some(to) => {
                        self.write(&to, &bytes, "move-over")?;
                        self.tree.remove(&from);
                        CodexChangeKind::Moved { to, bytes }
                    }
                };
                self.told[1].push(to.unwrap_or(path));
                self.changes.push(CodexChange { path: from, how });
            }
        }
        Ok(())
    }

    fn absolute(&self, name: &str) -> Result<String, Failure> {
        if name.contains('\0') {
            return Err(failed(Code::PathInvalid, format!("'{name}' is invalid on 'linux'")));
        }
        Ok(tree::absolute(self.folder, name))
    }

    fn read(&self, at: &str) -> Result<String, Failure> {
        let looked = self.tree.look(at);
        let code = looked.code();
        let why = match looked {
            CodexPathState::Missing => "No such file or directory (os error 2)".to_owned(),
            CodexPathState::Blocked => "Not a directory (os error 20)".to_owned(),
            CodexPathState::Directory => format!("path `{at}` is not a file"),
            CodexPathState::File(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Ok(text),
                Err(error) => error.utf8_error().to_string(),
            },
        };
        Err(failed(code, format!("Failed to read file to update {at}: {why}")))
    }

    /// Writes a file that is new, or should be.
    fn write(&mut self, at: &str, bytes: &[u8], exception: &'static str) -> Result<(), Failure> {
        match self.tree.look(at) {
            other @ (CodexPathState::Directory | CodexPathState::Blocked) => {
                return Err(failed(other.code(), format!("Failed to write file {at}")));
            }
            CodexPathState::File(_) if !self.overwrite && !self.tree.is_ours(at) => {
                let stderr = format!("Failed to write file {at}: it exists, and overwriting was not asked for\n");
                return Err(Failure { code: Code::FileExists, stderr, exit: 1, exception: Some(exception) });
            }
            CodexPathState::File(_) | CodexPathState::Missing => {}
        }
        self.tree.write(at, bytes.to_vec());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
