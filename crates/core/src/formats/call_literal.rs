//! Tool calls written as code: `EditTool({ filePath: "a.ts", oldString: `x`, newString: 'y' })`, or with named
//! arguments, `str_replace(path="a.py", old_str="x", new_str="y", replace_all=True)`. Only literals are accepted.

use core::ops::Range;
use serde_json::{Map, Value};

/// Nesting levels of values.
const NESTING_MAX: usize = 16;

/// Calls of a text that are read.
const CALLS_MAX: usize = 128;

/// Returns the arguments of all calls in a text, with their bytes. Each begins a line and ends one, and there may be
/// prose around them. `None` if there is none, or one that cannot be read.
pub(super) fn calls(text: &str) -> Option<Vec<(Value, Range<usize>)>> {
    // Most texts have none, and examining each line costs more than this test.
    if !["ool(", "dit(", "eplace(", "ditor(", "ile("].iter().any(|end| text.contains(end)) {
        return None;
    }
    let (mut out, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let line_end = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
        let line = &text[from..line_end];
        // Such a name is also that of a function in any program: only its named arguments tell.
        let is_file = writes_file(line);
        let read = if is_file || begins(line) { call(&text[from..]) } else { None };
        let read = read.filter(|(value, _)| !is_file || has_texts(value));
        let Some((value, rest)) = read else {
            if begins(line) {
                return None;
            }
            from = line_end;
            continue;
        };
        let end = text.len() - rest.len();
        let tail = rest.split('\n').next().unwrap_or_default();
        let trimmed = tail.trim_matches([';', ' ', '\t', '\r']);
        if !(trimmed.is_empty() || trimmed.starts_with("//") || trimmed.starts_with('#')) || out.len() == CALLS_MAX {
            return None;
        }
        out.push((value, from..end));
        from = (end + tail.len() + 1).min(text.len());
    }
    (!out.is_empty()).then_some(out)
}

/// Reads a text that is one value in the syntax of Python, JavaScript or JSON: texts in any quotes, lists, objects,
/// whole numbers, truth values.
pub fn literal_value(text: &str) -> Option<Value> {
    let mut reader = LiteralReader { rest: text };
    let value = reader.value(0)?;
    reader.blanks();
    reader.rest.is_empty().then_some(value)
}

/// Names of editing tools, without `_`, in lower case.
const UNAMBIGUOUS_TOOLS: [&str; 7] =
    ["edittool", "multiedittool", "writetool", "multiedit", "strreplace", "strreplaceeditor", "searchreplace"];

/// Names of tools that write a whole file, without `_`, in lower case.
const FILE_TOOLS: [&str; 3] = ["writefile", "writetofile", "createfile"];

/// Names of its argument for the path.
const FILE_PATH_FIELDS: [&str; 5] = ["path", "file_path", "filePath", "filename", "target_file"];

/// True for a line that begins a call of a function that writes a file.
fn writes_file(line: &str) -> bool {
    called(line).is_some_and(|name| FILE_TOOLS.contains(&&*name))
}

/// True for arguments with a path and a text.
fn has_texts(value: &Value) -> bool {
    let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some_and(Value::is_string));
    has(&FILE_PATH_FIELDS) && has(&["content", "contents", "text", "file_text"])
}

/// Functions of programs that write a file, without `_`, in lower case.
const FILE_FUNCTIONS: [&str; 8] = [
    "writefile",
    "writefilesync",
    "writetofile",
    "createfile",
    "savefile",
    "outputfile",
    "appendfile",
    "appendfilesync",
];

/// True for a line that begins a call which writes a text, given as it is, to a file, also given by its name.
pub(super) fn writes_literal(line: &str) -> bool {
    let line = line.trim_start();
    let method = [".write_text(", ".write_bytes(", ").write("].iter().any(|name| {
        let opens = line.starts_with("Path(") || line.starts_with("open(") || line.starts_with("pathlib.Path(");
        opens && line.split_once(name).is_some_and(|(_, rest)| begins_text(rest))
    });
    let is_function = called(line).is_some_and(|name| FILE_FUNCTIONS.contains(&&*name));
    let arguments = line.split_once('(').map(|(_, rest)| rest.trim_start()).filter(|_| is_function);
    method
        || arguments.is_some_and(|rest| {
            let Some(quote) = rest.chars().next().filter(|ch| ['"', '\'', '`'].contains(ch)) else {
                let rest = rest.trim_start_matches(['{', ' ', '"', '\'']);
                return FILE_PATH_FIELDS.iter().any(|name| {
                    rest.strip_prefix(name)
                        .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with([':', '=']))
                });
            };
            let below = rest[1..].split_once(quote).and_then(|(_, rest)| rest.trim_start().strip_prefix(','));
            below.is_some_and(|rest| rest.trim().is_empty() || begins_text(rest))
        })
}

