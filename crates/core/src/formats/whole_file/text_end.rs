//! The line that ends the text of a file.

use crate::formats::{fence, name};

/// The end of an open text.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum TextEnd {
    /// A fence of this character, at least as long and not indented deeper.
    Fence { sign: char, len: usize, indent: usize },
    /// The end tag of a fence such as `<source>`.
    Tag(&'static str),
    /// `</content>`, followed by the rest of the call.
    Content,
    /// This end tag.
    File(&'static str),
}

impl TextEnd {
    /// Returns the end for the fence that a line opens.
    pub(super) fn of_fence(line: &str) -> Option<(TextEnd, &str)> {
        let run = name::fence(line).map(|(sign, len, info)| (TextEnd::Fence { sign, len, indent: indent(line) }, info));
        run.or_else(|| fence::tag(line).map(|(tag, language)| (TextEnd::Tag(tag), language)))
    }

    /// Returns the info string of a fence line that could end a text enclosed in this fence.
    pub(super) fn competes(self, line: &str) -> Option<&str> {
        let TextEnd::Fence { sign, len, indent: depth } = self else { return None };
        let inner = name::fence(line).filter(|it| it.0 == sign && it.1 >= len && indent(line) <= depth);
        inner.map(|(_, _, info)| info)
    }

    /// True if a line ends the text, as far as the line alone can show.
    pub(super) fn is_on(self, line: &str) -> bool {
        match self {
            TextEnd::Fence { .. } => self.competes(line).is_some_and(str::is_empty),
            TextEnd::Tag(tag) => {
                line.trim().strip_prefix("</").and_then(|rest| rest.strip_suffix('>')).is_some_and(|name| name == tag)
            }
            TextEnd::Content => line.contains("</write_to_file>"),
            TextEnd::File(close) => line.trim_end().ends_with(close),
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
