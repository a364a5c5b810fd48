//! Placeholders of a scene: `$ROOT`, `$BASE`, `$TAG`, `${repeat N text}` and `{"$for": …}` in calls, `$ROOT`, `$BASE`
//! and `#TAG` in replies.

use serde_json::Value;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// The directories of a scene, and the tags and operations of its replies.
#[derive(Clone, Debug)]
pub struct Names {
    /// The engine's root.
    pub root: PathBuf,
    /// The directory that contains the root.
    pub base: PathBuf,
    /// `data.tag` of every reply, in the order of the calls; empty for a reply without one.
    pub tags: Vec<String>,
    /// `data.operation` of every reply that has one, and the operations that replies list.
    pub operations: Vec<String>,
}

impl Names {
    /// Creates the names of a scene in `base`, with the root `base/root`.
    pub fn new(base: &Path) -> Names {
        Names { root: base.join("root"), base: base.to_owned(), tags: Vec::new(), operations: Vec::new() }
    }

    /// Replaces the placeholders in a text: `$TAG` is the last tag, `$TAG2` that of the second call.
    ///
    /// # Errors
    /// Fails for a tag that no reply had, or a malformed repetition.
    pub fn text(&self, text: &str) -> Result<String, String> {
        let text = text.replace("$ROOT", &with_slashes(&self.root));
        let text = self.tag(text.replace("$BASE", &with_slashes(&self.base)))?;
        let Some(at) = text.find("${repeat ") else { return Ok(text) };
        let wrong = || format!("`{}` should be ${{repeat N text}}", &text[at..]);
        let (count, rest) = text[at + 9..].split_once(' ').ok_or_else(wrong)?;
        let (unit, rest) = rest.split_once('}').ok_or_else(wrong)?;
        let count: usize = count.parse().map_err(|_| wrong())?;
        Ok([&text[..at], &unit.repeat(count), &self.text(rest)?].concat())
    }

    fn tag(&self, text: String) -> Result<String, String> {
        let Some(at) = text.find("$TAG") else { return Ok(text) };
        let rest = &text[at + 4..];
        let digits = rest.len() - rest.trim_start_matches(|ch: char| ch.is_ascii_digit()).len();
        let tag = match rest[..digits].parse::<usize>() {
            Ok(call) => self.tags.get(call.wrapping_sub(1)),
            Err(_) => self.tags.iter().rfind(|tag| !tag.is_empty()),
        };
        let tag = tag.filter(|tag| !tag.is_empty()).ok_or("no reply had that $TAG")?;
        self.tag([&text[..at], tag, &rest[digits..]].concat())
    }

    /// Replaces the placeholders in every string of a call's input; `{"$for": "1..9", "each": X}` becomes a list of X
    /// with `{n}` replaced.
    ///
    /// # Errors
    /// As for [`Names::text`].
    pub fn value(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(text) => self.text(text).map(Value::String),
            Value::Array(list) => list.iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => match fields.get("$for").and_then(Value::as_str) {
                Some(range) => self.each(range, &value["each"]),
                None => fields.iter().map(|(key, value)| Ok((key.clone(), self.value(value)?))).collect(),
            },
            other => Ok(other.clone()),
        }
    }

    fn each(&self, range: &str, each: &Value) -> Result<Value, String> {
        let bounds =
            range.split_once("..").and_then(|(a, b)| Some((a.parse::<usize>().ok()?, b.parse::<usize>().ok()?)));
        let (from, to) = bounds.ok_or_else(|| format!("`{range}` should look like 1..9"))?;
        let pattern = self.value(each)?;
        Ok((from..=to).map(|number| numbered(&pattern, number)).collect())
    }

    /// Replaces paths and tags in a reply's text by their placeholders.
    pub fn plain(&self, text: &str) -> String {
        let text = without_path(text, &self.root, "$ROOT");
        let text = without_path(&text, &self.base, "$BASE");
        let known = self.tags.iter().filter(|tag| !tag.is_empty());
        let text = known.fold(text, |text, tag| text.replace(&**tag, "#TAG"));
        let named = self.operations.iter().fold(text, |text, name| {
            let number = name.split('-').next().unwrap_or_default();
            text.replace(&**name, &format!("#{number}"))
        });
        timeless(named)
    }

    /// Replaces paths and tags inside base64 as well, which scenes contain as plain text.
    fn plain_bytes(&self, value: &Value) -> Value {
        let bytes = value.as_str().and_then(|text| data_encoding::BASE64.decode(text.as_bytes()).ok());
        bytes.map_or_else(|| value.clone(), |bytes| self.plain(&bytes.escape_ascii().to_string()).into())
    }

    /// Replaces paths and tags in a reply's data by their placeholders.
    pub fn plain_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.plain(text).into(),
            Value::Array(list) => list.iter().map(|value| self.plain_value(value)).collect(),
            Value::Object(fields) => {
                let plain = |(key, value): (&String, &Value)| {
                    // Hashes that depend on the root's path or on a secret differ in every run.
                    let value = match &**key {
                        // The path begins with the root, which differs in every run.
                        "path_b64" => self.plain_bytes(value),
                        "digest" => "#DIGEST".into(),
                        "seal" => "#SEAL".into(),
                        "mtime" | "cachedTime" | "currentTime" | "difference" if !value.is_null() => "#TIME".into(),
                        _ => self.plain_value(value),
                    };
                    (key.clone(), value)
                };
                fields.iter().map(plain).collect()
            }
            other => other.clone(),
        }
    }
}

