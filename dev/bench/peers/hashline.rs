//! Times the library of the crate hashline: replaces one line, from the text to the new text.
//! `hashline-timed FILE ANCHOR LINE ROUNDS` prints `{"times": [seconds], "right": bool}`.

use hashline::anchor::{parse_anchor, resolve_without_index};
use hashline::document::Document;
use hashline::mutation::replace_line;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [file, number, line, rounds] = <[String; 4]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "FILE LINE-NUMBER LINE ROUNDS")?;
    let (path, text) = (Path::new(&file), std::fs::read_to_string(&file)?);
    let index = number.parse::<usize>()? - 1;
    // The anchor in the form in which `read` shows it.
    let short = hashline::document::format_short_hash(Document::from_str(path, &text)?.lines[index].short_hash);
    let anchor = format!("{number}:{short}");
    let mut want: Vec<&str> = text.lines().collect();
    want[index] = &line;
    let want = want.join("\n") + "\n";
    let (mut times, mut right) = (Vec::new(), true);
    for _ in 0..=rounds.parse::<usize>()? {
        let start = Instant::now();
        let mut document = Document::from_str(path, &text)?;
        let resolved = resolve_without_index(&parse_anchor(&anchor)?, &document)?;
        replace_line(&mut document, resolved.index, &line)?;
        let made = document.render();
        times.push(start.elapsed().as_secs_f64());
        right &= made == want.as_bytes();
    }
    println!("{}", serde_json::json!({ "times": times[1..], "right": right }));
    Ok(())
}
