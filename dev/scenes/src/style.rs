//! Converts the lines of a block to the bytes of a file.

use crate::block::Block;

/// The encoding of a file in a scene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-16, little-endian, with a byte order mark.
    Utf16Le,
    /// UTF-16, big-endian, with a byte order mark.
    Utf16Be,
    /// One byte per character.
    Latin1,
    /// The block is bytes in hexadecimal instead of text.
    Hex,
}

/// The options after the name of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The option `utf16le`, `utf16be`, `latin1` or `hex`.
    pub charset: Charset,
    /// `crlf`: lines end with CR LF.
    pub crlf: bool,
    /// `bom`: the file begins with the UTF-8 byte order mark.
    pub bom: bool,
    /// `escaped`: `\r`, `\n`, `\t`, `\\`, `\xNN` (a byte of UTF-8 text), `\u{N}` and `\*N{text}` (N times text) are
    /// escapes.
    pub escaped: bool,
    /// `mode=755`: the mode of the file.
    pub mode: Option<u32>,
    /// `keep-mtime`: the modification time stays the same.
    pub keep_mtime: bool,
    /// `by-rename`: another file is renamed to this name.
    pub by_rename: bool,
}

impl Style {
    /// Parses the options after a name.
    ///
    /// # Errors
    /// Fails for an unknown option.
    pub fn parse<'t>(words: impl Iterator<Item = &'t str>) -> Result<Style, String> {
        let mut style = Style::default();
        for word in words {
            match word {
                "utf16le" => style.charset = Charset::Utf16Le,
                "utf16be" => style.charset = Charset::Utf16Be,
                "latin1" => style.charset = Charset::Latin1,
                "hex" => style.charset = Charset::Hex,
                "crlf" => style.crlf = true,
                "bom" => style.bom = true,
                "escaped" => style.escaped = true,
                "keep-mtime" => style.keep_mtime = true,
                "by-rename" => style.by_rename = true,
                _ => {
                    let mode = word.strip_prefix("mode=").and_then(|mode| u32::from_str_radix(mode, 8).ok());
                    style.mode = Some(mode.ok_or_else(|| format!("`{word}` says nothing about a file"))?);
                }
            }
        }
        Ok(style)
    }

    /// Returns the bytes that a block describes.
    ///
    /// # Errors
    /// Fails for rows that only replies may have, wrong escapes or digits, and text that the encoding cannot represent.
    pub fn bytes(self, block: &Block) -> Result<Vec<u8>, String> {
        let text = block.text()?;
        if self.charset == Charset::Hex {
            return hex(&text);
        }
        let bytes = if self.escaped { unescape(&text)? } else { text.into_bytes() };
        if self.charset == Charset::Utf8 {
            let bytes = if self.crlf { with_crlf(&bytes) } else { bytes };
            return Ok(if self.bom { [b"\xEF\xBB\xBF", &*bytes].concat() } else { bytes });
        }
        let text = String::from_utf8(bytes).map_err(|_| "`\\xNN` needs a UTF-8 file or `hex`".to_owned())?;
        let text = if self.crlf { text.replace('\n', "\r\n") } else { text };
        let units = |to: fn(u16) -> [u8; 2]| ["\u{FEFF}", &text].concat().encode_utf16().flat_map(to).collect();
        match self.charset {
            Charset::Utf16Le => Ok(units(u16::to_le_bytes)),
            Charset::Utf16Be => Ok(units(u16::to_be_bytes)),
            _ => text.chars().map(|ch| u8::try_from(ch).map_err(|_| format!("{ch:?} is not in Latin-1"))).collect(),
        }
    }
}

fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|&byte| if byte == b'\n' { b"\r\n".to_vec() } else { vec![byte] }).collect()
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let byte = |word: &str| u8::from_str_radix(word, 16).map_err(|_| format!("`{word}` is not a byte in hexadecimal"));
    text.split_whitespace().map(byte).collect()
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let (bytes, after) = escape(&rest[at + 1..])
            .ok_or_else(|| format!("`{}` is not an escape", rest[at..].chars().take(8).collect::<String>()))?;
        out.extend_from_slice(&bytes);
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Parses one escape into its bytes and the rest of the text.
fn escape(rest: &str) -> Option<(Vec<u8>, &str)> {
    let kind = rest.chars().next()?;
    let after = &rest[kind.len_utf8()..];
    let braced = |text: &'_ str| text.find('}').map(|end| (text[..end].to_owned(), end + 1));
    match kind {
        'r' => Some((b"\r".to_vec(), after)),
        'n' => Some((b"\n".to_vec(), after)),
        't' => Some((b"\t".to_vec(), after)),
        '\\' => Some((b"\\".to_vec(), after)),
        'x' => Some((vec![u8::from_str_radix(after.get(..2)?, 16).ok()?], &after[2..])),
        'u' => {
            let (digits, end) = braced(after.strip_prefix('{')?)?;
            let ch = char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?;
            Some((ch.to_string().into_bytes(), &after[1 + end..]))
        }
        '*' => {
            let (count, text) = after.split_once('{')?;
            let (text, end) = braced(text)?;
            Some((text.repeat(count.parse().ok()?).into_bytes(), &after[count.len() + 1 + end..]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Style;
    use crate::block::{Block, Row};

    fn bytes(words: &str, line: &str, open: bool) -> Result<Vec<u8>, String> {
        Style::parse(words.split_whitespace())?.bytes(&Block { rows: vec![Row::Line(line.to_owned())], open })
    }

    #[test]
    fn blocks_are_encoded_by_style() {
        assert_eq!(bytes("", "é", false).unwrap(), "é\n".as_bytes());
        assert_eq!(bytes("bom crlf", "a", false).unwrap(), b"\xEF\xBB\xBFa\r\n");
        assert_eq!(bytes("utf16le", "a", false).unwrap(), b"\xFF\xFEa\0\n\0");
        assert_eq!(bytes("utf16be", "a", true).unwrap(), b"\xFE\xFF\0a");
        assert_eq!(bytes("latin1", "é", true).unwrap(), b"\xE9");
        assert_eq!(bytes("hex", "00 ff", false).unwrap(), b"\0\xFF");
        assert_eq!(bytes("escaped", r"a\r\x80\u{e9}\*3{xy}\\", true).unwrap(), b"a\r\x80\xC3\xA9xyxyxy\\");
        assert_eq!(Style::parse(["mode=755"].into_iter()).unwrap().mode, Some(0o755));
        for (words, line) in [("escaped", r"\q"), ("hex", "xx"), ("latin1", "€"), ("mode=9", ""), ("loud", "")] {
            assert!(bytes(words, line, false).is_err(), "{words} {line}");
        }
    }
}
