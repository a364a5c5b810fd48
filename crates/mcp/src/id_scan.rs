//! Extraction of a request's id from text that cannot be parsed: malformed JSON, or a line that is too long to keep.
//!
//! With the id the client learns that its call failed; without it, the client would wait for an answer until its
//! timeout.

use rmcp::model::RequestId;

/// Bytes of an id that are kept; longer ones get no answer.
const ID_BYTES_MAX: usize = 256;

/// A scanner of a line that arrives in chunks; it keeps only the id at the top level.
#[derive(Default)]
pub(crate) struct IdScan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// True after the colon of a member, and before the next comma.
    in_value: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<RequestId>,
}

/// Returns the id in a line.
pub(crate) fn of(line: &[u8]) -> Option<RequestId> {
    let mut scan = IdScan::default();
    scan.feed(line);
    scan.id
}

impl IdScan {
    /// Returns the id that was found.
    pub(crate) fn id(self) -> Option<RequestId> {
        self.id
    }

    /// Scans the next chunk of the line.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.in_string {
                self.string(byte);
            } else {
                self.structure(byte);
            }
        }
    }

    fn string(&mut self, byte: u8) {
        self.keep(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    fn structure(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.member();
                }
            }
            b':' if self.depth == 1 => self.in_value = true,
            b',' if self.depth == 1 => self.member(),
            _ => self.keep(byte),
        }
    }

    /// Keeps a byte of the top level, where an id can be.
    fn keep(&mut self, byte: u8) {
        if self.depth == 1 {
            let part = if self.in_value { &mut self.value } else { &mut self.key };
            if part.len() < ID_BYTES_MAX {
                part.push(byte);
            }
        }
    }

    /// Completes a member of the top level.
    fn member(&mut self) {
        if self.id.is_none() && self.key.trim_ascii() == b"\"id\"" {
            self.id = serde_json::from_slice(self.value.trim_ascii()).ok();
        }
        self.key.clear();
        self.value.clear();
        self.in_value = false;
    }
}

#[cfg(test)]
mod tests {
    use super::{IdScan, of};
    use rmcp::model::RequestId;

    fn number(id: i64) -> RequestId {
        RequestId::Number(id)
    }

    #[test]
    fn finds_the_id_at_the_top_level_only() {
        assert_eq!(of(br#"{"jsonrpc":"2.0","id":7,"method":"x"}"#), Some(number(7)));
        assert_eq!(of(br#"{"params":{"id":1,"a":["\"}",2]},"id": 8 }"#), Some(number(8)));
        assert_eq!(of(br#"{"id":"a,\"}b","params":{"#), Some(RequestId::String("a,\"}b".into())));
        assert_eq!(of(br#"{"params":{"id":1}}"#), None);
        assert_eq!(of(br#"{"id":{"id":3}}"#), None);
        assert_eq!(of(br#"{"id":12"#), None, "it may go on");
        assert_eq!(of(b"garbage"), None);
        assert_eq!(of(b"}}}]]]\"\\"), None);
    }

    #[test]
    fn finds_the_id_in_broken_lines_and_in_chunks() {
        let line = br#"{"method":"tools/call","params":{"t":"\ud800, not \x JSON"},"id":9}"#;
        assert!(serde_json::from_slice::<serde_json::Value>(line).is_err());
        for piece in 1..line.len() {
            let mut scan = IdScan::default();
            line.chunks(piece).for_each(|bytes| scan.feed(bytes));
            assert_eq!(scan.id(), Some(number(9)));
        }
    }
}
