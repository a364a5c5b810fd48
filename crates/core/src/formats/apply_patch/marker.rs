//! Marker lines: `*** Begin Patch` and the like, and the `@@` lines, in every unambiguous spelling.

/// A marker line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker<'a> {
    Begin,
    End,
    Environment(&'a str),
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
    MoveTo(&'a str),
    EndOfFile,
    /// A line such as `*** Frobnicate File: x`: certainly a marker, but an unknown one.
    Unknown,
}

impl Marker<'_> {
    /// True for the first line of an operation.
    pub(super) fn is_operation(self) -> bool {
        matches!(self, Marker::Add(_) | Marker::Delete(_) | Marker::Update(_))
    }
}

/// The first line of a patch.
pub(super) const BEGIN_MARKER: &str = "*** Begin Patch";
/// The last line of a patch.
pub(super) const END_MARKER: &str = "*** End Patch";
/// The last line of a chunk that extends to the end of the file.
pub(super) const END_OF_FILE_MARKER: &str = "*** End of File";

/// A label, as specified and in its variants (lower case), and the marker that it creates from the text after its
/// colon.
type LabelRow = (&'static str, &'static [&'static str], for<'a> fn(&'a str) -> Marker<'a>);

/// The markers with a name: their spelling, and unambiguous variants.
const NAMING_MARKERS: &[LabelRow] = &[
    ("*** Add File: ", &["add file", "create file", "new file"], |name| Marker::Add(name)),
    ("*** Delete File: ", &["delete file", "remove file"], |name| Marker::Delete(name)),
    ("*** Update File: ", &["update file", "modify file", "edit file", "change file"], |name| Marker::Update(name)),
    ("*** Move to: ", &["move to", "rename to", "move file to", "rename file to"], |name| Marker::MoveTo(name)),
    ("*** Environment ID: ", &["environment id"], |name| Marker::Environment(name)),
];

/// The markers without a name.
const BARE_MARKERS: &[(&str, &[&str], Marker<'_>)] = &[
    (BEGIN_MARKER, &["begin patch", "start patch", "begin of patch"], Marker::Begin),
    (END_MARKER, &["end patch", "end of patch"], Marker::End),
    (END_OF_FILE_MARKER, &["end of file", "end file", "eof"], Marker::EndOfFile),
];

/// Maximum bytes of a label.
const LABEL_BYTES_MAX: usize = 40;

/// Parses a marker in the first column; also returns whether it is spelled as specified.
pub(super) fn read(line: &str) -> Option<(Marker<'_>, bool)> {
    if !line.starts_with("**") {
        return None;
    }
    exact(line.trim_end()).map(|marker| (marker, true)).or_else(|| near(line).map(|marker| (marker, false)))
}

fn exact(line: &str) -> Option<Marker<'_>> {
    if let Some((.., marker)) = BARE_MARKERS.iter().find(|row| row.0 == line) {
        return Some(*marker);
    }
    let (start, _, make) = NAMING_MARKERS.iter().find(|row| line.starts_with(row.0))?;
    let name = &line[start.len()..];
    (name == clean(name).0).then(|| make(name))
}

fn near(line: &str) -> Option<Marker<'_>> {
    let body = line.trim_start_matches('*');
    let stars = line.len() - body.len();
    let body = without_stars(body.trim());
    let alone = body.trim_end_matches('*').trim_end().trim_end_matches(':').trim_end();
    if let Some((.., marker)) = BARE_MARKERS.iter().find(|row| is_label(alone, row.1)) {
        return Some(*marker);
    }
    if stars < 3 {
        return None;
    }
    let (label, name) = match body.split_once(':') {
        Some(parts) => parts,
        None => body.split_at(after_two_words(body)),
    };
    if let Some((.., make)) = NAMING_MARKERS.iter().find(|row| is_label(label, row.1)) {
        return Some(make(name));
    }
    let words = label.split_whitespace().count();
    let ends = label.trim().rsplit(' ').next().unwrap_or_default();
    (stars == 3 && words == 2 && body.contains(':') && ends.eq_ignore_ascii_case("file")).then_some(Marker::Unknown)
}

fn after_two_words(text: &str) -> usize {
    let mut blank_lines = text.match_indices(char::is_whitespace).filter(|(at, _)| !text[..*at].trim_end().is_empty());
    blank_lines.nth(1).map_or(text.len(), |(at, _)| at)
}

/// Strips a closing run of stars that is separate from the text.
fn without_stars(text: &str) -> &str {
    let bare = text.trim_end_matches('*');
    if text.len() - bare.len() >= 2 && bare.ends_with(' ') { bare.trim_end() } else { text }
}

fn is_label(text: &str, labels: &[&str]) -> bool {
    text.len() <= LABEL_BYTES_MAX && labels.contains(&plain(text).as_str())
}

/// Normalizes a label to lower case, with one space between words.
fn plain(text: &str) -> String {
    let text = text.to_ascii_lowercase().replace(['_', '-'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Strips the decorations from a name; also returns whether it had any.
pub(super) fn clean(name_text: &str) -> (&str, bool) {
    let name = without_stars(name_text.trim());
    let quoted = ['`', '"', '\''].into_iter().find_map(|quote| {
        let inner = name.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.is_empty() && !inner.contains(quote)).then_some(inner)
    });
    let name = quoted.unwrap_or(name);
    (name, name.len() != name_text.len())
}

/// The header line of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChunkHeader<'a> {
    /// The line that the header names.
    pub(super) scope: Option<&'a str>,
    /// The number of the first old line.
    pub(super) first: Option<usize>,
    /// The number of old lines, if it is given.
    pub(super) old_count: Option<usize>,
    /// The section name after the numbers.
    pub(super) section: Option<&'a str>,
    /// The deviation from the specified form.
    pub(super) mistake: Option<ChunkHeaderMistake>,
}

/// Other forms of an `@@` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkHeaderMistake {
    /// `@@ text @@`, `@@text`, `@@ ... @@`.
    Form,
    /// `@@ -1,3 +1,3 @@`.
    Numbers,
}

/// Parses an `@@` line in the first column.
pub(super) fn at(line: &str) -> Option<ChunkHeader<'_>> {
    let rest = line.strip_prefix("@@")?;
    if rest.starts_with('@') {
        return None;
    }
    let name_text = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    let near = rest.len() > name_text.len() && !name_text.is_empty();
    let text = name_text.trim_start();
    if let Some(OldRange { first, count }) = numbers(text) {
        let section = text.split_once("@@").map_or("", |(_, name)| name.trim());
        return Some(ChunkHeader {
            first: Some(first),
            old_count: count,
            section: named(section),
            mistake: Some(ChunkHeaderMistake::Numbers),
            scope: None,
        });
    }
    for filler in ["...", "…", ""] {
        if let Some(name) = text.strip_prefix(filler).and_then(|it| it.trim_start().strip_prefix("@@")) {
            return Some(malformed(None, named(name.trim())));
        }
    }
    if text == "..." || text == "…" {
        return Some(malformed(None, None));
    }
    if let Some(scope) = name_text.strip_suffix("@@").filter(|scope| scope.ends_with(' ')) {
        return Some(malformed(named(scope.trim_end()), None));
    }
    Some(ChunkHeader {
        scope: named(name_text),
        mistake: (!near && !name_text.is_empty()).then_some(ChunkHeaderMistake::Form),
        ..ChunkHeader::default()
    })
}

