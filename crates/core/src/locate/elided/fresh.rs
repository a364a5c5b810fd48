//! Definitions that the file does not have, at the end of a fragment that is next to a placeholder: they are added next
//! to the line that follows or precedes them in the text.
//!
//! The placeholder keeps all code of the file there, so a definition with a new name replaces nothing. If the
//! definition of the file at that place is similar, nothing is added, because the new one may be meant to replace it.

use super::placement::{FRAGMENT_STEPS, is_known};
use super::triple_quotes::TripleQuotes;
use super::{Extent, Fragment, TextPair, beside, blocks, indent, is_filled, same};
use crate::text::fold::count_alnum;
use crate::work;
use core::ops::Range;
use foldhash::HashSet;

/// Maximum number of definitions next to a placeholder that are examined, and of lines of each.
const DEFINITIONS_MAX: usize = 50;
const LINES_MAX: usize = 2000;
/// Minimum number of letters and digits of a line that is compared; shorter lines are not significant.
const TELLING_ALNUM_MIN: usize = 4;
/// Maximum number of lines at the beginning of a file that a text may show changed.
const HEAD_LINES_MAX: usize = 20;

/// A definition, with the comments and attributes directly above it.
pub(super) struct FreshDefinition {
    pub(super) lines: Range<usize>,
    /// The line that contains its name.
    pub(super) header: usize,
}

/// The definitions at the beginning of a fragment that are new to the file.
struct LeadingDefinitions {
    fresh: Vec<FreshDefinition>,
    /// The first line behind them that is not blank.
    next: Option<usize>,
}

impl LeadingDefinitions {
    /// `None` without such a definition, or with too many of them.
    fn of(texts: &TextPair<'_>, fragment: &Fragment) -> Option<LeadingDefinitions> {
        let end = fragment.lines.end;
        let (mut at, mut fresh) = (fragment.lines.start, Vec::new());
        let next = loop {
            let Some(first) = (at..end).find(|&at| is_filled(texts.new[at])) else { break None };
            let Some(found) = definition_at(&texts.new[..end], first) else { break Some(first) };
            if is_known(texts, found.header) {
                break Some(found.lines.start);
            }
            at = found.lines.end;
            fresh.push(found);
            if fresh.len() > DEFINITIONS_MAX {
                return None;
            }
        };
        (!fresh.is_empty()).then_some(LeadingDefinitions { fresh, next })
    }
}

/// Returns the line of the file before which the definitions at the beginning of a fragment are added.
pub(super) fn next_known_line(texts: &TextPair<'_>, fragment: &Fragment) -> Option<usize> {
    fragment.gaps[0]?;
    let end = fragment.lines.end;
    let LeadingDefinitions { fresh, next } = LeadingDefinitions::of(texts, fragment)?;
    let anchor = next.filter(|&at| is_known(texts, at))?;
    let is_last = (anchor + 1..end).all(|at| !is_filled(texts.new[at]));
    let place = if is_last && fragment.gaps[1].is_none() && !texts.part {
        texts.old.filled_above(texts.old.len()).filter(|&at| same(texts.old[at], texts.new[anchor]))
    } else {
        texts.only_place(anchor, &fragment.lines, true)
    }?;
    let above = texts.old.filled_above(place);
    let neighbour = above.map(|at| definition_ending_at(texts.old, at, indent(texts.new[fresh[0].header])));
    are_added(texts, &fresh, neighbour).then_some(place)
}

