//! Recognition of phrases that represent omitted text, by their words and the punctuation around them.

use super::affixes;
use super::word_table::WordTable;
use std::sync::LazyLock;

/// Words that mean keeping or omitting text.
const OMISSION_WORDS: [&str; 24] = [
    "rest", "existing", "unchanged", "remaining", "remainder", "remains", "remain", "previous", "same", "omitted",
    "keep", "kept", "brevity", "untouched", "unmodified", "snip", "snipped", "truncated", "elided", "skipped",
    "clipped", "retain", "preserve", "other",
];
/// Words that are sufficient by themselves.
const UNAMBIGUOUS_WORDS: [&str; 8] =
    ["unchanged", "omitted", "untouched", "unmodified", "snipped", "truncated", "elided", "clipped"];
/// Nouns that denote omitted text.
const OMITTED_NOUNS: [&str; 56] = [
    "code", "codes", "method", "methods", "function", "functions", "line", "lines", "implementation",
    "implementations", "content", "contents", "file", "files", "class", "classes", "body", "logic", "import",
    "imports", "test", "tests", "field", "fields", "part", "parts", "section", "sections", "component", "components",
    "module", "script", "document", "text", "program", "definitions", "declarations", "properties", "props", "routes",
    "handlers", "styles", "rules", "config", "settings", "items", "entries", "cases", "variables", "constants",
    "everything", "stuff", "statements", "arguments", "output", "response",
];
/// Filler words.
const FILLER_WORDS: [&str; 44] = [
    "the", "of", "all", "any", "your", "this", "that", "a", "is", "are", "as", "it", "here", "in", "from", "for", "to",
    "and", "with", "above", "below", "its", "be", "exactly", "just", "only", "still", "stay", "stays", "goes", "go",
    "before", "was", "were", "more", "not", "shown", "changes", "changed", "no", "else", "again", "original",
    "continues",
];
/// Maximum number of words of a phrase.
const PHRASE_WORDS_MAX: usize = 14;
/// Maximum number of words between dots; any words are accepted.
const DOTTED_WORDS_MAX: usize = 8;
/// Maximum number of known words between dots without a space after the first dots; one must be a noun for omitted
/// text.
const SPREAD_WORDS_MAX: usize = 4;
/// Maximum length of a line that a harness prints where it cuts a text, with its note.
const CUT_LINE_BYTES_MAX: usize = 1000;

/// The text of a line without the punctuation around it.
struct BareLine<'a> {
    text: &'a str,
    commented: bool,
    bracketed: bool,
    /// Whether there are dots next to a space or a bracket, at the start and at the end.
    dotted: (bool, bool),
    /// True for dots at the start without a space after them, like the spread operator in `...rest`.
    spread: bool,
    /// True if the first word addresses a task to somebody.
    task: bool,
}

/// First words of comments about tasks.
const TASK_WORDS: [&str; 5] = ["todo", "fixme", "note", "xxx", "hack"];
/// Words of which a comment about a task must contain one to be a placeholder.
const REMAINING_WORDS: [&str; 8] = ["keep", "kept", "unchanged", "same", "retain", "preserve", "omitted", "brevity"];

/// Returns the words of such phrases.
pub(super) fn known_words() -> impl Iterator<Item = &'static str> {
    OMISSION_WORDS.into_iter().chain(OMITTED_NOUNS).chain(FILLER_WORDS)
}

/// The sense of a word in such phrases.
#[derive(Clone, Copy, Default)]
struct WordSense {
    /// It is one of [`OMISSION_WORDS`].
    omits: bool,
    /// It is one of [`UNAMBIGUOUS_WORDS`].
    is_unambiguous: bool,
    /// It is one of [`OMITTED_NOUNS`].
    is_noun: bool,
}

