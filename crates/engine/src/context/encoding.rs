//! The declared encoding of a file: by the call, the configuration, or `.editorconfig`.

use crate::context::config::Config;
use ec4rs::{ConfigParser, Properties, PropertiesSource as _, Section};
use emendate_core::{Charset, Code, DeclaredEncoding, Error, Result};
use emendate_fs::{SafePath, Store};
use std::path::Path;

/// Bytes up to which `.editorconfig` files are read.
const EDITORCONFIG_BYTES_MAX: u64 = 1 << 20;

/// Returns the encoding that a call names.
///
/// Errors: `call.invalid` for an unknown label.
pub(crate) fn encoding_from_call(label: &str) -> Result<DeclaredEncoding> {
    Charset::for_label(label).map(|charset| DeclaredEncoding { charset, by_call: true }).ok_or_else(|| {
        Error::new(Code::CallInvalid, format!("`{label}` is not an encoding that can be edited."))
            .next("Use a name such as utf-8, utf-16le, latin1, windows-1252, shift_jis, gbk, big5, euc-kr or koi8-r.")
    })
}

/// The encoding that configuration files declare for a path. `mark` is true if new files begin with a byte order mark.
pub(crate) struct ConfiguredEncoding {
    pub(crate) declared: DeclaredEncoding,
    pub(crate) mark: bool,
}

/// Looks up the configuration, then the `.editorconfig` files from the root down to the file; the nearest takes
/// precedence.
pub(crate) fn configured_encoding(config: &Config, store: &dyn Store, path: &SafePath) -> Option<ConfiguredEncoding> {
    let ruled = config
        .encodings
        .iter()
        .find(|(rule, _)| rule.matches(path.relative(), path.absolute()))
        .map(|(_, charset)| *charset);
    if let Some(charset) = ruled {
        let mark = charset.unit() == 2;
        return Some(ConfiguredEncoding { declared: DeclaredEncoding { charset, by_call: false }, mark });
    }
    let label = editorconfig(store, path, "charset")?;
    let charset = Charset::for_label(&label)?;
    let mark = label == "utf-8-bom" || charset.unit() == 2;
    Some(ConfiguredEncoding { declared: DeclaredEncoding { charset, by_call: false }, mark })
}

/// The directories that contain a file, the nearest first, up to its root.
pub(crate) fn folders(path: &SafePath) -> impl Iterator<Item = &Path> {
    let root = path.absolute().ancestors().nth(path.relative().components().count());
    let above = path.absolute().ancestors().skip(1);
    above.take_while(move |folder| root.is_some_and(|root| folder.starts_with(root)))
}

/// Returns a property of the file in its `.editorconfig` files, in lower case.
pub(crate) fn editorconfig(store: &dyn Store, path: &SafePath, property: &str) -> Option<String> {
    let mut found: Vec<(&Path, Vec<Section>)> = Vec::new();
    for folder in folders(path) {
        let bytes = store
            .resolve_path(&folder.join(".editorconfig"))
            .and_then(|path| store.read(&path, EDITORCONFIG_BYTES_MAX, Vec::new()));
        let Ok(Some(version)) = bytes else { continue };
        let (root, sections) = sections(&version.bytes);
        found.push((folder, sections));
        if root {
            break;
        }
    }
    let mut properties = Properties::new();
    for (folder, sections) in found.iter().rev() {
        let Ok(below) = path.absolute().strip_prefix(folder) else { continue };
        for section in sections {
            // A section that does not apply leaves the properties unchanged.
            let _ = section.apply_to(&mut properties, below);
        }
    }
    let word = properties.get_raw_for_key(property).into_str().to_ascii_lowercase();
    (!word.is_empty() && word != "unset").then_some(word)
}

/// Reads the text of an `.editorconfig` file: whether it is the root, and its sections. Lines that have no meaning are
/// skipped, as by other readers; the parser would stop at them, and repeat the first one forever after a byte order
/// mark.
fn sections(bytes: &[u8]) -> (bool, Vec<Section>) {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let lines: Vec<&str> = text.lines().filter(|line| has_meaning(line)).collect();
    match ConfigParser::new(lines.join("\n").as_bytes()) {
        Ok(parser) => (parser.is_root, parser.map_while(std::result::Result::ok).collect()),
        Err(_) => (false, Vec::new()),
    }
}

/// True for the header of a section, and for a key with a value.
fn has_meaning(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with(['#', ';']) {
        return false;
    }
    if let Some(rest) = line.strip_prefix('[') {
        let end = rest.rfind(']').unwrap_or(0);
        let behind = rest.get(end + 1..).unwrap_or_default().trim();
        return end > 0 && (behind.is_empty() || behind.starts_with(['#', ';']));
    }
    line.split_once('=').is_some_and(|(key, value)| !key.trim().is_empty() && !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn lines_without_a_meaning_are_skipped() {
        let read = |text: &str| {
            let (root, sections) = sections(text.as_bytes());
            (root, sections.iter().map(|section| section.props().iter().count()).collect::<Vec<usize>>())
        };
        assert_eq!(read("\u{FEFF}[*]\r\nend_of_line = crlf\r\n"), (false, vec![1]));
        assert_eq!(read("\u{FEFF}root = true\n[*]\nend_of_line = crlf\n"), (true, vec![1]));
        assert_eq!(
            read("[*] # all\nindent_size =\n= 4\nnonsense\n[]\n[open\ncharset = utf-8\n[*.py]\nx = 1\n"),
            (false, vec![1, 1])
        );
        assert_eq!(read("\u{FEFF}\u{FEFF}[*]\n[\n]\n\u{0}\n"), (false, Vec::new()));
    }
}
