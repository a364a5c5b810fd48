use super::pair::{NONE, pair};
use super::{SPENT, Word, Words};
use std::collections::{HashMap, HashSet, VecDeque};

fn letters(text: &str) -> Vec<u64> {
    text.bytes().map(u64::from).collect()
}

#[test]
fn lines_are_paired_only_where_there_is_one_reading() {
    // Old, new, and for each new line the old one it is (`-`: none).
    for (old, new, want) in [
        ("abc", "abc", "012"),
        ("abc", "axc", "0-2"),
        ("abc", "cab", "201"),
        ("aaa", "aa", "--"),
        ("aaxaa", "aaxaaa", "012---"),
        ("abac", "bac", "123"),
        ("aba", "a", "-"),
        ("abca", "aabc", "--12"),
        ("axa", "aya", "0-2"),
        ("fooX}fooY}", "fooX}fooZ}", "01234567-9"),
        ("}f}g}", "}g}f}", "-3-1-"),
        ("", "ab", "--"),
        ("ab", "", ""),
    ] {
        let paired = pair(&letters(old), &letters(new));
        let said: String = paired.iter().map(|&at| if at == NONE { "-".to_owned() } else { at.to_string() }).collect();
        assert_eq!(said, want, "{old} {new}");
    }
}

#[test]
fn an_edit_that_is_known_tells_equal_lines_apart() {
    let text = "}\n".repeat(9);
    let mut words = Words::new(&text).unwrap();
    let had = words.all().to_vec();
    words.follow_edit(&text.replacen("}\n}\n", "x\n", 1), &[(0..2, 0..1)]).unwrap();
    assert_eq!(words.all()[1..], had[2..]);
    // What is said of the change must be so.
    let mut wrong = words.clone();
    wrong.follow_edit(&text, &[(3..4, 3..4)]).unwrap();
    words.follow(&text).unwrap();
    assert_eq!((words.all(), wrong.all()), (&had[..], &had[..]));
}

#[test]
fn the_same_text_has_the_same_words_everywhere() {
    let text = "fn main() {\n}\n\nfn other() {\n}\n";
    let words = Words::new(text).unwrap();
    assert_eq!(words, Words::new(text).unwrap());
    assert_eq!(Words::from_bytes(&words.to_bytes()), Some(words.clone()));
    // A line at the end does not disturb the others.
    let longer = Words::new(&format!("{text}more\n")).unwrap();
    assert_eq!(longer.all()[..5], *words.all());
    assert_eq!(Words::new("").unwrap().all(), []);
}

#[test]
fn damaged_bytes_are_not_trusted() {
    let mut words = Words::new("a\nb\nb\n").unwrap();
    words.follow("a\nc\nb\n").unwrap();
    let bytes = words.to_bytes();
    assert_eq!(Words::from_bytes(&bytes), Some(words));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert_eq!(Words::from_bytes(&damaged), None, "{at}");
        assert_eq!(Words::from_bytes(&bytes[..at]), None, "{at}");
    }
}

#[test]
fn edits_elsewhere_and_coming_back_keep_words() {
    let text: String = (0..200).map(|at| format!("line {at}\n{}", if at % 3 == 0 { "}\n" } else { "" })).collect();
    let mut words = Words::new(&text).unwrap();
    let before = words.all().to_vec();
    words.follow(&text.replace("line 7\n", "line 7\nnew\n").replace("line 150\n", "")).unwrap();
    assert_eq!(words.all()[..8], before[..8]);
    words.follow(&text.replace("line 9\n", "line nine\n")).unwrap();
    words.follow(&text).unwrap();
    assert_eq!(words.all(), before);
}

/// A linear congruential generator: the same steps on every machine.
struct Luck(u64);

