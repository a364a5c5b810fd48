//! Normalization of names that a file system may treat as equal.

use std::path::Path;

/// Folds a path for rules. Folding removes distinctions that some file system ignores: case, in every script; dots and
/// spaces at the end of a name, text after a colon, backslashes and short names (NTFS, SMB); characters that HFS+
/// ignores.
pub(super) fn fold_path(path: &Path) -> String {
    let mut out = String::new();
    for part in path.components() {
        for name in part.as_os_str().to_string_lossy().split('\\') {
            if !out.is_empty() {
                out.push('/');
            }
            if is_plain(name) {
                let from = out.len();
                out.push_str(name);
                out[from..].make_ascii_lowercase();
            } else {
                out.push_str(&one(name));
            }
        }
    }
    out
}

/// True for names that folding changes only in case: nearly all.
fn is_plain(name: &str) -> bool {
    name.is_ascii() && !name.ends_with(['.', ' ']) && !name.bytes().any(|byte| matches!(byte, b':' | b'~'))
}

fn one(name: &str) -> String {
    let seen: String = name.chars().filter(|char| !is_ignored(*char)).collect();
    let stream = seen.split_once(':').map_or(&*seen, |(file, _)| file);
    let bare = [stream, &seen].into_iter().map(|name| name.trim_end_matches(['.', ' '])).find(|name| !name.is_empty());
    // Upper case first: some characters have a lower case that does not map back.
    let bare = bare.unwrap_or(name);
    let lower = if bare.is_ascii() { bare.to_ascii_lowercase() } else { bare.to_uppercase().to_lowercase() };
    match lower.split_once('~') {
        Some(("git", number)) if is_number(number) => ".git".to_owned(),
        Some(("gitmod", number)) if is_number(number) => ".gitmodules".to_owned(),
        _ => lower,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for code points that HFS+ ignores when it compares names.
const fn is_ignored(char: char) -> bool {
    matches!(char, '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{206A}'..='\u{206F}' | '\u{FEFF}')
}
