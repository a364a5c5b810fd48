//! Comments at the beginning of a fenced text that contain only the name of the file.

use super::{alone, bare, clean, has_extension, is_label};
use crate::locate::omission;

/// Languages of fences in which a line such as `file: a.rs` may be data, and those in which `#` begins a title.
const DATA_LANGUAGES: [&str; 14] =
    ["", "yaml", "yml", "toml", "ini", "json", "json5", "properties", "conf", "env", "text", "txt", "csv", "http"];
const TITLE_LANGUAGES: [&str; 4] = ["md", "markdown", "mdx", "mdc"];
/// Maximum bytes of a comment with a name.
const COMMENT_BYTES_MAX: usize = 300;

/// A comment that contains only the name of a file.
pub(in crate::formats) struct NameComment {
    pub(in crate::formats) path: String,
    /// True if the comment is certainly about a file: it has a label, or the name has a directory.
    pub(in crate::formats) certain: bool,
}

/// True if one path is the other one, or its end.
pub(in crate::formats) fn is_same_file(a: &str, b: &str) -> bool {
    let parts = |path: &str| {
        let path = path.replace('\\', "/");
        path.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).rev().collect::<Vec<String>>()
    };
    parts(a).iter().zip(&parts(b)).all(|(a, b)| a == b)
}

/// Returns the name in a line that is a comment, or a label such as `File: a.rs`, in a text of this language. Nothing
/// else may be in the line.
pub(in crate::formats) fn in_comment(line: &str, language: &str) -> Option<NameComment> {
    let line = line.trim();
    if line.len() > COMMENT_BYTES_MAX || !line.contains(['.', ':', '/', '\\']) {
        return None;
    }
    let language = language.split_whitespace().next().unwrap_or_default().to_lowercase();
    let quoted = ["\"\"\"", "'''"].iter().find_map(|sign| line.strip_prefix(sign)?.strip_suffix(sign));
    let comment = quoted.unwrap_or_else(|| omission::without_comment_signs(line));
    let is_title = line.starts_with('#') && TITLE_LANGUAGES.contains(&&*language);
    if is_title || comment == line && DATA_LANGUAGES.contains(&&*language) {
        return None;
    }
    let text = comment.trim();
    let path = alone(text)?;
    let has_label = text.split_once([':', '=']).is_some_and(|(label, _)| is_label(label)) && clean(text)? == path;
    let last = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let has_directory = last.len() < path.len();
    let is_plain = path.chars().all(|ch| ch.is_alphanumeric() || "._-/\\@+$[]()~".contains(ch));
    let is_name = (has_extension(last) || bare(last)) && is_plain && !path.contains("//");
    (is_name && (comment != line || has_label)).then_some(NameComment { certain: has_label || has_directory, path })
}

#[cfg(test)]
mod tests {
    use super::{in_comment, is_same_file};

    #[test]
    fn comment_with_only_a_name_names_the_file() {
        for (line, language) in [
            ("# src/a.rs", "ruby"),
            ("// src/a.rs", "ts"),
            ("//src/a.rs", "ts"),
            ("<!-- src/a.rs -->", "html"),
            ("/* src/a.rs */", "css"),
            ("-- src/a.rs", "sql"),
            ("; src/a.rs", "ini"),
            ("% src/a.rs", "tex"),
            ("\"\"\"src/a.rs\"\"\"", "python"),
            ("{# src/a.rs #}", "jinja"),
            ("# path: src/a.rs", ""),
            ("// File: src/a.rs", "js"),
            ("// filename: `src/a.rs`", "js"),
            ("# File path: src/a.rs", "yaml"),
            ("File: src/a.rs", "python"),
            ("// src/a.rs (new)", "js"),
            ("# **src/a.rs**", "python"),
        ] {
            let found = in_comment(line, language).unwrap_or_else(|| panic!("{line}"));
            assert!(found.path == "src/a.rs" && found.certain, "{line}");
        }
        assert!(in_comment("# shop.rb", "ruby").is_some_and(|it| it.path == "shop.rb" && !it.certain));
        assert!(in_comment("# Makefile: Makefile", "make").is_none());
    }

    #[test]
    fn other_lines_name_no_file() {
        for (line, language) in [
            ("# see src/a.rs", "ruby"),
            ("// Updates src/a.rs for the new API", "ts"),
            ("# version 1.0", "python"),
            ("# 1.0", "python"),
            ("# src/a.rs", "markdown"),
            ("path: src/a.rs", "yaml"),
            ("file: src/a.rs", ""),
            ("src/a.rs", "text"),
            ("src/a.rs", "rust"),
            ("// https://example.com/a.rs", "js"),
            ("#include <a.h>", "c"),
            ("import a.b", "python"),
            ("require './a.rb'", "ruby"),
            ("#!/usr/bin/env python3.py", "python"),
            ("# ... existing code ...", "python"),
            ("# e.g.", "python"),
        ] {
            assert!(in_comment(line, language).is_none(), "{line}");
        }
    }

    #[test]
    fn name_may_be_a_part_of_the_path() {
        for (path, same) in [("shop.rb", true), ("app/shop.rb", true), ("./shop.rb", true), ("a/pet_shop.rb", false)] {
            assert_eq!(is_same_file("shop.rb", path), same, "{path}");
        }
    }
}
