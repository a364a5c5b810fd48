//! Reversal of requests.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::op::{Ask, FileRequest, Hunk, HunkLine, LineKind, Locator, NewFile, Op, Order, Request};

impl Hunk {
    /// Returns the hunk that undoes this one: removed lines are added, and removed lines come before added ones in
    /// every run.
    ///
    /// Its `first` is that of the old side, as far as it can be known; a diff that numbers both sides knows better.
    #[must_use]
    pub fn reversed(mut self) -> Hunk {
        let had_old = self.lines.iter().any(|line| line.kind != LineKind::Added);
        let mut lines: Vec<HunkLine> = Vec::with_capacity(self.lines.len());
        let mut added: Vec<HunkLine> = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            match line.kind {
                LineKind::Removed => added.push(HunkLine { kind: LineKind::Added, ..line }),
                LineKind::Added => lines.push(HunkLine { kind: LineKind::Removed, ..line }),
                LineKind::Context | LineKind::Bare => {
                    lines.append(&mut added);
                    lines.push(line);
                }
            }
        }
        lines.append(&mut added);
        let has_old = lines.iter().any(|line| line.kind != LineKind::Added);
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
    /// Errors: [`Code::CallInvalid`] for actions without the former content: searches, whole files, copies, a deletion
    /// without the text, binary changes and permissions.
    pub fn reversed(self) -> Result<Request> {
        let files = self.files.into_iter().rev().map(undone).collect::<Result<_>>()?;
        Ok(Request { files, notes: self.notes })
    }
}

fn undone(file: FileRequest) -> Result<FileRequest> {
    if file.mode.is_some() {
        return Err(silent(&file.path, "it sets a permission and does not say the old one"));
    }
    let FileRequest { path, also, base, ask, .. } = file;
    match ask {
        Ask::Edit { ops, order } => {
            let mut ops = undone_ops(&path, ops)?;
            if order == Order::InTurn {
                ops.reverse();
            }
            Ok(FileRequest { also, base, ..FileRequest::new(path, Ask::Edit { ops, order }) })
        }
        Ask::Create(NewFile::Text(text)) => Ok(FileRequest::new(path, Ask::Delete { text: Some(text) })),
        Ask::Delete { text: Some(text) } => Ok(FileRequest::new(path, Ask::Create(NewFile::Text(text)))),
        Ask::Move { to, ops } => {
            let ops = undone_ops(&path, ops)?;
            Ok(FileRequest::new(to, Ask::Move { to: path, ops }))
        }
        Ask::Delete { text: None } => Err(silent(&path, "it deletes the file and does not say what was in it")),
        Ask::Write(_) => Err(silent(&path, "it writes the whole file and does not say what was in it")),
        Ask::Create(_) | Ask::Copy { .. } | Ask::Binary(_) => {
            Err(silent(&path, "what it makes is neither text nor a change of text"))
        }
    }
}

fn undone_ops(path: &str, ops: Vec<Op>) -> Result<Vec<Op>> {
    let undone = |op: Op| match op.at {
        Locator::Hunk(hunk) => Ok(hunk.reversed().into_op()),
        _ => Err(silent(path, "one of its edits is not a hunk")),
    };
    ops.into_iter().map(undone).collect()
}

fn silent(path: &str, why: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The change of {path} cannot be turned round: {why}."))
        .next("Send the opposite change itself.")
}

#[cfg(test)]
mod tests {
    use crate::code::Code;
    use crate::op::{Ask, FileMode, FileRequest, Hunk, HunkLine, LineKind, NewFile, Order, Request};

    fn hunk(marked: &[&str], first: usize) -> Hunk {
        let line = |text: &&str| {
            let kind = match text.as_bytes()[0] {
                b'-' => LineKind::Removed,
                b'+' => LineKind::Added,
                _ => LineKind::Context,
            };
            HunkLine { kind, text: text[1..].to_owned() }
        };
        Hunk { lines: marked.iter().map(line).collect(), first: Some(first), ..Hunk::default() }
    }

    #[test]
    fn removed_lines_stay_before_added_ones() {
        let there = hunk(&[" a", "-b", "-c", "+d", " e", "+f"], 3);
        let back = hunk(&[" a", "-d", "+b", "+c", " e", "-f"], 3);
        assert_eq!(there.clone().reversed(), back);
        assert_eq!(back.reversed(), there);
        assert_eq!(hunk(&["-a"], 5).reversed(), hunk(&["+a"], 4));
        assert_eq!(hunk(&["+a"], 4).reversed(), hunk(&["-a"], 5));
        let open = Hunk { open: (true, false), ..hunk(&["-a", "+a"], 1) };
        assert_eq!(open.reversed().open, (false, true));
    }

    #[test]
    fn files_turn_round_where_the_request_says_enough() {
        let text = || NewFile::Text("x\n".to_owned());
        let edit = Ask::Edit { ops: vec![hunk(&["-a", "+b"], 1).into_op()], order: Order::AsNeeded };
        let move_ = Ask::Move { to: "n".to_owned(), ops: vec![] };
        let files =
            vec![FileRequest::new("a", edit), FileRequest::new("b", Ask::Create(text())), FileRequest::new("m", move_)];
        let request = Request { files, notes: vec![] };
        let back = request.clone().reversed().unwrap();
        let asks: Vec<_> = back.files.iter().map(|file| (&*file.path, &file.ask)).collect();
        assert!(matches!(asks[0], ("n", Ask::Move { to, .. }) if to == "m"));
        assert!(matches!(asks[1], ("b", Ask::Delete { text: Some(text) }) if text == "x\n"));
        assert!(matches!(asks[2], ("a", Ask::Edit { .. })));
        assert_eq!(back.reversed().unwrap(), request);

        for ask in [Ask::Delete { text: None }, Ask::Write(String::new()), Ask::Create(NewFile::Link("t".into()))] {
            let request = Request { files: vec![FileRequest::new("a", ask)], notes: vec![] };
            assert_eq!(request.reversed().unwrap_err().code(), Code::CallInvalid);
        }
        let mut moded = FileRequest::new("a", Ask::Edit { ops: vec![], order: Order::AsNeeded });
        moded.mode = Some(FileMode::Executable);
        assert!(Request { files: vec![moded], notes: vec![] }.reversed().is_err());
    }
}