/// Returns a path with slashes, which all systems understand, and which need not be escaped in JSON.
fn with_slashes(path: &Path) -> String {
    path.display().to_string().replace(MAIN_SEPARATOR, "/")
}

/// Replaces a directory in a text by a placeholder, in every spelling. The separators behind it become slashes.
pub(crate) fn without_path(text: &str, path: &Path, placeholder: &str) -> String {
    let path = path.display().to_string();
    if MAIN_SEPARATOR == '/' {
        return text.replace(&path, placeholder);
    }
    let text = text.replace(&with_slashes(Path::new(&path)), placeholder);
    let text = replaced(&text, &path.replace('\\', r"\\"), placeholder, r"\\");
    replaced(&text, &path, placeholder, r"\")
}

/// Replaces a directory, and the separators of the path that begins with it.
fn replaced(text: &str, directory: &str, placeholder: &str, separator: &str) -> String {
    let mut parts = text.split(directory);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|ch: char| ch.is_whitespace() || "\"`'".contains(ch)).unwrap_or(part.len());
        out += placeholder;
        out += &part[..end].replace(separator, "/");
        out += &part[end..];
    }
    out
}

/// Replaces times such as `2026-11-20T09:57:32Z` by `#TIME`.
fn timeless(mut text: String) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00Z";
    let alike = |run: &[u8]| {
        run.iter().zip(SHAPE).all(|(byte, shape)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape })
    };
    while let Some(at) = text.as_bytes().windows(SHAPE.len()).position(alike) {
        text.replace_range(at..at + SHAPE.len(), "#TIME");
    }
    text
}

fn numbered(value: &Value, number: usize) -> Value {
    match value {
        Value::String(text) => text.replace("{n}", &number.to_string()).into(),
        Value::Array(list) => list.iter().map(|value| numbered(value, number)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), numbered(value, number))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn placeholders_are_filled_in_and_restored() {
        let mut names = Names::new(Path::new("/t/x"));
        assert!(names.text("$TAG").is_err());
        names.tags = vec!["12345678".to_owned(), String::new(), "abcdef01".to_owned(), String::new()];
        assert_eq!(names.text("$ROOT/a $BASE/b $TAG $TAG1").unwrap(), "/t/x/root/a /t/x/b abcdef01 12345678");
        assert_eq!(names.plain("/t/x/root/a /t/x/b abcdef01"), "$ROOT/a $BASE/b #TAG");
        names.operations = vec!["12-3fa9".to_owned()];
        assert_eq!(names.plain("12-3fa9 at 2026-11-20T09:57:32Z, 2026-11-20"), "#12 at #TIME, 2026-11-20");
        assert_eq!(names.text("a${repeat 3 xy}b").unwrap(), "axyxyxyb");
        assert!(names.text("${repeat x y}").is_err() && names.text("$TAG2").is_err());
        let list = names.value(&json!({"$for": "9..10", "each": {"a": "$ROOT {n}"}})).unwrap();
        assert_eq!(list, json!([{"a": "/t/x/root 9"}, {"a": "/t/x/root 10"}]));
    }
}
