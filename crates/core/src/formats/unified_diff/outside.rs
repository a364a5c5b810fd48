//! Lines outside of hunks: file headers, the starts of hunks, and lines that are refused. Everything else is prose.

use super::binary_patch::BinaryPatch;
use super::bounds::{self, Lookahead, PatchFence};
use super::header;
use super::mistakes::{UnifiedDiffMistake, broken};
use super::name;
use super::parser::{UnifiedDiffParser, UnifiedDiffState};
use super::patch::FilePatch;
use super::range::{self, HunkHeader};
use crate::formats::line_parser::StreamEvent;
use crate::formats::name::{alone, fence, has_extension};

impl UnifiedDiffParser {
    /// Parses a line outside of hunks.
    pub(super) fn outside(&mut self, line: &str, ahead: Lookahead<'_>, out: &mut Vec<StreamEvent>) {
        if self.foreign {
            self.foreign = !line.trim_start().starts_with("*** End Patch");
            return;
        }
        let fresh = std::mem::take(&mut self.fresh);
        if fresh && self.headless(line, out) {
            return;
        }
        if self.is_adrift() && bounds::changes(line.strip_prefix(&*self.indent).unwrap_or(line)) {
            let what = "a changed line is outside of a hunk.";
            return self.fail(broken(self.at, what).next(
                "Begin each hunk with a line @@ -LINE,COUNT +LINE,COUNT @@ (or just @@), and mark every line of it: space, - or +.",
            ));
        }
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let ahead = ahead.map(|line| line.and_then(|line| line.strip_prefix(indent)));
        if let Some((sign, len, info)) = fence(text) {
            self.ended_at = 0;
            match self.fence {
                Some(open) if info.is_empty() && open.is_closed_by(sign, len) => {
                    (self.fence, self.fence_name) = (None, None);
                }
                None => {
                    self.fence = Some(PatchFence::new(sign, len, self.at));
                    self.fence_name = alone(&self.prose).filter(|name| has_extension(name) || name.contains('/'));
                }
                Some(_) => {}
            }
            self.prose.clear();
            return;
        }
        if let Some(header) = range::read(text) {
            let known = self.file.as_ref().is_some_and(|file| !file.is_void()) || self.options.file.is_some();
            // In prose, `@@` may be followed by ordinary words.
            if known || header.section.is_none() || header.first.0.is_some() {
                self.indented(indent);
                if header.first.0.is_none() && !header.overflow {
                    self.mistakes.add(UnifiedDiffMistake::NoNumbers, self.at);
                }
                self.begin_hunk(header, out);
            }
            return;
        }
        if self.names(text, indent, ahead, out) {
            self.fence_name = None;
            return;
        }
        if bounds::is_structure(text, ahead[0]) || text.starts_with("***************") {
            self.fence_name = None;
            return self.structure(text, indent, out);
        }
        if !text.is_empty() {
            text.clone_into(&mut self.prose);
        }
        let (at, encoding) = (self.at, self.options.encoding);
        if let Some(file) = self.file.as_mut().filter(|file| file.git && file.hunks.is_empty()) {
            match header::read(file, text, encoding) {
                Ok(true) => file.lines.1 = at,
                Ok(false) => {}
                Err(what) => self.fail(broken(at, what)),
            }
        } else if header::is_loose(text) {
            if self.loose_headers.last().is_none_or(|(last, _)| last + 1 != at) {
                self.loose_headers.clear();
            }
            self.loose_headers.push((at, text.to_owned()));
        }
    }

    /// Reads git's headers directly above `---`, if `diff --git` is missing.
    fn adopt_loose_headers(&mut self) {
        let headers = std::mem::take(&mut self.loose_headers);
        let Some(file) = self.file.as_mut().filter(|_| headers.last().is_some_and(|(last, _)| last + 1 == self.at))
        else {
            return;
        };
        let encoding = self.options.encoding;
        file.lines.0 = headers[0].0;
        for (at, text) in &headers {
            if let Err(what) = header::read(file, text, encoding) {
                return self.fail(broken(*at, what));
            }
        }
    }

    /// True if a changed line here cannot be prose: below file headers, and directly after the line that ended a hunk.
    fn is_adrift(&self) -> bool {
        self.ended_at + 1 == self.at || self.file.as_ref().is_some_and(|file| file.is_named() && file.hunks.is_empty())
    }

    /// Begins a hunk without a header at a marked line directly below `+++`.
    fn headless(&mut self, line: &str, out: &mut Vec<StreamEvent>) -> bool {
        let text = line.strip_prefix(&*self.indent).unwrap_or(line);
        if !text.starts_with([' ', '-', '+']) || text.starts_with("--- ") {
            return false;
        }
        self.mistakes.add(UnifiedDiffMistake::NoHeader, self.at);
        self.begin_hunk(HunkHeader::default(), out);
        if let UnifiedDiffState::Hunk(body) = &mut self.state
            && let Err(error) = body.take(self.at, text, &mut self.mistakes, out)
        {
            self.fail(error);
        }
        true
    }