/// True for the beginning of a text in quotes, possibly with a prefix as in Python.
fn begins_text(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.trim_start_matches(['b', 'r', 'f', 'u']).starts_with(['"', '\'', '`']) && rest.len() > 1
}

/// True for a line that begins a call of an editing tool.
pub(super) fn begins(line: &str) -> bool {
    called(line).is_some_and(|name| name == "edit" || UNAMBIGUOUS_TOOLS.contains(&&*name))
}

/// True for such a line whose tool name does not occur in everyday code.
pub(super) fn surely_begins(line: &str) -> bool {
    called(line).is_some_and(|name| UNAMBIGUOUS_TOOLS.contains(&&*name))
}

/// Returns the name before the parenthesis at the beginning of a line.
fn called(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("await ").unwrap_or(line);
    let len = line.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte)).count();
    let (name, rest) = line.split_at(len);
    let name = rest.starts_with('(').then(|| name.rsplit('.').next().unwrap_or(name))?;
    Some(name.to_ascii_lowercase().replace('_', ""))
}

/// Parses the call that a text begins with; returns its arguments and the rest.
fn call(text: &str) -> Option<(Value, &str)> {
    let mut reader = LiteralReader { rest: text.split_once('(')?.1 };
    reader.blanks();
    if !reader.rest.starts_with('{') {
        let value = reader.fields(')', '=', 0)?;
        return Some((value, reader.rest));
    }
    let value = reader.value(0)?;
    reader.blanks();
    if reader.eat(',') {
        reader.blanks();
    }
    reader.eat(')').then_some((value, reader.rest))
}

/// A parser of literals of JavaScript and Python.
struct LiteralReader<'a> {
    rest: &'a str,
}

