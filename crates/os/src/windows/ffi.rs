//! Names as bytes: WTF-8, which is UTF-8 in which unpaired halves of UTF-16 pairs have their own three bytes. Windows
//! allows them in names, so nothing else carries every name without loss.

use std::ffi::{OsStr, OsString};
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};

/// Replaces bytes that are not a valid name. Its NUL makes every call with it fail.
const NO_NAME: &str = "\u{FFFD}\0";

/// A name as bytes.
pub trait OsStrExt {
    /// Creates a name from bytes. Bytes that are not a valid name become one that does not exist.
    fn from_bytes(bytes: &[u8]) -> &OsStr;
    /// The bytes of the name.
    fn as_bytes(&self) -> &[u8];
}

/// An owned name as bytes.
pub trait OsStringExt {
    /// Creates a name from bytes. Bytes that are not a valid name become one that does not exist.
    fn from_vec(bytes: Vec<u8>) -> OsString;
    /// The bytes of the name.
    fn into_vec(self) -> Vec<u8>;
}

impl OsStrExt for OsStr {
    fn from_bytes(bytes: &[u8]) -> &OsStr {
        super::nt::name_of(bytes).unwrap_or(OsStr::new(NO_NAME))
    }

    fn as_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}

impl OsStringExt for OsString {
    fn from_vec(bytes: Vec<u8>) -> OsString {
        OsStr::from_bytes(&bytes).to_owned()
    }

    fn into_vec(self) -> Vec<u8> {
        self.into_encoded_bytes()
    }
}

/// True for bytes that are WTF-8: UTF-8, and halves of pairs that do not form a pair.
pub(crate) fn is_wtf8(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    // True if the text up to here ends with the first half of a pair.
    let mut first_half = false;
    loop {
        let (valid, invalid) = match std::str::from_utf8(rest) {
            Ok(valid) => (valid.len(), &[][..]),
            Err(error) => {
                rest.split_at_checked(error.valid_up_to()).map_or((0, rest), |(valid, rest)| (valid.len(), rest))
            }
        };
        if valid > 0 {
            first_half = false;
        }
        let second = match invalid {
            [] => return true,
            [0xED, second @ 0xA0..=0xBF, 0x80..=0xBF, ..] => *second,
            _ => return false,
        };
        let is_second_half = second >= 0xB0;
        if is_second_half && first_half {
            return false;
        }
        first_half = !is_second_half;
        rest = invalid.get(3..).unwrap_or_default();
    }
}

/// The name in UTF-16, with the separators of Windows.
pub(crate) fn wide(name: &OsStr) -> Vec<u16> {
    name.encode_wide().map(|unit| if unit == u16::from(b'/') { u16::from(b'\\') } else { unit }).collect()
}

/// The name in UTF-16 with a NUL at the end.
pub(crate) fn wide_nul(name: &OsStr) -> Vec<u16> {
    name.encode_wide().chain([0]).collect()
}

/// Converts code units of UTF-16 to a name.
pub(crate) fn narrow(units: &[u16]) -> OsString {
    OsString::from_wide(units)
}

#[cfg(test)]
mod tests {
    use super::{OsStrExt as _, is_wtf8, narrow};
    use std::ffi::OsStr;

    #[test]
    fn every_name_survives_as_bytes() {
        for units in [&[0x61, 0xD800, 0x62][..], &[0xDC00, 0xD800], &[0xD83D, 0xDE00], &[0xD800, 0xD800, 0xDC00]] {
            let name = narrow(units);
            assert!(is_wtf8(name.as_bytes()));
            assert_eq!(OsStr::from_bytes(name.as_bytes()), name);
        }
        // A pair as two halves would be a second spelling of one name.
        for bytes in [&b"\xED\xA0\xBD\xED\xB8\x80"[..], b"\xFF", b"a\xC3", b"\xED\xA0"] {
            assert!(!is_wtf8(bytes), "{bytes:?}");
            assert_eq!(OsStr::from_bytes(bytes), "\u{FFFD}\0");
        }
    }
}
