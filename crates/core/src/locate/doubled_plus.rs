//! Detection of added lines whose mark may be doubled: each of them begins with a plus sign of its own.

/// True if every added line (without its mark) begins with one plus sign, and nothing indicates that the sign is part
/// of the text: lists with `+` as their bullet, numbers with a sign, borders of tables, and lines that consist of the sign
/// are not suspected.
pub(crate) fn is_suspected<'l>(added: impl Iterator<Item = &'l str>) -> bool {
    let mut filled = Vec::new();
    for line in added {
        match line.strip_prefix('+') {
            Some(rest) if !rest.starts_with('+') => filled.extend((!rest.trim().is_empty()).then_some(rest)),
            _ => return false,
        }
    }
    let is_item = |rest: &&str| rest.starts_with(' ') && !rest[1..].starts_with([' ', '\t']);
    let is_number = |rest: &&str| rest.starts_with(|ch: char| ch.is_ascii_digit() || ch == '.');
    let is_border = |rest: &&str| rest.chars().all(|ch| "+-=|".contains(ch));
    !filled.is_empty() && !filled.iter().all(is_item) && !filled.iter().all(is_number) && !filled.iter().all(is_border)
}

/// True for the name of a file that contains patches.
pub(crate) fn is_patch_name(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["diff", "patch", "rej"].iter().any(|it| extension.eq_ignore_ascii_case(it))
}

/// The message of the error for a refused new file.
pub(crate) const NEW_FILE_PROBLEM: &str =
    "each line of the new file begins with `++`: one plus sign marks the line, and the second one would be its text.";
/// The advice for [`NEW_FILE_PROBLEM`].
pub(crate) const NEW_FILE_ADVICE: &str = "Begin every line of a new file with one +.";

#[cfg(test)]
mod tests {
    use super::{is_patch_name, is_suspected};

    #[test]
    fn doubled_signs_are_told_from_text() {
        for lines in [&["+a"][..], &["+def f():", "+    return 1", "+"], &["+    x"]] {
            assert!(is_suspected(lines.iter().copied()), "{lines:?}");
        }
        for lines in
            [&[][..], &["+a", "b"], &["++i;"], &["+"], &["+", "+"], &["+ a", "+ b"], &["+1", "+.5"], &["+---+--+"]]
        {
            assert!(!is_suspected(lines.iter().copied()), "{lines:?}");
        }
        assert!(is_patch_name("fix.Diff") && !is_patch_name("patch") && !is_patch_name("a.py"));
    }
}
