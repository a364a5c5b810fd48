//! git's headers between `diff --git` and the first hunk.

use super::name;
use super::patch::FilePatch;

/// Parses a header into the file; false for any other line. The error describes the mistake.
pub(super) fn read(file: &mut FilePatch, text: &str) -> Result<bool, &'static str> {
    if let Some(value) = value_after(text, "old mode ") {
        file.modes.0 = Some(mode(value)?);
    } else if let Some(value) = value_after(text, "new mode ") {
        file.modes.1 = Some(mode(value)?);
    } else if let Some(value) = value_after(text, "deleted file mode ") {
        file.modes.0 = Some(mode(value)?);
        file.deleted = true;
    } else if let Some(value) = value_after(text, "new file mode ") {
        file.modes.1 = Some(mode(value)?);
        file.created = true;
    } else if let Some(value) = value_after(text, "rename from ").or_else(|| value_after(text, "rename old ")) {
        file.rename.0 = Some(full(value)?);
    } else if let Some(value) = value_after(text, "rename to ").or_else(|| value_after(text, "rename new ")) {
        file.rename.1 = Some(full(value)?);
    } else if let Some(value) = value_after(text, "copy from ") {
        file.copy.0 = Some(full(value)?);
    } else if let Some(value) = value_after(text, "copy to ") {
        file.copy.1 = Some(full(value)?);
    } else if let Some(value) = value_after(text, "index ") {
        return Ok(index(file, value));
    } else if value_after(text, "dissimilarity index ").is_some() {
        file.dissimilar = true;
    } else {
        return Ok(value_after(text, "similarity index ").is_some());
    }
    Ok(true)
}

/// True for a header that may say more than the lines `---` and `+++` below it.
pub(super) fn is_loose(text: &str) -> bool {
    let words = ["similarity index ", "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to "];
    let modes = ["old mode ", "new mode ", "deleted file mode ", "new file mode "];
    words.iter().chain(&modes).any(|word| text.starts_with(word))
}

/// Returns the rest of a line after a word.
fn value_after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.strip_prefix(word).map(str::trim_end)
}

fn mode(value: &str) -> Result<u32, &'static str> {
    u32::from_str_radix(value, 8).ok().filter(|mode| *mode <= 0o177_777).ok_or("the file mode is not an octal number.")
}

/// Parses a name that is the whole value, quoted or not.
fn full(value: &str) -> Result<String, &'static str> {
    let name = if value.starts_with('"') { name::unquote(value)?.0 } else { value.to_owned() };
    name::check(&name)?;
    Ok(name)
}

/// Parses the value of an `index` line, such as `0123abc..4567def 100644`.
fn index(file: &mut FilePatch, value: &str) -> bool {
    let (ids, kept) = value.split_once(' ').map_or((value, None), |(ids, kept)| (ids, Some(kept)));
    let Some((old, new)) = ids.split_once("..") else { return false };
    file.ids = (object_id(old), object_id(new));
    file.kept_mode = kept.and_then(|kept| mode(kept).ok());
    true
}

/// Parses an abbreviated object id.
fn object_id(id: &str) -> Option<String> {
    (id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.len() >= 4).then(|| id.to_lowercase())
}