/// Returns a header of a wrong form.
fn malformed<'t>(scope: Option<&'t str>, section: Option<&'t str>) -> ChunkHeader<'t> {
    ChunkHeader { scope, section, mistake: Some(ChunkHeaderMistake::Form), ..ChunkHeader::default() }
}

fn named(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

/// The lines of the old side that a header announces.
struct OldRange {
    first: usize,
    count: Option<usize>,
}

/// Parses the old range of `-a,b +c,d`, with or without a closing `@@`.
fn numbers(text: &str) -> Option<OldRange> {
    let mut parts = text.split_whitespace();
    let old = range(parts.next()?.strip_prefix('-')?)?;
    range(parts.next()?.strip_prefix('+')?)?;
    parts.next().is_none_or(|part| part.starts_with("@@")).then_some(old)
}

fn range(text: &str) -> Option<OldRange> {
    let (first, count) = text.split_once(',').map_or((text, None), |(first, count)| (first, Some(count)));
    let is_range = is_number(first) && count.is_none_or(is_number);
    // A count beyond every number is wrong in any case.
    let count = count.map(|it| it.parse().unwrap_or(usize::MAX));
    is_range.then(|| Some(OldRange { first: first.parse().ok()?, count }))?
}

/// True for a text of digits only.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{ChunkHeader, ChunkHeaderMistake, Marker, at, clean, read};

    #[test]
    fn marker_spellings_are_recognized() {
        for (line, marker, exact) in [
            ("*** Begin Patch", Marker::Begin, true),
            ("*** Begin Patch  ", Marker::Begin, true),
            ("*** Begin Patch ***", Marker::Begin, false),
            ("***Begin Patch***", Marker::Begin, false),
            ("**** BEGIN PATCH ****", Marker::Begin, false),
            ("** End Patch **", Marker::End, false),
            ("*** End of Patch", Marker::End, false),
            ("*** End_Patch", Marker::End, false),
            ("*** End Patch:", Marker::End, false),
            ("*** End of File", Marker::EndOfFile, true),
            ("*** end of file", Marker::EndOfFile, false),
            ("*** Add File: a b.txt", Marker::Add("a b.txt"), true),
            ("*** Update File:f", Marker::Update("f"), false),
            ("*** Update File:  f", Marker::Update("  f"), false),
            ("*** Update File f", Marker::Update(" f"), false),
            ("*** Update File: f ***", Marker::Update(" f"), false),
            ("*** update file: C:/f", Marker::Update(" C:/f"), false),
            ("*** Create File: f", Marker::Add(" f"), false),
            ("*** Move to: g", Marker::MoveTo("g"), true),
            ("*** Rename to: g", Marker::MoveTo(" g"), false),
            ("*** Environment ID: e", Marker::Environment("e"), true),
            ("*** Frobnicate File: f", Marker::Unknown, false),
        ] {
            assert_eq!(read(line), Some((marker, exact)), "{line}");
        }
        for line in ["* Begin Patch", " *** Begin Patch", "*** note", "**Add file:** x", "*** Begin Patches", "***"] {
            assert_eq!(read(line), None, "{line}");
        }
        assert_eq!((clean(" `a.py`"), clean("a.py").1, clean("a**").0), (("a.py", true), false, "a**"));
    }

    #[test]
    fn chunk_headers_are_parsed() {
        let of = |line| at(line).unwrap();
        assert_eq!((of("@@"), of("@@  ")), (ChunkHeader::default(), ChunkHeader::default()));
        assert_eq!(of("@@ def f"), ChunkHeader { scope: Some("def f"), ..ChunkHeader::default() });
        assert_eq!(of("@@     def f "), ChunkHeader { scope: Some("    def f"), ..ChunkHeader::default() });
        for line in ["@@ def f @@", "@@def f"] {
            assert_eq!(
                of(line),
                ChunkHeader { scope: Some("def f"), mistake: Some(ChunkHeaderMistake::Form), ..ChunkHeader::default() },
                "{line}"
            );
        }
        for line in ["@@ ... @@", "@@ @@", "@@ …", "@@@@"] {
            let Some(found) = at(line) else { continue };
            assert_eq!(
                found,
                ChunkHeader { mistake: Some(ChunkHeaderMistake::Form), ..ChunkHeader::default() },
                "{line}"
            );
        }
        let numbers = ChunkHeader {
            first: Some(7),
            old_count: Some(2),
            section: Some("fn g()"),
            mistake: Some(ChunkHeaderMistake::Numbers),
            scope: None,
        };
        assert_eq!(of("@@ -7,2 +7,3 @@ fn g()"), numbers);
        assert_eq!(of("@@ -7 +7 @@"), ChunkHeader { section: None, old_count: None, ..numbers.clone() });
        assert_eq!(of("@@ ... @@ fn g()").section, Some("fn g()"));
        assert_eq!(of("@@ -x +y").scope, Some("-x +y"));
        assert_eq!(at("@@@ -1 -1 +1 @@@"), None);
    }
}