/// Returns the sense of a word that occurs in such phrases.
fn sense(word: &str) -> Option<WordSense> {
    static SENSES: LazyLock<WordTable<WordSense>> = LazyLock::new(|| {
        WordTable::new()
            .with(FILLER_WORDS, |_| ())
            .with(OMISSION_WORDS, |it: &mut WordSense| it.omits = true)
            .with(UNAMBIGUOUS_WORDS, |it| it.is_unambiguous = true)
            .with(OMITTED_NOUNS, |it| it.is_noun = true)
    });
    SENSES.sense(word)
}

/// The words of a line, in lower case.
struct PhraseWords<'a> {
    words: Vec<&'a str>,
    /// True if each is a number, or occurs in such phrases.
    are_known: bool,
    has_noun: bool,
    /// True if one of them is sufficient by itself.
    has_unambiguous: bool,
}

impl<'a> PhraseWords<'a> {
    fn of(text: &'a str) -> PhraseWords<'a> {
        let words: Vec<&str> = text.split(is_word_separator).filter(|word| !word.is_empty()).collect();
        let mut phrase = PhraseWords { words: Vec::new(), are_known: true, has_noun: false, has_unambiguous: false };
        for word in &words {
            match sense(word) {
                Some(sense) => {
                    phrase.has_noun |= sense.is_noun;
                    phrase.has_unambiguous |= sense.is_unambiguous;
                }
                None => phrase.are_known &= is_number(word),
            }
        }
        PhraseWords { words, ..phrase }
    }

    /// True if these words, all of which are known, form a phrase.
    fn is_placeholder(&self, dots: bool, bracketed: bool, commented: bool) -> bool {
        let words = &*self.words;
        let has = |word: &str| words.contains(&word);
        let (noun, sure) = (self.has_noun, self.has_unambiguous);
        let stays = (has("remains") || has("remain") || has("stays") || has("stay") || has("is") || has("are"))
            && (has("same") || sure)
            || has_pair(words, "same", "as")
                && (has("before") || has("above") || has("previous") || has("existing") || has("original"))
            || has("brevity")
            || has_pair(words, "no", "changes")
            || has_pair(words, "not", "shown");
        let keep = ["keep", "retain", "preserve"].iter().any(|word| has(word))
            && (has("existing") || has("rest") || has("same") || has("remaining") || has("other"));
        let rest = (has_pair(words, "rest", "of") || has("remainder")) && noun;
        let existing = ["existing", "remaining", "previous", "other"].iter().any(|word| has(word)) && noun;
        if dots || bracketed {
            return stays || sure || keep || rest || existing || has("keep") && noun || has("snip");
        }
        if commented {
            let named = existing && (has("here") || words == ["existing", "code"]) || has("continues") && noun;
            return stays
                || sure && (noun || words.len() == 1)
                || keep
                || rest && words.len() <= 6
                || named
                || words == ["snip"];
        }
        // Without any punctuation, the phrase must name both the text and what is done with it.
        stays && words.len() >= 3
            || sure && noun && (rest || existing || has("code"))
            || keep && noun && words.len() >= 3
    }
}

/// True for a noun for omitted text.
pub(super) fn is_omitted_noun(word: &str) -> bool {
    OMITTED_NOUNS.contains(&word)
}

/// True for a line that is only a placeholder.
pub(super) fn is_placeholder(line: &str) -> bool {
    let line = line.trim();
    if line.len() <= CUT_LINE_BYTES_MAX && is_cut(line) {
        return true;
    }
    if line.len() > 200 || line.len() < 3 {
        return false;
    }
    let bare = bare(line);
    let lower = bare.text.to_lowercase();
    if bare.text.is_empty() {
        return line.starts_with("{{") && line.ends_with("}}");
    }
    let phrase = PhraseWords::of(&lower);
    let words = &phrase.words;
    if words.len() > PHRASE_WORDS_MAX || bare.spread && !bare.commented && !bare.dotted.1 {
        return false;
    }
    if bare.task && !words.iter().any(|word| REMAINING_WORDS.contains(word)) {
        return false;
    }
    // The line is the end of a sentence from the line above.
    if matches!(words.first(), Some(&("is" | "are" | "was" | "were" | "be"))) && !bare.dotted.0 && !bare.bracketed {
        return false;
    }
    let any_dots = bare.dotted.0 || bare.dotted.1 || lower.contains("...") || lower.contains('…');
    // Documentation says of things that they are unchanged.
    let documents = ["///", "//!"].iter().any(|sign| line.starts_with(sign));
    if documents && !any_dots && !bare.bracketed && !phrase.has_noun {
        return false;
    }
    if phrase.are_known && phrase.is_placeholder(any_dots, bare.bracketed, bare.commented) {
        return true;
    }
    let names_text = phrase.are_known && phrase.has_noun;
    let between = (bare.dotted.0 || bare.spread && bare.commented && words.len() <= SPREAD_WORDS_MAX && names_text)
        && bare.dotted.1
        && words.len() <= DOTTED_WORDS_MAX
        && words.iter().all(|word| word.chars().all(|ch| ch.is_alphanumeric() || ch == '_' || ch == '`'));
    // Dots are followed by a phrase; the rest of the sentence may be anything.
    let first = words.iter().find(|word| !["the", "all", "your"].contains(word));
    let begins = first.and_then(|word| sense(word)).is_some_and(|sense| sense.omits);
    between || bare.dotted.0 && begins && (phrase.has_noun || phrase.has_unambiguous)
}

/// True for a character between the words of a phrase.
fn is_word_separator(ch: char) -> bool {
    ch.is_whitespace()
        || matches!(ch, ',' | '.' | ':' | ';' | '!' | '~' | '-' | '–' | '—' | '\'' | '’' | '#' | '=' | '*')
}

/// True for a word of digits.
pub(super) fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// True if `second` directly follows `first`.
pub(super) fn has_pair(words: &[&str], first: &str, second: &str) -> bool {
    words.windows(2).any(|pair| pair == [first, second])
}

/// Recognizes the marks of programs that truncate text.
fn is_cut(line: &str) -> bool {
    if !line.starts_with(['[', '<']) {
        return false;
    }
    let lower = line.to_lowercase();
    let inside = lower.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(&lower);
    let counted = ["trimmed input:", "trimmed output:", "truncated:"].iter().any(|start| inside.starts_with(start));
    // A note of the harness may follow the mark on the same line.
    let clipped = lower.strip_prefix("<response clipped>").is_some_and(|rest| rest.trim_start().starts_with("<note>"));
    let bracketed = inside.len() < lower.len();
    bracketed && (counted || is_limit(inside) || inside == "old tool result content cleared")
        || clipped
        || ["<response clipped>", "<truncated>", "<snip>"].contains(&&*lower)
}

/// True for the words that a harness prints where it truncated a text: a bracket of plain words, including `truncated`,
/// with a number or a word for a limit.
fn is_limit(inside: &str) -> bool {
    let plain = |ch: char| ch.is_alphanumeric() || " .:;-–—…'".contains(ch);
    let words = || inside.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty());
    inside.chars().all(plain)
        && (3..=PHRASE_WORDS_MAX).contains(&words().count())
        && words().any(|word| ["truncated", "trimmed", "clipped"].contains(&word))
        && words().any(|word| ["limit", "exceeded", "exceeds", "long", "large"].contains(&word))
}

