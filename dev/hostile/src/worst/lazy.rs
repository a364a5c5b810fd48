//! Worst inputs of lazy edits: as many lines, fragments and placeholders as fit into 8 MB.

use super::rows::{Row, Scenario, applied, deep_lines, on};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

const PLACEHOLDER: &str = "# ... existing code ...\n";
/// Number of lines of the file, and of the text.
const LINES: usize = 150_000;

pub(super) const ROWS: &[Row] = &[
    Row { tool: "apply", name: "lazy: deep indentation", scenario: |root| deep(root, " ") },
    Row { tool: "apply", name: "lazy: deep tabs", scenario: |root| deep(root, "\t") },
    Row { tool: "apply", name: "lazy: lines that are not there", scenario: absent },
    Row { tool: "apply", name: "lazy: many fragments", scenario: fragments },
    Row { tool: "apply", name: "lazy: equal fragments", scenario: equal_fragments },
    Row { tool: "apply", name: "lazy: new definitions", scenario: new_definitions },
    Row { tool: "apply", name: "lazy: placeholders of the file", scenario: own_placeholders },
    Row { tool: "write", name: "lazy: placeholders of the file", scenario: written_placeholders },
    Row { tool: "apply", name: "lazy: edges in many places", scenario: many_edges },
    Row { tool: "apply", name: "lazy: dots", scenario: |root| between(root, "...") },
    Row { tool: "apply", name: "lazy: braces of new blocks", scenario: new_blocks },
    Row { tool: "apply", name: "lazy: values that are set again", scenario: set_again },
    Row { tool: "apply", name: "lazy: new lines beside a long one", scenario: beside_long_line },
    Row { tool: "write", name: "lazy: nothing but dots", scenario: only_dots },
    Row { tool: "apply", name: "lazy: remarks", scenario: |root| between(root, "# etc.") },
    Row { tool: "apply", name: "lazy: blank lines", scenario: blank_lines },
    Row { tool: "apply", name: "lazy: different placeholders", scenario: different_placeholders },
    Row { tool: "write", name: "lazy: different remarks", scenario: different_remarks },
    Row { tool: "write", name: "lazy: dots between signs", scenario: dots_between_signs },
];

fn lazy(root: &Path, file: String, text: &str) -> Scenario {
    let mut scenario = applied(root, format!("a.py\n```\n{text}```\n"));
    scenario.files = vec![("a.py".to_owned(), file)];
    scenario
}

fn numbered(name: &str) -> String {
    (0..LINES).fold(String::new(), |mut text, nth| {
        let _ = writeln!(text, "{name}_{nth} = {nth}");
        text
    })
}

fn deep(root: &Path, indent: &str) -> Scenario {
    let lines = format!("{indent}other = 1\n").repeat(300_000);
    let text = format!("def f():\n{indent}alpha = 1\n{indent}{PLACEHOLDER}{lines}{indent}return alpha\n");
    lazy(root, deep_lines(), &text)
}

fn absent(root: &Path) -> Scenario {
    lazy(root, numbered("alpha"), &format!("{PLACEHOLDER}{}{PLACEHOLDER}", numbered("beta")))
}

fn fragments(root: &Path) -> Scenario {
    let file = numbered("alpha");
    let text: String = file.lines().step_by(2).map(|line| format!("{line}\n{PLACEHOLDER}")).collect();
    lazy(root, file, &text)
}

fn equal_fragments(root: &Path) -> Scenario {
    let file = "a\nb\n".repeat(49) + &"z\n".repeat(LINES);
    lazy(root, file, &format!("a\nx\na\n{PLACEHOLDER}").repeat(LINES))
}

/// Creates a text with new definitions at as many depths as the file has.
fn new_definitions(root: &Path) -> Scenario {
    let line = |depth: usize, text: &str| format!("{}{text}\n", " ".repeat(depth));
    let file: String = (0..2_500).map(|nth| line(nth, &format!("f{nth}()"))).collect();
    let new =
        |nth: usize| line(nth, &format!("function g{nth}() {{")) + &line(nth, "}") + &line(nth, &format!("f{nth}()"));
    let text: String = (0..1_200).map(|nth| PLACEHOLDER.to_owned() + &new(nth)).collect();
    lazy(root, file, &text)
}

