//! Character encodings: detection for a file, and encoding of new text. Unedited text is never re-encoded, because
//! decoding and encoding are not inverse in legacy encodings.

use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// A supported character encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// Strict ISO-8859-1: byte n is U+00nn. Every byte sequence is valid, so it also serves for unknown bytes.
    Latin1,
    /// Bytes without an encoding, for edits that are bytes themselves: byte n is U+00nn, as in Latin-1. A byte
    /// order mark in UTF-8 is bytes like others. Only a call can declare it.
    Bytes,
    /// Any other encoding of the WHATWG Encoding Standard without shift state.
    Legacy(&'static Encoding),
}

impl Charset {
    /// Returns the encoding for a label as used in `.editorconfig`, HTML or on a command line. `None` for unknown
    /// labels, for UTF-32 and for stateful encodings (ISO-2022-JP), which cannot be spliced.
    pub fn for_label(label: &str) -> Option<Charset> {
        let label = label.trim().to_ascii_lowercase();
        match label.as_str() {
            "utf-8-bom" | "utf8-bom" => return Some(Charset::Utf8),
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" | "l1" => return Some(Charset::Latin1),
            _ => {}
        }
        let encoding = Encoding::for_label(label.as_bytes())?;
        if encoding == encoding_rs::UTF_8 {
            Some(Charset::Utf8)
        } else if encoding == encoding_rs::UTF_16LE {
            Some(Charset::Utf16Le)
        } else if encoding == encoding_rs::UTF_16BE {
            Some(Charset::Utf16Be)
        } else if encoding == encoding_rs::REPLACEMENT || !encoding.is_ascii_compatible() {
            None
        } else {
            Some(Charset::Legacy(encoding))
        }
    }

    /// The common name, in lower case.
    pub fn name(self) -> String {
        match self {
            Charset::Utf8 => "utf-8".to_owned(),
            Charset::Utf16Le => "utf-16le".to_owned(),
            Charset::Utf16Be => "utf-16be".to_owned(),
            Charset::Latin1 => "latin1".to_owned(),
            Charset::Bytes => "bytes".to_owned(),
            Charset::Legacy(encoding) => encoding.name().to_ascii_lowercase(),
        }
    }

    /// Encodes `text`; on failure returns the characters that cannot be represented, each once, in order.
    pub fn encode(self, text: &str) -> core::result::Result<Vec<u8>, Vec<char>> {
        match self {
            Charset::Utf8 => Ok(text.as_bytes().to_vec()),
            Charset::Utf16Le => Ok(utf16_bytes(text, u16::to_le_bytes)),
            Charset::Utf16Be => Ok(utf16_bytes(text, u16::to_be_bytes)),
            Charset::Latin1 | Charset::Bytes => {
                let bytes: Option<Vec<u8>> = text.chars().map(|ch| u8::try_from(u32::from(ch)).ok()).collect();
                bytes.ok_or_else(|| distinct(text, |ch| u32::from(ch) < 256))
            }
            Charset::Legacy(encoding) => {
                let (bytes, _, unmappable) = encoding.encode(text);
                if !unmappable {
                    return Ok(bytes.into_owned());
                }
                let mut buffer = [0; 4];
                Err(distinct(text, |ch| !encoding.encode(ch.encode_utf8(&mut buffer)).2))
            }
        }
    }

    /// True when `bytes`, whole characters of this encoding, end with a line feed.
    pub fn ends_line(self, bytes: &[u8]) -> bool {
        match self {
            Charset::Utf16Le => bytes.ends_with(b"\n\0"),
            Charset::Utf16Be => bytes.ends_with(b"\0\n"),
            _ => bytes.ends_with(b"\n"),
        }
    }

    /// True if every byte is a character of its own. Texts in such an encoding are hardly ever valid UTF-8 by accident.
    fn has_one_byte_characters(self) -> bool {
        match self {
            Charset::Latin1 => true,
            Charset::Legacy(encoding) => encoding.is_single_byte(),
            Charset::Utf8 | Charset::Utf16Le | Charset::Utf16Be | Charset::Bytes => false,
        }
    }

