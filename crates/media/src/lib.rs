//! Images and PDFs: file types by magic numbers, image sizes from headers, text of PDF pages.
//!
//! Files are considered hostile: headers are parsed by hand with every length checked, images are decoded only to scale
//! them down (feature `downscale`) and only below a number of pixels, and the unpacked size of a PDF (feature `pdf`) is
//! bounded.

mod downscale;
mod header;
mod pdf;

use emendate_core::{Code, Error, Result};

pub use downscale::{downscaled, has_downscale};
pub use pdf::{PDF_BYTES_MAX, Pdf, check_size};

/// File type, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// A PNG image.
    Png,
    /// A JPEG image.
    Jpeg,
    /// A GIF image.
    Gif,
    /// A WebP image.
    WebP,
    /// A PDF document.
    Pdf,
}

impl MediaKind {
    /// Detects the type of a file; `None` for anything else.
    pub fn of(bytes: &[u8]) -> Option<MediaKind> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(MediaKind::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(MediaKind::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(MediaKind::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(MediaKind::WebP),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(MediaKind::Pdf),
            _ => None,
        }
    }

    /// The media type of the format.
    pub const fn media_type(self) -> &'static str {
        match self {
            MediaKind::Png => "image/png",
            MediaKind::Jpeg => "image/jpeg",
            MediaKind::Gif => "image/gif",
            MediaKind::WebP => "image/webp",
            MediaKind::Pdf => "application/pdf",
        }
    }

    /// The name of the format, for people.
    pub const fn name(self) -> &'static str {
        match self {
            MediaKind::Png => "PNG",
            MediaKind::Jpeg => "JPEG",
            MediaKind::Gif => "GIF",
            MediaKind::WebP => "WebP",
            MediaKind::Pdf => "PDF",
        }
    }
}

/// Properties of an image that are known without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The format of the image.
    pub kind: MediaKind,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Reads the size of an image. Linear time at worst.
///
/// Errors: `media.unreadable` for a file that is visibly truncated or damaged.
pub fn image(bytes: &[u8]) -> Result<Image> {
    let kind = MediaKind::of(bytes).filter(|kind| *kind != MediaKind::Pdf);
    let kind = kind.ok_or_else(|| unreadable("The file is not a PNG, JPEG, GIF or WebP image.".to_owned()))?;
    let (width, height) = header::size(kind, bytes)
        .filter(|&(width, height)| width > 0 && height > 0)
        .ok_or_else(|| unreadable(format!("The {} image is damaged or cut off.", kind.name())))?;
    Ok(Image { kind, width, height })
}

fn unreadable(what: String) -> Error {
    Error::new(Code::MediaUnreadable, what).next("Ask for an intact copy of the file, or make it again.")
}