/// Creates a file that has the placeholder of the text between its lines.
fn own_placeholders(root: &Path) -> Scenario {
    let file: String = (0..100_000).map(|nth| format!("{PLACEHOLDER}f{nth}();\n")).collect();
    lazy(root, file.clone(), &file.replace("5();", "five();"))
}

/// Writes a text with more placeholders than the file has.
fn written_placeholders(root: &Path) -> Scenario {
    let file: String = (0..100_000).map(|nth| format!("{PLACEHOLDER}f{nth}();\n\n\n")).collect();
    let text: String = (0..100_000).map(|nth| format!("{PLACEHOLDER}{PLACEHOLDER}g{nth}();\nf{nth}();\n")).collect();
    on(root, file, json!({ "content": text }))
}

fn many_edges(root: &Path) -> Scenario {
    lazy(root, "x = 1\n".repeat(300_000), &format!("{PLACEHOLDER}y = 2\nx = 1\n").repeat(80_000))
}

/// Creates a text with new blocks next to placeholders, whose braces the file has.
fn new_blocks(root: &Path) -> Scenario {
    let file: String = (0..60_000).map(|nth| format!("f{nth}();\n}}\n")).collect();
    let text: String = (0..60_000).map(|nth| format!("{PLACEHOLDER}f{nth}();\nif (x{nth}) {{\ny();\n}}\n")).collect();
    lazy(root, file, &text)
}

/// Creates a text that sets every other value of the file again, next to a placeholder and below blank lines.
fn set_again(root: &Path) -> Scenario {
    let blank = "\n".repeat(900);
    let file: String = (0..8_000).map(|nth| format!("f{nth}()\n{blank}a{nth} = 1\n")).collect();
    let text: String = (0..8_000).map(|nth| format!("f{nth}()\na{nth} = 2\n{PLACEHOLDER}")).collect();
    lazy(root, file, &text)
}

/// Creates a text with many new lines beside a placeholder, where the file has one long line with many words.
fn beside_long_line(root: &Path) -> Scenario {
    let words: String = (0..400_000).map(|nth| format!("w{nth} ")).collect();
    let fresh: String = (0..100_000).map(|nth| format!("fresh_{nth}()\n")).collect();
    lazy(root, format!("first()\n{words}\nend()\n"), &format!("first()\n{PLACEHOLDER}{fresh}end()\n"))
}

fn only_dots(root: &Path) -> Scenario {
    on(root, numbered("alpha"), json!({ "content": format!("alpha_0 = 0\n{}", "...\n".repeat(1_000_000)) }))
}

/// Creates a file of blank lines, with a line that the text shows now and then.
fn blank_lines(root: &Path) -> Scenario {
    let file: String = (0..2_000).map(|nth| format!("f{nth}()\n{}", "\n".repeat(3_900))).collect();
    let text: String = (0..2_000).map(|nth| format!("f{nth}()\nfresh_{nth}()\n\n{PLACEHOLDER}")).collect();
    lazy(root, file, &text)
}

fn different_placeholders(root: &Path) -> Scenario {
    let words = "the rest of all the other existing methods and functions of this";
    let file = numbered("alpha");
    let text: String =
        file.lines().take(70_000).enumerate().map(|(nth, line)| format!("{line}\n# ... {nth} {words} ...\n")).collect();
    lazy(root, file, &text)
}

/// Creates a text of lines with words of remarks that are none.
fn different_remarks(root: &Path) -> Scenario {
    on(
        root,
        numbered("alpha"),
        json!({ "content": (0..650_000).map(|nth| format!("# {nth} is\n")).collect::<String>() }),
    )
}

/// Creates a text with dots far from every line with a word.
fn dots_between_signs(root: &Path) -> Scenario {
    let text = format!("alpha_0 = 0\n{}", "...\n}\n".repeat(1_000_000));
    on(root, numbered("alpha"), json!({ "content": text }))
}

/// Creates a text with lines of only dots, or remarks, between the first and the last line of the file.
fn between(root: &Path, line: &str) -> Scenario {
    let file = format!("first = 1\n{}last = 1\n", numbered("alpha"));
    lazy(root, file, &format!("first = 1\n{line}\nlast = 1\n").repeat(LINES))
}
