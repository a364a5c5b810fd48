//! Images and PDFs as shown by `read`.

use crate::context::call::Call;
use crate::model::attachment::{ATTACHMENTS, Attachment, IMAGE_BYTES_MAX, list_to_json};
use crate::model::raw_path;
use crate::model::reply::Answer;
use crate::model::reply_limits::READ_REPLY_CHARS_MAX;
use crate::tools::read::ReadInput;
use emendate_core::{Advice, Code, ContentId, Error, Result, advice};
use emendate_fs::SafePath;
use emendate_media::{MediaKind, Pdf, check_size, downscaled, has_downscale, image};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Pages of a PDF in one reply.
pub(crate) const PDF_PAGES_MAX: usize = 20;

/// Shows an image or a PDF.
///
/// Errors: `media.unreadable`, `media.unsupported`, `read.range`, `read.too_large`.
pub(crate) fn show_media(
    call: Call<'_>,
    path: &SafePath,
    kind: MediaKind,
    bytes: &[u8],
    args: &ReadInput,
) -> Result<Answer> {
    let tag = ContentId::of(bytes).tag().to_string();
    let mut answer = if kind == MediaKind::Pdf { pdf(call, path, bytes, args)? } else { picture(path, bytes, args)? };
    answer.data.insert("tag".to_owned(), tag.into());
    answer.data.insert("size".to_owned(), bytes.len().into());
    answer.data.insert("mediaType".to_owned(), kind.media_type().into());
    Ok(answer)
}

fn picture(path: &SafePath, bytes: &[u8], args: &ReadInput) -> Result<Answer> {
    let whole = image(bytes).map_err(|error| error.evidence(path.shown()))?;
    let side = whole.width.max(whole.height);
    let smaller = args.max_side.filter(|&most| most < side);
    if args.max_side == Some(0) {
        return Err(Error::new(Code::CallInvalid, "max_side must be at least 1.")
            .next(Advice::named("Omit {max_side}.").or("Give a positive number, or none.")));
    }
    let made = smaller.map(|most| downscaled(bytes, whole, most)).transpose()?;
    let sent = made.as_deref().unwrap_or(bytes);
    if sent.len() > IMAGE_BYTES_MAX {
        let next = if has_downscale() {
            advice!["Call ", raw_path::read(path, json!({ "max_side": 1568 })), " for a smaller one."]
                .or("Shrink the image with another program first.")
        } else {
            Advice::from("Shrink the image with another program first.")
        };
        return Err(Error::new(
            Code::ReadTooLarge,
            format!("The image has {} bytes; a reply carries at most {IMAGE_BYTES_MAX}.", sent.len()),
        )
        .evidence(format!("{}: {}×{} pixels.", path.shown(), whole.width, whole.height))
        .next(next));
    }
    let attachment = Attachment::image(sent)?;
    let (name, width, height) = (whole.kind.name(), whole.width, whole.height);
    let mut text = format!("{name} image, {width}×{height} pixels, {} bytes.\n", bytes.len());
    if made.is_some() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Shown smaller, as {}.", attachment.describe());
    }
    let data = Map::from_iter([
        ("type".to_owned(), "image".into()),
        ("width".to_owned(), width.into()),
        ("height".to_owned(), height.into()),
        ("downscaled".to_owned(), made.is_some().into()),
        (ATTACHMENTS.to_owned(), list_to_json(&[attachment])),
    ]);
    Ok(Answer { text, data, ..Answer::default() })
}

fn pdf(call: Call<'_>, path: &SafePath, bytes: &[u8], args: &ReadInput) -> Result<Answer> {
    let mut data = Map::from_iter([("type".to_owned(), Value::from("pdf"))]);
    let whole = args.base64 == Some(true);
    let (mut text, mut reminders) = (String::new(), Vec::new());
    if whole {
        check_size(bytes).map_err(|error| error.evidence(path.shown()))?;
        let uri = format!("file://{}", path.shown());
        let attachment = Attachment::document(MediaKind::Pdf.media_type(), bytes, uri);
        let _ = writeln!(text, "PDF, {} bytes, attached as a whole.", bytes.len());
        data.insert(ATTACHMENTS.to_owned(), list_to_json(&[attachment]));
    }
    if !whole || args.pages.is_some() {
        let added = pages(call, path, bytes, args, &mut text, &mut data);
        reminders = added.map_err(|error| error.evidence(path.shown()))?;
    }
    Ok(Answer { text, data, reminders, ..Answer::default() })
}