/// Returns the line of the file before which a fragment is added that consists of new definitions, between a placeholder
/// and the end of what that is in: a symbol without a closing line, such as a class of Python, or the file.
pub(super) fn end_around(texts: &TextPair<'_>, fragment: &Fragment) -> Option<usize> {
    let gap = fragment.gaps[0]?;
    if work::spend_or_end(FRAGMENT_STEPS) {
        return None;
    }
    let end = texts.trimmed(&fragment.lines).end;
    let is_inside = |symbol: &&Extent| {
        symbol.new.start < fragment.lines.start
            && texts.new.get(symbol.new.start).is_some_and(|header| indent(header) < gap)
            && fragment.gaps[1].is_none_or(|depth| depth <= indent(texts.new[symbol.new.start]))
    };
    let symbol = texts.ending_before(end).filter(is_inside).max_by_key(|it| it.new.start);
    let place = match symbol {
        Some(symbol) => symbol.old.end,
        None if fragment.gaps[1].is_none() && !texts.part => texts.old.len(),
        None => return None,
    };
    let LeadingDefinitions { fresh, next: None } = LeadingDefinitions::of(texts, fragment)? else { return None };
    let depth = indent(texts.new[fresh[0].header]);
    let last = texts.old.filled_above(place)?;
    let neighbour = definition_ending_at(texts.old, last, depth);
    let first = texts.old.get(neighbour.start)?;
    // Code that runs is the end of what runs: nothing is defined behind a call, or behind `return`.
    let is_defined = neighbour.len() > 1 || beside::name_set(first).is_some() || first.starts_with("export ");
    let is_beside = is_defined && indent(first) == depth && depth == gap;
    (is_beside && are_added(texts, &fresh, Some(neighbour))).then_some(last + 1)
}

/// Returns the last line of the file after which the definitions at the end of a fragment are added.
pub(super) fn last_known_line(texts: &TextPair<'_>, fragment: &Fragment) -> Option<usize> {
    let depth = fragment.gaps[1]?;
    let start = fragment.lines.start;
    let (mut end, mut fresh) = (fragment.lines.end, Vec::new());
    let place = loop {
        let last = (start..end).rev().find(|&at| is_filled(texts.new[at]))?;
        let lines = definition_ending_at(&texts.new[..end], last, depth);
        if lines.len() < 2 || lines.start < start {
            break is_known(texts, last).then(|| texts.only_place(last, &fragment.lines, false))??;
        }
        let header = lines.start;
        if is_known(texts, header) {
            break known_end(texts, header, fragment)?;
        }
        end = (start..header).rev().take_while(|&at| is_attached(texts.new[at])).last().unwrap_or(header);
        fresh.push(FreshDefinition { lines: end..lines.end, header });
        if fresh.len() > DEFINITIONS_MAX {
            return None;
        }
    };
    let below = texts.old.filled_below(place);
    let neighbour = below.map(|at| definition_at(texts.old, at).map_or(at..at + 1, |it| it.lines));
    (!fresh.is_empty() && are_added(texts, &fresh, neighbour)).then_some(place)
}

/// The last line of the file that the first lines of a text replace: as many lines, each of them the same or with more in
/// one of its lists, such as an import of one more name, or another value of the same name.
pub(super) fn changed_head(texts: &TextPair<'_>, fragment: &Fragment) -> Option<usize> {
    if fragment.gaps[0].is_some() || texts.part || is_known(texts, fragment.lines.end - 1) {
        return None;
    }
    let new: Vec<&str> = texts.new[fragment.lines.clone()].iter().copied().filter(|line| is_filled(line)).collect();
    let mut old = texts.old.filled_in(&(0..texts.old.len())).iter().map(|&at| (at, texts.old[at]));
    let mut last = None;
    for line in new.iter().take(HEAD_LINES_MAX + 1) {
        let (at, old) = old.next()?;
        last = (same(old, line) || is_extended(old, line) || beside::sets_again(old, line)).then_some(at);
        last?;
    }
    last.filter(|_| new.len() <= HEAD_LINES_MAX)
}

/// True if the new line is the old one with more items in a list.
fn is_extended(old: &str, new: &str) -> bool {
    let (old, new) = (old.trim_end(), new.trim_end());
    let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(a, b)| a == b).count();
    if head + tail < old.len() || new.len() == old.len() {
        return false;
    }
    let added = new.get(head..new.len() - tail).unwrap_or_default().trim();
    added.starts_with(',') || added.ends_with(',')
}

