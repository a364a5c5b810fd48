//! Text for benches: this repository's own sources, repeated and numbered, with one unique block.

use std::fmt::Write as _;
use std::path::Path;

/// The block that edits replace: five lines, two of them unique.
pub(crate) const OLD: &str = "    let stamp = self.measure(\"before the edit\");\n    if stamp.is_fresh() {\n        return Ok(stamp);\n    }\n    self.note(\"stale\");\n";
/// The replacement, which becomes the old text in the next edit.
pub(crate) const NEW: &str = "    let stamp = self.measure(\"after the edit\");\n    if stamp.is_fresh() {\n        return Ok(stamp);\n    }\n    self.note(\"old\");\n";

/// The edits of a run. Each replaces the block that the previous one left, so that every version of the file is new.
pub(crate) struct Edits {
    made: u32,
}

impl Edits {
    pub(crate) fn new() -> Edits {
        Edits { made: 0 }
    }

    /// Returns the old and the new text of the next edit.
    pub(crate) fn next(&mut self) -> (String, String) {
        let version = |number: u32| match number {
            0 => OLD.to_owned(),
            _ => NEW.replace("old", &format!("old, {number} times")),
        };
        self.made += 1;
        (version(self.made - 1), version(self.made))
    }
}

/// Returns the edit as a patch for Codex's tool, which runs in the directory of the file.
pub(crate) fn codex_patch(file: &Path, old: &str, new: &str) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let signed = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    format!("*** Begin Patch\n*** Update File: {name}\n@@\n{}{}*** End Patch\n", signed('-', old), signed('+', new))
}

/// Generates about `bytes` bytes of source text with [`OLD`] in the middle.
pub(crate) fn source(bytes: usize) -> String {
    let pool = sources();
    let mut text = String::with_capacity(bytes + 200);
    let mut placed = false;
    let mut round = 0;
    while text.len() < bytes {
        for line in pool.lines() {
            if text.len() >= bytes {
                break;
            }
            if !placed && text.len() >= bytes / 2 {
                text.push_str(OLD);
                placed = true;
            }
            text.push_str(line);
            text.push('\n');
        }
        round += 1;
        let _ = writeln!(text, "// round {round}");
    }
    if !placed {
        text.push_str(OLD);
    }
    text
}

/// Generates `count` lines of source text with `block` between two unique lines in the middle.
pub(crate) fn lines(count: usize, block: &str) -> String {
    let pool = sources();
    let room = count.saturating_sub(block.lines().count() + 2);
    let mut text = String::with_capacity(count * 48);
    for (nth, line) in pool.lines().cycle().take(room).enumerate() {
        if nth == room / 2 {
            text.push_str("// Here it begins.\n");
            text.push_str(block);
            text.push_str("// Here it ends.\n");
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn sources() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}
