//! Draws the picture in the README: steps of a real `emend tour`, as a terminal shows them.

use crate::command::cargo;
use crate::repo::Repo;

const PATH: &str = "docs/tour.svg";
/// Headings of the steps that the picture shows.
const SHOWN: [&str; 2] = ["1. ", "3. "];
/// Width of the terminal in columns.
const COLUMNS: usize = 100;

/// Runs the tour and writes the picture.
///
/// Errors: if the program cannot be built or started, the tour fails, or the picture cannot be written.
pub(crate) fn picture() -> Result<String, String> {
    let repo = Repo::open()?;
    let temporary = repo.root.join("target/picture");
    // The directory's name is in the picture, so directories of earlier runs must not change it.
    let _ = std::fs::remove_dir_all(&temporary);
    std::fs::create_dir_all(&temporary).map_err(|error| error.to_string())?;
    let ran = cargo()
        .args(["run", "--quiet", "--bin", "emend", "--", "--color", "always", "tour"])
        .env("TMPDIR", &temporary)
        .current_dir(&repo.root)
        .output()
        .map_err(|error| error.to_string())?;
    let _ = std::fs::remove_dir_all(&temporary);
    if !ran.status.success() {
        return Err(format!("the tour failed:\n{}", String::from_utf8_lossy(&ran.stderr)));
    }
    let text = String::from_utf8_lossy(&ran.stdout).replace(&*temporary.to_string_lossy(), "/tmp");
    let svg = anstyle_svg::Term::new().render_svg(&terminal(&text));
    std::fs::write(repo.root.join(PATH), svg).map_err(|error| error.to_string())?;
    Ok(format!("wrote {PATH}"))
}

/// Returns the lines of the shown steps, wrapped at the terminal's width.
fn terminal(tour: &str) -> String {
    let mut shown = false;
    let mut out = String::new();
    for line in tour.lines() {
        let plain = without_escapes(line);
        if plain.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok()) {
            shown = SHOWN.iter().any(|heading| plain.starts_with(heading));
        }
        if shown && !plain.starts_with("All ") {
            wrap(line, &mut out);
        }
    }
    out
}

/// Removes escape sequences from a line.
fn without_escapes(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(char);
        }
    }
    plain
}

/// Appends a line; one that is wider than the terminal continues in the next row.
fn wrap(line: &str, out: &mut String) {
    let mut column = 0;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char == '\u{1b}' {
            out.push(char);
            for char in chars.by_ref() {
                out.push(char);
                if char.is_ascii_alphabetic() {
                    break;
                }
            }
            continue;
        }
        if column == COLUMNS {
            out.push('\n');
            column = 0;
        }
        out.push(char);
        column += 1;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, terminal};

    #[test]
    fn only_shown_steps_are_in_the_picture() {
        let tour = "Start\n\u{1b}[1m1. A\u{1b}[0m\na\n2. B\nb\n3. C\nc\nAll four\n";
        assert_eq!(terminal(tour), "\u{1b}[1m1. A\u{1b}[0m\na\n3. C\nc\n");
    }

    #[test]
    fn long_lines_wrap_without_counting_colours() {
        let tour = format!("1. A\n\u{1b}[31m{}\u{1b}[0m\n", "x".repeat(COLUMNS + 1));
        let rows: Vec<String> = terminal(&tour).lines().map(str::to_owned).collect();
        assert_eq!(rows[1], format!("\u{1b}[31m{}", "x".repeat(COLUMNS)));
        assert_eq!(rows[2], "x\u{1b}[0m");
    }
}