/// True if definitions are new to the file, and the neighbouring definition of the file is not one that they could
/// replace.
fn are_added(texts: &TextPair<'_>, fresh: &[FreshDefinition], neighbour: Option<Range<usize>>) -> bool {
    let depth = indent(texts.new[fresh[0].header]);
    if fresh.iter().any(|it| indent(texts.new[it.header]) != depth) {
        return false;
    }
    let is_new = |it: &FreshDefinition| {
        let header = texts.new[it.header];
        !texts.old.has_bare(header) && name(header).is_some_and(|name| !texts.has_name(name, depth))
    };
    if !fresh.iter().all(is_new) {
        return false;
    }
    // A statement that sets the same name may be what the new one replaces.
    let first = neighbour.clone().and_then(|lines| texts.old.get(lines.start));
    let set = first.and_then(|line| beside::name_set(line));
    if set.is_some() && fresh.iter().any(|it| beside::name_set(texts.new[it.header]) == set) {
        return false;
    }
    let new = || fresh.iter().flat_map(|it| &texts.new[it.lines.clone()]).copied();
    if first
        .is_some_and(|line| neighbour.as_ref().is_some_and(|it| it.len() == 1) && beside::is_part_of(line, &mut new()))
    {
        return false;
    }
    if neighbour.as_ref().is_some_and(|old| fresh.iter().any(|it| is_renamed(texts, old, it))) {
        return false;
    }
    // One with the same parameters may have got another name.
    let mut headers = texts.old[neighbour.clone().unwrap_or_default()].iter().filter(|line| !is_attached(line));
    if let Some(old) = headers.next().and_then(|line| long_parameters(line))
        && fresh.iter().any(|it| long_parameters(texts.new[it.header]) == Some(old))
    {
        return false;
    }
    let tells = |line: &&str| count_alnum(line, TELLING_ALNUM_MIN) >= TELLING_ALNUM_MIN;
    let shown: HashSet<&str> =
        fresh.iter().flat_map(|it| &texts.new[it.lines.clone()]).map(|line| line.trim()).filter(tells).collect();
    // Lines that occur several times in the file are insignificant; one that occurs once belongs to the neighbour.
    let lines = &texts.old[neighbour.unwrap_or_default()];
    let is_once = |line: &&&str| texts.old.places_of(line).len() == 1;
    if lines.iter().filter(is_once).map(|line| line.trim()).filter(tells).any(|line| shown.contains(line)) {
        return false;
    }
    if lines.iter().filter(is_once).any(|line| tells(&line.trim())) {
        return true;
    }
    let telling: Vec<&str> = lines.iter().map(|line| line.trim()).filter(tells).collect();
    let both = telling.iter().filter(|line| shown.contains(**line)).count();
    both == 0 || 2 * both < telling.len()
}

/// True if a definition of the file and a new one differ only in their names.
fn is_renamed(texts: &TextPair<'_>, old: &Range<usize>, new: &FreshDefinition) -> bool {
    let Some(header) = old.clone().find(|&at| !is_attached(texts.old[at])) else { return false };
    let (old, new_lines) = (&texts.old[header..old.end], &texts.new[new.header..new.lines.end]);
    let (Some(old_name), Some(new_name)) = (name(texts.old[header]), name(texts.new[new.header])) else { return false };
    old.len() == new_lines.len()
        && !work::spend_or_end(old.len())
        && old.iter().zip(new_lines).all(|(a, b)| {
            work::spend_or_end(blocks::line_steps(b)) || a.trim_end().replace(old_name, new_name) == b.trim_end()
        })
}

/// Returns the last line in the file of a definition that both texts have.
fn known_end(texts: &TextPair<'_>, header: usize, fragment: &Fragment) -> Option<usize> {
    if let Some(symbol) = texts.beginning_at(header).max_by_key(|it| it.new.len()) {
        return Some(symbol.old.end - 1);
    }
    let start = texts.only_place(header, &fragment.lines, true)?;
    definition_at(texts.old, start).filter(|it| it.header == start).map(|it| it.lines.end - 1)
}

/// Returns the definition that begins on a line, which may be one of the comments and attributes above it.
pub(super) fn definition_at(lines: &[&str], at: usize) -> Option<FreshDefinition> {
    let header = (at..lines.len()).find(|&at| !is_attached(lines[at])).filter(|&at| !is_statement(lines[at]))?;
    let found = blocks::block(lines, header).or_else(|| by_colon(lines, header))?;
    (found.len() <= LINES_MAX).then_some(FreshDefinition { lines: at..found.end, header })
}

