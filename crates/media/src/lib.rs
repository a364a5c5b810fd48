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
pub use pdf::{MOST_PDF, Pdf, fits};

/// File type, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// Detects the type of a file; `None` for anything else.
    pub fn of(bytes: &[u8]) -> Option<Kind> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Kind::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Kind::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Kind::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Kind::WebP),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Kind::Pdf),
            _ => None,
        }
    }

    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Kind::Png => "image/png",
            Kind::Jpeg => "image/jpeg",
            Kind::Gif => "image/gif",
            Kind::WebP => "image/webp",
            Kind::Pdf => "application/pdf",
        }
    }

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Png => "PNG",
            Kind::Jpeg => "JPEG",
            Kind::Gif => "GIF",
            Kind::WebP => "WebP",
            Kind::Pdf => "PDF",
        }
    }
}

/// Properties of an image that are known without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its format.
    pub kind: Kind,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Reads the size of an image. Linear time at worst.
///
/// Errors: `media.unreadable` for a file that is visibly truncated or damaged.
pub fn image(bytes: &[u8]) -> Result<Image> {
    let kind = Kind::of(bytes).filter(|kind| *kind != Kind::Pdf);
    let kind = kind.ok_or_else(|| unreadable("The file is no PNG, JPEG, GIF or WebP image.".to_owned()))?;
    let (width, height) = header::size(kind, bytes)
        .filter(|&(width, height)| width > 0 && height > 0)
        .ok_or_else(|| unreadable(format!("The {} image is damaged or cut off.", kind.name())))?;
    Ok(Image { kind, width, height })
}

fn unreadable(what: String) -> Error {
    Error::new(Code::MediaUnreadable, what).next("Ask for an intact copy of the file, or make it again.")
}
