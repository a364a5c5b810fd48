//! Smaller versions of images, for clients with little context. Only this module decodes images.

use crate::Image;
use emendate_core::{Advice, Code, Error, Result};

/// True if this build can scale images down.
pub const fn has_downscale() -> bool {
    cfg!(feature = "downscale")
}

/// Scales an image so that its longer side has at most `side` pixels; returns PNG, or JPEG if it was one.
///
/// Errors: `media.unsupported` in a build without the feature `downscale`; `media.unreadable` for a damaged image or
/// one that is too large to decode.
#[cfg(not(feature = "downscale"))]
pub fn downscaled(_bytes: &[u8], _image: Image, _side: u32) -> Result<Vec<u8>> {
    Err(Error::new(Code::MediaUnsupported, "This build cannot make images smaller (feature `downscale`).")
        .next(Advice::named("Omit {max_side}, or shrink the image with another program first.")))
}

#[cfg(feature = "downscale")]
pub use here::downscaled;

#[cfg(feature = "downscale")]
mod here {
    use super::{Code, Error, Image, Result};
    use crate::{MediaKind, unreadable};
    use image::{DynamicImage, ImageFormat, ImageReader, Limits};
    use std::io::Cursor;

    /// Maximum bytes for decoding.
    const DECODED_BYTES_MAX: u64 = 256 << 20;

    /// Scales an image so that its longer side has at most `side` pixels; returns PNG, or JPEG if it was one.
    ///
    /// Errors: `media.unreadable` for a damaged image or one that is too large to decode.
    pub fn downscaled(bytes: &[u8], image: Image, side: u32) -> Result<Vec<u8>> {
        let (from, to) = match image.kind {
            MediaKind::Png => (ImageFormat::Png, ImageFormat::Png),
            MediaKind::Jpeg => (ImageFormat::Jpeg, ImageFormat::Jpeg),
            MediaKind::Gif => (ImageFormat::Gif, ImageFormat::Png),
            MediaKind::WebP => (ImageFormat::WebP, ImageFormat::Png),
            MediaKind::Pdf => return Err(unreadable("A PDF is not an image.".to_owned())),
        };
        if u64::from(image.width) * u64::from(image.height) * 4 > DECODED_BYTES_MAX {
            return Err(Error::new(
                Code::MediaUnreadable,
                format!("The image has {}×{} pixels, too many to be decoded.", image.width, image.height),
            )
            .next("Shrink it with another program first."));
        }
        let mut reader = ImageReader::with_format(Cursor::new(bytes), from);
        let mut limits = Limits::default();
        limits.max_alloc = Some(DECODED_BYTES_MAX);
        reader.limits(limits);
        let small = reader.decode().map_err(decode_failure)?.thumbnail(side, side);
        let small = if to == ImageFormat::Jpeg { DynamicImage::ImageRgb8(small.to_rgb8()) } else { small };
        let mut out = Cursor::new(Vec::new());
        small.write_to(&mut out, to).map_err(decode_failure)?;
        Ok(out.into_inner())
    }

    /// Returns the error of an image that cannot be decoded.
    fn decode_failure(error: image::ImageError) -> Error {
        unreadable(format!("The image cannot be decoded: {error}."))
    }

    #[cfg(test)]
    mod tests {
        use super::downscaled;
        use crate::{MediaKind, image};
        use ::image::{DynamicImage, ImageFormat};
        use std::io::Cursor;

        #[test]
        fn every_format_is_downscaled_and_bombs_are_refused() {
            for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
                let mut out = Cursor::new(Vec::new());
                let picture = DynamicImage::new_rgb8(300, 200);
                picture.write_to(&mut out, format).unwrap();
                let bytes = out.into_inner();
                let small = image(&downscaled(&bytes, image(&bytes).unwrap(), 30).unwrap()).unwrap();
                assert_eq!((small.width, small.height), (30, 20), "{format:?}");
                assert!(matches!(small.kind, MediaKind::Png | MediaKind::Jpeg));
                assert!(downscaled(&bytes[..20], image(&bytes).unwrap(), 30).is_err());
                let mut huge = image(&bytes).unwrap();
                huge.width = 60_000;
                huge.height = 60_000;
                assert!(downscaled(&bytes, huge, 30).is_err());
            }
        }
    }
}
