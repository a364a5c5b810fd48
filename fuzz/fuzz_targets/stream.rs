//! Any text in any chunks: the result of the stream is that of the whole text, and nothing panics or hangs.
#![no_main]
use emendate_core::formats::detect::parse_any;
use emendate_core::formats::line_parser::ParseOptions;
use emendate_core::formats::stream::PatchStream;
use emendate_core::formats::text_formats;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, String, Vec<u8>, bool)| {
    let (pick, text, sizes, reverse) = input;
    let manner = ParseOptions { reverse, ..ParseOptions::default() };
    let named = text_formats().nth(usize::from(pick));
    let mut stream = PatchStream::new(named, manner.clone());
    let (mut rest, mut events) = (text.as_bytes(), Vec::new());
    for size in sizes {
        let (chunk, after) = rest.split_at(usize::from(size).min(rest.len()));
        stream.push(chunk, &mut events);
        rest = after;
    }
    stream.push(rest, &mut events);
    let streamed = stream.finish(&mut events).map(|read| (read.format.spec().name, read.request, read.directory));
    let whole = parse_any(&text, named, &manner).map(|read| (read.format.spec().name, read.request, read.directory));
    assert_eq!(streamed, whole);
});
