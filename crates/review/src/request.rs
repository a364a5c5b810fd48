//! Fields of queries and forms.

use emendate::core::{Code, Error, Result};
use emendate_os::ffi::OsStringExt as _;
use percent_encoding::percent_decode;
use std::ffi::OsString;
use std::path::PathBuf;

/// Fields of one request.
const FIELDS_MAX: usize = 4096;

/// The fields of a query or a form, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// Parses `a=b&c=d`. Fields beyond the limit are ignored.
    pub(crate) fn parse(text: &[u8]) -> Fields {
        Fields(
            text.split(|byte| *byte == b'&')
                .filter(|part| !part.is_empty())
                .take(FIELDS_MAX)
                .map(parse_field)
                .collect(),
        )
    }

    /// Returns the bytes of a field.
    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Returns the text of a field that is UTF-8 and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.bytes(name).and_then(|value| std::str::from_utf8(value).ok()).filter(|text| !text.is_empty())
    }

    /// Returns the text of a field that is UTF-8, also an empty one.
    pub(crate) fn sent(&self, name: &str) -> Option<&str> {
        self.bytes(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Returns the path of a field.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let bytes = self.bytes(name).filter(|bytes| !bytes.is_empty())?;
        Some(PathBuf::from(OsString::from_vec(bytes.to_vec())))
    }

    /// Returns the number of a field of an address.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.text(name)?.parse().ok()
    }

    /// Returns the number of a field of a form. Without the field, a form is often about more than one thing, so a
    /// number that cannot be read is not ignored.
    ///
    /// Errors: `call.invalid`.
    pub(crate) fn sent_number(&self, name: &str) -> Result<Option<usize>> {
        let Some(bytes) = self.bytes(name) else { return Ok(None) };
        let sent = String::from_utf8_lossy(bytes);
        sent.parse().map(Some).map_err(|_| {
            Error::new(Code::CallInvalid, format!("The field {name} of the form is not a number: `{sent}`."))
                .next("Reload the page.")
        })
    }

    /// True for a field with the value `1`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("1")
    }
}

/// Returns the name and the value of a field. The value of a name that ends in `%` is encoded once more, because forms
/// change line ends and take only text.
fn parse_field(part: &[u8]) -> (String, Vec<u8>) {
    let at = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
    let (name, value) = part.split_at(at);
    let (name, value) = (decode(name), decode(value.get(1..).unwrap_or_default()));
    let name = String::from_utf8_lossy(&name).into_owned();
    match name.strip_suffix('%') {
        Some(name) => (name.to_owned(), percent_decode(&value).collect()),
        None => (name, value),
    }
}

/// Decodes a name or a value, in which `+` is a space.
fn decode(part: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = part.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use super::Fields;
    use emendate_os::ffi::OsStrExt as _;

    #[test]
    fn fields_are_decoded_byte_by_byte() {
        let fields = Fields::parse(b"a=1+2%26&path=/x%FF&empty=&&n=17&flag=1&a=second");
        assert_eq!(fields.text("a"), Some("1 2&"));
        assert_eq!(fields.path("path").unwrap().as_os_str().as_bytes(), b"/x\xff");
        assert_eq!((fields.text("empty"), fields.number("n"), fields.flag("flag")), (None, Some(17), true));
        assert_eq!(fields.text("path"), None);
        assert_eq!(Fields::parse(b"path%25=%2561%250A%25FF").bytes("path"), Some(&b"a\n\xff"[..]));
    }
}
