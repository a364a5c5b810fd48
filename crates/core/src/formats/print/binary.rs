//! GIT binary patches: a change of bytes that are not text, as `git diff --binary` writes it.

use crate::locate::binary::git_object_id;
use std::fmt::Write as _;

/// Number of bytes that are encoded on one line.
const LINE_BYTES: usize = 52;
/// The digits of git's base 85.
const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Level of the compression.
const COMPRESSION_LEVEL: u8 = 6;

/// Returns the lines after `diff --git` and the modes that change a file's bytes, in both directions. `None` means that
/// there is no file on that side.
pub fn binary_patch(before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let id = |side: Option<&[u8]>| side.map_or_else(|| "0".repeat(40), git_object_id);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "index {}..{}\nGIT binary patch", id(before), id(after));
    for side in [after, before] {
        literal(&mut out, side.unwrap_or_default());
    }
    out
}

/// Adds one direction: the size, and the compressed bytes.
fn literal(out: &mut String, bytes: &[u8]) {
    let _ = writeln!(out, "literal {}", bytes.len());
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(bytes, COMPRESSION_LEVEL);
    for line in packed.chunks(LINE_BYTES) {
        let count = u8::try_from(line.len()).unwrap_or(u8::MAX);
        out.push(char::from(if count <= 26 { b'A' + count - 1 } else { b'a' + count - 27 }));
        for group in line.chunks(4) {
            let mut four = [0; 4];
            four[..group.len()].copy_from_slice(group);
            let mut value = u32::from_be_bytes(four);
            let mut digits = ['0'; 5];
            for digit in digits.iter_mut().rev() {
                *digit = char::from(DIGITS[(value % 85) as usize]);
                value /= 85;
            }
            out.extend(digits);
        }
        out.push('\n');
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::binary_patch;
    use crate::formats::unified_diff::UnifiedDiff;
    use crate::formats::{Format, FormatInput};
    use crate::locate::binary::apply_binary;
    use crate::locate::op::{BinaryChange, FileAction};
    use proptest::prelude::*;

    proptest! {
        /// A patch leads to the bytes for which it was made.
        #[test]
        fn binary_patches_are_read_back(old in prop::collection::vec(any::<u8>(), 1..300), new in prop::collection::vec(any::<u8>(), 1..300)) {
            let text = format!("diff --git a/f b/f\n{}", binary_patch(Some(&old), Some(&new)));
            let request = UnifiedDiff.parse(FormatInput::Text(text)).unwrap();
            let changes: Vec<&BinaryChange> = request.files.iter().filter_map(|file| match &file.action {
                FileAction::Binary(change) => Some(change),
                _ => None,
            }).collect();
            prop_assert_eq!(changes.len(), 1);
            prop_assert_eq!(apply_binary(&old, changes[0]).unwrap(), new);
        }
    }
}
