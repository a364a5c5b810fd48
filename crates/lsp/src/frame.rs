//! Message framing: headers with a content length, an empty line, the content. No server can allocate more memory than
//! it really sends, nor more than the limits here.

use serde_json::Value;
use std::io::{self, BufRead, Read as _};

/// Maximum bytes of a header line.
const HEADER_LINE_BYTES_MAX: u64 = 1 << 10;
/// Maximum number of header lines.
const HEADER_LINES_MAX: usize = 16;
/// Maximum bytes of a message.
const MESSAGE_BYTES_MAX: u64 = 32 << 20;

/// Returns the next message as bytes; `None` at the end of the stream.
///
/// Errors: the reason why this is not a message, as words that follow "it".
pub(crate) fn read(pipe: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let Some(length) = header(pipe)? else { return Ok(None) };
    let mut body = Vec::new();
    // Grows with the data that arrives, whatever length the header claims.
    pipe.take(length).read_to_end(&mut body).map_err(|error| lost(&error))?;
    if body.len() as u64 == length { Ok(Some(body)) } else { Ok(None) }
}

/// Returns the length in the header; `None` at the end of the stream.
fn header(pipe: &mut impl BufRead) -> Result<Option<u64>, String> {
    let mut length = None;
    for _ in 0..HEADER_LINES_MAX {
        let mut line = Vec::new();
        pipe.take(HEADER_LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(|error| lost(&error))?;
        if line.last() != Some(&b'\n') {
            return if line.len() as u64 == HEADER_LINE_BYTES_MAX { Err(strange(&line)) } else { Ok(None) };
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return length.map(Some).ok_or_else(|| "sent a header without a length".to_owned());
        }
        let Some((name, value)) = std::str::from_utf8(text).ok().and_then(|text| text.split_once(':')) else {
            return Err(strange(text));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            let value: u64 = value.trim().parse().map_err(|_| strange(text))?;
            if value > MESSAGE_BYTES_MAX {
                return Err(format!("announced a message of {value} bytes; the limit is {MESSAGE_BYTES_MAX}"));
            }
            length = Some(value);
        }
    }
    Err(format!("sent a header of more than {HEADER_LINES_MAX} lines"))
}

fn lost(error: &io::Error) -> String {
    format!("could not be read: {error}")
}

fn strange(line: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(line).chars().filter(|char| !char.is_control()).take(60).collect();
    format!("wrote `{shown}` where a header was expected")
}

/// Returns a message with its header.
pub(crate) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let mut out = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    out.extend_from_slice(body.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::{MESSAGE_BYTES_MAX, framed, read};
    use proptest::prelude::*;
    use serde_json::json;
    use std::io::BufReader;

    #[test]
    fn framing_round_trips() {
        let message = json!({ "text": "grüße\r\n\r\n" });
        let bytes = [framed(&message), framed(&json!(1))].concat();
        let mut pipe = BufReader::with_capacity(3, &*bytes);
        assert_eq!(read(&mut pipe).unwrap().unwrap(), message.to_string().as_bytes());
        assert_eq!(read(&mut pipe).unwrap().unwrap(), b"1");
        assert_eq!(read(&mut pipe).unwrap(), None);
        let mut other = &b"content-type: x\ncontent-length:2\n\n{}"[..];
        assert_eq!(read(&mut other).unwrap().unwrap(), b"{}");
    }

    #[test]
    fn invalid_messages_are_reported() {
        let long = "x".repeat(5000);
        let many = "a: b\n".repeat(50);
        for (bytes, part) in [
            ("npm notice\n", "npm notice"),
            ("a: b\r\n\r\n", "without a length"),
            (&*format!("Content-Length: {}\r\n\r\n", MESSAGE_BYTES_MAX + 1), "limit"),
            ("Content-Length: 18446744073709551616\r\n\r\n", "Content-Length"),
            ("Content-Length: -1\r\n\r\n", "Content-Length"),
            (&*long, "xxx"),
            (&*many, "16 lines"),
        ] {
            let error = read(&mut bytes.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        for cut in ["", "Content-Le", "Content-Length: 5\r\n", "Content-Length: 5\r\n\r\n{}"] {
            assert_eq!(read(&mut cut.as_bytes()), Ok(None), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_terminate(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut pipe = &*bytes;
            while let Ok(Some(_)) = read(&mut pipe) {}
        }
    }
}
