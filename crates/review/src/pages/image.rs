//! Files that are not text: images before and after, others by their sizes.

use crate::html::Html;
use crate::pages::file::{file_query, named};
use crate::respond;
use crate::view::PageContext;
use emendate::core::{Code, Error, Result};
use emendate::{ChangeScope, FileView, OperationSide};
use emendate_http::HttpResponse;

/// Bytes of an image that is shown.
const IMAGE_BYTES_MAX: usize = 16 << 20;

/// First bytes of the formats that are shown, and their media types. None of them can contain a script.
const FORMATS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
];

/// Returns the media type of an image that is shown.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    FORMATS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, media_type)| *media_type)
}

/// Returns an image of a file.
///
/// Errors: those of `Review::scope_content`; `operation.not_found` for something else than an image.
pub(crate) fn response(page: &PageContext<'_>) -> Result<HttpResponse> {
    let (scope, path) = named(page)?;
    let moment = if page.fields.text("side") == Some("before") { OperationSide::Before } else { OperationSide::After };
    let bytes = page.state.engine.review().scope_content(&page.state.caller, &scope, &path, moment)?;
    match media_type(&bytes).filter(|_| bytes.len() <= IMAGE_BYTES_MAX) {
        Some(media_type) => Ok(respond::image(media_type, bytes)),
        None => Err(Error::new(Code::OperationMissing, "The file is not an image that can be shown.")),
    }
}

/// Adds both sides of a file that is not text.
pub(crate) fn sides(out: &mut Html, scope: &ChangeScope, view: &FileView, before: Option<usize>, after: Option<usize>) {
    let name = view.path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase();
    let is_image = matches!(&*name, "png" | "jpg" | "jpeg" | "gif" | "webp");
    out.raw("<div class=\"sides\">");
    for (label, side, size) in [("Before", "before", before), ("After", "after", after)] {
        out.raw("<figure><figcaption>").text(label).raw(": ");
        match size {
            Some(size) => out.text(&bytes_text(size)),
            None => out.raw("no file"),
        };
        out.raw("</figcaption>");
        if is_image && size.is_some() {
            out.raw("<img loading=\"lazy\"").attr("src", &format!("/image?{}&side={side}", file_query(scope, view)));
            out.attr("alt", &format!("{} {}", emendate::fs::shown(&view.below_root), label.to_lowercase())).raw(">");
        }
        out.raw("</figure>");
    }
    out.raw("</div>");
}

/// Returns a size for people.
fn bytes_text(size: usize) -> String {
    let (unit, name) = match size {
        0..1024 => return format!("{size} bytes"),
        1024..1_048_576 => (1024, "KiB"),
        _ => (1_048_576, "MiB"),
    };
    let tenths = size.saturating_mul(10) / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}
