//! Headers of patches above SEARCH/REPLACE blocks, by models that mix the two formats. Such a header names the file of
//! the block, so it is replaced by a line with the name.

use super::UnwrappedText;
use crate::formats::name;
use crate::formats::search_replace::marker;
use crate::work;

/// Maximum number of lines between a header and its block: blank ones and fences.
const LINES_BETWEEN_MAX: usize = 4;

/// Replaces headers by the names in them, line by line. `None` if a header has no block, because the text is then a
/// patch. Lines inside blocks are not changed.
pub(super) fn layer(text: &str) -> Option<UnwrappedText<'_>> {
    if !text.contains("SEARCH") || !(text.contains("*** Update File: ") || text.contains("diff --git ")) {
        return None;
    }
    let lines: Vec<&str> = work::lines_with_ends(text).collect();
    let mut out = String::with_capacity(text.len());
    let (mut first, mut headers) = (None, 0);
    let mut block = None;
    for (at, whole) in lines.iter().enumerate() {
        let line = whole.trim_end_matches(['\r', '\n']);
        let end = &whole[line.len()..];
        let kept = match block {
            Some(run) => {
                block = block.filter(|_| marker::close(line) != Some(run));
                line
            }
            None if is_header(line) => {
                let path = named(line).filter(|_| is_above_block(&lines[at + 1..]))?;
                first.get_or_insert(line);
                headers += 1;
                path
            }
            None if matches!(line.trim(), "*** Begin Patch" | "*** End Patch") => "",
            None => {
                block = marker::open(line).map(|open| open.run);
                line
            }
        };
        out.push_str(kept);
        out.push_str(end);
    }
    let others = if headers > 1 { format!("; {headers} headers in all") } else { String::new() };
    let note = format!("`{}` was read as the name of the file of the block below it{others}.", first?.trim());
    Some(UnwrappedText::new(out, note))
}

fn is_header(line: &str) -> bool {
    ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "diff --git "]
        .iter()
        .any(|head| line.starts_with(head))
}

/// Returns the file that a header names; `None` for one that is not about the text of one file.
fn named(line: &str) -> Option<&str> {
    let path = match line.strip_prefix("diff --git a/") {
        Some(both) => both.split_once(" b/").filter(|(old, new)| old == new)?.0,
        None => line.strip_prefix("*** Update File: ")?,
    };
    Some(path.trim()).filter(|path| !path.is_empty())
}

/// True if a block begins below a header.
fn is_above_block(below: &[&str]) -> bool {
    let mut lines = below.iter().map(|line| line.trim_end_matches(['\r', '\n'])).take(LINES_BETWEEN_MAX);
    let between = |line: &&str| line.trim().is_empty() || name::is_frame(line);
    lines.find(|line| !between(line)).is_some_and(|line| marker::open(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::layer;

    const BLOCK: &str = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";

    fn read(text: &str) -> Option<String> {
        layer(text).map(|layer| layer.text.into_owned())
    }

    #[test]
    fn header_above_a_block_is_its_name() {
        for header in ["*** Update File: src/a.rs", "diff --git a/src/a.rs b/src/a.rs"] {
            let name = format!("src/a.rs\n{BLOCK}");
            assert_eq!(read(&format!("{header}\n{BLOCK}")), Some(name.clone()), "{header}");
            let patch = format!("*** Begin Patch\n{header}\n{BLOCK}*** End Patch\n");
            assert_eq!(read(&patch), Some(format!("\n{name}\n")), "{header}");
            let fenced = format!("{header}\r\n\n```rust\n{BLOCK}```\n");
            assert_eq!(read(&fenced), Some(format!("src/a.rs\r\n\n```rust\n{BLOCK}```\n")), "{header}");
        }
    }

    #[test]
    fn every_header_is_reported() {
        let two = format!("*** Update File: a\n{BLOCK}*** Update File: b\n{BLOCK}");
        let layer = layer(&two).unwrap();
        assert_eq!(layer.text, format!("a\n{BLOCK}b\n{BLOCK}"));
        assert!(layer.notes[0].to_string().ends_with("; 2 headers in all."), "{:?}", layer.notes);
    }

    #[test]
    fn patches_and_texts_about_patches_stay() {
        let about = "a.md\n<<<<<<< SEARCH\n*** Update File: b\n=======\n*** End Patch\n>>>>>>> REPLACE\n";
        assert_eq!(read(about), None);
        let headed = about.replacen("a.md", "*** Update File: a.md", 1);
        assert_eq!(read(&headed).as_deref(), Some(about));
        for text in [
            "*** Begin Patch\n*** Update File: a\n@@\n-SEARCH\n+b\n*** End Patch\n".to_owned(),
            format!("*** Update File: a\n@@\n-x\n+y\n*** Update File: b\n{BLOCK}"),
            format!("*** Delete File: a\n{BLOCK}"),
            format!("diff --git a/a.rs b/b.rs\n{BLOCK}"),
            format!("a.rs\n{BLOCK}"),
        ] {
            assert_eq!(read(&text), None, "{text}");
        }
    }
}