    /// Bytes of one code unit: two for UTF-16, else one.
    pub const fn unit(self) -> usize {
        match self {
            Charset::Utf16Le | Charset::Utf16Be => 2,
            Charset::Utf8 | Charset::Latin1 | Charset::Bytes | Charset::Legacy(_) => 1,
        }
    }
}

/// Encodes a text as UTF-16.
fn utf16_bytes(text: &str, to: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to).collect()
}

fn distinct(text: &str, mut known: impl FnMut(char) -> bool) -> Vec<char> {
    let mut out = Vec::new();
    for ch in text.chars() {
        if !known(ch) && !out.contains(&ch) {
            out.push(ch);
            if out.len() == 20 {
                break;
            }
        }
    }
    out
}

/// Evidence by which the encoding of a file was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingEvidence {
    /// A byte order mark.
    Mark,
    /// The bytes are valid UTF-8.
    Valid,
    /// A declaration in the call or in a configuration file.
    Declared,
    /// A declaration in the call that the bytes contradict: they are valid UTF-8, not only ASCII. Sufficient for
    /// reading, never for writing new non-ASCII text.
    Contradicted,
    /// A guess from the bytes: sufficient for reading, never for writing new non-ASCII text.
    Guessed,
}

/// A declared encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredEncoding {
    /// The encoding.
    pub charset: Charset,
    /// True if the call itself names it; false if a configuration does, which valid UTF-8 overrides.
    pub by_call: bool,
}

/// The encoding of one version of one file, with its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codec {
    /// The encoding.
    pub charset: Charset,
    /// Length of the byte order mark; 0 if there is none.
    pub mark: usize,
    /// The evidence.
    pub evidence: EncodingEvidence,
}

impl Codec {
    /// UTF-8 without a byte order mark: the encoding of new files.
    pub const UTF8: Codec = Codec { charset: Charset::Utf8, mark: 0, evidence: EncodingEvidence::Valid };

    /// Determines the encoding of `raw`. `valid_utf8` is true if the bytes are valid UTF-8 (checked once, by the
    /// caller).
    ///
    /// Errors: [`Code::ContentBinary`], [`Code::ContentUndecodable`] for UTF-32.
    pub fn detect(raw: &[u8], valid_utf8: bool, declared: Option<DeclaredEncoding>) -> Result<Codec> {
        let as_bytes = declared.is_some_and(|declared| declared.charset == Charset::Bytes);
        if let Some(codec) = by_mark(raw)?.filter(|codec| !as_bytes || codec.charset != Charset::Utf8) {
            return Ok(codec);
        }
        if let Some(kind) = signature(raw) {
            return Err(binary(&format!("it begins like {kind}")));
        }
        let nul = memchr::memchr(0, &raw[..raw.len().min(8192)]);
        // Bytes are declared for all files of a call, and some of these may be binary.
        if let Some(declared) = declared.filter(|declared| declared.by_call && !(as_bytes && nul.is_some())) {
            let contradicted = valid_utf8 && !raw.is_ascii() && declared.charset.has_one_byte_characters();
            let evidence = if contradicted { EncodingEvidence::Contradicted } else { EncodingEvidence::Declared };
            return Ok(codec_without_mark(declared.charset, evidence));
        }
        let declared_wide = declared.filter(|declared| declared.charset.unit() == 2);
        if let Some(at) = nul {
            return match declared_wide {
                Some(declared) => Ok(codec_without_mark(declared.charset, EncodingEvidence::Declared)),
                None => Err(binary(&format!("it has a NUL byte at offset {at}"))),
            };
        }
        if valid_utf8 {
            // Pure ASCII in a project that declares an encoding will be in that encoding as soon as it is not ASCII.
            return Ok(match declared {
                Some(declared) if declared_wide.is_none() && raw.is_ascii() => {
                    codec_without_mark(declared.charset, EncodingEvidence::Declared)
                }
                _ => Codec::UTF8,
            });
        }
        Ok(match declared {
            Some(declared) if declared.charset != Charset::Utf8 => {
                codec_without_mark(declared.charset, EncodingEvidence::Declared)
            }
            _ => codec_without_mark(guess(raw), EncodingEvidence::Guessed),
        })
    }