/// Returns the definition that ends with a line, with its first line at most as deep as `depth`; else the line alone.
pub(super) fn definition_ending_at(lines: &[&str], last: usize, depth: usize) -> Range<usize> {
    let depth = depth.min(indent(lines[last]));
    let is_outer = |at: &usize| is_filled(lines[*at]) && indent(lines[*at]) <= depth;
    let mut above = (last.saturating_sub(LINES_MAX)..last).rev();
    let header = above
        .find(|at| work::spend_or_end(blocks::line_steps(lines[*at])) || is_outer(at))
        .filter(|&at| !is_statement(lines[at]));
    let found = header.and_then(|at| blocks::block(lines, at).or_else(|| by_colon(lines, at)));
    found.filter(|it| it.end == last + 1).unwrap_or(last..last + 1)
}

/// Returns the block of deeper lines below a line that ends with a colon, or below a list of parameters whose last line
/// does.
fn by_colon(lines: &[&str], header: usize) -> Option<Range<usize>> {
    let first = lines.get(header)?;
    let depth = indent(first);
    let opened = end_of_header(lines, header).filter(|_| !blocks::begins_text(first))?;
    let mut end = opened + 1;
    let mut quotes = TripleQuotes::default();
    for (at, line) in lines.iter().enumerate().skip(opened + 1).filter(|(_, line)| is_filled(line)) {
        if work::spend_or_end(blocks::line_steps(line)) {
            return None;
        }
        let is_inside = quotes.is_open();
        if !is_inside && indent(line) <= depth {
            break;
        }
        let rest = quotes.pass(line);
        if !is_inside && !quotes.is_open() && blocks::begins_text(&rest) {
            return None;
        }
        end = at + 1;
    }
    (end > opened + 1 && !quotes.is_open()).then_some(header..end)
}

/// Returns the line with the colon that ends a header.
fn end_of_header(lines: &[&str], header: usize) -> Option<usize> {
    const HEADER_LINES_MAX: usize = 100;
    let first = lines.get(header)?.trim_end();
    if first.ends_with(':') {
        return Some(header);
    }
    let depth = indent(first);
    let mut below = lines.iter().enumerate().skip(header + 1).take(HEADER_LINES_MAX);
    let is_outer = |line: &str| is_filled(line) && indent(line) <= depth;
    let (at, last) = below.find(|(_, line)| work::spend_or_end(blocks::line_steps(line)) || is_outer(line))?;
    let closes = indent(last) == depth && last.trim_start().starts_with(')') && last.trim_end().ends_with(':');
    (closes && first.ends_with('(')).then_some(at)
}

/// Returns a header without what precedes its keyword or name in parentheses: the visibility in Rust, and the receiver of a
/// method in Go.
fn without_prefix(header: &str) -> &str {
    let behind = ["pub(", "func ("].iter().find_map(|sign| header.strip_prefix(sign)?.split_once(')'));
    behind.map_or(header, |(_, rest)| rest.trim_start())
}

/// Returns the name of a definition: a quoted title, the word before its parameters, or its whole line.
pub(super) fn name(header: &str) -> Option<&str> {
    let text = header.trim().trim_end_matches(['{', ':', ' ']);
    let text = without_prefix(text);
    let (before, _) = text.split_once('(').unwrap_or((text, ""));
    if let Some(at) = text.find(['"', '\'', '`']) {
        let rest = &text[at + 1..];
        return rest.find(&text[at..=at]).map(|end| &rest[..end]).filter(|title| !title.is_empty());
    }
    let word = before.trim_end().rsplit(|ch: char| !ch.is_alphanumeric() && ch != '_').next().unwrap_or_default();
    Some(if before.len() < text.len() { word } else { text }).filter(|name| !name.is_empty())
}

