//! One line of code: colours, marked words, and everything escaped.

use crate::html::{Html, push_text};
use emendate::{ColorClass, ColorSpan};
use std::ops::Range;

/// A line to show.
#[derive(Clone, Copy, Default)]
pub(crate) struct CodeLine<'a> {
    /// The text of the line.
    pub(crate) text: &'a str,
    /// The colours of the line, in order.
    pub(crate) colors: &'a [ColorSpan],
    /// The parts that differ from the other side, in order.
    pub(crate) changed: &'a [Range<usize>],
}

/// Returns the class of the style sheet.
const fn class(color: ColorClass) -> &'static str {
    match color {
        ColorClass::Keyword => "k",
        ColorClass::String => "st",
        ColorClass::Escape => "es",
        ColorClass::Number => "nu",
        ColorClass::Constant => "co",
        ColorClass::Comment => "cm",
        ColorClass::Type => "ty",
        ColorClass::Function => "fn",
        ColorClass::Property => "pr",
        ColorClass::Attribute => "an",
        ColorClass::Tag => "tg",
    }
}

/// Adds a line.
pub(crate) fn line(out: &mut Html, line: CodeLine<'_>) {
    let CodeLine { text, colors, changed } = line;
    let mut markup = String::with_capacity(text.len() + 32);
    let (mut at, mut next_color, mut next_change) = (0, 0, 0);
    while at < text.len() {
        while colors.get(next_color).is_some_and(|span| span.end <= at) {
            next_color += 1;
        }
        while changed.get(next_change).is_some_and(|part| part.end <= at) {
            next_change += 1;
        }
        let color = colors.get(next_color);
        let change = changed.get(next_change);
        let is_colored = color.is_some_and(|span| span.start <= at);
        let is_changed = change.is_some_and(|part| part.start <= at);
        let color_end = color.map_or(text.len(), |span| if is_colored { span.end } else { span.start });
        let change_end = change.map_or(text.len(), |part| if is_changed { part.end } else { part.start });
        let mut end = color_end.min(change_end).min(text.len()).max(at + 1);
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let color = color.filter(|_| is_colored).map_or("", |span| class(span.class));
        let classes = match (color, is_changed) {
            ("", false) => String::new(),
            ("", true) => "w".to_owned(),
            (color, false) => color.to_owned(),
            (color, true) => format!("{color} w"),
        };
        if classes.is_empty() {
            push_text(&mut markup, &text[at..end]);
        } else {
            markup.push_str("<span class=\"");
            markup.push_str(&classes);
            markup.push_str("\">");
            push_text(&mut markup, &text[at..end]);
            markup.push_str("</span>");
        }
        at = end;
    }
    out.raw(&markup);
}

/// The colours of one line among those of a file, which are in the order of lines.
pub(crate) fn of_line(colors: &[ColorSpan], line: usize) -> &[ColorSpan] {
    let start = colors.partition_point(|span| span.line < line);
    let end = start + colors[start..].partition_point(|span| span.line == line);
    &colors[start..end]
}

#[cfg(test)]
mod tests {
    use super::{CodeLine, line, of_line};
    use crate::html::Html;
    use emendate::{ColorClass, ColorSpan};

    fn span(line: usize, start: usize, end: usize, class: ColorClass) -> ColorSpan {
        ColorSpan { line, start, end, class }
    }

    fn shown(text: &str, colors: &[ColorSpan], changed: &[std::ops::Range<usize>]) -> String {
        let mut out = Html::default();
        line(&mut out, CodeLine { text, colors, changed });
        out.into_string()
    }

    #[test]
    fn colours_and_changes_overlap() {
        let colors = [span(1, 0, 3, ColorClass::Keyword), span(1, 4, usize::MAX, ColorClass::String)];
        assert_eq!(
            shown("let <é>", &colors, std::slice::from_ref(&(2..6))),
            "<span class=\"k\">le</span><span class=\"k w\">t</span><span class=\"w\"> </span>\
             <span class=\"st w\">&lt;é</span><span class=\"st\">&gt;</span>"
        );
        assert_eq!(shown("a<b", &[], &[]), "a&lt;b");
        // Spans that lie within a character do not split it.
        assert_eq!(shown("é", &[span(1, 1, 2, ColorClass::Type)], &[]), "é");
    }

    #[test]
    fn colours_are_found_by_line() {
        let all = [span(1, 0, 1, ColorClass::Type), span(3, 0, 1, ColorClass::Type), span(3, 2, 3, ColorClass::Type)];
        assert_eq!([of_line(&all, 1).len(), of_line(&all, 2).len(), of_line(&all, 3).len()], [1, 0, 2]);
    }
}
