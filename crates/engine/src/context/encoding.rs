//! The declared encoding of a file: by the call, the configuration, or `.editorconfig`.

use crate::context::config::Config;
use ec4rs::{ConfigParser, Properties, PropertiesSource as _};
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

/// The encoding that configuration files declare for a path. `mark` tells that new files begin with a byte order mark.
pub(crate) struct ConfiguredEncoding {
    pub(crate) declared: DeclaredEncoding,
    pub(crate) mark: bool,
}

/// Looks up the configuration, then the `.editorconfig` files from the root down to the file; the nearest takes
/// precedence.
pub(crate) fn configured_encoding(config: &Config, store: &dyn Store, place: &SafePath) -> Option<ConfiguredEncoding> {
    let ruled = config
        .encodings
        .iter()
        .find(|(rule, _)| rule.matches(place.relative(), place.absolute()))
        .map(|(_, charset)| *charset);
    if let Some(charset) = ruled {
        let mark = charset.unit() == 2;
        return Some(ConfiguredEncoding { declared: DeclaredEncoding { charset, by_call: false }, mark });
    }
    let label = editorconfig(store, place, "charset")?;
    let charset = Charset::for_label(&label)?;
    let mark = label == "utf-8-bom" || charset.unit() == 2;
    Some(ConfiguredEncoding { declared: DeclaredEncoding { charset, by_call: false }, mark })
}

/// The directories that contain a file, the nearest first, up to its root.
pub(crate) fn folders(place: &SafePath) -> impl Iterator<Item = &Path> {
    let root = place.absolute().ancestors().nth(place.relative().components().count());
    let above = place.absolute().ancestors().skip(1);
    above.take_while(move |folder| root.is_some_and(|root| folder.starts_with(root)))
}

/// Returns a property of the file in its `.editorconfig` files, in lower case.
pub(crate) fn editorconfig(store: &dyn Store, place: &SafePath, property: &str) -> Option<String> {
    let mut found: Vec<(&Path, Vec<u8>)> = Vec::new();
    for folder in folders(place) {
        let bytes = store
            .resolve_path(&folder.join(".editorconfig"))
            .and_then(|place| store.read(&place, EDITORCONFIG_BYTES_MAX, Vec::new()));
        let Ok(Some(version)) = bytes else { continue };
        let root = ConfigParser::new(&version.bytes[..]).is_ok_and(|parser| parser.is_root);
        found.push((folder, version.bytes));
        if root {
            break;
        }
    }
    let mut properties = Properties::new();
    for (folder, bytes) in found.iter().rev() {
        let Ok(parser) = ConfigParser::new(&bytes[..]) else { continue };
        let Ok(below) = place.absolute().strip_prefix(folder) else { continue };
        for section in parser.flatten() {
            // A section that does not apply leaves the properties unchanged.
            let _ = (&section).apply_to(&mut properties, below);
        }
    }
    let word = properties.get_raw_for_key(property).into_str().to_ascii_lowercase();
    (!word.is_empty() && word != "unset").then_some(word)
}
