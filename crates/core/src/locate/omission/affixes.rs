//! Signs at the start or at the end of a line, of which only a few can begin or end with the same byte.

/// Returns the text behind the first sign of a list that it begins with.
pub(super) fn without_prefix<'t>(text: &'t str, signs: &[&str]) -> Option<&'t str> {
    let first = text.as_bytes().first()?;
    // Nearly all signs differ in their first byte, and comparing one byte is much faster than calling `memcmp`.
    signs.iter().filter(|sign| sign.as_bytes().first() == Some(first)).find_map(|sign| text.strip_prefix(sign))
}

/// Returns the text in front of the first sign of a list that it ends with.
pub(super) fn without_suffix<'t>(text: &'t str, signs: &[&str]) -> Option<&'t str> {
    let last = text.as_bytes().last()?;
    signs.iter().filter(|sign| sign.as_bytes().last() == Some(last)).find_map(|sign| text.strip_suffix(sign))
}

/// Returns the text without the signs that it ends with, each of which is removed once, in the order of the list, with
/// the whitespace before it.
pub(super) fn without_suffixes<'t>(text: &'t str, signs: &[&str]) -> &'t str {
    signs.iter().fold(text, |text, sign| {
        if text.as_bytes().last() == sign.as_bytes().last() {
            text.strip_suffix(sign).map_or(text, str::trim_end)
        } else {
            text
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{without_prefix, without_suffix, without_suffixes};
    use proptest::prelude::*;

    const SIGNS: [&str; 7] = ["{/*", "/*", "//", "##", "#", "–", "*/"];

    proptest! {
        #[test]
        fn result_is_that_of_comparing_every_sign(text in "[/*#{– a]{0,8}") {
            prop_assert_eq!(without_prefix(&text, &SIGNS), SIGNS.iter().find_map(|sign| text.strip_prefix(sign)));
            prop_assert_eq!(without_suffix(&text, &SIGNS), SIGNS.iter().find_map(|sign| text.strip_suffix(sign)));
            let rest = SIGNS.iter().fold(&*text, |text, sign| text.strip_suffix(sign).map_or(text, str::trim_end));
            prop_assert_eq!(without_suffixes(&text, &SIGNS), rest);
        }
    }
}
