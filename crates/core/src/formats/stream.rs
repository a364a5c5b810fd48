//! Incremental parsing while a text arrives, in chunks of any size.

use super::detect;
use super::line_parser::{LineParser, ParseOptions, StreamEvent, feed, without_mark};
use super::parsed_text::ParsedText;
use super::ranges::{self, KnownRanges};
use super::reasoning::ReasonedReply;
use super::{Format, envelope, mixed};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::work;

/// Parses a text while it arrives, in chunks of any size. Linear in the text.
///
/// The events are a preview, and may belong to another format than the one detected for the complete text. Only the
/// final result counts: it is the same as that of [`parse_any`](detect::parse_any) for the whole text.
pub struct PatchStream {
    named: Option<&'static dyn Format>,
    options: ParseOptions,
    text: Vec<u8>,
    /// Number of bytes fed to the parser so far, in whole lines.
    fed: usize,
    state: StreamState,
}

enum StreamState {
    /// No format has been detected yet. Contains the number of bytes at which detection is tried again.
    Undecided(usize),
    Feeding(&'static dyn Format, Box<dyn LineParser>),
    /// The input is not text.
    Broken,
}

impl PatchStream {
    /// Creates a stream for this format; `None`: the format is detected.
    pub fn new(named: Option<&'static dyn Format>, options: ParseOptions) -> PatchStream {
        let feeding = named.and_then(|format| Some(StreamState::Feeding(format, format.line_parser(&options)?)));
        PatchStream { named, options, text: Vec::new(), fed: 0, state: feeding.unwrap_or(StreamState::Undecided(0)) }
    }

    /// Adds the next chunk; it may end inside a line or a character. `out` receives the events.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<StreamEvent>) {
        let before = self.text.len();
        self.text.extend_from_slice(chunk);
        let Some(last) = memchr::memrchr(b'\n', chunk) else { return };
        let whole = before + last + 1;
        if let StreamState::Undecided(next) = self.state {
            if whole < next {
                return;
            }
            let text = std::str::from_utf8(&self.text[..whole]);
            let format = text.ok().and_then(|text| self.named.or_else(|| ranges::outermost(text)));
            self.state = match format.and_then(|format| Some((format, format.line_parser(&self.options)?))) {
                _ if text.is_err() => StreamState::Broken,
                Some((format, machine)) => StreamState::Feeding(format, machine),
                // The next attempt needs a quarter more bytes, so that all attempts together remain linear.
                None => StreamState::Undecided(whole + whole / 4),
            };
        }
        if let StreamState::Feeding(_, machine) = &mut self.state {
            let Ok(text) = std::str::from_utf8(&self.text[self.fed..whole]) else {
                self.state = StreamState::Broken;
                return;
            };
            let text = if self.fed == 0 { without_mark(text) } else { text };
            work::lines_with_ends(text).for_each(|line| feed(&mut **machine, line, out));
            self.fed = whole;
        }
    }

    /// Ends the text. `out` receives the remaining events.
    ///
    /// Errors: as [`parse_any`](detect::parse_any); [`Code::EditUnparsable`] for input that is not UTF-8.
    pub fn finish(self, out: &mut Vec<StreamEvent>) -> Result<ParsedText> {
        let text = String::from_utf8(self.text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::new(Code::EditUnparsable, format!("The text is not UTF-8: byte {at} does not begin a character."))
                .next("Send the text in UTF-8.")
        })?;
        if ReasonedReply::read(&text)?.is_some() {
            return detect::parse_any(&text, self.named, &self.options);
        }
        let mut known = KnownRanges::default();
        if let Some(understood) = detect::calls(&text, self.named, &self.options, &mut known) {
            return understood;
        }
        let unwrapped = envelope::unwrap_text(&text);
        if let Some(understood) = mixed::parse_mixed(&unwrapped, self.named, &self.options, &mut known) {
            return understood;
        }
        let settled = detect::detect_unwrapped(unwrapped, self.named, &self.options, &mut known)?;
        let (mut machine, rest) = match self.state {
            StreamState::Feeding(format, machine)
                if (settled.has_no_wrapper() && format.family() == settled.format.family()) =>
            {
                (machine, &text[self.fed..])
            }
            _ => (settled.line_parser()?, &*settled.text),
        };
        let rest = if rest.len() == settled.text.len() { without_mark(rest) } else { rest };
        work::lines_with_ends(rest).for_each(|line| feed(&mut *machine, line, out));
        work::check()?;
        let request = machine.finish(settled.is_cut(), out)?;
        settled.into_parsed(request)
    }
}

