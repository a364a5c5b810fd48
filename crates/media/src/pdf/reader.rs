//! Implementation with the feature `pdf`.

use crate::pdf::lines::PageText;
use crate::unreadable;
use emendate_core::{Error, Result};
use lopdf::content::Content;
use lopdf::{Document, Encoding, LoadOptions, Object, ObjectId};
use memchr::memmem;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum bytes that all object streams of a file may unpack to, and the minimum and maximum for one of them.
const PACKED_BYTES_MAX: usize = 16 << 20;
const PACKED_LIST_BYTES: (usize, usize) = (16 << 10, 8 << 20);
/// Maximum number of object streams.
const PACKED_LISTS_MAX: usize = PACKED_BYTES_MAX / PACKED_LIST_BYTES.0;
/// Maximum unpacked bytes of a page's content, and of one table of a font.
const PAGE_CONTENT_BYTES_MAX: usize = 4 << 20;
const FONT_TABLE_BYTES_MAX: usize = 1 << 20;
/// Maximum number of pages, and of fonts per page.
const PAGES_MAX: usize = 20_000;
const FONTS_MAX: usize = 200;

pub(super) struct Inside {
    document: Document,
    pages: Vec<ObjectId>,
}

impl Inside {
    pub(super) fn open(bytes: &[u8]) -> Result<Inside> {
        let packed = count_packed_lists(bytes);
        if packed > PACKED_LISTS_MAX {
            return Err(too_much());
        }
        let most = (PACKED_BYTES_MAX / packed.max(1)).clamp(PACKED_LIST_BYTES.0, PACKED_LIST_BYTES.1);
        guarded(|| {
            let options = LoadOptions::with_max_decompressed_size(most);
            let document = Document::load_mem_with_options(bytes, options).map_err(|error| damaged(&error))?;
            if document.is_encrypted() {
                return Err(encrypted());
            }
            let pages: Vec<ObjectId> = document.page_iter().take(PAGES_MAX).collect();
            if pages.is_empty() {
                return Err(unreadable("The PDF is damaged: it has no pages.".to_owned()));
            }
            Ok(Inside { document, pages })
        })
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn text(&self, page: usize) -> Result<String> {
        let id = page.checked_sub(1).and_then(|at| self.pages.get(at));
        let id = *id.ok_or_else(|| unreadable(format!("The PDF has no page {page}.")))?;
        guarded(|| self.text_of(id))
    }

    fn text_of(&self, id: ObjectId) -> Result<String> {
        let fonts = self.document.get_page_fonts(id).map_err(|error| damaged(&error))?;
        let encodings: BTreeMap<Vec<u8>, Encoding<'_>> = fonts
            .into_iter()
            .take(FONTS_MAX)
            .filter_map(|(name, font)| {
                Some((name, font.get_font_encoding_with_limit(&self.document, FONT_TABLE_BYTES_MAX).ok()?))
            })
            .collect();
        let content =
            self.document.get_page_content_with_limit(id, PAGE_CONTENT_BYTES_MAX).map_err(|error| damaged(&error))?;
        let content = Content::decode(&content).map_err(|error| damaged(&error))?;
        let mut lines = PageText::default();
        let mut encoding = None;
        for operation in &content.operations {
            let number =
                |at: usize| operation.operands.get(at).and_then(|it| it.as_float().ok()).map_or(0.0, f64::from);
            let numbers = || [number(0), number(1), number(2), number(3), number(4), number(5)];
            match operation.operator.as_str() {
                "q" => lines.save(),
                "Q" => lines.restore(),
                "cm" => lines.transform(numbers()),
                "BT" => lines.begin(),
                "Tf" => {
                    encoding = operation.operands.first().and_then(|it| encodings.get(it.as_name().ok()?));
                    lines.size(number(1));
                }
                "TL" => lines.leading(number(0)),
                "Td" => lines.step(number(0), number(1)),
                "TD" => {
                    lines.leading(-number(1));
                    lines.step(number(0), number(1));
                }
                "Tm" => lines.set(numbers()),
                "T*" => lines.next(),
                "Tj" | "TJ" => show_text(encoding, &mut lines, operation.operands.first()),
                "'" => {
                    lines.next();
                    show_text(encoding, &mut lines, operation.operands.first());
                }
                "\"" => {
                    lines.next();
                    show_text(encoding, &mut lines, operation.operands.get(2));
                }
                _ => {}
            }
        }
        Ok(lines.text())
    }
}

/// Adds the texts of an operand to the page.
fn show_text(encoding: Option<&Encoding<'_>>, lines: &mut PageText, shown: Option<&Object>) {
    for piece in shown.map_or(&[][..], |it| it.as_array().map_or(std::slice::from_ref(it), Vec::as_slice)) {
        match (piece, encoding) {
            (Object::String(bytes, _), Some(encoding)) => {
                lines.show(&Document::decode_text(encoding, bytes).unwrap_or_default());
            }
            (other, _) => lines.kern(other.as_float().map_or(0.0, f64::from)),
        }
    }
}

/// Converts a panic of the library, which should return errors, into one for a damaged file.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(unreadable("The PDF is damaged in a way that its reader does not understand.".to_owned()))
    })
}