/// Adds the text of pages; returns notes.
fn pages(
    call: Call<'_>,
    path: &SafePath,
    bytes: &[u8],
    args: &ReadInput,
    text: &mut String,
    data: &mut Map<String, Value>,
) -> Result<Vec<String>> {
    let pdf = Pdf::open(bytes)?;
    let total = pdf.pages();
    let asked = range(args.pages.as_deref(), total)?;
    let (mut shown, mut chars, mut failed) = (0, 0, None);
    let mut pages: Vec<Value> = Vec::new();
    for page in asked.clone() {
        let (body, why) = match pdf.text(page) {
            Ok(body) if body.trim().is_empty() => ("(no text on this page; it may be a picture)\n".to_owned(), None),
            Ok(body) => (body, None),
            Err(error) => (format!("(the text of this page cannot be read: {})\n", error.message()), Some(error)),
        };
        let mut entry = format!("--- page {page} of {total} ---\n{body}");
        let room = READ_REPLY_CHARS_MAX.saturating_sub(chars);
        let size = entry.chars().count();
        if size > room {
            if shown > 0 {
                break;
            }
            let at = entry.char_indices().nth(room).map_or(entry.len(), |(at, _)| at);
            let left = entry[at..].chars().count();
            entry.truncate(at);
            let _ = writeln!(entry, "⟪{left} more characters of this page are not shown⟫");
        }
        text.push_str(&entry);
        chars += size;
        pages.push(json!({ "page": page, "characters": body.chars().count(), "readable": why.is_none() }));
        failed = failed.or(why);
        shown += 1;
    }
    if let Some(error) = failed.filter(|_| pages.iter().all(|page| page["readable"] == false)) {
        return Err(error);
    }
    let next = asked.start() + shown;
    let mut notes = Vec::new();
    if next <= total && (next <= *asked.end() || args.pages.is_none()) {
        let rest = json!({ "pages": format!("{next}-{}", total.min(next + PDF_PAGES_MAX - 1)) });
        let advice = advice!["To read on, call ", raw_path::read(path, rest), "."]
            .or("The tools that are offered show no other pages.");
        let advice = call.render(&advice);
        notes.push(format!("Pages {} to {} of {total} are shown. {advice}", asked.start(), next - 1));
    }
    data.insert("totalPages".to_owned(), total.into());
    data.insert("pages".to_owned(), pages.into());
    data.insert("notes".to_owned(), notes.clone().into());
    Ok(notes)
}

/// Parses the requested pages: `3`, `1-3`, `5-`; by default the first ones.
fn range(requested: Option<&str>, total: usize) -> Result<RangeInclusive<usize>> {
    let Some(requested) = requested.map(str::trim) else { return Ok(1..=total.min(PDF_PAGES_MAX)) };
    let (from, to) = match requested.split_once('-') {
        None => (page_number(requested), page_number(requested)),
        Some((from, to)) if to.trim().is_empty() => (page_number(from), Some(total)),
        Some((from, to)) => (page_number(from), page_number(to)),
    };
    let example = format!("Give pages from 1 to {total}, such as \"1-{}\".", total.min(3));
    let (Some(from), Some(to)) = (from, to) else {
        return Err(Error::new(Code::CallInvalid, format!("`{requested}` names no pages.")).next(example));
    };
    if from == 0 || from > total || to < from {
        let what = format!("The PDF has {total} pages; there are no pages {requested}.");
        return Err(Error::new(Code::ReadRange, what).next(example).fact("total_pages", total));
    }
    let to = to.min(total);
    if to - from >= PDF_PAGES_MAX {
        let what = format!("{} pages are more than the {PDF_PAGES_MAX} that one read shows.", to - from + 1);
        return Err(Error::new(Code::ReadTooLarge, what)
            .next(Advice::named("Begin with {pages=}.").set("pages", format!("{from}-{}", from + PDF_PAGES_MAX - 1))));
    }
    Ok(from..=to)
}

/// Reads the number of a page.
fn page_number(text: &str) -> Option<usize> {
    text.trim().parse::<usize>().ok()
}
