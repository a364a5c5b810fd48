//! Text of PDF pages. `lopdf` parses the structure; the limits on unpacking and the assembly of lines are ours.

use emendate_core::{Code, Error, Result};

/// Maximum bytes of a PDF whose text is read.
pub const PDF_BYTES_MAX: usize = 16 << 20;

/// An open PDF.
pub struct Pdf(Inside);

impl Pdf {
    /// Opens a PDF.
    ///
    /// Errors: `read.too_large`; `media.unreadable` if it is damaged, encrypted or unpacks to too much;
    /// `media.unsupported` in a build without the feature `pdf`.
    pub fn open(bytes: &[u8]) -> Result<Pdf> {
        check_size(bytes)?;
        Inside::open(bytes).map(Pdf)
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.0.pages()
    }

    /// Returns the text of a page; pages count from 1.
    ///
    /// Errors: `media.unreadable`.
    pub fn text(&self, page: usize) -> Result<String> {
        self.0.text(page)
    }
}

/// Refuses a PDF larger than [`PDF_BYTES_MAX`].
///
/// Errors: `read.too_large`.
pub fn check_size(bytes: &[u8]) -> Result<()> {
    if bytes.len() <= PDF_BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(Code::ReadTooLarge, format!("The PDF has {} bytes; at most {PDF_BYTES_MAX} are read.", bytes.len()))
        .next("Have a program such as pdftotext write its text into a file."))
}

#[cfg(not(feature = "pdf"))]
use without::Inside;

#[cfg(not(feature = "pdf"))]
mod without {
    use emendate_core::{Code, Error, Phrase, Result, advice};

    pub(super) enum Inside {}

    impl Inside {
        pub(super) fn open(_bytes: &[u8]) -> Result<Inside> {
            Err(Error::new(Code::MediaUnsupported, "This build cannot read the text of PDFs (feature `pdf`).").next(
                advice![
                    "Read it with ",
                    Phrase::Set("base64", true.into()),
                    " to get the file itself, or have a program such as pdftotext write its text into a file."
                ],
            ))
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
mod reader;
#[cfg(feature = "pdf")]
use reader::Inside;