/// Signs that begin a comment in some language, longer ones first. Those that are also words or quotes need a space.
const COMMENT_LEADS: [&str; 41] = [
    "{{!--", "<%--", "<#--", "{{!", "{/*", "<!--", "<%#", "--[[", "//-", "#[ ", ".. ", "{-", "{#", "/*", "(*", "@*",
    "*>", "#|", "<#", "///", "//", "--", "::", "#", ";", "%", "*", "' ", "\" ", "! ", ".\\\" ", "\\\" ", "REM ",
    "Rem ", "rem ", "@REM ", "@rem ", "dnl ", "C ", "\u{235D}", "| ",
];
/// Signs that end a comment.
const COMMENT_TAILS: [&str; 15] =
    ["--}}", "--%>", "*/}", "-->", "###", "%>", "]]", "]#", "-}", "#}", "*/", "*)", "*@", "|#", "#>"];

/// Signs that are neither comments nor brackets, but are put around a phrase: emphasis, quotes, prompts and Ruby's
/// blocks. The text between them is judged without them.
const DECORATION_LEADS: [&str; 12] =
    ["**", "__", "=begin ", ">>> ", ">> ", "> ", "$ ", "~~~", "@@", "== ", "=== ", "+ "];
const DECORATION_TAILS: [&str; 7] = ["**", "__", " =end", "~~~", "@@", " ==", " ==="];