    /// Determines the encoding of valid UTF-8 that has no NUL, like [`Codec::detect`]; `None` if its first bytes are the
    /// mark of another encoding.
    ///
    /// Errors: [`Code::ContentBinary`] for a text that begins like a binary file.
    pub(crate) fn of_text_without_nul(raw: &[u8]) -> Result<Option<Codec>> {
        match (by_mark(raw)?, signature(raw)) {
            (Some(codec), _) => Ok(Some(codec).filter(|codec| codec.charset == Charset::Utf8)),
            (None, Some(kind)) => Err(binary(&format!("it begins like {kind}"))),
            (None, None) => Ok(Some(Codec::UTF8)),
        }
    }

    /// Encodes new text for this file.
    ///
    /// Errors: [`Code::ContentUnencodable`] with the characters, if they cannot be represented or the encoding was only
    /// guessed.
    pub fn encode(self, text: &str) -> Result<Vec<u8>> {
        if self.charset.unit() == 1 && text.contains('\0') {
            return Err(unencodable(
                vec!['\0'],
                "The new text has a NUL character, which would make the file binary.".to_owned(),
                "Omit it, or write it as an escape sequence of the language.".into(),
            ));
        }
        if self.evidence == EncodingEvidence::Contradicted && !text.is_ascii() {
            let name = self.charset.name();
            return Err(unencodable(
                distinct(text, |ch| ch.is_ascii()),
                format!("The file is UTF-8 already, so new characters in {name} would mix two encodings."),
                advice!["Repeat the call without ", Phrase::Quoted("encoding"), "."]
                    .or("Repeat the call without the encoding."),
            ));
        }
        if self.evidence == EncodingEvidence::Guessed && !text.is_ascii() {
            let name = self.charset.name();
            return Err(unencodable(
                distinct(text, |ch| ch.is_ascii()),
                format!(
                    "The file is not UTF-8 and its encoding was not declared (it reads like {name}), so new non-ASCII text cannot be written safely."
                ),
                Advice::named(
                    "Repeat the call with {encoding=} if that is right, declare it in .editorconfig (charset) or \
                     emend.toml ([encoding]), or use ASCII text only.",
                )
                .set("encoding", name)
                .or("Use ASCII text only, or have a person declare the encoding in .editorconfig (charset)."),
            ));
        }
        self.charset.encode(text).map_err(|chars| {
            let name = self.charset.name();
            unencodable(
                chars,
                format!("The file is in {name}, which cannot represent some of the new characters."),
                format!("Use characters that {name} has, or convert the file to UTF-8 first.").into(),
            )
        })
    }
}

/// Creates the error for characters that the encoding lacks.
pub(super) fn unencodable(chars: Vec<char>, why: String, next: Advice) -> Error {
    let shown: Vec<String> = chars.iter().map(|ch| format!("{ch:?} (U+{:04X})", u32::from(*ch))).collect();
    Error::new(Code::ContentUnencodable, why)
        .evidence(format!("Characters: {}", shown.join(", ")))
        .next(next)
        .fact("characters", chars.into_iter().collect::<String>())
}

/// Returns a codec for a text without a byte order mark.
fn codec_without_mark(charset: Charset, evidence: EncodingEvidence) -> Codec {
    Codec { charset, mark: 0, evidence }
}

impl Codec {
    /// True when the encoding was only guessed and the raw offset `at` lies inside a character in some multi-byte
    /// encoding in which all bytes are valid.
    pub(crate) fn may_split_character(self, raw: &[u8], at: usize) -> bool {
        // A byte can be the second half of a character only if a byte of at least 0x80 precedes it.
        if self.evidence != EncodingEvidence::Guessed
            || at == 0
            || at >= raw.len()
            || raw[at - 1] < 0x80
            || raw[at] < 0x30
        {
            return false;
        }
        const AMBIGUOUS_ENCODINGS: [&Encoding; 4] =
            [encoding_rs::SHIFT_JIS, encoding_rs::GBK, encoding_rs::BIG5, encoding_rs::EUC_KR];
        // Bytes below 0x30 are never part of a longer character, so decoding can start after one.
        let from = raw[..at].iter().rposition(|&byte| byte < 0x30).map_or(0, |before| before + 1);
        AMBIGUOUS_ENCODINGS.iter().any(|encoding| !decodes(encoding, &raw[from..at]) && decodes(encoding, raw))
    }
}

