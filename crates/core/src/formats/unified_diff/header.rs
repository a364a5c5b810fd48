//! git's headers between `diff --git` and the first hunk.

use super::both_sides::BothSides;
use super::name;
use super::patch::FilePatch;
use crate::formats::line_parser::TextEncoding;

/// Parses a header into the file; false for any other line. The error describes the mistake.
pub(super) fn read(file: &mut FilePatch, text: &str, encoding: TextEncoding) -> Result<bool, &'static str> {
    if let Some((which, value)) = new_name(text) {
        let name = full(file, which, value, encoding)?;
        *which.of(file) = Some(name);
        return Ok(true);
    }
    if let Some(value) = value_after(text, "old mode ") {
        file.modes.old = Some(mode(value)?);
    } else if let Some(value) = value_after(text, "new mode ") {
        file.modes.new = Some(mode(value)?);
    } else if let Some(value) = value_after(text, "deleted file mode ") {
        file.modes.old = Some(mode(value)?);
        file.deleted = true;
    } else if let Some(value) = value_after(text, "new file mode ") {
        file.modes.new = Some(mode(value)?);
        file.created = true;
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

/// A line with one name of a renamed or copied file.
#[derive(Clone, Copy)]
enum NameLine {
    RenameFrom,
    RenameTo,
    CopyFrom,
    CopyTo,
}

const NAME_LINES: [(&str, NameLine); 6] = [
    ("rename from ", NameLine::RenameFrom),
    ("rename old ", NameLine::RenameFrom),
    ("rename to ", NameLine::RenameTo),
    ("rename new ", NameLine::RenameTo),
    ("copy from ", NameLine::CopyFrom),
    ("copy to ", NameLine::CopyTo),
];

impl NameLine {
    /// The name of the file.
    fn of(self, file: &mut FilePatch) -> &mut Option<String> {
        match self {
            NameLine::RenameFrom => &mut file.rename.old,
            NameLine::RenameTo => &mut file.rename.new,
            NameLine::CopyFrom => &mut file.copy.old,
            NameLine::CopyTo => &mut file.copy.new,
        }
    }

    /// The name after `diff --git` on the same side.
    fn in_pair(self, file: &FilePatch) -> Option<&str> {
        match self {
            NameLine::RenameFrom | NameLine::CopyFrom => file.pair.old.as_deref(),
            NameLine::RenameTo | NameLine::CopyTo => file.pair.new.as_deref(),
        }
    }
}

/// Returns which name a line has, and the text after its words.
fn new_name(text: &str) -> Option<(NameLine, &str)> {
    NAME_LINES.iter().find_map(|(words, line)| Some((*line, text.strip_prefix(words)?)))
}

/// Parses a name that is the whole value, quoted or not. Spaces at its end belong to it, as git writes nothing else
/// there, unless `diff --git` has the name without them or is missing.
fn full(file: &FilePatch, line: NameLine, value: &str, encoding: TextEncoding) -> Result<String, &'static str> {
    let bare = value.trim_end();
    let is_bare = !file.git || line.in_pair(file).is_some_and(|name| name::is_below(name, bare));
    let name = match (value.starts_with('"'), is_bare) {
        (true, _) => name::unquote(value, encoding)?.0,
        (false, true) => bare.to_owned(),
        (false, false) => value.to_owned(),
    };
    name::check(&name)?;
    Ok(name)
}

/// Parses the value of an `index` line, such as `0123abc..4567def 100644`.
fn index(file: &mut FilePatch, value: &str) -> bool {
    let (ids, kept) = value.split_once(' ').map_or((value, None), |(ids, kept)| (ids, Some(kept)));
    let Some((old, new)) = ids.split_once("..") else { return false };
    file.ids = BothSides { old: object_id(old), new: object_id(new) };
    file.kept_mode = kept.and_then(|kept| mode(kept).ok());
    true
}

/// Parses an abbreviated object id.
fn object_id(id: &str) -> Option<String> {
    (id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.len() >= 4).then(|| id.to_lowercase())
}
