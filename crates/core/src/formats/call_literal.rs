//! Tool calls written as code: `EditTool({ filePath: "a.ts", oldString: `x`, newString: 'y' })`, or with named
//! arguments, `str_replace(path="a.py", old_str="x", new_str="y", replace_all=True)`. Only literals are accepted.

use crate::work::{self, STEP_BYTES};
use core::ops::Range;
use memchr::memmem;
use serde_json::{Map, Value};

/// Maximum number of nesting levels of values.
const NESTING_MAX: usize = 16;

/// Maximum number of calls that are parsed in one text.
const CALLS_MAX: usize = 128;

/// Steps of the test whether a line begins a call.
const LINE_STEPS: usize = 4;

/// Returns the arguments of all calls in a text, with their byte ranges. Each call begins at the start of a line and
/// ends at the end of one; there may be prose around them. `None` if there is no call, or one that cannot be parsed.
pub(super) fn calls(text: &str) -> Option<Vec<(Value, Range<usize>)>> {
    // Most texts have no call, and this test is cheaper than examining each line.
    if !["ool(", "dit(", "eplace(", "ditor(", "ile(", "rite("].iter().any(|end| text.contains(end)) {
        return None;
    }
    let (mut out, mut from, mut any_by_position) = (Vec::new(), 0, false);
    while from < text.len() {
        if work::spend_or_end(LINE_STEPS) {
            return None;
        }
        let line_end = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
        let line = &text[from..line_end];
        // A function of any program may have such a name; only named arguments distinguish a call of a tool.
        let is_file = writes_file(line);
        let read = if is_file || begins(line) { call(&text[from..]) } else { None };
        let read = read.filter(|(call, _)| !is_file || has_texts(&call.arguments));
        let Some((WrittenArguments { arguments: value, by_position }, rest)) = read else {
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
        any_by_position |= by_position;
        out.push((value, from..end));
        from = (end + tail.len() + 1).min(text.len());
    }
    if any_by_position && !is_only_calls(text, &out) {
        return None;
    }
    (!out.is_empty()).then_some(out)
}

/// Parses a text that is one value in the syntax of Python, JavaScript or JSON: strings in any quotes, lists, objects,
/// whole numbers, truth values.
pub fn literal_value(text: &str) -> Option<Value> {
    let mut reader = LiteralReader { rest: text };
    let value = reader.value(0)?;
    reader.skip_whitespace();
    reader.rest.is_empty().then_some(value)
}

/// Names of editing tools, without `_`, in lower case.
const UNAMBIGUOUS_TOOLS: [&str; 7] =
    ["edittool", "multiedittool", "writetool", "multiedit", "strreplace", "strreplaceeditor", "searchreplace"];

/// Names of tools that write a whole file, without `_`, in lower case.
const FILE_TOOLS: [&str; 4] = ["writefile", "writetofile", "createfile", "write"];

/// Names of tools that accept arguments by position, and the names of these arguments. In all of them the path comes
/// first. `str_replace` is missing, because in PHP's function of that name the text comes last.
const POSITIONS: [(&[&str], &[&str]); 2] = [
    (&["writefile", "writetofile", "createfile", "writetool", "write"], &["path", "content"]),
    (&["edit", "edittool", "editfile", "replaceinfile", "searchreplace"], &["path", "old_string", "new_string"]),
];

/// Names of the argument for the path of a whole file.
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
    "writefile", "writefilesync", "writetofile", "createfile", "savefile", "outputfile", "appendfile", "appendfilesync",
];

/// True for a line that begins a call which writes a literal text to a file that is named by a literal as well.
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

/// True for the beginning of a string in quotes, possibly with a prefix as in Python.
fn begins_text(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.trim_start_matches(['b', 'r', 'f', 'u']).starts_with(['"', '\'', '`']) && rest.len() > 1
}

/// True for a line that begins a call of an editing tool.
pub(super) fn begins(line: &str) -> bool {
    called(line).is_some_and(|name| ["edit", "replaceinfile"].contains(&&*name) || UNAMBIGUOUS_TOOLS.contains(&&*name))
}

