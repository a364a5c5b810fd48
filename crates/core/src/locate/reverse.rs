//! Reversal of requests.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{
    FileAction, FileRequest, Hunk, HunkLine, HunkLineKind, Locator, NewFile, Op, OpOrder, Request,
};

impl Hunk {
    /// Returns the hunk that undoes this one: added lines are removed, and removed lines are added. In every run of
    /// changes, removed lines come before added ones.
    ///
    /// The `first` of the result is that of the old side, as far as it can be known; a diff that numbers both sides
    /// knows it better.
    #[must_use]
    pub fn reverse(mut self) -> Hunk {
        let had_old = self.lines.iter().any(|line| line.kind != HunkLineKind::Added);
        let mut lines: Vec<HunkLine> = Vec::with_capacity(self.lines.len());
        let mut added: Vec<HunkLine> = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            match line.kind {
                HunkLineKind::Removed => added.push(HunkLine { kind: HunkLineKind::Added, ..line }),
                HunkLineKind::Added => lines.push(HunkLine { kind: HunkLineKind::Removed, ..line }),
                HunkLineKind::Context | HunkLineKind::Bare => {
                    lines.append(&mut added);
                    lines.push(line);
                }
            }
        }
        lines.append(&mut added);
        let has_old = lines.iter().any(|line| line.kind != HunkLineKind::Added);
        // Without old lines, `first` is the line before the place.
        self.first = match (had_old, has_old) {
            (true, false) => self.first.map(|first| first.saturating_sub(1)),
            (false, true) => self.first.map(|first| first.saturating_add(1)),
            _ => self.first,
        };
        self.open = (self.open.1, self.open.0);
        self.lines = lines;
        self
    }
}

impl Request {
    /// Returns the request that undoes this one, its files in the opposite order.
    ///
    /// Errors: [`Code::CallInvalid`] for actions that do not contain the former content: searches, whole files, copies,
    /// a deletion without the text, binary changes and permissions.
    pub fn reverse(self) -> Result<Request> {
        let files = self.files.into_iter().rev().map(undone).collect::<Result<_>>()?;
        Ok(Request { files, notes: self.notes })
    }
}

fn undone(file: FileRequest) -> Result<FileRequest> {
    if file.mode.is_some() {
        return Err(silent(&file.path, "it sets a permission and does not contain the old one"));
    }
    let FileRequest { path, alternatives: also, base, action, .. } = file;
    match action {
        FileAction::Edit { ops, order } => {
            let mut ops = undone_ops(&path, ops)?;
            if order == OpOrder::InTurn {
                ops.reverse();
            }
            Ok(FileRequest { alternatives: also, base, ..FileRequest::new(path, FileAction::Edit { ops, order }) })
        }
        FileAction::Create(NewFile::Text(text)) => Ok(FileRequest::new(path, FileAction::Delete { text: Some(text) })),
        FileAction::Delete { text: Some(text) } => Ok(FileRequest::new(path, FileAction::Create(NewFile::Text(text)))),
        FileAction::Move { to, ops } => {
            let ops = undone_ops(&path, ops)?;
            Ok(FileRequest::new(to, FileAction::Move { to: path, ops }))
        }
        FileAction::Delete { text: None } => {
            Err(silent(&path, "it deletes the file and does not contain its earlier text"))
        }
        FileAction::Write(_) => Err(silent(&path, "it writes the whole file and does not contain its earlier text")),
        FileAction::Create(_) | FileAction::Copy { .. } | FileAction::Binary(_) => {
            Err(silent(&path, "its result is neither text nor a change of text"))
        }
    }
}

fn undone_ops(path: &str, ops: Vec<Op>) -> Result<Vec<Op>> {
    ops.into_iter()
        .map(|op| match op.at {
            Locator::Hunk(hunk) => Ok(hunk.reverse().into_op()),
            _ => Err(silent(path, "one of its edits is not a hunk")),
        })
        .collect()
}

fn silent(path: &str, why: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The change of {path} cannot be reversed: {why}."))
        .next("Send the opposite change as an edit.")
}

#[cfg(test)]
mod tests {
    use crate::code::Code;
    use crate::locate::op::{
        FileAction, FileMode, FileRequest, Hunk, HunkLine, HunkLineKind, NewFile, OpOrder, Request,
    };
    use crate::note::Notes;

    fn hunk(marked: &[&str], first: usize) -> Hunk {
        let line = |text: &&str| {
            let kind = match text.as_bytes()[0] {
                b'-' => HunkLineKind::Removed,
                b'+' => HunkLineKind::Added,
                _ => HunkLineKind::Context,
            };
            HunkLine { kind, text: text[1..].to_owned() }
        };
        Hunk { lines: marked.iter().map(line).collect(), first: Some(first), ..Hunk::default() }
    }

    #[test]
    fn removed_lines_stay_before_added_ones() {
        let there = hunk(&[" a", "-b", "-c", "+d", " e", "+f"], 3);
        let back = hunk(&[" a", "-d", "+b", "+c", " e", "-f"], 3);
        assert_eq!(there.clone().reverse(), back);
        assert_eq!(back.reverse(), there);
        assert_eq!(hunk(&["-a"], 5).reverse(), hunk(&["+a"], 4));
        assert_eq!(hunk(&["+a"], 4).reverse(), hunk(&["-a"], 5));
        let open = Hunk { open: (true, false), ..hunk(&["-a", "+a"], 1) };
        assert_eq!(open.reverse().open, (false, true));
    }

    #[test]
    fn files_are_reversed_if_the_request_has_enough_information() {
        let text = || NewFile::Text("x\n".to_owned());
        let edit = FileAction::Edit { ops: vec![hunk(&["-a", "+b"], 1).into_op()], order: OpOrder::AsNeeded };
        let move_ = FileAction::Move { to: "n".to_owned(), ops: vec![] };
        let files = vec![
            FileRequest::new("a", edit),
            FileRequest::new("b", FileAction::Create(text())),
            FileRequest::new("m", move_),
        ];
        let request = Request { files, notes: Notes::new() };
        let back = request.clone().reverse().unwrap();
        let asks: Vec<_> = back.files.iter().map(|file| (&*file.path, &file.action)).collect();
        assert!(matches!(asks[0], ("n", FileAction::Move { to, .. }) if to == "m"));
        assert!(matches!(asks[1], ("b", FileAction::Delete { text: Some(text) }) if text == "x\n"));
        assert!(matches!(asks[2], ("a", FileAction::Edit { .. })));
        assert_eq!(back.reverse().unwrap(), request);

        for action in [
            FileAction::Delete { text: None },
            FileAction::Write(String::new()),
            FileAction::Create(NewFile::Link("t".into())),
        ] {
            let request = Request { files: vec![FileRequest::new("a", action)], notes: Notes::new() };
            assert_eq!(request.reverse().unwrap_err().code(), Code::CallInvalid);
        }
        let mut moded = FileRequest::new("a", FileAction::Edit { ops: vec![], order: OpOrder::AsNeeded });
        moded.mode = Some(FileMode::Executable);
        assert!(Request { files: vec![moded], notes: Notes::new() }.reverse().is_err());
    }
}