    /// Parses `--- old` and `+++ new`, or only one of them above a hunk.
    fn names(&mut self, text: &str, indent: &str, ahead: Lookahead<'_>, out: &mut Vec<StreamEvent>) -> bool {
        let next = ahead[0].unwrap_or_default();
        let new = next.strip_prefix("+++ ");
        let (old, side) = match (text.strip_prefix("--- "), text.strip_prefix("+++ ")) {
            (Some(side), _) if new.is_some() || is_header_alone(side, next) => (true, side),
            (_, Some(side)) if self.awaits_new() || is_header_alone(side, next) => (false, side),
            _ => return false,
        };
        let escaped = name::has_own_backslash(side);
        let encoding = self.options.encoding;
        let side = match name::side(side, encoding) {
            Ok(side) => side,
            Err(what) => {
                self.fail(broken(self.at, &format!("{what}.")));
                return true;
            }
        };
        self.indented(indent);
        let at = self.at;
        let new = new.and_then(|new| name::side(new, encoding).ok()).and_then(|new| new.name);
        let is_full = self.file.as_ref().is_some_and(|file| {
            let names = (side.name.as_deref(), new.as_deref());
            !file.hunks.is_empty()
                || file.sides.new.is_some()
                || old && (file.sides.old.is_some() || file.is_other(names.0, names.1))
        });
        let file = match &mut self.file {
            Some(file) if !is_full => file,
            _ => {
                self.begin(out);
                self.adopt_loose_headers();
                self.file.get_or_insert_default()
            }
        };
        file.lines.1 = at;
        file.escaped |= escaped;
        if old {
            file.sides.old = Some(side);
        } else {
            file.sides.new = Some(side);
            self.fresh = true;
        }
        true
    }

    /// True if the preceding line was `---` with this file's old name.
    fn awaits_new(&self) -> bool {
        self.file
            .as_ref()
            .is_some_and(|file| file.sides.old.is_some() && file.sides.new.is_none() && file.lines.1 + 1 == self.at)
    }

    /// Parses the other structural lines.
    fn structure(&mut self, text: &str, indent: &str, out: &mut Vec<StreamEvent>) {
        let at = self.at;
        if let Some(pair) = text.strip_prefix("diff --git ") {
            self.indented(indent);
            let escaped = name::has_own_backslash(pair);
            let pair = name::git_pair(pair, self.options.encoding);
            // svn writes its own line above that of git.
            self.file = self.file.take().filter(|file| !file.is_index());
            let file = self.begin(out);
            file.git = true;
            file.escaped |= escaped;
            file.pair = pair.into();
        } else if range::is_combined(text) || text.starts_with("diff --c") {
            self.note_detected(at - 1..at);
            let what = "this is a combined diff (of a merge, with two parents or more), which does not describe a single change.";
            self.fail(
                broken(at, what).next("Make a diff against one parent: git diff HEAD^1 HEAD, or git diff --ours."),
            );
        } else if text.starts_with("diff -") {
            if !self.file.as_ref().is_some_and(FilePatch::is_index) {
                self.close(out);
            }
        } else if text == "GIT binary patch" {
            if self.file.is_none() {
                return self.fail(broken(at, "a binary patch begins, but no file is named for it."));
            }
            self.indented(indent);
            self.state = UnifiedDiffState::Binary(BinaryPatch::default());
        } else if let Some(name) = text.strip_prefix("Index: ") {
            self.indented(indent);
            let file = self.begin(out);
            file.known = Some(name.trim().to_owned());
        } else if bounds::is_binary_notice(text) {
            let what = format!("`{}` does not contain the change.", text.trim_end());
            self.fail(broken(at, &what).next("Make the patch with git diff --binary, or omit the file."));
        } else if bounds::is_only_in(text) {
            self.mistakes.add(UnifiedDiffMistake::OnlyIn, at);
        } else if text.starts_with("***************") {
            self.fail(broken(at, "this is a context diff (diff -c).").next("Send a unified diff (diff -u)."));
        } else if bounds::is_envelope(text) && text.contains(':') {
            let what = "this is an apply_patch header; a text is read in one format.";
            self.fail(broken(at, what).next("Send the unified diff and the apply_patch text in two calls."));
            self.close(out);
            self.foreign = true;
        } else {
            // The line is `*** Begin Patch` or `*** End Patch`, or begins a commit.
            self.close(out);
            self.commits += usize::from(bounds::is_commit(text));
        }
    }
}

/// True if a single name is a header: a hunk follows, and one of the two lines has the typical form.
fn is_header_alone(side: &str, next: &str) -> bool {
    range::is_header(next) && (name::without_prefix(side).is_some() || next.starts_with("@@ -"))
}
