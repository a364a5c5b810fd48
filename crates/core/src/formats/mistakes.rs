//! Repaired mistakes of a text and their lines, for the notes of a request.

/// Maximum number of lines that a note lists for one kind.
const NAMED_LINES_MAX: usize = 5;

/// For each kind of mistake, its first lines and the number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MistakeTally<K>(Vec<(K, Vec<usize>, usize)>);

impl<K> Default for MistakeTally<K> {
    fn default() -> MistakeTally<K> {
        MistakeTally(Vec::new())
    }
}

impl<K: Copy + PartialEq> MistakeTally<K> {
    /// Records a mistake on a 1-based line of the request.
    pub(super) fn add(&mut self, kind: K, line: usize) {
        let at = self.0.iter().position(|row| row.0 == kind).unwrap_or_else(|| {
            self.0.push((kind, Vec::new(), 0));
            self.0.len() - 1
        });
        let (_, lines, count) = &mut self.0[at];
        *count += 1;
        if lines.len() < NAMED_LINES_MAX {
            lines.push(line);
        }
    }

    /// Returns one note per kind of mistake.
    pub(super) fn into_notes(self, what: fn(K) -> &'static str) -> impl Iterator<Item = String> {
        self.0.into_iter().map(move |(kind, lines, count)| {
            let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if count > shown.len() { format!(" and {} more", count - shown.len()) } else { String::new() };
            let word = if count == 1 { "Line" } else { "Lines" };
            format!("{word} {}{more} of the request: {}.", shown.join(", "), what(kind))
        })
    }
}
