//! Names in the headers of diffs, quoted as git does.

use std::fmt::Write as _;

/// Returns a name after a prefix such as `a/`. It is quoted, with escapes, if it cannot be written on a line otherwise.
pub fn quoted_name(prefix: &str, name: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(name)
        && !text.chars().any(|char| char.is_control() || char == '"' || char == '\\')
    {
        return format!("{prefix}{text}");
    }
    let mut out = format!("\"{prefix}");
    for &byte in name {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            0x20..0x7f => out.push(char::from(byte)),
            // Writing to a String cannot fail.
            other => drop(write!(out, "\\{other:03o}")),
        }
    }
    out.push('"');
    out
}

/// Returns a name for a line `---` or `+++`: a TAB ends one with spaces, as in git. Without it, spaces at the end would
/// not belong to the name.
pub fn ended_name(name: &str) -> String {
    if name.contains(' ') { format!("{name}\t") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::quoted_name;

    #[test]
    fn names_are_quoted_like_gits() {
        assert_eq!(quoted_name("a/", "with space é".as_bytes()), "a/with space é");
        assert_eq!(quoted_name("b/", b"tab\tand \"quote\" \\"), r#""b/tab\tand \"quote\" \\""#);
        assert_eq!(quoted_name("", b"\xff\x01"), r#""\377\001""#);
    }
}