/// True if a part of the file is valid in an encoding.
fn decodes(encoding: &'static Encoding, part: &[u8]) -> bool {
    encoding.decode_without_bom_handling_and_without_replacement(part).is_some()
}

fn by_mark(raw: &[u8]) -> Result<Option<Codec>> {
    match raw {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => {
            Err(Error::new(Code::ContentUndecodable, "The file is in UTF-32, which is not supported.")
                .next("Convert the file to UTF-8 first, e.g. with iconv."))
        }
        [0xEF, 0xBB, 0xBF, ..] => Ok(Some(codec_with_mark(Charset::Utf8, 3))),
        [0xFF, 0xFE, ..] => Ok(Some(codec_with_mark(Charset::Utf16Le, 2))),
        [0xFE, 0xFF, ..] => Ok(Some(codec_with_mark(Charset::Utf16Be, 2))),
        _ => Ok(None),
    }
}

/// Returns a codec for a text with a byte order mark.
fn codec_with_mark(charset: Charset, mark: usize) -> Codec {
    Codec { charset, mark, evidence: EncodingEvidence::Mark }
}

fn binary(why: &str) -> Error {
    Error::new(Code::ContentBinary, format!("The file is binary: {why}. Text edits would damage it.")).next(
        advice![
            "Use a program that understands this file type. If it really is text, name its encoding with ",
            Phrase::Quoted("encoding"),
            "."
        ]
        .or(Advice::named(
            "Use a program that understands this file type. If it really is text, call {read()} with its {read.encoding}.",
        ))
        .or("Use a program that understands this file type."),
    )
}

/// Number of first bytes of a text that decide about its encoding: no mark and no signature is longer.
pub(crate) const MARK_BYTES_MAX: usize = 16;

/// Signatures of at least three bytes that no text begins with. Shorter ones ("BM", "MZ") do begin texts.
const BINARY_SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xFF\xD8\xFF", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1F\x8B\x08", "gzip data"),
    (b"BZh9", "bzip2 data"),
    (b"\xFD7zXZ\0", "xz data"),
    (b"\x28\xB5\x2F\xFD", "zstd data"),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
    (b"Rar!\x1A\x07", "a RAR archive"),
    (b"\x7FELF", "an ELF program"),
    (b"\xCF\xFA\xED\xFE", "a Mach-O program"),
    (b"\xCA\xFE\xBA\xBE", "a Java class or Mach-O program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"wOFF", "a WOFF font"),
    (b"wOF2", "a WOFF2 font"),
    (b"OggS\0", "an Ogg stream"),
    (b"fLaC\0", "a FLAC stream"),
];

fn signature(raw: &[u8]) -> Option<&'static str> {
    BINARY_SIGNATURES.iter().find(|(magic, _)| raw.starts_with(magic)).map(|(_, kind)| *kind)
}

