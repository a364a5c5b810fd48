//! GIT binary patches: `literal N` or `delta N`, then zlib data in base 85, one part per direction.

use super::mistakes::broken;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::binary::BINARY_RESULT_BYTES_MAX;
use crate::locate::op::BinaryPayload;

/// git's base-85 alphabet.
const BASE85_DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// For every byte, its value as a digit; 85 for bytes that are not digits.
const BASE85_VALUES: [u8; 256] = {
    let mut values = [85; 256];
    let mut digit = 0;
    while digit < BASE85_DIGITS.len() {
        #[allow(clippy::cast_possible_truncation, reason = "there are 85 digits")]
        let value = digit as u8;
        values[BASE85_DIGITS[digit] as usize] = value;
        digit += 1;
    }
    values
};

/// A binary patch that is being parsed.
#[derive(Debug, Default)]
pub(super) struct BinaryPatch {
    /// The open part: its line, true for a delta, its size, and the packed data.
    part: Option<(usize, bool, usize, Vec<u8>)>,
    /// The complete parts: forward, then backward.
    parts: Vec<BinaryPayload>,
}

impl BinaryPatch {
    /// Adds a line; false if it is not part of the patch. `budget` is the remaining number of bytes to unpack.
    pub(super) fn take(&mut self, at: usize, line: &str, budget: &mut usize) -> Result<bool> {
        let line = line.trim_end();
        let Some((.., packed)) = &mut self.part else {
            let Some((word, size)) = line.split_once(' ').filter(|_| self.parts.len() < 2) else { return Ok(false) };
            if !["literal", "delta"].contains(&word) {
                return Ok(false);
            }
            let size: usize = size.parse().map_err(|_| broken(at, "the size of the binary patch is not a number."))?;
            *budget = budget.checked_sub(size).ok_or_else(|| too_large(at))?;
            self.part = Some((at, word == "delta", size, Vec::new()));
            return Ok(true);
        };
        if line.is_empty() {
            self.close()?;
            return Ok(true);
        }
        decode(line, packed).ok_or_else(|| broken(at, "this line of the binary patch is damaged."))?;
        Ok(true)
    }

    fn close(&mut self) -> Result<()> {
        let Some((at, delta, size, packed)) = self.part.take() else { return Ok(()) };
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(&packed, size.max(1));
        let bytes = bytes.ok().filter(|bytes| bytes.len() == size).ok_or_else(|| {
            broken(at, "this part of the binary patch is cut off or damaged.").next("Send the patch again, whole.")
        })?;
        self.parts.push(if delta { BinaryPayload::Delta(bytes) } else { BinaryPayload::Literal(bytes) });
        Ok(())
    }

    /// Returns the forward part, and the backward part if there is one.
    pub(super) fn end(mut self, at: usize) -> Result<(BinaryPayload, Option<BinaryPayload>)> {
        self.close()?;
        let mut parts = self.parts.into_iter();
        let forward = parts.next().ok_or_else(|| broken(at, "the binary patch has no data."))?;
        Ok((forward, parts.next()))
    }
}

fn too_large(at: usize) -> Error {
    let what =
        format!("Line {at} of the request: the binary patches contain more than {BINARY_RESULT_BYTES_MAX} bytes.");
    Error::new(Code::CallTooLarge, what).next("Send them in several calls, or write the files in another way.")
}

/// Decodes one line: a letter for the number of bytes, then five digits for every four bytes.
fn decode(line: &str, out: &mut Vec<u8>) -> Option<()> {
    let (&first, digits) = line.as_bytes().split_first()?;
    let count = match first {
        b'A'..=b'Z' => first - b'A' + 1,
        b'a'..=b'z' => first - b'a' + 27,
        _ => return None,
    };
    let mut left = usize::from(count);
    if digits.len() != left.div_ceil(4) * 5 {
        return None;
    }
    for group in digits.chunks_exact(5) {
        let value = group.iter().try_fold(0_u64, |value, digit| {
            let digit = BASE85_VALUES[usize::from(*digit)];
            (digit < 85).then_some(value * 85 + u64::from(digit))
        })?;
        let bytes = u32::try_from(value).ok()?.to_be_bytes();
        out.extend_from_slice(&bytes[..left.min(4)]);
        left = left.saturating_sub(4);
    }
    Some(())
}
