//! The text of PDF pages. The structure is read by `lopdf`; what it may unpack is bounded here, and how pieces of text
//! become lines is decided here.

use emendate_core::{Code, Error, Result};

/// Bytes of a PDF whose text is read.
pub const MOST_PDF: usize = 16 << 20;

/// An open PDF.
pub struct Pdf(Inside);

impl Pdf {
    /// Opens a PDF.
    ///
    /// Errors: `read.too_large`; `media.unreadable` when it is damaged, encrypted or unpacks to more than it should; `media.unsupported` in a build without the feature `pdf`.
    pub fn open(bytes: &[u8]) -> Result<Pdf> {
        fits(bytes)?;
        Inside::open(bytes).map(Pdf)
    }

    /// How many pages it has.
    pub fn pages(&self) -> usize {
        self.0.pages()
    }

    /// The text of a page, 1 for the first.
    ///
    /// Errors: `media.unreadable`.
    pub fn text(&self, page: usize) -> Result<String> {
        self.0.text(page)
    }
}

/// Refuses what is larger than [`MOST_PDF`].
///
/// Errors: `read.too_large`.
pub fn fits(bytes: &[u8]) -> Result<()> {
    if bytes.len() <= MOST_PDF {
        return Ok(());
    }
    Err(Error::new(Code::ReadTooLarge, format!("The PDF has {} bytes; at most {MOST_PDF} are read.", bytes.len()))
        .next("Have a program such as pdftotext write its text into a file."))
}

#[cfg(not(feature = "pdf"))]
use without::Inside;

#[cfg(not(feature = "pdf"))]
mod without {
    use emendate_core::{Code, Error, Result};

    pub(super) enum Inside {}

    impl Inside {
        pub(super) fn open(_bytes: &[u8]) -> Result<Inside> {
            Err(Error::new(Code::MediaUnsupported, "This build cannot read the text of PDFs (feature `pdf`).")
                .next("Read it with \"base64\": true to get the file itself, or have a program such as pdftotext write its text into a file."))
        }

        pub(super) fn pages(&self) -> usize {
            match *self {}
        }

        pub(super) fn text(&self, _page: usize) -> Result<String> {
            match *self {}
        }
    }
}

#[cfg(feature = "pdf")]
mod lines;
#[cfg(feature = "pdf")]
mod within;
#[cfg(feature = "pdf")]
use within::Inside;
