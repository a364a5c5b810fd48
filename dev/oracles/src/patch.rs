//! A structured patch, and its text in the formats that tools read.

use std::fmt::Write as _;

/// A patch: operations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch(pub Vec<Operation>);

/// An operation on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creates a file.
    Add {
        /// The path of the file.
        path: String,
        /// The text of the file.
        text: String,
    },
    /// Deletes a file.
    Delete {
        /// The path of the file.
        path: String,
        /// The current text of the file.
        text: String,
    },
    /// Changes a file, and optionally its path.
    Update {
        /// The path of the file.
        path: String,
        /// The new path of the file.
        to: Option<String>,
        /// Hunks in file order.
        hunks: Vec<Hunk>,
    },
}

/// One hunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// 1-based number of the first old line; without old lines, of the line before.
    pub old_start: usize,
    /// The same number in the new text.
    pub new_start: usize,
    /// A line above the hunk.
    pub anchor: Option<String>,
    /// The old lines are the last lines of the file.
    pub at_end: bool,
    /// Markers (` `, `-`, `+`) and texts.
    pub lines: Vec<(char, String)>,
    /// True if the last old line, or the last new line, has no line end.
    pub open: (bool, bool),
}

impl Hunk {
    /// Counts the context lines and the lines with this marker.
    pub fn count(&self, mark: char) -> usize {
        self.lines.iter().filter(|line| line.0 == ' ' || line.0 == mark).count()
    }

    fn put_lines(&self, out: &mut String, with_open: bool) {
        let last = |mark| self.lines.iter().rposition(|line| line.0 == ' ' || line.0 == mark);
        let (old, new) = (last('-'), last('+'));
        for (at, (mark, text)) in self.lines.iter().enumerate() {
            let _ = writeln!(out, "{mark}{text}");
            if with_open && ((self.open.0 && old == Some(at)) || (self.open.1 && new == Some(at))) {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
}

impl Patch {
    /// Formats the patch for Codex's tool.
    pub fn to_v4a(&self) -> String {
        let mut out = "*** Begin Patch\n".to_owned();
        for operation in &self.0 {
            match operation {
                Operation::Add { path, text } => {
                    let _ = writeln!(out, "*** Add File: {path}");
                    for line in text.lines() {
                        let _ = writeln!(out, "+{line}");
                    }
                }
                Operation::Delete { path, .. } => {
                    let _ = writeln!(out, "*** Delete File: {path}");
                }
                Operation::Update { path, to, hunks } => {
                    let _ = writeln!(out, "*** Update File: {path}");
                    if let Some(to) = to {
                        let _ = writeln!(out, "*** Move to: {to}");
                    }
                    for hunk in hunks {
                        let anchor = hunk.anchor.as_ref().map_or(String::new(), |text| format!(" {text}"));
                        let _ = writeln!(out, "@@{anchor}");
                        hunk.put_lines(&mut out, false);
                        if hunk.at_end {
                            out.push_str("*** End of File\n");
                        }
                    }
                }
            }
        }
        out + "*** End Patch\n"
    }

    /// Formats the patch for `git apply` and GNU patch.
    pub fn to_unified(&self) -> String {
        let mut out = String::new();
        for operation in &self.0 {
            match operation {
                Operation::Add { path, text } => {
                    let _ = write!(out, "diff --git a/{path} b/{path}\nnew file mode 100644\n");
                    whole(&mut out, '+', text, "/dev/null", &name("b/", path));
                }
                Operation::Delete { path, text } => {
                    let _ = write!(out, "diff --git a/{path} b/{path}\ndeleted file mode 100644\n");
                    whole(&mut out, '-', text, &name("a/", path), "/dev/null");
                }
                Operation::Update { path, to, hunks } => {
                    let target = to.as_ref().unwrap_or(path);
                    let _ = writeln!(out, "diff --git a/{path} b/{target}");
                    if to.is_some() {
                        let _ = write!(out, "rename from {path}\nrename to {target}\n");
                    }
                    if !hunks.is_empty() {
                        let _ = write!(out, "--- {}\n+++ {}\n", name("a/", path), name("b/", target));
                    }
                    for hunk in hunks {
                        let (old, new) = (hunk.count('-'), hunk.count('+'));
                        let _ = writeln!(out, "@@ -{},{old} +{},{new} @@", hunk.old_start, hunk.new_start);
                        hunk.put_lines(&mut out, true);
                    }
                }
            }
        }
        out
    }
}

/// Formats a name in a header. As in git, a TAB ends a name with spaces.
fn name(prefix: &str, path: &str) -> String {
    let end = if path.contains(' ') { "\t" } else { "" };
    format!("{prefix}{path}{end}")
}

/// Writes the hunk of a file that is created or deleted.
fn whole(out: &mut String, mark: char, text: &str, old: &str, new: &str) {
    if text.is_empty() {
        return;
    }
    let count = text.lines().count();
    let counts = if mark == '+' { format!("-0,0 +1,{count}") } else { format!("-1,{count} +0,0") };
    let _ = write!(out, "--- {old}\n+++ {new}\n@@ {counts} @@\n");
    for line in text.lines() {
        let _ = writeln!(out, "{mark}{line}");
    }
    if !text.ends_with('\n') {
        out.push_str("\\ No newline at end of file\n");
    }
}
