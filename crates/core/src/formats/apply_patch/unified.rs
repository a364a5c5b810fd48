//! A unified diff between `*** Begin Patch` and `*** End Patch`: its own headers name the files.

use super::marker::{self, Marker};
use super::mistakes::ApplyPatchMistake;
use super::parser::{ApplyPatchParser, ApplyPatchState, HEADERS_ADVICE};
use crate::formats::line_parser::StreamEvent;
use crate::formats::unified_diff;

impl ApplyPatchParser {
    /// True if a unified diff begins on this line, in place of the first operation.
    pub(super) fn begins_unified(&self, line: &str) -> bool {
        self.sections.is_empty()
            && self.problem.is_none()
            && self.directory.is_none()
            && ["--- ", "diff --git ", "Index: "].iter().any(|start| line.starts_with(start))
    }

    /// Gives this line, and all lines up to the end of the patch, to a parser of unified diffs.
    pub(super) fn begin_unified(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        self.unified = Some(unified_diff::parser_behind(self.line - 1, &self.options));
        self.state = ApplyPatchState::Unified;
        self.note_mistake(ApplyPatchMistake::UnifiedDiff);
        self.unified_line(line, out);
    }

    /// Parses a line of a unified diff.
    pub(super) fn unified_line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        match marker::read(line) {
            Some((Marker::End, exact)) => {
                if !exact {
                    self.note_mistake(ApplyPatchMistake::Marker);
                }
                self.state = ApplyPatchState::After;
            }
            Some((marker, _)) if marker.is_operation() => {
                let what = "a unified diff is above this operation, in the same patch.";
                self.note_problem(line, what, HEADERS_ADVICE, false);
            }
            _ => {
                if let Some(diff) = &mut self.unified {
                    diff.next_line_end(self.crlf);
                    diff.line(line, out);
                }
            }
        }
    }
}