/// Strips the signs of [`DECORATION_LEADS`] and [`DECORATION_TAILS`].
fn undecorated(line: &str) -> &str {
    let mut text = line;
    while let Some(rest) = affixes::without_prefix(text, &DECORATION_LEADS) {
        text = rest.trim_start();
    }
    affixes::without_suffix(text, &DECORATION_TAILS).map_or(text, str::trim_end)
}

/// Strips comment signs, brackets and dots.
fn bare(line: &str) -> BareLine<'_> {
    let text = undecorated(line);
    let mut out =
        BareLine { text, commented: false, bracketed: false, dotted: (false, false), spread: false, task: false };
    while let Some(rest) = affixes::without_prefix(out.text, &COMMENT_LEADS) {
        (out.text, out.commented) = (rest.trim_start(), true);
    }
    if let Some(task) = TASK_WORDS
        .iter()
        .find(|task| out.text.get(..task.len()).is_some_and(|head| head.eq_ignore_ascii_case(task)))
        .filter(|_| out.commented)
    {
        let rest = &out.text[task.len()..];
        let (named, rest) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).unwrap_or(("", rest));
        if !named.contains(' ') && rest.starts_with([':', ' ', '-']) {
            (out.text, out.task) = (rest.trim_start_matches([':', ' ', '-']), true);
        }
    }
    out.text = affixes::without_suffixes(out.text, &COMMENT_TAILS);
    loop {
        let before = out.text;
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("«", "»")] {
            if let Some(inside) = out.text.strip_prefix(open).and_then(|it| it.strip_suffix(close)) {
                (out.text, out.bracketed) = (inside.trim(), true);
            }
        }
        let start = out.text.trim_start_matches(['.', '…']);
        if out.text.len() >= start.len() + 3 {
            out.dotted.0 |= start.is_empty() || start.starts_with([' ', '\t', '(', '[', '<']);
            out.spread |= !start.starts_with([' ', '\t', '(', '[', '<']);
            out.text = start.trim_start();
        }
        let end = out.text.trim_end_matches(['.', '…']);
        if out.text.len() >= end.len() + 3 {
            out.dotted.1 = true;
            out.text = end.trim_end();
        }
        if out.text == before {
            return out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;
    use proptest::prelude::*;

    /// Lines that models write in place of code.
    const PLACEHOLDERS: &[&str] = &[
        "# ... rest of the methods unchanged ...",
        "//- ... rest of the page ...",
        "*> rest of code unchanged",
        "/// ... rest unchanged",
        "#[ ... rest of code ... ]#",
        "### rest of code unchanged ###",
        ".. ... rest of the text ...",
        "« unchanged »",
        "// ... existing code ...",
        "... (unchanged) ...",
        "/* ... rest of file ... */",
        "<!-- ... remaining content ... -->",
        "    // rest of code...",
        "... existing code ...",
        "// … keep the other methods …",
        "(rest of the function unchanged...)",
        "// ... the rest of the function",
        "{/* ... existing code ... */}",
        "# ... same as before ...",
        "// ... code omitted for brevity ...",
        "-- ... other fields ...",
        "/* existing code ... */",
        "rest of code unchanged",
        "// rest of code unchanged",
        "rest of the code remains the same",
        "# The rest of the code remains the same.",
        "(unchanged)",
        "/* unchanged */",
        "// unchanged",
        "[rest of the file]",
        "[Rest of the file remains unchanged]",
        "(keep existing code)",
        "{{ ... }}",
        "same as before",
        "// same as before",
        "omitted for brevity",
        "// omitted for brevity",
        "# Other methods omitted for brevity",
        "... b and c ...",
        "// ... b and c ...",
        "// ...existing code...",
        "# ...existing code...",
        "// [existing code]",
        "// ... (rest of the code)",
        "// Keep the rest of the code unchanged",
        "// remaining code unchanged",
        "/* ... the rest remains unchanged ... */",
        "<!-- rest of the content unchanged -->",
        "// ... 12 lines omitted ...",
        "[... 340 more lines not shown ...]",
        "[Trimmed input: ~1200 chars]",
        "<response clipped>",
        "[Old tool result content cleared]",
        "<response clipped><NOTE>To save on context only part of this file has been shown to you. You should retry this \
         tool after you have searched inside the file with `grep -n` in order to find the line numbers of what you are \
         looking for.</NOTE>",
        "[message truncated - exceeded 16000 character limit]",
        "[Output truncated: too long]",
        "// No changes below",
        "// rest of the implementation",
        "; ... rest of file unchanged",
        "// todo: keep the rest",
        "# Todo(me): keep the rest of the code",
        concat!("// TO", "DO: rest of the code unchanged"),
        "// NOTE: the rest remains the same",
        "REM rest of code unchanged",
        "@rem ... existing code ...",
        "{- ... (unchanged) ... -}",
        "' existing code",
        "\" remaining code unchanged",
        "<%# ... existing code ... %>",
        "{{!-- rest of the code remains the same --}}",
        "--[[ omitted for brevity ]]",
    ];

    #[test]
    fn placeholder_phrases_are_recognized() {
        for line in PLACEHOLDERS {
            assert!(is_placeholder(line), "{line}");
        }
    }

    #[test]
    fn decoration_does_not_hide_a_placeholder() {
        for line in [
            "**... (unchanged) ...**",
            "__... existing code ...__",
            ">>> ... existing code ...",
            "> ... rest of the file ...",
            "$ ... existing code ...",
            "@* ... rest of the file ... *@",
            "#| keep existing code |#",
            "dnl rest of the file unchanged",
            ":: ... rest of file ...",
            "C remaining code unchanged",
            "=begin ... existing code ... =end",
        ] {
            assert!(is_placeholder(line), "{line}");
        }
    }

    #[test]
    fn ordinary_text_is_not_a_placeholder() {
        for line in [
            "...",
            "    /// Unchanged.",
            "/// unchanged.",
            "//! Everything stays as it is.",
            "    ...existing,",
            "  ...previousState,",
            "...other",
            "...rest",
            "// Other options are described in the manual...",
            "// same",
            "loading the rest of the file",
            "print(\"Loading...\")",
            "def f(): ...",
            "x = [...existing, 1]",
            "# Wait for it...",
            "// keep waiting...",
            "*args: other",
            "unchanged",
            "// existing tests",
            "# Imports",
            "// The rest of the line is a comment that the scanner skips.",
            "keep: true",
            "- the rest",
            "{ ... }",
            "[...]",
            "[limit, truncated]",
            "[truncated, exceeded, x]",
            "(...)",
            "... y = f(x) ...",
            ">>> print(x)",
            "let rest = &line[3..];",
            "assert_eq!(text, \"unchanged\");",
            "    unchanged: bool,",
            "same(a, b)",
            "other code",
            "# Existing files are kept.",
            "// todo: rest of the tests",
            "// todo: keep going",
            "# Todo: other cases",
            "// NOTE: existing tests",
            "// are the same",
            "' same tab",
            "| rest | same |",
            "C same",
            "{- | Rest of the list. -}",
            "REM Existing users",
            "'unchanged'",
            "! other",
            "**Unchanged**",
            "> The rest of the code is described below.",
            "$ make test ...",
            ">>> rest",
            "** existing users",
        ] {
            assert!(!is_placeholder(line), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_gets_an_answer(line in "([/#*({<\\[.… -]|rest of|code|unchanged|é|}|\\)|\\*/){0,30}") {
            let _ = is_placeholder(&line);
        }
    }
}
