//! The fields of editing tools in other clients. Capitals, `_` and `-` do not matter: `TargetFile`, `target_file` and
//! `target-file` are one name.

/// The meaning of a field of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum FieldRole {
    /// The name of the file.
    Path,
    Old,
    New,
    /// The whole text of a file.
    Content,
    /// The changed lines of a file, with placeholders for the others.
    Snippet,
    /// A list of edits.
    List,
    /// All occurrences are meant.
    All,
    /// The number of occurrences.
    Expected,
    /// Says why, and changes nothing.
    Remark,
    /// A number that says about where the text is, which its own place outweighs.
    Near,
    /// Another kind of edit, unless it is false.
    Off,
    /// The text ends in a line end.
    FinalLineEnd,
}

/// Bytes of the longest name of a field.
const NAME_BYTES_MAX: usize = 40;

const ROWS: [(FieldRole, &[&str]); 12] = [
    (
        FieldRole::Path,
        &[
            "filepath", "path", "targetfile", "targetfilepath", "filename", "file", "uri", "absolutepath",
            "absolutefilepath",
        ],
    ),
    (
        FieldRole::Old,
        &["oldstring", "oldstr", "oldtext", "search", "searchtext", "searchstring", "find", "old", "targetcontent"],
    ),
    (
        FieldRole::New,
        &[
            "newstring", "newstr", "newtext", "replace", "replacetext", "replacestring", "replacement", "new",
            "replacementcontent",
        ],
    ),
    (FieldRole::Content, &["content", "contents", "filetext", "newcontent", "codecontent", "filecontent"]),
    (FieldRole::Snippet, &["codeedit"]),
    (FieldRole::List, &["edits", "replacements", "changes", "replacementchunks", "replaceblocks", "strreplaceentries"]),
    (FieldRole::All, &["replaceall", "allowmultiple", "replaceallmatches"]),
    (FieldRole::Expected, &["expectedreplacements"]),
    (
        FieldRole::Remark,
        &[
            "description", "explanation", "instruction", "instructions", "instructionreminder", "instructionsreminder",
            "linecount", "summary", "complexity", "codemarkdownlanguage", "targetlinterrorids", "displaydescription",
        ],
    ),
    (FieldRole::Near, &["startline", "endline", "oldstrstartlinenumber", "oldstrendlinenumber"]),
    (FieldRole::Off, &["dryrun", "useregex", "isregex", "ignorecase", "emptyfile"]),
    (FieldRole::FinalLineEnd, &["addlastlinenewline"]),
];

/// Returns what a field with this name says.
pub(in crate::formats) fn role(name: &str) -> Option<FieldRole> {
    let folded = folded(name)?;
    ROWS.iter().find(|(_, names)| names.contains(&&*folded)).map(|(role, _)| *role)
}

/// Returns the field of which this is the n-th one, as `old_str_2`, and its number.
pub(super) fn numbered(name: &str) -> Option<(FieldRole, &str)> {
    let stem = name.trim_end_matches(|ch: char| ch.is_ascii_digit());
    let number = name.get(stem.len()..).filter(|number| !number.is_empty())?;
    let role = role(stem.trim_end_matches('_'))?;
    [FieldRole::Old, FieldRole::New, FieldRole::Near].contains(&role).then_some((role, number))
}

/// A name without capitals and signs; `None` for one that is too long to be known.
pub(super) fn folded(name: &str) -> Option<String> {
    let is_known_length = name.len() <= NAME_BYTES_MAX;
    is_known_length
        .then(|| name.chars().filter(char::is_ascii_alphanumeric).map(|ch| ch.to_ascii_lowercase()).collect())
}