impl Luck {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// A line, and who it is.
#[derive(Clone, PartialEq)]
struct Line {
    id: u64,
    text: String,
}

/// One random change of some lines.
fn step(lines: &mut Vec<Line>, luck: &mut Luck, ids: &mut u64) {
    const POOL: &[&str] = &["}", "", "    }", "end", "    return x;", "});"];
    let mut line = |luck: &mut Luck, text: Option<String>| {
        *ids += 1;
        let chosen = if luck.below(2) == 0 { POOL[luck.below(POOL.len())].to_owned() } else { format!("line {ids}") };
        Line { id: *ids, text: text.unwrap_or(chosen) }
    };
    let from = luck.below(lines.len() + 1);
    let to = (from + luck.below(6)).min(lines.len());
    match if lines.len() > 24 { 0 } else { luck.below(5) } {
        0 => drop(lines.drain(from..to)),
        1 => {
            let new: Vec<Line> = (0..=luck.below(3)).map(|_| line(luck, None)).collect();
            lines.splice(from..from, new);
        }
        2 if from < lines.len() => lines[from] = line(luck, None),
        3 => {
            let block: Vec<Line> = lines.drain(from..to).collect();
            let at = luck.below(lines.len() + 1);
            lines.splice(at..at, block);
        }
        _ => {
            let copy: Vec<Line> = lines[from..to].iter().map(|it| line(luck, Some(it.text.clone()))).collect();
            let at = luck.below(lines.len() + 1);
            lines.splice(at..at, copy);
        }
    }
}

fn text_of(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text)).collect()
}

fn counts(lines: &[Line]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in lines {
        *counts.entry(&*line.text).or_default() += 1;
    }
    counts
}

#[test]
fn a_hundred_thousand_steps_never_let_a_word_name_another_line() {
    const STEPS: usize = 100_000;
    let (mut luck, mut ids) = (Luck(7), 0);
    let mut lines: Vec<Line> = Vec::new();
    let mut words = Words::new("").unwrap();
    // What each word named, and when last: a word may be given away again when many others were retired.
    let mut named: HashMap<Word, (Line, usize)> = HashMap::new();
    let mut past: VecDeque<(Vec<Line>, Vec<Word>)> = VecDeque::new();
    let mut texts = VecDeque::new();
    let (mut kept, mut twins) = (0, 0);
    let mut retired = 0;
    for at in 0..STEPS {
        let (was, had) = (lines.clone(), words.all().to_vec());
        let undone = (luck.below(5) == 0 && !past.is_empty()).then(|| past[luck.below(past.len())].clone());
        match &undone {
            Some((back, _)) => lines.clone_from(back),
            None => step(&mut lines, &mut luck, &mut ids),
        }
        let text = text_of(&lines);
        if text == text_of(&was) {
            // Equal lines changed places: nobody can see that.
            lines = was;
            continue;
        }
        let again = undone.is_some() || texts.contains(&text);
        words.follow(&text).unwrap();
        texts.push_back(text);
        texts.drain(..texts.len().saturating_sub(40));
        if at % 1000 == 0 {
            words = Words::from_bytes(&words.to_bytes()).unwrap();
        }
        assert_eq!(words.all().len(), lines.len());
        if let Some((_, back)) = &undone {
            assert_eq!(words.all(), back, "step {at}");
        }
        let now: HashSet<&Word> = words.all().iter().collect();
        retired += had.iter().filter(|word| !now.contains(word)).count();
        let (before, after) = (counts(&was), counts(&lines));
        let places: HashMap<u64, usize> = lines.iter().map(|line| line.id).zip(0..).collect();
        for (line, word) in was.iter().zip(&had) {
            let Some(&now) = places.get(&line.id) else { continue };
            if !again && before[&*line.text] == 1 && after[&*line.text] == 1 {
                assert_eq!(words.all()[now], *word, "step {at}: {:?}", line.text);
            } else {
                (kept, twins) = (kept + usize::from(words.all()[now] == *word), twins + 1);
            }
        }
        for (line, word) in lines.iter().zip(words.all()) {
            let known = named.insert(*word, (line.clone(), retired));
            if let Some((known, last)) = known.filter(|(_, last)| retired - last < SPENT) {
                assert_eq!(known.text, line.text, "step {at} (last {last}): {word}");
                // The same text that was gone for a while counts as the same line.
                let alone = after[&*line.text] == 1;
                assert!(known.id == line.id || alone || again, "step {at} (last {last}): {word} {line:?}");
            }
        }
        if undone.is_none() {
            past.push_back((lines.clone(), words.all().to_vec()));
        }
        past.drain(..past.len().saturating_sub(12));
    }
    assert!(kept * 10 > twins * 8, "of {twins} equal lines that stayed only {kept} kept their word");
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.id, self.text)
    }
}
