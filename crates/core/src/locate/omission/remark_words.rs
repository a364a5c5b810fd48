//! The words and signs of remarks about omitted text.

/// Words which state that text stays, was omitted or continues.
pub(super) const OMISSION_WORDS: [&str; 49] = [
    "unchanged", "same", "omitted", "keep", "kept", "brevity", "untouched", "unmodified", "unaltered", "snip",
    "snipped", "truncated", "elided", "skipped", "skip", "clipped", "retain", "retained", "preserve", "preserved",
    "etc", "ditto", "idem", "intact", "abbreviated", "abridged", "shortened", "identical", "continue", "continues",
    "continued", "leave", "unabridged", "stripped", "collapsed", "redacted", "remain", "remains", "stays", "stay",
    "cut", "trimmed", "hidden", "missing", "excluded", "ellipsis", "ibid", "cont", "folded",
];

/// Words that denote text which the reader is supposed to know.
pub(super) const KNOWN_TEXT_WORDS: [&str; 18] = [
    "rest", "existing", "remaining", "remainder", "previous", "original", "other", "others", "more", "everything",
    "further", "additional", "prior", "stuff", "blah", "yada", "old", "orig",
];

/// Words that complete such phrases, in addition to those of [`phrase`].
pub(super) const OTHER_WORDS: [&str; 98] = [
    "so", "on", "modifications", "modification", "modified", "nothing", "left", "insert", "add", "put", "back", "you",
    "see", "shown", "end", "down", "up", "through", "now", "there", "way", "like", "those", "these", "too", "also",
    "we", "have", "had", "has", "been", "do", "does", "not", "change", "needed", "required", "functionality",
    "behavior", "behaviour", "block", "blocks", "loop", "branches", "helpers", "helper", "attributes", "members",
    "getters", "setters", "types", "type", "structs", "traits", "comments", "docs", "markup", "html", "css", "json",
    "data", "values", "keys", "options", "steps", "queries", "columns", "rows", "elements", "nodes", "children",
    "endpoints", "views", "models", "setup", "boilerplate", "version", "space", "removed", "clarity", "simplicity",
    "readability", "copy", "paste", "include", "they", "them", "some", "region", "plus", "followed", "by", "then",
    "follows", "don", "t", "modify", "implement",
];

/// Phrases in other languages.
pub(super) const FOREIGN_PHRASES: [&str; 26] = [
    "inchangé", "reste du", "reste de la", "unverändert", "rest des ", "rest der ", "bleibt gleich", "sin cambios",
    "resto del", "resto de la", "sem alterações", "restante do", "resto do", "invariato", "resto della",
    "без изменений", "остальной код", "остальные ", "省略", "不变", "不變", "其余", "其餘", "保持原样", "変更なし",
    "同じ",
];

/// Statements that do nothing.
pub(super) const STUBS: [&str; 18] = [
    "pass",
    "...",
    "…",
    "return",
    "return;",
    "return null;",
    "return None",
    "null",
    "null,",
    "None",
    "{}",
    "{",
    "}",
    ";",
    concat!("to", "do!()"),
    concat!("un", "implemented!()"),
    "nil",
    "end",
];

/// The words among [`LEADS`].
pub(super) const WORD_LEADS: [&str; 4] = ["NB. ", "rem ", "REM ", "dnl "];

/// Signs that begin a comment, longer ones first. Those that may also begin code are followed by a space.
pub(super) const LEADS: [&str; 42] = [
    "{% comment %}", "--[=[", "//-", "*> ", "#[ ", "/+", "NB. ", "@REM ", "@rem ", ":: ", "\u{235D} ", "#|", "{{!--",
    "{/*", "{{!", "--[[", "<!--", "<%#", "<#", "/*", "(*", "{-", "{#", "@*", "//", "-- ", "... ", "… ", ".. ", "#",
    ";;", "; ", "%%", "% ", "* ", "! ", "' ", "\" ", "rem ", "REM ", "dnl ", "| ",
];

/// Signs that end a comment.
pub(super) const TAILS: [&str; 18] = [
    "{% endcomment %}", "]=]", "###", " ]#", "+/", "|#", "--}}", "*/}", "}}", "]]", "-->", "%>", "#>", "*/", "*)",
    "-}", "#}", "*@",
];
