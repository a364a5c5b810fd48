//! `elided`: whole files, or functions, with placeholders for unchanged code (see [`crate::locate::elided`]).

use super::WholeFile;
use crate::formats::line_parser::{LineParser, ParseOptions};
use crate::formats::{Format, FormatSpec};
use crate::locate::elided;
use crate::work;
use core::ops::Range;

/// The format. Its syntax is that of [`WholeFile`]; the placeholders distinguish them.
pub struct ElidedFile;

impl ElidedFile {
    /// True if one of these ranges of a text, each a file with the lines around it, contains a placeholder.
    pub(crate) fn has_placeholder(text: &str, files: &[Range<usize>]) -> bool {
        let lines: Vec<&str> = work::lines(text).collect();
        files.iter().any(|file| {
            let inside = lines.get(file.start + 1..file.end).unwrap_or_default();
            elided::is_elided(&inside.join("\n"))
        })
    }
}

impl Format for ElidedFile {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "elided",
            summary: "files in fences, with placeholders for unchanged code",
            prompt: PROMPT,
            schema: None,
            key: "",
            example: "src/main.rs\n```rust\n// ... existing code ...\nfn main() {\n    run();\n}\n// ... existing code ...\n```\n",
            grammar: None,
        }
    }

    fn line_parser(&self, options: &ParseOptions) -> Option<Box<dyn LineParser>> {
        WholeFile.line_parser(options)
    }

    fn family(&self) -> &'static str {
        WholeFile.spec().name
    }
}

const PROMPT: &str = "\
Writes only the parts of a file that change. Each file: its path alone on a line, then a fence with the changed code, and \
`// ... existing code ...` (in the comment syntax of the language) for each part that stays as it is:

src/main.rs
```
// ... existing code ...
fn main() {
    run();
}
// ... existing code ...
```

Put one or two unchanged lines between a change and a placeholder, or write the function around the change from its first \
line to its last. Where a placeholder could stand for several parts of the file, the edit is refused.";