#[cfg(test)]
mod tests {
    use super::{ParseOptions, ParsedText, PatchStream, StreamEvent};
    use crate::error::Result;
    use crate::formats::detect::parse_any;
    use crate::formats::{Format, text_formats};
    use proptest::prelude::*;

    fn streamed(
        text: &[u8],
        cuts: &[usize],
        named: Option<&'static dyn Format>,
    ) -> (Vec<StreamEvent>, Result<ParsedText>) {
        let mut stream = PatchStream::new(named, ParseOptions::default());
        let (mut events, mut from) = (Vec::new(), 0);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.sort_unstable();
        for cut in cuts {
            stream.push(&text[from..cut], &mut events);
            from = cut;
        }
        stream.push(&text[from..], &mut events);
        let end = stream.finish(&mut events);
        (events, end)
    }

    fn described(read: Result<ParsedText>) -> String {
        match read {
            Ok(read) => format!("{} {:?} {:?}", read.format.spec().name, read.request, read.directory),
            Err(error) => format!("{error:?}"),
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let mut pieces: Vec<String> = text_formats().map(|format| format.spec().example.to_owned()).collect();
        let others =
            ["\u{FEFF}", "Prose with é and …\n", "\r\n", "\n", "```\n", "src/b.rs\n", "=======\n", "cut", ">>>>"];
        pieces.extend(others.map(str::to_owned));
        prop::collection::vec(prop::sample::select(pieces), 0..7).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(text in pieces(), cuts in prop::collection::vec(0usize..2000, 0..12), named: bool, wrapped: bool) {
            let text = if wrapped { serde_json::json!({ "input": text }).to_string() } else { text };
            let formats = text_formats().map(Some).filter(|_| named).chain([None]);
            for named in formats {
                let (_, end) = streamed(text.as_bytes(), &cuts, named);
                prop_assert_eq!(described(end), described(parse_any(&text, named, &ParseOptions::default())));
            }
        }

        #[test]
        fn any_split_of_an_example_reports_the_same_events(cuts in prop::collection::vec(0usize..2000, 0..12)) {
            for format in text_formats() {
                let example = format.spec().example.replace('x', "é");
                let (whole, _) = streamed(example.as_bytes(), &[], Some(format));
                let (split, _) = streamed(example.as_bytes(), &cuts, Some(format));
                let file = |event: &StreamEvent| matches!(event, StreamEvent::File { .. });
                prop_assert!(whole.iter().any(file));
                prop_assert_eq!(&whole, &split);
                let (recognised, _) = streamed(example.as_bytes(), &cuts, None);
                prop_assert_eq!(&whole, &recognised);
            }
        }
    }

    #[test]
    fn events_are_reported_early() {
        let mut stream = PatchStream::new(None, ParseOptions::default());
        let mut events = Vec::new();
        stream.push(b"I will do it.\n\na.rs\n<<<<<<< SEARCH\nold\n", &mut events);
        assert!(events.len() >= 2, "{events:?}");
        stream.push("=======\nné".as_bytes(), &mut events);
        stream.push(b"w\xC3", &mut events);
        let error = stream.finish(&mut events).err().unwrap();
        assert!(error.message().contains("not UTF-8"), "{error}");
    }

    #[test]
    fn large_text_in_small_chunks_takes_linear_time() {
        let prose = "Not a format at all.\n".repeat(20_000);
        let mut stream = PatchStream::new(None, ParseOptions::default());
        let mut events = Vec::new();
        prose.as_bytes().chunks(7).for_each(|chunk| stream.push(chunk, &mut events));
        assert!(events.is_empty() && stream.finish(&mut events).is_err());
    }
}
