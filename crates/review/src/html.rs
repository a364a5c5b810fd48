//! Text as HTML: everything that comes from files, names or messages is escaped, and characters that are invisible or
//! change the order of display are shown.

use emendate_os::ffi::OsStrExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::fmt::Write as _;
use std::path::Path;

/// Characters that stay in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');

/// HTML that is being written.
#[derive(Default)]
pub(crate) struct Html(String);

impl Html {
    /// Adds markup, which must not contain foreign text.
    pub(crate) fn raw(&mut self, markup: &str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds text that is shown.
    pub(crate) fn text(&mut self, text: &str) -> &mut Html {
        push_text(&mut self.0, text);
        self
    }

    /// Adds an attribute with a space before it.
    pub(crate) fn attr(&mut self, name: &str, value: &str) -> &mut Html {
        let _ = write!(self.0, " {name}=\"");
        push_attribute(&mut self.0, value);
        self.0.push('"');
        self
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, number: impl TryInto<u64>) -> &mut Html {
        let _ = write!(self.0, "{}", number.try_into().unwrap_or(u64::MAX));
        self
    }

    /// Adds an element with text.
    pub(crate) fn element(&mut self, name: &str, class: &str, text: &str) -> &mut Html {
        let _ = write!(self.0, "<{name}");
        if !class.is_empty() {
            self.attr("class", class);
        }
        self.raw(">").text(text);
        let _ = write!(self.0, "</{name}>");
        self
    }

    /// The number of bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the text.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}

/// Adds text, with invisible characters as visible signs.
pub(crate) fn push_text(out: &mut String, text: &str) {
    let mut from = 0;
    for (at, char) in text.char_indices() {
        let shown = match char {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&#39;",
            char if is_invisible(char) => {
                out.push_str(&text[from..at]);
                let _ = write!(out, "<span class=\"inv\">U+{:04X}</span>", u32::from(char));
                from = at + char.len_utf8();
                continue;
            }
            _ => continue,
        };
        out.push_str(&text[from..at]);
        out.push_str(shown);
        from = at + char.len_utf8();
    }
    out.push_str(&text[from..]);
}

/// Adds the value of an attribute in double quotes.
pub(crate) fn push_attribute(out: &mut String, value: &str) {
    for char in value.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => {
                let _ = write!(out, "&#{};", u32::from(char));
            }
            char if is_invisible(char) => {
                let _ = write!(out, "\\u{{{:X}}}", u32::from(char));
            }
            char => out.push(char),
        }
    }
}

/// True for characters that are invisible, or change the order in which text is displayed. Tabs are white space.
pub(crate) fn is_invisible(char: char) -> bool {
    match char {
        '\t' | '\n' => false,
        '\u{AD}'
        | '\u{34F}'
        | '\u{61C}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{3164}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}' => true,
        char => char.is_control(),
    }
}

/// True for text that a form of a browser sends back as it is: browsers turn carriage returns into line ends.
pub(crate) fn survives_forms(text: &str) -> bool {
    !text.replace("\r\n", "\n").contains('\r')
}

/// Returns a path as the value of a field in a query.
pub(crate) fn query_path(path: &Path) -> String {
    percent_encode(path.as_os_str().as_bytes(), QUERY).to_string()
}

/// Returns bytes percent-encoded.
pub(crate) fn query_bytes(bytes: &[u8]) -> String {
    percent_encode(bytes, QUERY).to_string()
}

/// Returns text as the value of a field in a query.
pub(crate) fn query_text(text: &str) -> String {
    percent_encode(text.as_bytes(), QUERY).to_string()
}

#[cfg(test)]
mod tests {
    use super::{push_attribute, push_text, query_path};
    use std::path::Path;

    fn text(text: &str) -> String {
        let mut out = String::new();
        push_text(&mut out, text);
        out
    }

    #[test]
    fn markup_is_escaped_and_invisible_characters_are_shown() {
        assert_eq!(text("<script>\"&'"), "&lt;script&gt;&quot;&amp;&#39;");
        assert_eq!(text("a\u{202E}b"), "a<span class=\"inv\">U+202E</span>b");
        assert_eq!(text("\u{1b}[31m\r"), "<span class=\"inv\">U+001B</span>[31m<span class=\"inv\">U+000D</span>");
        assert_eq!(text("tab\tümlaut 日本"), "tab\tümlaut 日本");
    }

    #[test]
    fn attributes_stay_in_their_quotes() {
        let mut out = String::new();
        push_attribute(&mut out, "\" onload='x' >\n\u{200B}");
        assert_eq!(out, "&quot; onload=&#39;x&#39; &gt;&#10;\\u{200B}");
    }

    #[test]
    fn paths_become_queries_byte_by_byte() {
        assert_eq!(query_path(Path::new("/a b/c&d=\"e\n")), "/a%20b/c%26d%3D%22e%0A");
    }
}
