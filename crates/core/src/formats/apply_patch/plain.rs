//! Patches without any flaw that only update files: their markers, `@@` lines, and lines with one mark. They are read in
//! one pass, without the states, the wrappers and the repairs of other patches. What is read is what the parser would read.

use super::marker::{self, Marker};
use super::mistakes::ApplyPatchMistakes;
use super::parser::{ApplyPatchParser, PatchSection, SectionAction};
use super::request;
use crate::formats::envelope;
use crate::formats::line_parser::ParseOptions;
use crate::locate::op::{Hunk, HunkLine, HunkLineKind, Request};
use crate::note::Notes;
use crate::work;

/// The chunks of a file, and the one that is being read.
struct PlainUpdate {
    path: String,
    also: Vec<String>,
    line: usize,
    hunks: Vec<Hunk>,
}

impl PlainUpdate {
    /// Reads a line of the update.
    fn take(&mut self, line: &str, number: usize) -> Option<()> {
        if line.starts_with('@') { self.take_header(line, number) } else { self.take_line(line) }
    }

    /// Reads an `@@` line: it begins a chunk, or names another line around the chunk that an earlier one began.
    fn take_header(&mut self, line: &str, number: usize) -> Option<()> {
        let header = marker::at(line).filter(|header| header.mistake.is_none())?;
        let is_nested = self.hunks.last().is_some_and(|hunk| hunk.lines.is_empty());
        if !is_nested {
            self.hunks.push(Hunk { source_line: number, ..Hunk::default() });
        }
        self.hunks.last_mut()?.scopes.extend(header.scope.map(str::to_owned));
        Some(())
    }

    /// Reads a line of a chunk.
    fn take_line(&mut self, line: &str) -> Option<()> {
        let kind = match line.as_bytes().first()? {
            // Tags around an edit are removed first.
            b' ' if envelope::begins_tag(line) => return None,
            b' ' => HunkLineKind::Context,
            b'-' => HunkLineKind::Removed,
            b'+' => HunkLineKind::Added,
            _ => return None,
        };
        self.hunks.last_mut()?.lines.push(HunkLine { kind, text: line[1..].to_owned() });
        Some(())
    }

    /// Ends the update; `None` if its last chunk has no lines.
    fn into_section(self) -> Option<PatchSection> {
        let PlainUpdate { path, also, line, hunks } = self;
        hunks.last().filter(|hunk| !hunk.lines.is_empty())?;
        Some(PatchSection { path, also, bare_to: None, line, action: SectionAction::Update { to: None, hunks } })
    }
}

/// Parses a plain patch. Returns `None` for any other text, and for a patch with an error.
pub(super) fn parse_plain(text: &str, options: &ParseOptions) -> Option<Request> {
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        return None;
    }
    let mut names = ApplyPatchParser::new(options);
    let mut sections = Vec::new();
    let mut update: Option<PlainUpdate> = None;
    let mut lines = work::lines(text).enumerate();
    lines.next().filter(|(_, line)| marker::read(line) == Some((Marker::Begin, true)) && !line.ends_with(' '))?;
    for (nth, line) in &mut lines {
        if !line.starts_with('*') {
            update.as_mut()?.take(line, nth + 1)?;
            continue;
        }
        if let Some(file) = update.take() {
            sections.push(file.into_section()?);
        }
        match marker::read(line)? {
            (Marker::Update(name), true) => {
                let (path, also) = names.name(line, name);
                update = Some(PlainUpdate { path, also, line: nth + 1, hunks: Vec::new() });
            }
            (Marker::End, true) => break,
            _ => return None,
        }
    }
    let mut mistakes = ApplyPatchMistakes::default();
    let is_complete = update.is_none() && lines.next().is_none() && !sections.is_empty();
    if !is_complete || names.problem.is_some() || names.mistakes != mistakes {
        return None;
    }
    let built = request::build(sections, &mut mistakes);
    let request = request::into_request(built, None, options, Notes::new()).ok()?;
    let are_read = mistakes == ApplyPatchMistakes::default();
    are_read.then_some(request)
}

#[cfg(test)]
mod tests {
    use crate::formats::Format;
    use crate::formats::apply_patch::ApplyPatch;
    use crate::formats::line_parser::ParseOptions;
    use crate::formats::testing::check_plain;
    use proptest::prelude::*;

    #[test]
    fn only_updates_without_flaws_are_plain() {
        const PLAIN: &str = "*** Begin Patch\n*** Update File: a/x.rs\n@@ fn a\n@@\n a\n-b\n+c\n@@\n+d\n*** Update File: y\n@@\n-e\n*** End Patch\n";
        let is_plain = |text: &str| ApplyPatch.parse_plain(text, &ParseOptions::default()).is_some();
        assert!(is_plain(PLAIN) && is_plain(PLAIN.trim_end()));
        let flaws = [
            ("Begin Patch", "begin patch"),
            ("Begin Patch", "Begin Patches"),
            ("@@ fn a", "@@ -1,2 +1,2 @@"),
            ("\n a\n", "\na\n"),
            ("\n a\n", "\n\n"),
            ("-b\n", "-b\n*** End of File\n"),
            ("@@\n+d\n", "@@\n"),
            ("a/x.rs", "`a/x.rs`"),
            ("*** End Patch", ""),
            ("End Patch\n", "End Patch\n\n"),
            ("\n a\n", "\n <patch>\n"),
        ];
        for (from, to) in flaws {
            assert!(!is_plain(&PLAIN.replacen(from, to, 1)), "{to}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn plain_patches_are_read_as_all_patches_are(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "*** Update File: a/x.rs\n@@\n a\n-b\n+c", "*** Update File: y z\n@@ f\n@@ g\n-a", "@@", "@@ f()", "@@ f @@",
                    " a", "-b", "+c", "  *** End Patch", " *** Update File: x", "+*** End Patch", "-*** Begin Patch", "***", "**",
                    "*** Add File: n", "+--- a/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", " [a#12]", "+[x#1A2B]", "-[x.rs#1A2B]", "\\ No", "",
                    " ", "+", "-", "*** Update File: b/", "*** Update File: /", "*** Update File: q\n@@\n a\n+a", "@@@", "@", "@@ ...",
                    "*** Update File: s\n@@\n-a\n+a", "+{\"patch\": \"x\"}", "+cat <<EOF", "+EOF", "+```",
                ]),
                0..9,
            ),
            strip in prop::option::of(0_usize..3),
            file in prop::option::of(Just("x".to_owned())),
            reverse: bool,
            is_cut: bool,
        ) {
            let end = if is_cut { "" } else { "\n" };
            let text = format!("*** Begin Patch\n{}\n*** End Patch{end}", lines.join("\n"));
            let options = ParseOptions { strip, file, reverse, ..ParseOptions::default() };
            check_plain(&ApplyPatch, &text, true, &options);
        }
    }
}