impl<'a> LiteralReader<'a> {
    fn eat(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips white space and comments.
    fn blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = if self.rest.starts_with("//") {
                self.rest.find('\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map(|at| at + 2)
            } else {
                return;
            };
            self.rest = end.map_or("", |end| &self.rest[end..]);
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > NESTING_MAX {
            return None;
        }
        self.blanks();
        match self.rest.chars().next()? {
            '{' => {
                self.eat('{');
                self.fields('}', ':', depth + 1)
            }
            '[' => {
                self.eat('[');
                let mut items = Vec::new();
                loop {
                    self.blanks();
                    if self.eat(']') {
                        return Some(Value::Array(items));
                    }
                    items.push(self.value(depth + 1)?);
                    self.blanks();
                    if !self.eat(',') && !self.rest.starts_with(']') {
                        return None;
                    }
                }
            }
            '"' | '\'' | '`' => self.text().map(Value::String),
            _ => match self.word() {
                "true" | "True" => Some(Value::Bool(true)),
                "false" | "False" => Some(Value::Bool(false)),
                "null" | "None" | "undefined" => Some(Value::Null),
                number => number.parse::<i64>().ok().map(Value::from),
            },
        }
    }

    /// Parses fields up to `end`, with `sign` between name and value; a duplicate field is an error.
    fn fields(&mut self, end: char, sign: char, depth: usize) -> Option<Value> {
        let mut fields = Map::new();
        loop {
            self.blanks();
            if self.eat(end) {
                return Some(Value::Object(fields));
            }
            let name = if self.rest.starts_with(['"', '\'']) { self.text()? } else { self.word().to_owned() };
            self.blanks();
            if name.is_empty() || !self.eat(sign) {
                return None;
            }
            let value = self.value(depth)?;
            if !value.is_null() && fields.insert(name, value).is_some() {
                return None;
            }
            self.blanks();
            if !self.eat(',') && !self.rest.starts_with(end) {
                return None;
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let len = self.rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count();
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        word
    }

    /// Parses a string in quotes, backticks or triple quotes. `None` for one with an interpolated expression, or
    /// without its end.
    fn text(&mut self) -> Option<String> {
        let triple = ["\"\"\"", "'''"].into_iter().find(|quote| self.rest.starts_with(quote));
        let quote = triple.unwrap_or(&self.rest[..1]);
        self.rest = &self.rest[quote.len()..];
        let mut out = String::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix(quote) {
                self.rest = rest;
                return Some(out);
            }
            let ch = self.rest.chars().next()?;
            self.rest = &self.rest[ch.len_utf8()..];
            match ch {
                '\\' => self.escape(&mut out)?,
                '\n' if quote.len() == 1 && quote != "`" => return None,
                '$' if quote == "`" && self.rest.starts_with('{') => return None,
                ch => out.push(ch),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        let ch = self.rest.chars().next()?;
        self.rest = &self.rest[ch.len_utf8()..];
        match ch {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            '\n' => {}
            '\\' | '\'' | '"' | '`' | '$' | '/' => out.push(ch),
            'x' => out.push(self.code(2)?),
            'u' => out.push(self.code(4)?),
            // The other escapes differ between languages.
            _ => return None,
        }
        Some(())
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let (code, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        char::from_u32(u32::from_str_radix(code, 16).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::calls;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The arguments of the only call of a text.
    fn arguments(text: &str) -> Option<Value> {
        let calls = calls(text)?;
        (calls.len() == 1).then(|| calls[0].0.clone())
    }

    #[test]
    fn several_calls_are_parsed_with_their_bytes() {
        let one = "EditTool({ filePath: 'a', oldString: 'a', newString: 'b' })";
        let text = format!("First:\n{one};\nThen:\n{one} // again\nDone.\n");
        let found = calls(&text).unwrap();
        assert_eq!(found.iter().map(|(_, bytes)| &text[bytes.clone()]).collect::<Vec<_>>(), [one, one]);
        assert_eq!(calls(&format!("{one}\nEditTool({{ filePath: x }})\n")), None);
        assert_eq!(calls(&format!("{one} + 1\n{one}\n")), None);
    }

    #[test]
    fn documented_call_forms_are_parsed() {
        for (text, fields) in [
            (
                "EditTool({\nfilePath: \"/a.py\",\noldString: `def hello():\n    print(\"world\")`,\nnewString: `x`,\nreplaceAll: false\n})",
                json!({"filePath": "/a.py", "oldString": "def hello():\n    print(\"world\")", "newString": "x", "replaceAll": false}),
            ),
            (
                "Done:\n\nMultiEditTool({ filePath: 'a', edits: [{ oldString: \"const A = 'x'\", newString: \"y\" }, ], });\n\nThat is all.\n",
                json!({"filePath": "a", "edits": [{"oldString": "const A = 'x'", "newString": "y"}]}),
            ),
            (
                "str_replace(path=\"a\", old_str='it\\'s', new_str=\"\"\"one\n\"two\"\n\"\"\", replace_all=True)",
                json!({"path": "a", "old_str": "it's", "new_str": "one\n\"two\"\n", "replace_all": true}),
            ),
            (
                "await tools.str_replace({ path: 'a', /* old */ old_str: '\\u0041', new_str: '' }) // ok",
                json!({"path": "a", "old_str": "A", "new_str": ""}),
            ),
        ] {
            assert_eq!(arguments(text), Some(fields), "{text}");
        }
        for text in [
            "EditTool({ filePath: path, oldString: 'a', newString: 'b' })",
            "EditTool({ filePath: 'a', oldString: `${x}`, newString: 'b' })",
            "EditTool({ filePath: 'a', oldString: 'a', newString: 'b' ",
            "EditTool({ filePath: 'a', oldString: 'a', newString: 'b' }) + 1",
            "EditTool({ filePath: 'a', filePath: 'b', oldString: 'a', newString: 'b' })",
            "EditTool({ filePath: 'a', oldString: 'a', newString: 'b' })\nEditTool({ filePath: 'a', oldString: 'c', newString: 'b' })",
            "render(\"x\")",
            "Only prose (and more).",
        ] {
            assert_eq!(arguments(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gets_an_answer(text in "(EditTool\\(|str_replace\\(|\\{|\\}|\\[|\\]|\\)|a: |a=|\"|'|`|\\\\|x|é|,|\n| |\\$){0,40}") {
            let _ = calls(&text);
        }
    }
}