/// Returns the parameters of a definition if they are so long that hardly another one has the same.
fn long_parameters(header: &str) -> Option<&str> {
    const PARAMETERS_ALNUM_MIN: usize = 10;
    Some(parameters(header)).filter(|it| count_alnum(it, PARAMETERS_ALNUM_MIN) >= PARAMETERS_ALNUM_MIN)
}

/// Returns what is in the parentheses behind the name in a header, or the rest of the line if they are not closed there.
pub(super) fn parameters(header: &str) -> &str {
    let (_, rest) = without_prefix(header.trim_start()).split_once('(').unwrap_or_default();
    let mut depth = 1;
    let end = rest.find(|ch| {
        depth += i32::from(ch == '(') - i32::from(ch == ')');
        depth == 0
    });
    end.map_or(rest, |end| &rest[..end])
}

/// True for the first line of a statement with a block; a statement has no name.
pub(super) fn is_statement(line: &str) -> bool {
    const WORDS: [&str; 24] = [
        "if", "for", "while", "switch", "return", "else", "catch", "elif", "match", "when", "with", "until", "unless",
        "foreach", "do", "try", "except", "finally", "loop", "select", "case", "default", "begin", "using",
    ];
    let mut words = line.split(|ch: char| !ch.is_alphanumeric() && ch != '_').filter(|word| !word.is_empty());
    let word = words.next().map(|word| if word == "async" { words.next().unwrap_or(word) } else { word });
    word.is_none_or(|word| WORDS.contains(&word))
}

