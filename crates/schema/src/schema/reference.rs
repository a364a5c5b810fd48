//! References: URIs joined and split, without any network access.

/// Splits a reference into its address and its decoded fragment.
pub(super) fn split(reference: &str) -> (&str, String) {
    let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    (address, decoded(fragment))
}

/// True for `https://…`, `urn:…` and the like.
pub(super) fn has_scheme(address: &str) -> bool {
    address.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|char: char| char.is_ascii_alphabetic())
            && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
    })
}

/// Resolves an address relative to a base.
pub(super) fn joined(base: &str, address: &str) -> String {
    if address.is_empty() {
        return base.to_owned();
    }
    if has_scheme(address) {
        return address.to_owned();
    }
    let start = match base.split_once("://") {
        Some((scheme, rest)) => scheme.len() + 3 + rest.find('/').unwrap_or(rest.len()),
        None => 0,
    };
    let (host, path) = base.split_at(start);
    if let Some(rest) = address.strip_prefix("//") {
        let scheme = base.split_once(':').map_or("", |(scheme, _)| scheme);
        return format!("{scheme}://{rest}");
    }
    if address.starts_with('/') {
        return format!("{host}{}", normalized(address));
    }
    let folder = path.rfind('/').map_or("", |end| &path[..=end]);
    let slash = if folder.is_empty() && !host.is_empty() { "/" } else { "" };
    format!("{host}{}", normalized(&format!("{slash}{folder}{address}")))
}

/// Removes `.` and `..` from a path, as far as there is a directory to go up from.
pub(super) fn normalized(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => {
                parts.pop();
            }
            ("..", None) if rooted => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if rooted { "/" } else { "" }, parts.join("/"))
}

/// Decodes `%XX`.
pub(super) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = (*byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let meant = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(meant.unwrap_or(*byte));
        at += if meant.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Escapes a name in a JSON pointer.
pub(super) fn pointer_name(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the names in a JSON pointer.
pub(super) fn pointer_names(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use super::{decoded, has_scheme, joined};

    #[test]
    fn uris_are_joined() {
        for (base, address, whole) in [
            ("https://a.b/c/d.json", "e.json", "https://a.b/c/e.json"),
            ("https://a.b/c/d.json", "/e.json", "https://a.b/e.json"),
            ("https://a.b/c/d.json", "../../e.json", "https://a.b/e.json"),
            ("https://a.b", "e.json", "https://a.b/e.json"),
            ("https://a.b/c", "urn:x:y", "urn:x:y"),
            ("https://a.b/c", "//x.y/z", "https://x.y/z"),
            ("", "e.json", "e.json"),
            ("x/y.json", "../../e.json", "../e.json"),
            ("https://a.b/c", "", "https://a.b/c"),
        ] {
            assert_eq!(joined(base, address), whole, "{base} {address}");
        }
        assert!(has_scheme("urn:x") && !has_scheme("a/b:c") && !has_scheme("1:x"));
        assert_eq!(decoded("a%20b%zz%e2%82%ac"), "a b%zz€");
    }
}
