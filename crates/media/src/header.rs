//! Width and height from the headers of image files.

use crate::MediaKind;

/// Returns the size in pixels; `None` if the file is truncated or inconsistent.
pub(crate) fn size(kind: MediaKind, bytes: &[u8]) -> Option<(u32, u32)> {
    match kind {
        MediaKind::Png => png(bytes),
        MediaKind::Jpeg => jpeg(bytes),
        MediaKind::Gif => Some((little(bytes, 6)?, little(bytes, 8)?)),
        MediaKind::WebP => webp(bytes),
        MediaKind::Pdf => None,
    }
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

fn big_short(bytes: &[u8], at: usize) -> Option<u32> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u32::from(u16::from_be_bytes(two.try_into().ok()?)))
}

fn little(bytes: &[u8], at: usize) -> Option<u32> {
    let two = bytes.get(at..at.checked_add(2)?)?;
    Some(u32::from(u16::from_le_bytes(two.try_into().ok()?)))
}

/// Requires all chunks up to the last one: a client would refuse a truncated image.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    let mut at = 8usize;
    loop {
        let length = usize::try_from(big(bytes, at)?).ok()?;
        let end = at.checked_add(length)?.checked_add(12)?;
        bytes.get(at..end)?;
        if bytes.get(at + 4..at + 8)? == b"IEND" {
            return Some((big(bytes, 16)?, big(bytes, 20)?));
        }
        at = end;
    }
}

/// Reads segments up to the frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2usize;
    loop {
        (*bytes.get(at)? == 0xFF).then_some(())?;
        let marker = *bytes.get(at + 1)?;
        match marker {
            // Fill bytes, and markers without a length.
            0xFF => at += 1,
            0x01 | 0xD0..=0xD7 => at += 2,
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                return Some((big_short(bytes, at + 7)?, big_short(bytes, at + 5)?));
            }
            // The image data begins, or ends, before a frame header.
            0xD9 | 0xDA => return None,
            _ => at = at.checked_add(2)?.checked_add(usize::try_from(big_short(bytes, at + 2)?).ok()?)?,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let announced = usize::try_from(u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?)).ok()?;
    bytes.get(..announced.checked_add(8)?)?;
    match bytes.get(12..16)? {
        b"VP8 " => {
            (bytes.get(23..26)? == [0x9D, 0x01, 0x2A]).then_some(())?;
            Some((little(bytes, 26)? & 0x3FFF, little(bytes, 28)? & 0x3FFF))
        }
        b"VP8L" => {
            (*bytes.get(20)? == 0x2F).then_some(())?;
            let bits = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => Some((little_three(bytes, 24)? + 1, little_three(bytes, 27)? + 1)),
        _ => None,
    }
}

/// Reads three bytes, the lowest first.
fn little_three(bytes: &[u8], at: usize) -> Option<u32> {
    Some(little(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16)
}

#[cfg(test)]
mod tests {
    use crate::{MediaKind, image};
    use proptest::prelude::*;

    fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], &name, data, &[0; 4]].concat()
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
        [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(*b"IHDR", &head), chunk(*b"IDAT", &[1, 2, 3]), chunk(*b"IEND", &[])]
            .concat()
    }

    #[test]
    fn sizes_are_read_from_headers() {
        let of = |bytes: &[u8]| image(bytes).map(|it| (it.kind, it.width, it.height)).ok();
        assert_eq!(of(&png(640, 480)), Some((MediaKind::Png, 640, 480)));
        let jpeg = b"\xFF\xD8\xFF\xE0\x00\x04ab\xFF\xFF\xC2\x00\x11\x08\x00\x10\x00\x20\x03\x01";
        assert_eq!(of(jpeg), Some((MediaKind::Jpeg, 32, 16)));
        assert_eq!(of(b"GIF89a\x05\x00\x07\x00"), Some((MediaKind::Gif, 5, 7)));
        let lossy = b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x30\x01\0\x9d\x01\x2a\x03\x40\x04\x00";
        assert_eq!(of(lossy), Some((MediaKind::WebP, 3, 4)));
        let lossless = b"RIFF\x11\0\0\0WEBPVP8L\x05\0\0\0\x2f\x04\x40\x01\x00";
        assert_eq!(of(lossless), Some((MediaKind::WebP, 5, 6)));
        let extended = b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x01\x00\x01\x02\x00\x00";
        assert_eq!(of(extended), Some((MediaKind::WebP, 65538, 3)));
    }

    #[test]
    fn truncated_images_are_refused() {
        let whole = png(1, 1);
        for length in 8..whole.len() {
            assert!(image(&whole[..length]).is_err(), "{length}");
        }
        assert!(image(&png(0, 1)).is_err());
        assert!(image(b"\xFF\xD8\xFF\xD9").is_err() && image(b"GIF89a\x05\x00").is_err());
        assert!(image(b"RIFF\xFF\xFF\xFF\xFFWEBPVP8X\x0a\0\0\0\0\0\0\0\x01\x00\x01\x02\x00\x00").is_err());
    }

    proptest! {
        #[test]
        fn no_header_panics(start in 0usize..5, rest in proptest::collection::vec(any::<u8>(), 0..80)) {
            let magic: [&[u8]; 5] =
                [b"\x89PNG\r\n\x1a\n", b"\xFF\xD8\xFF", b"GIF89a", b"RIFF\x10\0\0\0WEBP", b"RIFF\x10\0\0\0WEBPVP8"];
            let _ = image(&[magic[start], &rest].concat());
        }
    }
}
