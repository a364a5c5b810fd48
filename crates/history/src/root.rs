//! Directory names of stores.

/// Maximum length of the readable part of a key.
const READABLE_CHARS_MAX: usize = 40;

/// Returns the directory name for a root: its last component, sanitized, at most 40 characters, then `-` and 16
/// hexadecimal digits of the BLAKE3 of the path's bytes, which alone distinguish roots.
pub fn root_key(canonical_root: &std::path::Path) -> String {
    use emendate_os::ffi::OsStrExt;

    let hash = blake3::hash(canonical_root.as_os_str().as_bytes()).to_hex();
    let name = canonical_root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
    let mut key: String = name
        .chars()
        .take(READABLE_CHARS_MAX)
        .map(|char| if char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-') { char } else { '_' })
        .collect();
    // A leading dot would hide the directory, a leading dash would look like an option.
    if key.starts_with(['.', '-']) {
        key.replace_range(..1, "_");
    }
    key.push('-');
    key.push_str(hash.get(..16).unwrap_or(&hash));
    key
}

#[cfg(test)]
mod tests {
    use super::root_key;
    use emendate_os::ffi::OsStrExt;
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn root_keys_are_plain_and_distinct() {
        let long = format!("/{}", "é".repeat(90));
        let odd = [&b"/"[..], b"/home/me/my project", b"/x/.config", b"/x/-rf", b"", long.as_bytes()];
        // On Windows, names are UTF-16.
        let raw: [&[u8]; 2] = if cfg!(windows) { [b"/a", b"/b"] } else { [b"/a\xff", b"/a\xfe"] };
        let odd: Vec<&[u8]> = odd.into_iter().chain(raw).collect();
        let keys: Vec<String> = odd.iter().map(|path| root_key(Path::new(OsStr::from_bytes(path)))).collect();
        for key in &keys {
            let plain = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
            assert!(key.len() <= 57 && key.chars().all(plain) && !key.starts_with(['.', '-']), "{key}");
        }
        assert!(keys[0].starts_with("root-") && keys[1].starts_with("my_project-"), "{keys:?}");
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }
}
