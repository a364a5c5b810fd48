//! Printer: a request as a patch in this format.

use super::marker::{BEGIN_MARKER, END_MARKER, END_OF_FILE_MARKER};
use crate::locate::op::{FileAction, FileRequest, Hunk, HunkLineKind, Locator, NewFile, Op, Request};

/// Prints a patch for this request; `None` if the format cannot express it: other locators than hunks, copies, links,
/// binary content, permissions, and names or lines that contain line ends.
///
/// Numbers, section names and missing final line ends of hunks are written if present; they are extensions that the
/// original tool does not support.
pub fn print(request: &Request) -> Option<String> {
    let mut out = format!("{BEGIN_MARKER}\n");
    for file in &request.files {
        print_file(file, &mut out)?;
    }
    out.push_str(END_MARKER);
    out.push('\n');
    Some(out)
}

fn print_file(file: &FileRequest, out: &mut String) -> Option<()> {
    if file.mode.is_some() {
        return None;
    }
    match &file.action {
        FileAction::Create(NewFile::Text(text)) => {
            header("Add File", &file.path, out)?;
            for line in text.split_terminator('\n') {
                put('+', line, out)?;
            }
            if !text.is_empty() && !text.ends_with('\n') {
                out.push_str(NO_NEWLINE_MARKER);
            }
        }
        FileAction::Delete { .. } => header("Delete File", &file.path, out)?,
        FileAction::Edit { ops, .. } => {
            header("Update File", &file.path, out)?;
            print_ops(ops, out)?;
        }
        FileAction::Move { to, ops } => {
            header("Update File", &file.path, out)?;
            header("Move to", to, out)?;
            print_ops(ops, out)?;
        }
        _ => return None,
    }
    Some(())
}

const NO_NEWLINE_MARKER: &str = "\\ No newline at end of file\n";

fn header(label: &str, name: &str, out: &mut String) -> Option<()> {
    let name_text = super::marker::clean(name);
    if name.is_empty() || name_text.1 || name.contains(['\n', '\r', '\0']) {
        return None;
    }
    out.extend(["*** ", label, ": ", name, "\n"]);
    Some(())
}

fn put(mark: char, line: &str, out: &mut String) -> Option<()> {
    if line.contains('\n') || line.ends_with('\r') {
        return None;
    }
    out.push(mark);
    out.push_str(line);
    out.push('\n');
    Some(())
}

fn print_ops(ops: &[Op], out: &mut String) -> Option<()> {
    for op in ops {
        let Locator::Hunk(hunk) = &op.at else { return None };
        print_hunk(hunk, out)?;
    }
    Some(())
}

fn print_hunk(hunk: &Hunk, out: &mut String) -> Option<()> {
    if let Some(first) = hunk.first {
        let section = hunk.section.as_ref().map_or(String::new(), |name| format!(" {name}"));
        let number = first.to_string();
        out.extend(["@@ -", &number, " +", &number, " @@", &section, "\n"]);
    } else if hunk.scopes.is_empty() {
        out.push_str("@@\n");
    }
    for scope in &hunk.scopes {
        put('@', &format!("@ {scope}"), out)?;
    }
    let (last_old, last_new) = (last_but(hunk, HunkLineKind::Added), last_but(hunk, HunkLineKind::Removed));
    for (number, line) in hunk.lines.iter().enumerate() {
        let mark = match line.kind {
            HunkLineKind::Context | HunkLineKind::Bare => ' ',
            HunkLineKind::Removed => '-',
            HunkLineKind::Added => '+',
        };
        put(mark, &line.text, out)?;
        if (hunk.open.0 && last_old == Some(number)) || (hunk.open.1 && last_new == Some(number)) {
            out.push_str(NO_NEWLINE_MARKER);
        }
    }
    if hunk.at_end {
        out.push_str(END_OF_FILE_MARKER);
        out.push('\n');
    }
    Some(())
}

/// Returns the last line of the hunk that is not of this kind.
fn last_but(hunk: &Hunk, without: HunkLineKind) -> Option<usize> {
    hunk.lines.iter().rposition(|line| line.kind != without)
}