/// Guesses the encoding of bytes that are not UTF-8: the most likely one, if they decode without errors and encode back
/// to themselves; else Latin-1, in which every byte sequence is valid.
fn guess(raw: &[u8]) -> Charset {
    // The detector decides within the first part of any real text; a larger sample of a hostile file would gain
    // nothing.
    let sample = &raw[..raw.len().min(1 << 20)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let faithful = encoding
        .decode_without_bom_handling_and_without_replacement(raw)
        .is_some_and(|text| matches!(encoding.encode(&text), (back, _, false) if back.as_ref() == raw));
    if faithful { Charset::Legacy(encoding) } else { Charset::Latin1 }
}

#[cfg(test)]
mod tests {
    use super::{BINARY_SIGNATURES, Charset, Codec, DeclaredEncoding, EncodingEvidence, MARK_BYTES_MAX};
    use crate::code::Code;

    fn detect(raw: &[u8], declared: Option<DeclaredEncoding>) -> Result<Codec, Code> {
        Codec::detect(raw, core::str::from_utf8(raw).is_ok(), declared).map_err(|error| error.code())
    }

    #[test]
    fn byte_order_marks_win_and_binary_is_refused() {
        assert_eq!(detect(b"\xEF\xBB\xBFa", None).unwrap().mark, 3);
        assert_eq!(detect(b"\xFF\xFEa\0", None).unwrap().charset, Charset::Utf16Le);
        assert_eq!(detect(b"\xFF\xFE\0\0a\0\0\0", None), Err(Code::ContentUndecodable));
        assert_eq!(detect(b"a\0b", None), Err(Code::ContentBinary));
        assert_eq!(detect(b"\x89PNG\r\n", None), Err(Code::ContentBinary));
        assert_eq!(detect(b"BMW and MZ", None).unwrap(), Codec::UTF8);
        assert!(BINARY_SIGNATURES.iter().all(|(magic, _)| magic.len() <= MARK_BYTES_MAX));
    }

    #[test]
    fn valid_utf8_overrides_a_configured_encoding_but_not_a_requested_one() {
        let latin = |by_call| Some(DeclaredEncoding { charset: Charset::Latin1, by_call });
        assert_eq!(detect("é".as_bytes(), latin(false)).unwrap(), Codec::UTF8);
        let contradicted = detect("é".as_bytes(), latin(true)).unwrap();
        assert_eq!((contradicted.charset, contradicted.evidence), (Charset::Latin1, EncodingEvidence::Contradicted));
        assert_eq!(detect(b"\xE9", latin(true)).unwrap().evidence, EncodingEvidence::Declared);
        assert_eq!(detect(b"a", latin(true)).unwrap().evidence, EncodingEvidence::Declared);
        assert_eq!(detect(b"\xE9", latin(false)).unwrap().evidence, EncodingEvidence::Declared);
        assert_eq!(detect(b"\xE9", None).unwrap().evidence, EncodingEvidence::Guessed);
    }

    #[test]
    fn bytes_have_no_mark_and_are_not_read_from_binary_files() {
        let bytes = Some(DeclaredEncoding { charset: Charset::Bytes, by_call: true });
        for raw in ["\u{feff}é".as_bytes(), b"\xE9"] {
            let codec = detect(raw, bytes).unwrap();
            assert_eq!((codec.charset, codec.mark), (Charset::Bytes, 0));
            assert_eq!(codec.encode("\u{c3}\u{a9}").unwrap(), "é".as_bytes());
        }
        assert_eq!(detect(b"\xE9\0", bytes), Err(Code::ContentBinary));
        assert_eq!(detect(b"\xFF\xFEa\0", bytes).unwrap().charset, Charset::Utf16Le);
    }

    #[test]
    fn unencodable_characters_are_named() {
        let codec = Codec { charset: Charset::Latin1, mark: 0, evidence: EncodingEvidence::Declared };
        assert_eq!(codec.encode("né").unwrap(), b"n\xE9");
        let error = codec.encode("a→b→c€").unwrap_err();
        assert_eq!(error.code(), Code::ContentUnencodable);
        assert_eq!(error.data()["characters"], "→€");
        assert!(Codec { evidence: EncodingEvidence::Guessed, ..codec }.encode("plain").is_ok());
        assert_eq!(
            Codec { evidence: EncodingEvidence::Guessed, ..codec }.encode("né").unwrap_err().data()["characters"],
            "é"
        );
    }

    #[test]
    fn labels_are_recognized() {
        assert_eq!(Charset::for_label("UTF-8"), Some(Charset::Utf8));
        assert_eq!(Charset::for_label("latin1"), Some(Charset::Latin1));
        assert_eq!(Charset::for_label("shift_jis").map(Charset::name).as_deref(), Some("shift_jis"));
        for bad in ["iso-2022-jp", "utf-32", "klingon", "replacement", ""] {
            assert_eq!(Charset::for_label(bad), None, "{bad}");
        }
    }
}
