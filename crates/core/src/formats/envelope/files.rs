//! Whole files as nested elements: `<args><file><path>…</path><content>…</content></file></args>`, in which Roo's newer
//! tools receive several files, alone or inside `<write_to_file>`.

use super::{UnwrappedText, has_no_edit, lines};
use std::fmt::Write as _;

/// Rewrites the elements as `<file path="…">`, which is a form of whole files; `None` if there is anything else between
/// them.
pub(super) fn layer(text: &str) -> Option<UnwrappedText<'_>> {
    let at = lines(text).find(|(_, line)| is_start(line.trim_start())).map(|(at, _)| at)?;
    let (before, rest) = (&text[..at], text[at..].trim_start());
    let (rest, outer) = match rest.strip_prefix("<write_to_file>") {
        Some(rest) => (rest.trim_start(), true),
        None => (rest, false),
    };
    let mut rest = rest.strip_prefix("<args>")?.trim_start();
    let (mut out, mut count) = (String::new(), 0);
    while let Some(inside) = rest.strip_prefix("<file>") {
        let WrappedFile { path, content, lines, after } = file(inside)?;
        let _ = match lines {
            Some(lines) => write!(
                out,
                "<write_to_file>\n<path>{path}</path>\n<content>\n{content}</content>\n<line_count>{lines}</line_count>\n</write_to_file>\n"
            ),
            None => write!(out, "<file path=\"{path}\">\n{content}</file>\n"),
        };
        rest = after.trim_start();
        count += 1;
    }
    rest = rest.strip_prefix("</args>")?.trim_start();
    rest = if outer { rest.strip_prefix("</write_to_file>")? } else { rest };
    let what =
        if count == 1 { "The file inside <args> was".to_owned() } else { format!("{count} files inside <args> were") };
    (count > 0 && has_no_edit(before) && has_no_edit(rest)).then(|| UnwrappedText::new(out, format!("{what} read.")))
}

fn is_start(line: &str) -> bool {
    line.starts_with("<args>") || line.trim_end() == "<write_to_file>"
}

/// A file as an element.
struct WrappedFile<'a> {
    path: &'a str,
    content: &'a str,
    /// The announced number of lines.
    lines: Option<&'a str>,
    /// The text below the element.
    after: &'a str,
}

/// Parses a file after its opening tag.
fn file(text: &str) -> Option<WrappedFile<'_>> {
    let (path, rest) = text.trim_start().strip_prefix("<path>")?.split_once("</path>")?;
    let body = rest.trim_start().strip_prefix("<content>")?;
    let (content, rest) = match body.trim_start().strip_prefix("<![CDATA[") {
        Some(body) => {
            let (content, rest) = body.split_once("]]>")?;
            (content, rest.trim_start().strip_prefix("</content>")?)
        }
        None => body.split_once("</content>")?,
    };
    let (mut rest, mut lines) = (rest.trim_start(), None);
    if let Some(counted) = rest.strip_prefix("<line_count>") {
        let (count, below) = counted.split_once("</line_count>")?;
        (lines, rest) = (Some(count.trim()), below.trim_start());
    }
    let content = content.strip_prefix("\r\n").or_else(|| content.strip_prefix('\n')).unwrap_or(content);
    let path = path.trim();
    let plain = !path.is_empty() && !path.contains(['"', '\n', '<', '>']) && !content.contains("</file>");
    let after = rest.strip_prefix("</file>")?;
    plain.then_some(WrappedFile { path, content, lines, after })
}

#[cfg(test)]
mod tests {
    use super::layer;

    #[test]
    fn nested_files_become_whole_files() {
        let file =
            |name: &str| format!("<file>\n<path>{name}</path>\n<content><![CDATA[\nx < y\n]]></content>\n</file>\n");
        let want = |name: &str| format!("<file path=\"{name}\">\nx < y\n</file>\n");
        let both = format!("<args>\n{}{}</args>\n", file("a.txt"), file("b/c.txt"));
        for text in [both.clone(), format!("Done:\n\n<write_to_file>\n{both}</write_to_file>\n")] {
            assert_eq!(layer(&text).unwrap().text, want("a.txt") + &want("b/c.txt"), "{text}");
        }
        let plain = "<args><file><path>a</path><content>\nx\n</content><line_count>1</line_count></file></args>";
        let counted = "<path>a</path>\n<content>\nx\n</content>\n<line_count>1</line_count>\n";
        assert_eq!(layer(plain).unwrap().text, format!("<write_to_file>\n{counted}</write_to_file>\n"));
    }

    #[test]
    fn anything_else_stays() {
        for text in [
            "<args></args>",
            "<args><file><path>a</path></file></args>",
            "<args><file><path>a</path><content>x</content><diff></diff></file></args>",
            "<args><file><path>a</path><content>x</file></content></file></args>",
            "<write_to_file>\n<path>a</path>\n<content>\nx\n</content>\n</write_to_file>",
            "text",
        ] {
            assert!(layer(text).is_none(), "{text}");
        }
    }
}
