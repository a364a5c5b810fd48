//! JSON and JSONC (with comments and trailing commas), parsed in one pass without recursion. Strict otherwise: models
//! do write line ends in strings, or `True`.

use crate::document::{Document, Id, OpenContainer, OpenContainers, PartialItems, Value};
use crate::number::Number;
use crate::{LineCol, SyntaxError};

/// Accepted extensions of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonDialect {
    Strict,
    Comments,
}

/// Tokens that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedToken {
    Value,
    /// A value, or the end of a list that has just begun.
    First,
    /// A value after a comma.
    Item,
    Key,
    /// A name after a comma.
    Member,
    CommaOrEnd,
    Nothing,
}

pub(crate) fn read(text: &str, dialect: JsonDialect) -> Result<Document, SyntaxError> {
    JsonReader { text, dialect, at: 0, document: Document::default(), open: OpenContainers::default() }.read()
}

struct JsonReader<'t> {
    text: &'t str,
    dialect: JsonDialect,
    at: usize,
    document: Document,
    open: OpenContainers,
}

impl JsonReader<'_> {
    fn read(mut self) -> Result<Document, SyntaxError> {
        let mut next = ExpectedToken::Value;
        loop {
            self.skip_blanks()?;
            let Some(byte) = self.byte() else { break };
            next = match (next, byte) {
                (ExpectedToken::Nothing, _) => return Err(self.fault("something follows the end of the value")),
                (ExpectedToken::First | ExpectedToken::Item | ExpectedToken::CommaOrEnd, b']') if self.in_list() => {
                    self.close(next)?
                }
                (ExpectedToken::Key | ExpectedToken::Member | ExpectedToken::CommaOrEnd, b'}') if !self.in_list() => {
                    self.close(next)?
                }
                (ExpectedToken::CommaOrEnd, b',') => {
                    self.at += 1;
                    if self.in_list() { ExpectedToken::Item } else { ExpectedToken::Member }
                }
                (ExpectedToken::CommaOrEnd, _) => return Err(self.no_comma()),
                (ExpectedToken::Key | ExpectedToken::Member, b'"') => self.key()?,
                (ExpectedToken::Key | ExpectedToken::Member, _) => {
                    let fault = self.fault("the name of a member is missing");
                    let named = byte == b'\'' || byte.is_ascii_alphanumeric() || byte == b'_';
                    return Err(if named { fault.hint("Names of members need double quotes.") } else { fault });
                }
                (ExpectedToken::Value | ExpectedToken::First | ExpectedToken::Item, b'{') => {
                    self.begin(PartialItems::Object(Vec::new(), None))?
                }
                (ExpectedToken::Value | ExpectedToken::First | ExpectedToken::Item, b'[') => {
                    self.begin(PartialItems::List(Vec::new()))?
                }
                (ExpectedToken::Value | ExpectedToken::First | ExpectedToken::Item, _) => {
                    let at = self.at;
                    let value = if byte == b'"' { Value::Text(self.string()?) } else { self.word()? };
                    let id = self.document.add(value, at)?;
                    self.put(id)
                }
            };
        }
        match (next, self.open.last()) {
            (
                ExpectedToken::Value
                | ExpectedToken::First
                | ExpectedToken::Item
                | ExpectedToken::Key
                | ExpectedToken::Member
                | ExpectedToken::CommaOrEnd,
                Some(part),
            ) => {
                let what = if matches!(part.items, PartialItems::List(_)) { "this list" } else { "this object" };
                Err(SyntaxError::new(part.at, format!("{what} is never closed")))
            }
            // A blank text has no value; the caller decides whether that is an error.
            _ => Ok(self.document),
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fault(&self, what: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.at, what)
    }

    fn in_list(&self) -> bool {
        matches!(self.open.last(), Some(OpenContainer { items: PartialItems::List(_), .. }))
    }

    fn begin(&mut self, items: PartialItems) -> Result<ExpectedToken, SyntaxError> {
        let next = if matches!(items, PartialItems::List(_)) { ExpectedToken::First } else { ExpectedToken::Key };
        self.open.push(self.at, items)?;
        self.at += 1;
        Ok(next)
    }

    fn put(&mut self, id: Id) -> ExpectedToken {
        match self.open.put(id) {
            Some(root) => {
                self.document.roots.push(root);
                ExpectedToken::Nothing
            }
            None => ExpectedToken::CommaOrEnd,
        }
    }

    fn close(&mut self, next: ExpectedToken) -> Result<ExpectedToken, SyntaxError> {
        if matches!(next, ExpectedToken::Item | ExpectedToken::Member) && self.dialect == JsonDialect::Strict {
            let comma = self.text[..self.at].rfind(',').unwrap_or(self.at);
            let fault = SyntaxError::new(comma, "there is a comma after the last item");
            return Err(fault.hint("JSON has no comma there; remove it."));
        }
        self.at += 1;
        let Some(part) = self.open.pop() else { return Err(self.fault("nothing is open here")) };
        let id = match part.items {
            PartialItems::List(items) => self.document.add(Value::List(items), part.at)?,
            PartialItems::Object(members, _) => self.document.add_object(members, part.at)?,
        };
        Ok(self.put(id))
    }

    fn no_comma(&self) -> SyntaxError {
        let (closes, wrong) = if self.in_list() { ("]", "}") } else { ("}", "]") };
        if self.rest().starts_with(wrong) {
            let began = self.open.last().map_or(1, |part| LineCol::of(self.text, part.at).line);
            let what = if self.in_list() { "list" } else { "object" };
            return self.fault(format!("the {what} that began in line {began} needs `{closes}` before this `{wrong}`"));
        }
        self.fault(format!("a comma or `{closes}` is missing before this"))
    }

    fn key(&mut self) -> Result<ExpectedToken, SyntaxError> {
        let at = self.at;
        let name = self.string()?;
        self.skip_blanks()?;
        if self.byte() != Some(b':') {
            return Err(self.fault("a colon is missing before this"));
        }
        self.at += 1;
        if let Some(OpenContainer { items: PartialItems::Object(_, waiting), .. }) = self.open.last_mut() {
            *waiting = Some((name, at));
        }
        Ok(ExpectedToken::Value)
    }

    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                self.at += 1;
            }
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.fault("this comment never ends"))?;
                end + 4
            } else {
                return Ok(());
            };
            if self.dialect == JsonDialect::Strict {
                return Err(self.fault("there is a comment").hint("JSON has no comments."));
            }
            self.at += length;
        }
    }

    /// Parses the string that begins here.
    fn string(&mut self) -> Result<String, SyntaxError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let (mut out, mut from, mut at) = (String::new(), start + 1, start + 1);
        loop {
            // Both stop bytes are ASCII, so everything between is whole characters.
            let Some(byte) = bytes.get(at).copied() else {
                return Err(SyntaxError::new(start, "this string is never closed"));
            };
            match byte {
                b'"' => {
                    out.push_str(&self.text[from..at]);
                    self.at = at + 1;
                    return Ok(out);
                }
                b'\\' => {
                    out.push_str(&self.text[from..at]);
                    let (char, length) = escape(&bytes[at..]).ok_or_else(|| {
                        SyntaxError::new(at, "this is not an escape of JSON").hint("A backslash itself is `\\\\`.")
                    })?;
                    out.push(char);
                    at += length;
                    from = at;
                }
                b'\n' => {
                    let fault = SyntaxError::new(start, "a string extends past the end of its line");
                    return Err(fault.hint("Write `\\n` for a line end in a string, or close it."));
                }
                0..0x20 => {
                    return Err(
                        SyntaxError::new(at, "a string contains a control character").hint("Write `\\t` for a tab.")
                    );
                }
                _ => at += 1,
            }
        }
    }

    /// Parses the number or word that begins here.
    fn word(&mut self) -> Result<Value, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|char: char| !(char.is_alphanumeric() || "+-._$".contains(char))).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ if is_number(word.as_bytes()) => {
                Value::Number(Number::decimal(word).ok_or_else(|| self.fault("this is not a number"))?)
            }
            _ => return Err(self.no_value(word)),
        };
        self.at += end;
        Ok(value)
    }

    fn no_value(&self, word: &str) -> SyntaxError {
        let shown: String = word.chars().take(40).collect();
        if shown.is_empty() {
            let char = self.rest().chars().next().unwrap_or(' ');
            let fault = self.fault(format!("a value is missing before `{char}`"));
            return if char == '\'' { fault.hint("Strings need double quotes.") } else { fault };
        }
        let hint = match word {
            "True" | "False" | "None" | "TRUE" | "FALSE" => "JSON writes true, false and null.",
            "undefined" | "NaN" | "Infinity" | "-Infinity" => "JSON has null, and no such value.",
            _ if word.starts_with(|char: char| char.is_ascii_digit() || "+-.".contains(char)) => {
                "A number of JSON has no sign +, no leading zero, and digits on both sides of its point."
            }
            _ => "Strings need double quotes.",
        };
        self.fault(format!("`{shown}` is not a value of JSON")).hint(hint)
    }
}

