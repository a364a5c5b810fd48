//! Processes Markdown: wraps prose, names headings as anchors, finds links. Code blocks and tables stay unchanged.

/// The longest line outside tables and code, in characters.
pub(crate) const WIDTH: usize = 120;

/// Returns the page with long lines of prose wrapped at [`WIDTH`], each together with the rest of its paragraph.
pub(crate) fn wrapped(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = lines(page).into_iter().peekable();
    while let Some(line) = rest.next() {
        if !line.is_prose || line.text.chars().count() <= WIDTH {
            out.push_str(line.text);
            out.push('\n');
            continue;
        }
        let mut paragraph = line.text.to_owned();
        while let Some(next) = rest.next_if(continues_paragraph) {
            paragraph.push(' ');
            paragraph.push_str(next.text.trim_start());
        }
        wrap(&paragraph, &mut out);
    }
    out
}

/// True for a line that belongs to the paragraph or the list item of the line above it.
fn continues_paragraph(line: &Line<'_>) -> bool {
    line.is_prose && line.text.split_whitespace().next().is_some_and(can_begin_a_row)
}

/// A line of a page.
#[derive(Debug)]
pub(crate) struct Line<'p> {
    /// The line number, from 1.
    pub number: usize,
    /// The text without the line end.
    pub text: &'p str,
    /// False in code blocks.
    pub is_text: bool,
    /// False in code blocks, tables, headings and images.
    pub is_prose: bool,
}

/// Returns the lines of a page.
pub(crate) fn lines(page: &str) -> Vec<Line<'_>> {
    let mut fence: Option<&str> = None;
    let mut out = Vec::new();
    for (number, text) in (1..).zip(page.lines()) {
        let start = text.trim_start();
        let marker = ["````", "```", "~~~"].into_iter().find(|marker| start.starts_with(marker));
        let outside = fence.is_none();
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(_)) if start.starts_with(open) => fence = None,
            _ => {}
        }
        let is_text = outside && marker.is_none();
        let special = ["|", "#", "![", "<!--"].iter().any(|start_of| start.starts_with(start_of));
        out.push(Line { number, text, is_text, is_prose: is_text && !special });
    }
    out
}

/// Appends a line as rows of at most [`WIDTH`] characters.
fn wrap(line: &str, out: &mut String) {
    let indent = line.len() - line.trim_start().len();
    let (start, body) = line.split_at(indent);
    let next = match body.split_once(' ') {
        Some((">", _)) => format!("{start}> "),
        Some((mark, _)) if is_list_mark(mark) => format!("{start}{}", " ".repeat(mark.len() + 1)),
        _ => start.to_owned(),
    };
    let mut row = start.to_owned();
    let mut is_empty = true;
    for word in words(body) {
        let fits = row.chars().count() + 1 + word.chars().count() <= WIDTH;
        if !is_empty && !fits && can_begin_a_row(word) {
            out.push_str(row.trim_end());
            out.push('\n');
            row.clone_from(&next);
            is_empty = true;
        }
        if !is_empty {
            row.push(' ');
        }
        row.push_str(word);
        is_empty = false;
    }
    out.push_str(&row);
    out.push('\n');
}