/// True for comments and attributes, which belong to the line below them.
pub(super) fn is_attached(line: &str) -> bool {
    let text = line.trim();
    ["@", "#[", "//", "/*", "*", "# "].iter().any(|sign| text.starts_with(sign))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edit, refuse};
    use super::super::{Extent, expand};

    const CLASS: &str = "class Box {\n  open(lid) {\n    this.lid = lid;\n    return this;\n  }\n\n  close() {\n    \
                         this.lid = null;\n    return this;\n  }\n}\n";
    const SHAKE: &str = "  shake(times) {\n    this.items.sort(times);\n    return this;\n  }\n";

    fn after_last(added: &str) -> String {
        CLASS.replace("  }\n}\n", &format!("  }}\n\n{added}}}\n"))
    }

    #[test]
    fn new_definition_between_a_placeholder_and_the_end_is_added() {
        let new = format!("class Box {{\n  // ... existing code ...\n\n{SHAKE}}}\n");
        assert_eq!(edit(CLASS, &new, &[]), after_last(SHAKE));
        let two = format!("  // Twice.\n{SHAKE}\n{}", SHAKE.replace("shake", "tilt").replace("sort", "move"));
        let new = format!("class Box {{\n  // ... existing code ...\n\n{two}}}\n");
        assert_eq!(edit(CLASS, &new, &[]), after_last(&two));
        let file = "def one():\n    return 1\n\ndef two():\n    return 2\n";
        let new = "# ... existing code ...\n\ndef three():\n    return 3\n\ndef two():\n    return 2\n";
        assert_eq!(edit(file, new, &[]), file.replace("def two", "def three():\n    return 3\n\ndef two"));
    }

    const SHOP: &str = "import os\n\n\nclass Shop:\n    def add(self, item):\n        self.items.append(item)\n        return \
                        item\n\n    def show(self):\n        print(self.name)\n\n\ndef main():\n    Shop().show()\n";
    const RENAME: &str = "    def rename(\n        self,\n        name,\n    ):\n        \"\"\"Sets the `name`.\n\n    As it's \
                          given.\n        \"\"\"\n        self.title = name\n";

    #[test]
    fn new_definition_at_the_end_of_a_class_without_a_closing_line_is_added() {
        let extents = |start| [Extent { old: 3..10, new: start..start + 12 }];
        let want = SHOP.replace("(self.name)\n", &format!("(self.name)\n\n{RENAME}"));
        let new = format!("class Shop:\n    # ... existing code ...\n\n{RENAME}");
        assert_eq!(edit(SHOP, &new, &extents(0)), want);
        let new = format!("# ...\n\nclass Shop:\n    # ... existing code ...\n\n{RENAME}\n\n# ...\n");
        assert_eq!(edit(SHOP, &new, &extents(2)), want);
        // The last method under another name; one of the methods in front of it; an end that is not shown.
        for other in [
            "    def display(self):\n        print(self.name)\n".to_owned(),
            RENAME.replace("rename(", "add("),
            format!("{RENAME}\n    # ...\n"),
        ] {
            refuse(SHOP, &new.replace(RENAME, &other), &extents(2));
        }
        // What runs is over behind its last line.
        refuse(
            "def go(x):\n    return x\n",
            "def go(x):\n    # ...\n    def inner(y):\n        return y\n",
            &[Extent { old: 0..2, new: 0..4 }],
        );
    }

    #[test]
    fn new_definition_at_the_end_of_the_file_is_added() {
        let three = "def three(a):\n    return a.third\n";
        let new = format!("# ... existing code ...\n\n\n{three}");
        assert_eq!(edit(SHOP, &new, &[]), format!("{SHOP}\n\n{three}"));
        assert_eq!(edit(SHOP.trim_end(), &new, &[]), format!("{SHOP}\n\n{three}").trim_end());
        // The file runs something at its end, has the definition, or a similar one.
        refuse(&format!("{SHOP}\nmain()\n"), &new, &[]);
        refuse(&format!("{SHOP}\nif ready:\n    main()\n"), &new, &[]);
        refuse(SHOP, &new.replace("three(a)", "main()"), &[]);
        refuse(SHOP, "# ... existing code ...\n\n\ndef start():\n    Shop().show()\n", &[]);
        // Between two placeholders, nothing shows the place.
        refuse(SHOP, &format!("{new}\n\n# ...\n"), &[]);
    }

    #[test]
    fn definition_that_differs_only_in_its_name_may_be_a_renamed_one() {
        let file = "impl Log for Now {\n    fn keep(&self) -> R {\n        self.now().keep()\n    }\n    fn settle(&self) -> R {\n        \
                    self.now().settle()\n    }\n}\n";
        let new = "impl Log for Now {\n    // ...\n    fn keep(&self) -> R {\n        self.now().keep()\n    }\n    fn run(&self) -> R {\n        \
                   self.now().run()\n    }\n    // ...\n}\n";
        refuse(file, new, &[]);
        let other = new.replace("self.now().run()", "self.run_it(now)");
        let added = "    fn run(&self) -> R {\n        self.run_it(now)\n    }\n";
        assert_eq!(edit(file, &other, &[]), file.replace("    fn settle", &format!("{added}    fn settle")));
    }

    #[test]
    fn name_is_behind_visibility_and_receiver() {
        for (header, name) in [
            ("pub(crate) fn of(rule: &Rule) -> Rule {", "of"),
            ("func (s *Shop) Clear() {", "Clear"),
            ("def total(self):", "total"),
            ("impl Shop {", "impl Shop"),
            ("test('one', () => {", "one"),
        ] {
            assert_eq!(super::name(header), Some(name));
        }
    }

    #[test]
    fn new_definition_in_front_of_one_whose_body_is_left_out_is_added() {
        let file = "package main\n\nfunc (s *Shop) Total() int {\n\ttotal := 0\n\treturn total\n}\n\nfunc main() {\n\tstart(1)\n}\n";
        let clear = "func (s *Shop) Clear() {\n\ts.items = nil\n}\n";
        let new = format!("// ...\n\n{clear}\nfunc main() {{\n\t// ... existing code ...\n}}\n");
        assert_eq!(edit(file, &new, &[]), file.replace("func main", &format!("{clear}\nfunc main")));
    }

    #[test]
    fn statement_that_sets_the_same_name_as_its_neighbour_is_refused() {
        let file = "fn go() {\n    let first = begin();\n    line = if first.is_extract() {\n        first.line()\n    } else {\n        \
                    first.count()\n    };\n    end(line)\n}\n";
        let new = "fn go() {\n    let first = begin();\n    line = match first.known() {\n        Some(index) => index,\n        None => \
                   0,\n    };\n    // ... existing code ...\n}\n";
        refuse(file, new, &[]);
        let new = new.replace("line = match", "size = match");
        assert!(edit(file, &new, &[]).contains("    };\n    line = if"));
    }

    #[test]
    fn new_definition_behind_a_known_one_is_added() {
        let open = "  open(lid) {\n    this.lid = lid;\n    return this;\n  }\n";
        let new =
            format!("class Box {{\n  // ... existing code ...\n\n{open}\n{SHAKE}\n  // ... rest of code ...\n}}\n");
        assert_eq!(edit(CLASS, &new, &[]), CLASS.replace(open, &format!("{open}\n{SHAKE}")));
    }

    #[test]
    fn definition_that_may_replace_another_is_refused() {
        let close = "  close() {\n    this.lid = null;\n    return this;\n  }\n";
        for other in [
            // The name is in the file, with different parameters.
            SHAKE.replace("shake(times)", "open(times)"),
            SHAKE.replace("shake(times)", "async close()"),
            // The definition contains a line of the last method that occurs once in the file.
            close.replace("close()", "shut()"),
            // The text is a statement around existing code.
            "  if (ready) {\n    close() {\n    this.lid = null;\n  }\n".to_owned(),
        ] {
            refuse(CLASS, &format!("class Box {{\n  // ... existing code ...\n\n{other}}}\n"), &[]);
        }
        // Between two placeholders, nothing shows the place.
        refuse(
            CLASS,
            &format!("class Box {{\n  // ... existing code ...\n\n{SHAKE}\n  // ... existing code ...\n}}\n"),
            &[],
        );
    }

    #[test]
    fn definition_with_the_parameters_of_its_neighbour_may_be_the_same() {
        let file = CLASS.replace("close()", "close(with_another_lid)");
        let open = "  open(lid) {\n    this.lid = lid;\n    return this;\n  }\n";
        let new = |added: &str| {
            format!("class Box {{\n  // ... existing code ...\n\n{open}\n{added}\n  // ... rest of code ...\n}}\n")
        };
        refuse(&file, &new(&SHAKE.replace("times", "with_another_lid")), &[]);
        assert_eq!(edit(&file, &new(SHAKE), &[]), file.replace(open, &format!("{open}\n{SHAKE}")));
    }

    #[test]
    fn statement_is_no_definition() {
        let file = "def go(names):\n    prepare()\n    for name in names:\n        yield name\n        visit(name)\n";
        let new = "    # ...\n    prepare()\n    for name in others:\n        yield name\n    # ...\n";
        assert_eq!(edit(file, new, &[]), file.replace("in names", "in others"));
    }

    #[test]
    fn first_line_with_one_more_name_replaces_the_first_line() {
        let file = "from lib import One\n\nrun(One)\nstop()\n";
        let new = "from lib import One, Two\n\n# ... existing code ...\n\nstop()\n";
        assert_eq!(edit(file, new, &[]), file.replace("One\n\n", "One, Two\n\n"));
        refuse("use a::b;\n\nrun();\nstop();\n", "use a::b::c;\n\n// ... existing code ...\n\nstop();\n", &[]);
    }

    #[test]
    fn placeholder_may_stand_for_nothing() {
        let tests = "suite(() => {\n  test('one', () => {\n    expect(one).toBe(1);\n  });\n});\n";
        let two = "  test('two', () => {\n    expect(pair).toBe(2);\n  });\n";
        let new = tests.replace("  });\n});", &format!("  }});\n\n  // ... existing tests ...\n\n{two}}});"));
        assert_eq!(edit(tests, &new, &[]), tests.replace("  });\n});", &format!("  }});\n\n{two}}});")));
    }

    #[test]
    fn many_definitions_are_work_of_one_look() {
        let file: String = (0..20_000).map(|nth| format!("fn old_{nth}() {{\n    run();\n}}\n")).collect();
        let added: String = (0..20_000).map(|nth| format!("fn new_{nth}() {{\n    walk();\n}}\n")).collect();
        assert!(expand(&file, &format!("// ... existing code ...\n{added}"), &[]).is_err());
    }
}
