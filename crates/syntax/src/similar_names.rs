//! The names that a caller may have meant by a name that no symbol has.

/// Names that are returned.
const SIMILAR_MAX: usize = 5;
/// Bytes of names that are compared.
const COMPARED_NAME_BYTES_MAX: usize = 200;
/// Pairs of bytes that are compared in all, which takes less than 0.3 s. The names after that are ignored.
const COMPARED_PAIRS_MAX: usize = 16_000_000;
/// Likeness, from 0 to 1, from which names are similar.
const LIKENESS_MIN: f64 = 0.6;

/// Returns the positions of names that contain the wanted one or are like it, the most likely first.
pub(crate) fn similar_names(names: &[&str], wanted: &str) -> Vec<usize> {
    let last = wanted.rsplit('.').next().unwrap_or_default().to_lowercase();
    // A name that contains a longer one does not exist, so a text of a megabyte costs nothing here.
    let containing = names.iter().enumerate();
    let containing = containing.filter(|(_, name)| !last.is_empty() && name.to_lowercase().contains(&last));
    let containing: Vec<usize> = containing.map(|(position, _)| position).take(SIMILAR_MAX).collect();
    if containing.is_empty() { rank_by_similarity(names, wanted) } else { containing }
}

/// Returns the positions of like names.
fn rank_by_similarity(names: &[&str], wanted: &str) -> Vec<usize> {
    // `fn name()` refers to `name`.
    let wanted = wanted.split('(').next().unwrap_or_default().trim();
    let last = wanted.rsplit(['.', ':', ' ']).next().unwrap_or_default();
    if last.is_empty() || last.len() > COMPARED_NAME_BYTES_MAX {
        return Vec::new();
    }
    let mut pairs_left = COMPARED_PAIRS_MAX;
    let mut near: Vec<(f64, usize)> = Vec::new();
    for (position, name) in names.iter().enumerate() {
        let Some(left) = pairs_left.checked_sub(compared_pairs(last, name)) else { break };
        if left < pairs_left {
            let likeness = strsim::normalized_damerau_levenshtein(last, name);
            near.extend((likeness > LIKENESS_MIN).then_some((likeness, position)));
        }
        pairs_left = left;
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(SIMILAR_MAX).map(|(_, position)| position).collect()
}

/// Returns the cost of a comparison; 0 if the lengths alone rule out that the names are alike.
fn compared_pairs(a: &str, b: &str) -> usize {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    // Each missing character is an edit. Only the length of ASCII is the number of its characters.
    let is_far = a.is_ascii() && b.is_ascii() && 10 * short < 6 * long;
    if long > COMPARED_NAME_BYTES_MAX || is_far { 0 } else { short * long }
}

#[cfg(test)]
mod tests {
    use super::similar_names;
    use crate::{Language, ParseLimits, parse};
    use std::fmt::Write as _;

    fn names(text: &str, wanted: &str) -> Vec<String> {
        let rust = Language::of("a.rs".as_ref(), "").unwrap();
        let parsed = parse(text, rust, ParseLimits::ASKED).unwrap();
        let known: Vec<&str> = parsed.outline().symbols.iter().map(|symbol| &*symbol.name).collect();
        similar_names(&known, wanted).into_iter().map(|position| known[position].to_owned()).collect()
    }

    #[test]
    fn names_that_contain_the_wanted_one_come_first() {
        let text = "fn read_line() {}\nfn raed() {}\nfn other() {}\n";
        assert_eq!(names(text, "io.Read"), ["read_line"]);
        assert_eq!(names(text, "fn raid()"), ["raed"]);
        assert_eq!(names(text, "unrelated"), <[&str; 0]>::default());
        assert_eq!(names(text, ""), <[&str; 0]>::default());
        assert_eq!(names(text, &"r".repeat(1 << 20)), <[&str; 0]>::default());
    }

    #[test]
    fn comparing_ends_with_its_allowance() {
        // Each comparison costs 150 times 150.
        let mut text = String::new();
        for nth in 0..1_000 {
            let _ = writeln!(text, "fn {}{nth:03}() {{}}", "x".repeat(147));
        }
        let wanted = format!("{}999", "x".repeat(147)).replace("99", "9_");
        let found = names(&text, &wanted);
        let later: Vec<&String> = found.iter().filter(|name| *name > &format!("{}711", "x".repeat(147))).collect();
        assert!(found.len() == 5 && later.is_empty(), "{found:?}");
    }
}