fn damaged(error: &lopdf::Error) -> Error {
    match error {
        lopdf::Error::Decompress(lopdf::DecompressError::MemoryLimitExceeded { .. }) => too_much(),
        lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_) => encrypted(),
        _ => unreadable(format!("The PDF is damaged: {error}.")),
    }
}

fn too_much() -> Error {
    unreadable("The PDF unpacks to more than is allowed.".to_owned())
        .next("Have a program such as pdftotext write its text into a file, if the PDF is to be trusted.")
}

fn encrypted() -> Error {
    unreadable("The PDF is encrypted, and needs a password.".to_owned())
        .next("Have a person remove the password, e.g. with qpdf --decrypt.")
}

/// Estimates the number of object streams in a file, by their type names in any spelling.
fn count_packed_lists(bytes: &[u8]) -> usize {
    let slashes = memmem::find_iter(bytes, b"/");
    slashes.filter(|&at| matches!(&*name_at(bytes, at), b"ObjStm" | b"XRef")).count()
}

/// Reads the name that begins at an offset, without its escapes.
fn name_at(bytes: &[u8], at: usize) -> Vec<u8> {
    let rest = &bytes[at + 1..bytes.len().min(at + 25)];
    let (mut out, mut at) = (Vec::with_capacity(8), 0);
    while let Some(&byte) = rest.get(at).filter(|byte| byte.is_ascii_alphanumeric() || **byte == b'#') {
        let hex = rest.get(at + 1..at + 3).filter(|_| byte == b'#');
        let said = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(said.unwrap_or(byte));
        at += if said.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Inside;
    use emendate_core::Code;
    use lopdf::content::{Content, Operation};
    use lopdf::{Document, Object, Stream, dictionary};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// Creates a document with these pages, each a list of lines.
    fn document(pages: &[&[&str]], compress: bool) -> Vec<u8> {
        let mut document = Document::with_version("1.5");
        let tree = document.new_object_id();
        let font = document.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier", "Encoding" => "WinAnsiEncoding" });
        let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
        let mut kids: Vec<Object> = Vec::new();
        for lines in pages {
            let mut operations = vec![
                Operation::new("BT", vec![]),
                Operation::new("Tf", vec!["F1".into(), 12.into()]),
                Operation::new("Td", vec![72.into(), 700.into()]),
            ];
            for line in *lines {
                operations.push(Operation::new("Tj", vec![Object::string_literal(*line)]));
                operations.push(Operation::new("Td", vec![0.into(), (-14).into()]));
            }
            operations.push(Operation::new("ET", vec![]));
            let content = Content { operations }.encode().unwrap();
            let content = document.add_object(Stream::new(dictionary! {}, content));
            let page = dictionary! { "Type" => "Page", "Parent" => tree, "Contents" => content };
            kids.push(document.add_object(page).into());
        }
        let count = i64::try_from(kids.len()).unwrap();
        let pages = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources };
        document.objects.insert(tree, pages.into());
        let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
        document.trailer.set("Root", catalog);
        if compress {
            document.compress();
        }
        let mut out = Vec::new();
        document.save_to(&mut out).unwrap();
        out
    }

    #[test]
    fn pages_are_read_by_lines() {
        for compress in [false, true] {
            let pdf = Inside::open(&document(&[&["Hello world", "second line"], &["page two"]], compress)).unwrap();
            assert_eq!(pdf.pages(), 2);
            assert_eq!(pdf.text(1).unwrap(), "Hello world\nsecond line\n");
            assert_eq!(pdf.text(2).unwrap(), "page two\n");
            assert!(pdf.text(0).is_err() && pdf.text(3).is_err());
        }
    }

    #[test]
    fn bombs_and_damaged_files_are_refused() {
        let bomb = "x".repeat(50 << 20);
        let pdf = Inside::open(&document(&[&[&bomb]], true)).unwrap();
        let error = pdf.text(1).unwrap_err();
        assert!(error.code() == Code::MediaUnreadable && error.message().contains("unpacks"), "{error}");
        let whole = document(&[&["Hello"]], false);
        assert!(Inside::open(b"%PDF-1.7\n").is_err() && Inside::open(&whole[..40]).is_err());
        let lists = [&whole[..], &b"/Obj#53tm ".repeat(2000)].concat();
        assert!(Inside::open(&lists).err().unwrap().message().contains("unpacks"));
        let deep = [&b"%PDF-1.4\n1 0 obj\n"[..], &b"[".repeat(1 << 20), b"\nendobj\ntrailer<</Root 1 0 R>>"].concat();
        assert!(Inside::open(&deep).is_err());
    }

    static WHOLE: LazyLock<[Vec<u8>; 2]> =
        LazyLock::new(|| [false, true].map(|compress| document(&[&["Hello world", "x"], &["two"]], compress)));

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn damage_does_not_panic(
            which in 0usize..2,
            hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            cut in any::<prop::sample::Index>(),
            cuts in any::<bool>(),
        ) {
            let mut bytes = WHOLE[which].clone();
            for (at, byte) in hits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if cuts {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(pdf) = Inside::open(&bytes) {
                for page in 1..=pdf.pages().min(3) {
                    let _ = pdf.text(page);
                }
            }
        }
    }
}