/// True for a line that begins a call of an editing tool whose name does not occur in everyday code.
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

/// The arguments of a call.
struct WrittenArguments {
    arguments: Value,
    /// True if some of the arguments have no names.
    by_position: bool,
}

/// Parses the call that a text begins with; returns its arguments and the rest.
fn call(text: &str) -> Option<(WrittenArguments, &str)> {
    let (function, rest) = text.split_once('(')?;
    let mut reader = LiteralReader { rest };
    reader.skip_whitespace();
    if reader.rest.starts_with(['"', '\'', '`']) {
        let arguments = reader.positions(positions(function)?)?;
        return Some((WrittenArguments { arguments, by_position: true }, reader.rest));
    }
    if !reader.rest.starts_with('{') {
        let arguments = reader.fields(')', '=', 0)?;
        return Some((WrittenArguments { arguments, by_position: false }, reader.rest));
    }
    let arguments = reader.value(0)?;
    reader.skip_whitespace();
    if reader.eat(',') {
        reader.skip_whitespace();
    }
    reader.eat(')').then_some((WrittenArguments { arguments, by_position: false }, reader.rest))
}

/// Returns the names of a tool's arguments by their position. `None` for methods of an object, which are functions of a
/// program.
fn positions(function: &str) -> Option<&'static [&'static str]> {
    let name = function.trim_start();
    let name = name.strip_prefix("await ").unwrap_or(name).to_ascii_lowercase().replace('_', "");
    POSITIONS.into_iter().find(|(tools, _)| tools.contains(&&*name)).map(|(_, names)| names)
}

/// First words of statements of a program.
const STATEMENTS: [&str; 14] = [
    "import ", "from ", "const ", "let ", "var ", "def ", "function ", "async ", "class ", "return ", "export ",
    "#include", "use ", "if (",
];

