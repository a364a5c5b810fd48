//! Hostile files: deep, long, wide, repetitive, of every Unicode plane, and in the syntax of every language.

use oracles::luck::Luck;

/// Names that select a grammar, a schema or a media reader.
pub(crate) const NAMES: &[&str] = &[
    "a.rs", "b.py", "c.js", "d.ts", "e.tsx", "f.go", "g.java", "h.c", "i.cpp", "j.sh", "k.rb", "l.php", "m.css",
    "n.html", "o.json", "p.toml", "q.yaml", "r.md", "s.ipynb", "t.txt", "u.cs", "v.jsonc", "w.pdf", "x.png", "y.lua",
    "z.sql",
];

/// Fragments that the grammars' scanners treat specially.
const TOKENS: &[&str] = &[
    "<<EOF\n", "EOF\n", "$(", "${", "}", "((", "))", "[[", "]]", "`", "\"", "'", "'''", "\"\"\"", "r#\"", "\"#", "/*",
    "*/", "//", "#", "<!--", "-->", "<script>", "</script>", "<?php", "?>", "{", "(", "[", ")", "]", "->", "=>", "::",
    ":", ";", ",", "\n", "\t", "    ", "fn ", "def ", "class ", "if ", "else", "case ", "esac", "in ", "do\n",
    "done\n", "function ", "return ", "0x", "1e", "9", "\\", "\\\n", "\r\n", "\r", "&a ", "*a ", "- ", "? ", "|", ">",
    "---\n", "=begin\n", "=end\n", "%w(", "%q{", "#{", "f\"{", "<<~A\n", "A\n", "template<", "operator", "R\"x(",
    ")x\"",
];

/// Returns a code point of any plane, except surrogates.
pub(crate) fn code_point(luck: &mut Luck) -> char {
    let plane = luck.below(17);
    let value = plane * 0x1_0000 + luck.below(0x1_0000);
    u32::try_from(value).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
}

/// Returns a code point of any plane that an edit may write, except NUL and line ends.
pub(crate) fn visible_code_point(luck: &mut Luck) -> char {
    let one = code_point(luck);
    if one < ' ' { '\u{e9}' } else { one }
}

/// Names of files that are valid in their languages.
pub(crate) const TIDY_NAMES: &[&str] = &["tidy.rs", "tidy.py", "tidy.json", "tidy.toml", "tidy.md", "tidy.ipynb"];

/// Generates a valid file whose texts have code points of every plane.
pub(crate) fn tidy(luck: &mut Luck, name: &str) -> String {
    let count = luck.between(2, 40);
    if name == "tidy.ipynb" {
        return notebook(luck, 100 * count);
    }
    let parts = (0..count).map(|nth| {
        let (number, strange) = (luck.below(1_000), visible_code_point(luck));
        let shown = if strange.is_alphanumeric() { strange } else { '\u{1d11e}' };
        match name {
            "tidy.rs" => format!(
                "/// Part {nth} {shown}.\nfn part{nth}(x: u32) -> u32 {{\n    let y = x + {number};\n    y * 2\n}}\n\n"
            ),
            "tidy.py" => format!("def part{nth}(x):\n    y = x + {number}  # {shown}\n    return y * 2\n\n\n"),
            "tidy.json" => format!("  \"key{nth}\": [{number}, \"{shown}\"],\n"),
            "tidy.toml" => format!("[part{nth}]\nnumber = {number}\ntext = \"{shown}\"\n\n"),
            _ => format!("# Part {nth}\n\nText {number} {shown}.\n\n"),
        }
    });
    let text: String = parts.collect();
    if name == "tidy.json" { format!("{{\n{text}  \"last\": 0\n}}\n") } else { text }
}

/// Generates a hostile file of about `size` bytes, in the form for its name.
pub(crate) fn content(luck: &mut Luck, name: &str, size: usize) -> Vec<u8> {
    if name == "s.ipynb" && luck.chance(80) {
        return notebook(luck, size).into_bytes();
    }
    match luck.below(12) {
        0 => "a".repeat(size).into_bytes(),
        1 => "same line\n".repeat(size / 10 + 1).into_bytes(),
        2 => nested(luck, size).into_bytes(),
        3 => tokens(luck, size).into_bytes(),
        4 => (0..=size / 3).map(|_| code_point(luck)).collect::<String>().into_bytes(),
        5 => (0..size).map(|_| u8::try_from(luck.below(256)).unwrap_or(0)).collect(),
        6 => "\n".repeat(size).into_bytes(),
        7 => source(luck, size).replace('\n', "\r\n").into_bytes(),
        8 => "}\n".repeat(size / 2 + 1).into_bytes(),
        9 => source(luck, size).encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => source(luck, size).into_bytes(),
    }
}

/// Generates a list or object nested as deeply as the size allows, on one line or on many.
fn nested(luck: &mut Luck, size: usize) -> String {
    let (open, close) =
        *luck.pick(&[("[", "]"), ("{\"a\":", "}"), ("(", ")"), ("<a>", "</a>"), ("- ", ""), ("if x {", "}")]);
    let end = if luck.chance(50) { "\n" } else { "" };
    let depth = size / (open.len() + close.len() + 2 * end.len()).max(1) + 1;
    format!("{}1{end}{}", format!("{open}{end}").repeat(depth), format!("{close}{end}").repeat(depth))
}

/// Mixes tokens of all languages with code points of every plane.
fn tokens(luck: &mut Luck, size: usize) -> String {
    let mut out = String::with_capacity(size + 16);
    while out.len() < size {
        let token = *luck.pick(TOKENS);
        if luck.chance(10) { out.push(code_point(luck)) } else { out.push_str(token) }
    }
    out
}

/// Generates plausible source text with repeated and nearly repeated lines.
fn source(luck: &mut Luck, size: usize) -> String {
    let mut out = String::with_capacity(size + 64);
    while out.len() < size {
        let number = luck.below(40);
        let line = match luck.below(6) {
            0 => format!("def f{number}(x):\n    return x + {number}\n"),
            1 => format!("    let value_{number} = call(\"{number}\", {number});\n"),
            2 => "\n".to_owned(),
            3 => format!("{}if (a == {number}) {{ b(); }}\n", " ".repeat(luck.below(12))),
            4 => "    }\n".to_owned(),
            _ => format!("key{number}: \"v\u{201c}{number}\u{201d}\"\n"),
        };
        out.push_str(&line);
    }
    out
}

fn notebook(luck: &mut Luck, size: usize) -> String {
    let cell =
        r#"{"cell_type":"code","execution_count":null,"id":"ID","metadata":{},"outputs":[],"source":["x = 1\n"]}"#;
    let cells: Vec<String> = (0..=size / cell.len()).map(|at| cell.replace("ID", &format!("c{at}"))).collect();
    let between = if luck.chance(50) { "," } else { ",\n  " };
    format!(r#"{{"cells":[{}],"metadata":{{}},"nbformat":4,"nbformat_minor":5}}"#, cells.join(between))
}