/// Splits a line into words; a code span is one word.
fn words(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut start, mut in_code) = (0, false);
    for (at, char) in line.char_indices() {
        match char {
            '`' => in_code = !in_code,
            ' ' if !in_code => {
                out.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&line[start..]);
    out.retain(|word| !word.is_empty());
    out
}

/// Returns false if a word would begin a list, a heading, a quote or a table.
fn can_begin_a_row(word: &str) -> bool {
    !is_list_mark(word) && !word.starts_with(['#', '>', '|', '='])
}

fn is_list_mark(word: &str) -> bool {
    matches!(word, "-" | "*" | "+")
        || word.strip_suffix(['.', ')']).is_some_and(|number| {
            !number.is_empty() && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// Returns the anchors of a page: its headings as GitHub and mdBook name them.
pub(crate) fn anchors(page: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in lines(page).iter().filter(|line| line.is_text) {
        let hashes = line.text.bytes().take_while(|byte| *byte == b'#').count();
        if hashes == 0 || !line.text[hashes..].starts_with(' ') {
            continue;
        }
        let slug = slug(line.text[hashes..].trim());
        let twice = out.iter().filter(|other| **other == slug || other.starts_with(&format!("{slug}-"))).count();
        let taken = out.contains(&slug);
        out.push(if taken { format!("{slug}-{twice}") } else { slug });
    }
    out
}

fn slug(heading: &str) -> String {
    let keep = |char: char| match char {
        ' ' => Some('-'),
        '-' | '_' => Some(char),
        _ => char.is_alphanumeric().then_some(char),
    };
    heading.to_lowercase().chars().filter_map(keep).collect()
}

/// A link in a page.
#[derive(Debug, PartialEq)]
pub(crate) struct Link<'p> {
    /// The line number.
    pub line: usize,
    /// The target as written.
    pub target: &'p str,
}

/// Returns the links and images of a page, except in code.
pub(crate) fn links(page: &str) -> Vec<Link<'_>> {
    let mut out = Vec::new();
    for line in lines(page).iter().filter(|line| line.is_text) {
        let in_code = |at: usize| line.text[..at].matches('`').count() % 2 == 1;
        for (at, _) in line.text.match_indices("](").filter(|(at, _)| !in_code(*at)) {
            if let Some((target, _)) = line.text[at + 2..].split_once(')') {
                out.push(Link { line: line.number, target: target.trim_matches(['<', '>']) });
            }
        }
    }
    out
}

/// Returns `target`, a path relative to the directory of `page`, as a path relative to the repository.
pub(crate) fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Link, WIDTH, anchors, links, resolve, wrapped};

    #[test]
    fn prose_is_wrapped_and_the_rest_stays() {
        let long = "word ".repeat(40);
        let page = format!("- {long}\n| {long} |\n```\n{long}\n```\n> {long}\n");
        let out = wrapped(&page);
        let rows: Vec<&str> = out.lines().collect();
        assert!(rows[0].starts_with("- word") && rows[1].starts_with("  word"), "{out}");
        assert!(out.contains(&format!("| {long} |\n```\n{long}\n```\n")), "{out}");
        assert!(rows.last().unwrap().starts_with("> word"), "{out}");
        assert!(rows[..2].iter().all(|row| row.chars().count() <= WIDTH));
        assert_eq!(wrapped(&out), out);
    }

    #[test]
    fn the_rest_of_a_paragraph_is_wrapped_with_its_long_line() {
        let long = "word ".repeat(30);
        let page = format!("{long}\nrest of it\n\n- {long}\n  end\n- item\n");
        let (row, next) = ("word ".repeat(24), "word ".repeat(6));
        let item = "word ".repeat(23);
        let want = format!(
            "{}\n{next}rest of it\n\n- {}\n  {}end\n- item\n",
            row.trim_end(),
            item.trim_end(),
            "word ".repeat(7)
        );
        assert_eq!(wrapped(&page), want);
    }

    #[test]
    fn code_spans_stay_whole_and_no_row_becomes_a_list() {
        let start = "x".repeat(WIDTH - 4);
        assert_eq!(wrapped(&format!("{start} `a b c` d\n")), format!("{start}\n`a b c` d\n"));
        assert_eq!(wrapped(&format!("{start} aa - b\n")), format!("{start} aa -\nb\n"));
    }

    #[test]
    fn anchors_are_named_like_headings() {
        let page = "# A `b` c's_d\n```\n# code\n```\n## Two\n## Two\n#no\n";
        assert_eq!(anchors(page), ["a-b-cs_d", "two", "two-1"]);
    }

    #[test]
    fn links_outside_code_are_found() {
        let page = "[a](b.md#c) `[x](y)` ![i](<z.svg>)\n```\n[d](e)\n```\n";
        assert_eq!(links(page), [Link { line: 1, target: "b.md#c" }, Link { line: 1, target: "z.svg" }]);
        assert_eq!(resolve("docs/a/b.md", "../c.md"), "docs/c.md");
        assert_eq!(resolve("README.md", "./docs/c.md"), "docs/c.md");
    }
}