/// True for a text of calls if all other lines are prose, comments and fences. In a program, functions may have the
/// names of tools.
fn is_only_calls(text: &str, calls: &[(Value, Range<usize>)]) -> bool {
    let mut from = 0;
    let outside = calls.iter().map(|(_, bytes)| core::mem::replace(&mut from, bytes.end)..bytes.start);
    let outside: Vec<Range<usize>> = outside.collect();
    let is_prose = |line: &str| {
        let line = line.trim();
        let is_code = STATEMENTS.iter().any(|word| line.starts_with(word))
            || line.contains("require(")
            || line.trim_end_matches(';').ends_with(['{', '}', ')', '=']) && !line.contains(". ");
        !is_code || line.starts_with("//") || line.starts_with('#')
    };
    let is_tail = |line: &str| line.trim_matches([';', ' ', '\t', '\r']).is_empty();
    outside
        .into_iter()
        .chain(core::iter::once(from..text.len()))
        .all(|range| text[range].lines().all(|line| is_tail(line) || is_prose(line)))
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

    /// Skips whitespace and comments. Counts as work, because each of many calls may begin a comment that never ends.
    fn skip_whitespace(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let is_line = self.rest.starts_with("//");
            if !is_line && !self.rest.starts_with("/*") || work::spend_or_end(1) {
                return;
            }
            let sign = if is_line { "\n" } else { "*/" };
            let end = memmem::find(self.rest.as_bytes(), sign.as_bytes());
            let end = end.map_or(self.rest.len(), |at| if is_line { at } else { at + sign.len() });
            self.rest = if work::spend_or_end(end / STEP_BYTES) { "" } else { &self.rest[end..] };
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > NESTING_MAX {
            return None;
        }
        self.skip_whitespace();
        match self.rest.chars().next()? {
            '{' => {
                self.eat('{');
                self.fields('}', ':', depth + 1)
            }
            '[' => {
                self.eat('[');
                let mut items = Vec::new();
                loop {
                    self.skip_whitespace();
                    if self.eat(']') {
                        return Some(Value::Array(items));
                    }
                    items.push(self.value(depth + 1)?);
                    self.skip_whitespace();
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

    /// Parses fields up to `end`, with `sign` between name and value. A duplicate field is an error.
    fn fields(&mut self, end: char, sign: char, depth: usize) -> Option<Value> {
        let mut fields = Map::new();
        loop {
            self.skip_whitespace();
            if self.eat(end) {
                return Some(Value::Object(fields));
            }
            let name = if self.rest.starts_with(['"', '\'']) { self.text()? } else { self.word().to_owned() };
            self.skip_whitespace();
            if name.is_empty() || !self.eat(sign) {
                return None;
            }
            let value = self.value(depth)?;
            if !value.is_null() && fields.insert(name, value).is_some() {
                return None;
            }
            self.skip_whitespace();
            if !self.eat(',') && !self.rest.starts_with(end) {
                return None;
            }
        }
    }

    /// Parses arguments by position, which get these names, up to the end of the call. A truth value may follow the
    /// texts of an edit, an encoding may follow a whole text, and named arguments may follow any of them.
    fn positions(&mut self, names: &[&str]) -> Option<Value> {
        let mut fields = Map::new();
        for (nth, name) in names.iter().chain(&[""]).enumerate() {
            self.skip_whitespace();
            if self.eat(')') {
                break;
            }
            if !self.rest.starts_with(['"', '\'', '`']) && self.begins_named() {
                let Value::Object(named) = self.fields(')', '=', 0)? else { return None };
                let count = fields.len() + named.len();
                fields.extend(named);
                return (fields.len() == count).then_some(Value::Object(fields));
            }
            match (nth < names.len(), self.value(0)?) {
                (true, Value::String(text)) => fields.insert((*name).to_owned(), text.into()),
                (false, Value::Bool(all)) if names.len() > 2 => fields.insert("replace_all".to_owned(), all.into()),
                (false, Value::String(encoding)) if names.len() == 2 && is_utf8(&encoding) => None,
                _ => return None,
            };
            self.skip_whitespace();
            if !self.eat(',') && !self.rest.starts_with(')') {
                return None;
            }
            self.skip_whitespace();
            if self.rest.starts_with(')') && nth + 1 >= names.len() {
                self.eat(')');
                return Some(Value::Object(fields));
            }
        }
        None
    }

    /// True if a name and the sign of a named argument follow.
    fn begins_named(&self) -> bool {
        let mut ahead = LiteralReader { rest: self.rest };
        !ahead.word().is_empty() && ahead.rest.trim_start().starts_with('=')
    }

    fn word(&mut self) -> &'a str {
        let len = self.rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count();
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        word
    }

    /// Parses a string in quotes, backticks or triple quotes. `None` for one with an interpolated expression, or
    /// without an end.
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

/// True for a name of the encoding UTF-8.
fn is_utf8(name: &str) -> bool {
    name.eq_ignore_ascii_case("utf8") || name.eq_ignore_ascii_case("utf-8")
}

#[cfg(test)]
mod tests {
    use super::calls;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Returns the arguments of the only call of a text.
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
            ("I create it:\n\n```js\nwriteFile(\"a\", `x\ny\n`);\n```\n", json!({"path": "a", "content": "x\ny\n"})),
            ("await write_file('a', 'x', 'utf8')", json!({"path": "a", "content": "x"})),
            ("Write(file_path='a', content='x')", json!({"file_path": "a", "content": "x"})),
            ("write_file('a', content='x')", json!({"path": "a", "content": "x"})),
            (
                "EditTool(\n  'a',\n  'old',\n  'new',\n  true,\n)",
                json!({"path": "a", "old_string": "old", "new_string": "new", "replace_all": true}),
            ),
            ("replace_in_file('a', 'old', 'new')", json!({"path": "a", "old_string": "old", "new_string": "new"})),
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
            "writeFile(path, entireNewContent)",
            "fs.writeFile('a', 'x')",
            "writeFile('a', 'x', 'latin1')",
            "import { writeFile } from 'fs/promises';\n\nawait writeFile('a', 'x');",
            "function save() {\n  writeFile('a', 'x');\n}",
            "str_replace('a', 'b', 'c')",
            "edit('a', 'b')",
            "edit('a', 'b', 'c', 'd')",
            "write('a')",
            "write('a', content=text)",
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
