//! Tokens of one shell command line, with quotes removed; nothing is expanded.

use crate::text::fold;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellToken {
    /// A word. `open` is true if a shell would expand something in it.
    Word { text: String, open: bool },
    /// `<<TAG`: the delimiter, whether it was quoted, whether leading tabs are stripped.
    Here { tag: String, quoted: bool, tabs: bool },
    /// `&&`, `||`, `;`, `&`, `|`.
    Then(&'static str),
}

/// Tokenizes a text up to the end of the command line. Also returns the offset after its line end. `None` for a command
/// line that cannot be understood: open quotes, groups, comments, input from files.
pub(super) fn tokenize(text: &str) -> Option<(Vec<ShellToken>, usize)> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r']);
        if let Some(next) = rest.strip_prefix("\\\n") {
            rest = next;
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        if first == '\n' {
            rest = &rest[1..];
            break;
        }
        if let Some(after) = rest.strip_prefix("<<").filter(|after| !after.starts_with('<')) {
            let tabs = after.starts_with('-');
            let after = fold::trim_blanks_start(&after[usize::from(tabs)..]);
            let (tag, _, next) = word(after)?;
            if tag.is_empty() {
                return None;
            }
            out.push(ShellToken::Here { tag, quoted: after.starts_with(['\'', '"', '\\']), tabs });
            rest = next;
        } else if let Some(next) = output(rest) {
            rest = word(fold::trim_blanks_start(next))?.2;
        } else if let Some(sign) = ["&&", "||", ";", "|", "&"].into_iter().find(|sign| rest.starts_with(sign)) {
            out.push(ShellToken::Then(sign));
            rest = &rest[sign.len()..];
        } else if ['<', '(', ')', '#'].contains(&first) {
            return None;
        } else {
            let (text, open, next) = word(rest)?;
            out.push(ShellToken::Word { text, open });
            rest = next;
        }
    }
    Some((out, text.len() - rest.len()))
}

/// Returns the text after a redirection of output: `>`, `>>`, `2>`, `&>`, `2>&`.
fn output(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['1', '2', '&']).unwrap_or(text).strip_prefix('>')?;
    let rest = rest.strip_prefix('>').unwrap_or(rest);
    Some(rest.strip_prefix('&').unwrap_or(rest))
}

/// Parses one word: its text, whether a shell would expand something in it, and the rest.
fn word(text: &str) -> Option<(String, bool, &str)> {
    let mut out = String::new();
    let mut open = false;
    let mut chars = text.char_indices().peekable();
    while let Some((at, ch)) = chars.next() {
        match ch {
            ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '<' | '>' | '(' | ')' => {
                return Some((out, open, &text[at..]));
            }
            '\'' => loop {
                match chars.next()? {
                    (end, '\'') if is_stray(&text[at..end], &text[end + 1..], &['\\', '"']) => return None,
                    (_, '\'') => break,
                    (_, ch) => out.push(ch),
                }
            },
            '"' => loop {
                match chars.next()? {
                    (end, '"') if is_stray(&text[at..end], &text[end + 1..], &[]) => return None,
                    (_, '"') => break,
                    (_, '\\') => match chars.next()?.1 {
                        '\n' => {}
                        ch if ['"', '\\', '$', '`'].contains(&ch) => out.push(ch),
                        ch => out.extend(['\\', ch]),
                    },
                    (_, ch) => {
                        open |= ch == '$' || ch == '`';
                        out.push(ch);
                    }
                }
            },
            '$' if chars.next_if(|(_, ch)| *ch == '\'').is_some() => loop {
                match chars.next()?.1 {
                    '\'' => break,
                    '\\' => out.push(match chars.next()?.1 {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        ch if ['\\', '\'', '"', '?'].contains(&ch) => ch,
                        // Numeric character escapes are rare, and ambiguous between shells.
                        _ => return None,
                    }),
                    ch => out.push(ch),
                }
            },
            '\\' => match chars.next()?.1 {
                '\n' => {}
                ch => out.push(ch),
            },
            ch => {
                open |= ch == '$' || ch == '`';
                out.push(ch);
            }
        }
    }
    Some((out, open, ""))
}

/// True if a quote inside several lines was probably not meant to end them, because the word continues after it. A
/// shell would remove such quotes, which is never intended in a patch.
fn is_stray(quoted: &str, behind: &str, joins: &[char]) -> bool {
    quoted.contains('\n')
        && behind.chars().next().is_some_and(|ch| !(ch.is_whitespace() || ";|&)>".contains(ch) || joins.contains(&ch)))
}
