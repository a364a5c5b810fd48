//! Elements that are whole files, such as `<file path="…">`, with the tags of other clients.

use crate::formats::fence::FENCE_TAGS;
use crate::formats::tool_calls::attributes;
use crate::work;

/// An element that is a whole file.
struct FileElement {
    tag: &'static str,
    close: &'static str,
    /// The attributes with its name, of which it has one.
    path: &'static [&'static str],
    /// The attribute that distinguishes it from other elements with this tag.
    only: Option<&'static str>,
}

/// The tag of a file whose path is an element of its own.
pub(super) const CONTENT_TAG: &str = "<write_to_file>";

const FILE_ELEMENTS: [FileElement; 7] = [
    FileElement { tag: "<file ", close: "</file>", path: &["path", "name"], only: None },
    FileElement { tag: "<create_file ", close: "</create_file>", path: &["path", "file_path"], only: None },
    FileElement { tag: "<write_file ", close: "</write_file>", path: &["path", "file_path"], only: None },
    FileElement { tag: "<lov-write ", close: "</lov-write>", path: &["file_path"], only: None },
    FileElement { tag: "<dyad-write ", close: "</dyad-write>", path: &["path"], only: None },
    FileElement { tag: "<boltAction ", close: "</boltAction>", path: &["filePath"], only: Some("type=\"file\"") },
    FileElement { tag: "<PlandexBlock ", close: "</PlandexBlock>", path: &["path"], only: None },
];

/// Bytes of the attributes of an element that is a file.
const ATTRIBUTES_BYTES_MAX: usize = 1024;

/// The opening tag of a file.
pub(super) struct FileTag<'a> {
    pub(super) path: &'a str,
    pub(super) rest: &'a str,
    pub(super) close: &'static str,
}

/// False for a text without the tag of a file or a fence.
pub(super) fn may_open(text: &str) -> bool {
    let is_tag = |text: &str| {
        FILE_ELEMENTS.iter().any(|element| text.starts_with(element.tag))
            || FENCE_TAGS.iter().any(|tag| text[1..].starts_with(tag))
            || text.starts_with(CONTENT_TAG)
    };
    memchr::memchr_iter(b'<', text.as_bytes()).any(|at| work::spend_or_end(1) || is_tag(&text[at..]))
}

/// Parses `<file path="…">` and the elements of other clients.
pub(super) fn file_tag(line: &str) -> Option<FileTag<'_>> {
    let line = line.trim_start();
    let element = FILE_ELEMENTS.iter().find(|element| line.starts_with(element.tag))?;
    let (inside, rest) =
        line[element.tag.len()..].split_once('>').filter(|(inside, _)| inside.len() <= ATTRIBUTES_BYTES_MAX)?;
    let inside = inside.trim();
    if element.only.is_some_and(|only| !inside.contains(only)) {
        return None;
    }
    let path = element.path.iter().find_map(|name| attribute(inside, name))?.trim();
    (!path.is_empty()).then_some(FileTag { path, rest, close: element.close })
}

/// Returns the value of an attribute. The only attribute may lack its quotes.
fn attribute<'a>(inside: &'a str, name: &str) -> Option<&'a str> {
    if let Some(all) = attributes(inside) {
        return all.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value);
    }
    let value = inside.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim_start();
    (!value.contains(['=', '"', '\''])).then_some(value)
}
