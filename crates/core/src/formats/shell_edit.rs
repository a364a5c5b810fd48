//! Command lines that would change a file. They are not run: if a text contains one next to an edit, a part of the
//! intended change would be missing.

/// Maximum number of words of a command line that are examined.
const WORDS_MAX: usize = 64;

/// True for a command that edits files in place, or writes a here-document to one.
pub(super) fn is_edit(line: &str) -> bool {
    let line = line.trim_start();
    let line = ["$ ", "% ", "# "].iter().find_map(|prompt| line.strip_prefix(prompt)).unwrap_or(line);
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let mut words = line.split_ascii_whitespace().take(WORDS_MAX);
    let Some(program) = words.next() else { return false };
    let words: Vec<&str> = words.collect();
    match program.rsplit('/').next().unwrap_or(program) {
        "sed" | "gsed" => in_place(&words, "nErsuz") && has_script(&words),
        "perl" | "ruby" => in_place(&words, "pnlawW0123456789") && has_script(&words),
        "cat" => line.contains("<<") && line.replace("<<", "").contains('>'),
        "tee" => line.contains("<<"),
        _ => false,
    }
}

/// True for an option `i`: alone, with the suffix of a backup copy, or after options without a value (`others`).
fn in_place(words: &[&str], others: &str) -> bool {
    words.iter().any(|word| {
        let flags = word.strip_prefix('-').and_then(|rest| rest.split_once('i')).map(|(before, _)| before);
        word.starts_with("--in-place") || flags.is_some_and(|flags| flags.chars().all(|flag| others.contains(flag)))
    })
}

/// True for a word that begins like a script and is followed by another word.
fn has_script(words: &[&str]) -> bool {
    let at = words.iter().position(|word| {
        let quoted = word.starts_with(['\'', '"', '$']);
        let command = word.trim_start_matches(|ch: char| ch.is_ascii_digit() || ch == ',');
        let is_plain = ["s/", "s|", "s#", "s,", "y/", "/"].iter().any(|start| command.starts_with(start));
        quoted || is_plain || command.len() < word.len() && ["d", "p", "i", "a", "c"].contains(&command)
    });
    at.is_some_and(|at| at + 1 < words.len())
}

#[cfg(test)]
mod tests {
    use super::is_edit;

    #[test]
    fn commands_that_change_files() {
        for line in [
            "sed -i 's/x/y/' b.txt",
            "$ sed -i.bak -e 's/x/y/' b.txt",
            "sed -Ei \"s/x/y/\" b.txt",
            "sed --in-place=.bak s/x/y/ b.txt",
            "sudo sed -i '' 3d b.txt",
            "perl -pi -e 's/x/y/' b.txt",
            "perl -i.bak -pe 's/x/y/' b.txt",
            "cat > b.txt <<'EOF'",
            "cat <<EOF >> b.txt",
            "  tee b.txt <<EOF",
        ] {
            assert!(is_edit(line), "{line}");
        }
        for line in [
            "sed -n '1,5p' b.txt",
            "sed 's/x/y/' b.txt",
            "sed -i edits files in place, so I avoid it.",
            "sed -e 's/i/j/' b.txt",
            "cat b.txt | grep x > /dev/null",
            "cat <<EOF",
            "perl -e 'print 1'",
            "tee b.txt",
            "Instead of sed -i 's/x/y/' b.txt I used a block.",
            "",
        ] {
            assert!(!is_edit(line), "{line}");
        }
    }
}