/// Decodes an escape; returns the character and the number of bytes. A lone surrogate becomes the replacement
/// character.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let char = match bytes.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = hex_at(bytes, 2)?;
            let low = hex_at(bytes, 8).filter(|low| (0xDC00..0xE000).contains(low) && bytes.get(6..8) == Some(b"\\u"));
            if let Some(low) = low.filter(|_| (0xD800..0xDC00).contains(&first)) {
                let pair = 0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00);
                return Some((char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER), 12));
            }
            return Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6));
        }
        _ => return None,
    };
    Some((char, 2))
}

/// Reads the four hexadecimal digits at an offset.
fn hex_at(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`
fn is_number(word: &[u8]) -> bool {
    fn digits(word: &[u8]) -> (usize, &[u8]) {
        let count = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count, &word[count..])
    }
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let zero = word.first() == Some(&b'0');
    let (whole, mut rest) = digits(word);
    if whole == 0 || (zero && whole > 1) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let (count, behind) = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = behind;
    }
    if let Some(power) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let power = power.strip_prefix(b"+").or_else(|| power.strip_prefix(b"-")).unwrap_or(power);
        let (count, behind) = digits(power);
        if count == 0 {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{JsonDialect, read};

    fn fault(text: &str, dialect: JsonDialect) -> Option<String> {
        read(text, dialect).err().map(|fault| format!("{} {}", fault.at, fault.what))
    }

    #[test]
    fn json_syntax_is_checked() {
        for text in [
            "",
            " \n",
            "1",
            "-0.5e+3",
            "\"\\u00e9\\ud83d\\ude00\\ud800\"",
            "[]",
            "{}",
            "[1, [2], {}]",
            "{\"a\": {\"b\": [true, false, null]}}",
            "{\"a\": 1, \"a\": 2}",
        ] {
            assert_eq!(fault(text, JsonDialect::Strict), None, "{text}");
        }
        for (text, wrong) in [
            ("{\"a\": 1,}", "7 there is a comma after the last item"),
            ("[1 2]", "3 a comma or `]` is missing before this"),
            ("{\"a\" 1}", "5 a colon is missing before this"),
            ("{\"a\": 1", "0 this object is never closed"),
            ("{\"a\": [1}", "8 the list that began in line 1 needs `]` before this `}`"),
            ("[\"a\nb\"]", "1 a string extends past the end of its line"),
            ("[True]", "1 `True` is not a value of JSON"),
            ("[01]", "1 `01` is not a value of JSON"),
            ("[1.]", "1 `1.` is not a value of JSON"),
            ("['a']", "1 a value is missing before `'`"),
            ("{a: 1}", "1 the name of a member is missing"),
            ("[1] 2", "4 something follows the end of the value"),
            ("[\"\\x\"]", "2 this is not an escape of JSON"),
            ("[\"a]", "1 this string is never closed"),
            ("// x\n1", "0 there is a comment"),
            ("[,1]", "1 a value is missing before `,`"),
            ("]", "0 a value is missing before `]`"),
            ("{,}", "1 the name of a member is missing"),
        ] {
            assert_eq!(fault(text, JsonDialect::Strict).as_deref(), Some(wrong), "{text}");
        }
    }

    #[test]
    fn jsonc_syntax_is_checked() {
        for text in ["// a\n{/* b */\"a\": [1, 2,], // c\n}", "/**/1//", "[1,/* x */]"] {
            assert_eq!(fault(text, JsonDialect::Comments), None, "{text}");
        }
        for (text, wrong) in [
            ("[,]", "1 a value is missing before `,`"),
            ("{\"a\": 1,,}", "8 the name of a member is missing"),
            ("1 /* x", "2 this comment never ends"),
            ("[1] x", "4 something follows the end of the value"),
        ] {
            assert_eq!(fault(text, JsonDialect::Comments).as_deref(), Some(wrong), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(fault(&deep(128), JsonDialect::Strict), None);
        assert!(read(&deep(129), JsonDialect::Strict).unwrap_err().limit_reached);
        assert!(read(&"[".repeat(1 << 20), JsonDialect::Strict).unwrap_err().limit_reached);
        let repeated = read("{\"a\": 1, \"b\": 2, \"a\": 3, \"a\": 4}", JsonDialect::Strict).unwrap();
        let names: Vec<(&str, usize)> = repeated.duplicates().iter().map(|it| (&*it.name, it.at)).collect();
        assert_eq!(names, [("a", 25)]);
    }
}
