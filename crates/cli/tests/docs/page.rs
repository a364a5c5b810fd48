//! Parses blocks of commands in a Markdown page.

/// The purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind<'p> {
    /// Commands that must succeed.
    Script,
    /// Commands with their output.
    Console,
    /// Commands in a comment.
    Setup,
    /// Commands that are not run, with the reason.
    NotRun(&'p str),
}

/// A block of commands.
#[derive(Debug)]
pub(crate) struct Block<'p> {
    pub(crate) kind: Kind<'p>,
    pub(crate) text: &'p str,
    /// The line number of the block's start.
    pub(crate) line: usize,
}

/// A command and its output.
#[derive(Debug, PartialEq)]
pub(crate) struct Call<'p> {
    pub(crate) command: &'p str,
    pub(crate) output: &'p str,
}

/// Returns the blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut out = Vec::new();
    let mut reason = None;
    let mut at = 0;
    while at < page.len() {
        let rest = &page[at..];
        let line = page[..at].matches('\n').count() + 1;
        let end = rest.find('\n').map_or(page.len(), |end| at + end + 1);
        if let Some(comment) = rest.strip_prefix("<!-- not run: ") {
            reason = comment.split_once(" -->").map(|(reason, _)| reason);
            at = end;
        } else if let Some(comment) = rest.strip_prefix("<!-- run: ") {
            let text = comment.split_once(" -->").map_or("", |(text, _)| text);
            out.push(Block { kind: Kind::Setup, text, line });
            at = rest.find("-->").map_or(page.len(), |close| at + close + 3);
        } else if let Some(info) = page[at..end].strip_prefix("```").map(str::trim) {
            let close = page[end..].find("\n```").map_or(page.len(), |close| end + close + 1);
            let text = &page[end.min(close)..close];
            let kind = match info {
                "sh" => Some(Kind::Script),
                "console" => Some(Kind::Console),
                _ => None,
            };
            if let Some(kind) = kind {
                out.push(Block { kind: reason.map_or(kind, Kind::NotRun), text, line });
            }
            reason = None;
            at = page[close..].find('\n').map_or(page.len(), |end| close + end + 1);
        } else {
            at = end;
        }
    }
    out
}

/// Returns the commands of a `console` block.
pub(crate) fn calls(block: &str) -> Vec<Call<'_>> {
    let starts: Vec<usize> = block.match_indices("$ ").map(|(at, _)| at).collect();
    let starts: Vec<usize> = starts.into_iter().filter(|at| *at == 0 || block[..*at].ends_with('\n')).collect();
    let ends = starts.iter().skip(1).copied().chain([block.len()]);
    let call = |(start, end): (&usize, usize)| {
        let (command, output) = block[start + 2..end].split_once('\n')?;
        Some(Call { command, output })
    };
    starts.iter().zip(ends).filter_map(call).collect()
}

/// Returns true if the output matches the page: `…` matches anything, and hashes and times may differ.
pub(crate) fn agrees(page: &str, output: &str) -> bool {
    let (page, output) = (plain(page), plain(output));
    let mut parts = page.split('…');
    let Some(mut rest) = output.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Removes hashes, times and surrounding whitespace.
fn plain(text: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || matches!(char, '-' | ':' | '.');
    let mut out = String::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let word = rest.find(|char| !is_word(char)).unwrap_or(rest.len()).max(1);
        let word = (word..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        out.push_str(constant(&rest[..word]));
        rest = &rest[word..];
    }
    out
}

/// Returns the part of a word that is the same in every run: the number of an operation's name (`17-3fa9`), and nothing
/// of an eight-digit tag, a six-digit checksum or a time.
fn constant(word: &str) -> &str {
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((number, hash)) = word.split_once('-')
        && digits(number)
        && hash.len() == 4
        && hex(hash)
    {
        return number;
    }
    if word.strip_prefix("cli-").is_some_and(|digits| digits.len() == 8 && hex(digits)) {
        return "cli-";
    }
    let tag = matches!(word.len(), 6 | 8) && hex(word) && word.bytes().any(|byte| byte.is_ascii_digit());
    let moment = word.len() >= 20 && word.ends_with('Z') && word.contains('T') && word.starts_with("20");
    let local = [(10, '-'), (8, ':')]
        .into_iter()
        .any(|(len, mark)| word.len() == len && word.split(mark).count() == 3 && word.split(mark).all(digits));
    if tag || moment || local { "#" } else { word }
}

#[test]
fn blocks_of_each_kind_are_found() {
    let page = "```sh\na\n```\n<!-- not run: because -->\n```sh\nb\n```\n<!-- run: c\nd -->\n```text\ne\n```\n```console\n$ f\ng\n$ h\n```\n";
    let found = blocks(page);
    let kinds: Vec<(Kind<'_>, &str)> = found.iter().map(|block| (block.kind, block.text)).collect();
    let expected = [
        (Kind::Script, "a\n"),
        (Kind::NotRun("because"), "b\n"),
        (Kind::Setup, "c\nd"),
        (Kind::Console, "$ f\ng\n$ h\n"),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(calls(found[3].text), [Call { command: "f", output: "g\n" }, Call { command: "h", output: "" }]);
}

#[test]
fn outputs_agree_apart_from_names_and_gaps() {
    assert!(agrees("1-0a0a done at 2026-11-23T03:42:21Z\n", "1-ffff done at 2027-01-01T00:00:00Z\n"));
    assert!(agrees("at 2026-11-23  22:32:05 now", "at 2027-01-01  00:00:00 now"));
    assert!(agrees("a … d\n… f\n", "a b c d\ne f\n"));
    for (page, output) in [("a b", "a c"), ("a … d", "a b c"), ("2-0a0a", "1-0a0a"), ("a", "a b"), ("a …", "b")] {
        assert!(!agrees(page, output), "{page} {output}");
    }
}
