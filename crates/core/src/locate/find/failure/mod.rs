//! Errors for text that is not found, occurs too often, or is found and not edited. They have one form: the wording of
//! the seed documents, evidence with line numbers, a call that would work; and the same as facts for programs.

mod decoded;
pub(super) mod difference;
mod line_end;
pub(super) mod nearest;
mod offer;
mod part;
mod places;
mod similar;

use super::match_site::MatchSite;
use super::refusal::{MatchRefusal, RefusalReason};
use super::search::MatchSearch;
use super::tier::{exact::COUNTED_PLACES_MAX, numbers};
use super::{Tier, rivals, select};
use crate::advice;
use crate::advice::{Advice, Phrase, fill_empty_file};
use crate::code::Code;
use crate::error::Error;
use crate::error::ErrorContext;
use crate::locate::line_format;
use crate::locate::omission;
use crate::locate::op::{ExpectedMatches, TextNames};
use crate::text::fold;
use crate::text::lines::{count_lines, line_start, line_stop};
use crate::text::tokens::{similarity, tokens};
use crate::work;
use core::ops::Range;
use nearest::{NearestLines, NearestResult};
use offer::{OfferRules, offered_text};
use part::{SimilarPart, find_part};
use serde_json::json;

/// Maximum number of characters of text quoted back to the caller.
const QUOTED_CHARS_MAX: usize = 400;
/// Maximum number of bytes of text that is given in full for the next call.
const OFFERED_BYTES_MAX: usize = 4000;
/// Maximum number of steps for the explanation of one failure.
const EXPLANATION_STEPS_MAX: u64 = 8_000_000;
/// Maximum number of lines of evidence for the nearest place.
const EVIDENCE_LINES_MAX: usize = 20;
/// Likeness (0 to 1) from which a place is shown.
const SHOWN_LIKENESS_MIN: f64 = 0.6;

/// Likeness (0 to 1) of old and new text from which a part of a line counts as the result of the edit.
const PARTIAL_LIKENESS_MIN: f64 = 0.5;
/// Maximum number of occurrences of the new text that are examined.
const APPLIED_PLACES_MAX: usize = 64;

pub(super) const NOT_FOUND_MESSAGE: &str = "String to replace not found in file.";

/// Creates the error for text that is not in the file.
pub(super) fn not_found(search: &MatchSearch<'_>, reached: Tier) -> Error {
    if search.text.trim().is_empty() {
        return blank(search, reached);
    }
    if let Some(error) = decoded::explain(search, reached) {
        return error;
    }
    let error = opened(search, Code::MatchNotFound, NOT_FOUND_MESSAGE, reached).fact("reason", "not_found");
    if let Some(mark) = omission::copied_mark(&search.find.old, search.text) {
        return omission::explain_mark(error, mark);
    }
    let rules = OfferRules { shifts: reached > Tier::IndentShift, repairs: false };
    explained(search, error, bounded(|| nearest::find_nearest(search)), rules)
}

/// Creates the error for a place that was found and is not edited.
pub(super) fn refused(search: &MatchSearch<'_>, tier: Tier, refusal: &MatchRefusal) -> Error {
    let message = if refusal.reason == RefusalReason::Misindent { &refusal.why } else { NOT_FOUND_MESSAGE };
    let mut error = opened(search, refusal.reason.code(), message, tier).fact("reason", refusal.reason.name());
    if refusal.reason != RefusalReason::Misindent {
        error = error.evidence(&refusal.why);
    }
    if refusal.reason == RefusalReason::Elision {
        return similar::explain_missing_piece(search, error);
    }
    let nearest_result = match refusal.lines {
        Some((from, to)) => bounded(|| NearestResult::Place(nearest::rate(search, from..to))),
        None if refusal.reason == RefusalReason::TooLarge => NearestResult::TooLarge,
        None => bounded(|| nearest::find_nearest(search)),
    };
    let rules = OfferRules {
        shifts: refusal.reason != RefusalReason::Misindent,
        repairs: refusal.reason == RefusalReason::Unrepaired,
    };
    explained(search, error, nearest_result, rules)
}

/// Searches for an explanation of a failure, within its allowance.
pub(in crate::locate::find) fn bounded(search: impl FnOnce() -> NearestResult) -> NearestResult {
    let (nearest_result, ended) = work::with_budget(EXPLANATION_STEPS_MAX, search);
    if ended { NearestResult::TooLarge } else { nearest_result }
}

/// Creates the error for an id that is not that of an occurrence; `places` are the occurrences.
pub(super) fn no_such_place(
    search: &MatchSearch<'_>,
    tier: Tier,
    refusal: &MatchRefusal,
    places: &[MatchSite<'_>],
) -> Error {
    let error = Error::new(refusal.reason.code(), NOT_FOUND_MESSAGE)
        .evidence(&refusal.why)
        .next(
            advice!["Repeat the call with ", Phrase::Quoted("at"), " set to one of the places shown, or without it."]
                .or("Send the text with more lines around it."),
        )
        .fact("reason", refusal.reason.name())
        .fact("tier", tier.number());
    places::list_places(search, error, places)
}

/// Creates the error for a line, named by a field of its own, that is not in the file; `why` completes the sentence
/// that begins with the field.
pub(super) fn no_such_line(search: &MatchSearch<'_>, tier: Tier, field: &'static str, why: &str) -> Error {
    let error = Error::new(Code::MatchNotFound, NOT_FOUND_MESSAGE)
        .evidence(format!("{field} {why}: {}", quoted(&search.find.old)))
        .fact("reason", "not_found")
        .fact("field", field)
        .fact("tier", tier.number());
    let near = match bounded(|| nearest::find_nearest(search)) {
        NearestResult::Place(near) if near.likeness >= SHOWN_LIKENESS_MIN => near.lines,
        _ => {
            return error.evidence("No line of the file is similar.").next(
                advice!["Read the file again and copy the line as ", Phrase::Field(field), ", without its number."]
                    .or("Read the file again and copy the line, without its number."),
            );
        }
    };
    let index = search.lines();
    let text = search.text[index.start(near.start)..index.end(near.end - 1)].trim_end_matches('\n');
    error.evidence("Most similar:").evidence(line_format::excerpt(search.base, near.start + 1, near.end)).next(
        advice!["If that line is meant, repeat the call with ", Phrase::Set(field, text.into())]
            .or(format!("If that line is meant, send it as it is in the file: {}", offered(text))),
    )
}

/// Creates the error for a place found with tolerance if more of the old text occurs exactly at another place.
pub(super) fn rivals(search: &MatchSearch<'_>, tier: Tier, places: &[MatchSite<'_>], rival: Range<usize>) -> Error {
    let found = places.first().map_or(0..0, |place| rivals::lines_of(search, place.span));
    let (found, other) = (named(found.start + 1, found.end), named(rival.start + 1, rival.end));
    let id = places.first().map_or_else(String::new, |place| select::site_id(search, place.span));
    let error = Error::new(
        Code::MatchAmbiguous,
        format!(
            "Two places may be meant: {found} match only approximately ({}), {other} have more of the lines exactly.",
            tier.name()
        ),
    )
    .fact("reason", "rivals")
    .fact("tier", tier.number())
    .fact("rival", json!({ "from": rival.start + 1, "to": rival.end }))
    .next(in_fields(
        search,
        advice![
            format!("To edit {found}, repeat the call with "),
            Phrase::Set("at", id.into()),
            format!("; to edit {other}, copy them from the file as "),
            Phrase::Field("old_string"),
            "."
        ]
        .or(Advice::named("Copy the lines that are meant from the file as {old_string}, exactly.")),
        "Copy the lines that are meant from the file, exactly.".into(),
    ));
    places::list_places(search, error, places).evidence(format!(
        "{other}:\n{}",
        line_format::excerpt(search.base, rival.start + 1, rival.end.min(rival.start + EVIDENCE_LINES_MAX))
    ))
}

/// Creates the error for a number of occurrences other than the expected one.
pub(super) fn count(search: &MatchSearch<'_>, tier: Tier, places: &[MatchSite<'_>]) -> Error {
    // The count is the number of places that `replace_all` would replace, unless overlapping occurrences are the
    // obstacle.
    let apart = select::count_disjoint(places);
    let unique = matches!(search.find.expected, ExpectedMatches::Unique);
    let (count, crossing) = match apart {
        _ if apart == places.len() => (apart, ""),
        1 if unique => (places.len(), ", which overlap each other"),
        _ => (apart, ", not counting those that begin inside another"),
    };
    let more = if places.len() >= COUNTED_PLACES_MAX { "more than " } else { "" };
    let error = match search.find.expected {
        ExpectedMatches::Exactly(wanted) => Error::new(
            Code::MatchCount,
            format!("Expected {wanted} replacement(s) but found {more}{count} occurrence(s){crossing}."),
        )
        .next(match (apart, crossing) {
            // Overlapping occurrences cannot be selected by their number.
            (1, crossing) if !crossing.is_empty() => in_fields(
                search,
                Advice::named("Give a longer {old_string}, so that no occurrence begins inside another."),
                "Give more of the lines around the text, so that no occurrence begins inside another.".into(),
            ),
            _ => {
                let set = format!(" to {count} if all of them are meant, or give a longer ");
                in_fields(
                    search,
                    advice!["Set ", Phrase::Field("expected_replacements"), set, Phrase::Field("old_string"), "."],
                    "Give more of the lines around the text.".into(),
                )
            }
        }),
        _ => Error::new(
            Code::MatchAmbiguous,
            format!("Found {more}{count} matches of the string to replace{crossing}{}.", but_not_all(search)),
        )
        .next(one_of_several(search, tier, places)),
    };
    let reason = if error.code() == Code::MatchCount { "count" } else { "ambiguous" };
    places::list_places(search, error.fact("reason", reason).fact("tier", tier.number()).fact("count", count), places)
}

/// Returns the clause that the call did not ask for all places.
fn but_not_all(search: &MatchSearch<'_>) -> String {
    match &*search.find.names.not_all {
        "" => String::new(),
        clause => format!(", but {clause}"),
    }
}

fn one_of_several(search: &MatchSearch<'_>, tier: Tier, places: &[MatchSite<'_>]) -> Advice {
    let id = places.first().map_or_else(String::new, |place| select::site_id(search, place.span));
    in_fields(
        search,
        context_advice(
            tier,
            vec![
                "To replace only one occurrence, repeat the call with ".into(),
                Phrase::Set("at", id.into()),
                " (or another id shown above), or with more".into(),
            ],
        )
        .or(context_advice(tier, vec!["To replace only one occurrence, repeat the call with more".into()])),
        "Repeat the call with more lines of context, so that the place is unique.".into(),
    )
}

/// Joins the parts of the advice.
fn context_advice(tier: Tier, middle: Vec<Phrase>) -> Advice {
    Advice::new([replace_all_advice(tier), middle, unique_advice()].concat())
}

/// Returns the end of the advice to add context.
fn unique_advice() -> Vec<Phrase> {
    let context = Phrase::Field("old_string");
    vec![" lines of context in ".into(), context, " so that it is unique.".into()]
}

/// Returns the advice to replace all occurrences; empty if that is not possible.
fn replace_all_advice(tier: Tier) -> Vec<Phrase> {
    if tier > Tier::IndentWidths {
        return Vec::new();
    }
    vec!["To replace all occurrences, ".into(), Phrase::On("replace_all"), ". ".into()]
}

/// Creates a failure with the searched text.
fn begun(search: &MatchSearch<'_>, code: Code, message: &str, tier: Tier) -> Error {
    Error::new(code, message)
        .evidence(format!("String: {}", quoted(&search.find.old)))
        .fact("tier", tier.number())
        .next("Read the file again and copy the text to replace from the reply, without line numbers.")
}

/// Creates a failure with the searched text, and everything that is known without a search.
fn opened(search: &MatchSearch<'_>, code: Code, message: &str, tier: Tier) -> Error {
    let mut error = line_end::with_escapes(search, begun(search, code, message, tier));
    if let Some(text) = numbers::suggestion(search) {
        let name = capitalized(&search.find.names);
        let why = format!("{name} appears to contain line number prefix. Remove the number and tab at the start.");
        error = unnumbered(search, error.evidence(why), text);
    }
    error
}

/// If the file has the text without its line numbers, offers that text, else the lines that the numbers name.
fn unnumbered(search: &MatchSearch<'_>, error: Error, text: String) -> Error {
    let is_there = || memchr::memmem::find(search.text.as_bytes(), text.as_bytes()).is_some();
    if !text.trim().is_empty() && is_there() {
        let mut next = vec!["Repeat the call with ".into(), old_string(&text)];
        if search.pattern.new.iter().any(|line| numbers::has_number(line)) {
            next.extend(["; write ".into(), Phrase::Field("new_string"), " without line numbers, too.".into()]);
        }
        let next = Advice::new(next);
        return error
            .next(in_fields(search, next, format!("Send the text as it is in the file: {}", offered(&text))))
            .about(ErrorContext::Suggestion(text));
    }
    let Some(lines) = numbers::lines_named(search).filter(|lines| lines.len() <= EVIDENCE_LINES_MAX) else {
        return error;
    };
    let index = search.lines();
    let real = search.text[index.start(lines.start)..index.end(lines.end - 1)].to_owned();
    let name = named(lines.start + 1, lines.end);
    let meant = format!("If {name} {} meant, ", if lines.len() == 1 { "is" } else { "are" });
    let next = advice![format!("{meant}repeat the call with "), old_string(&real)];
    error
        .evidence(format!("Did you include {name}? Without it the text is not in the file. The file has at {name}:"))
        .evidence(line_format::excerpt(search.base, lines.start + 1, lines.end))
        .next(in_fields(search, next, format!("{meant}send the text as it is in the file: {}", offered(&real))))
        .about(ErrorContext::Suggestion(real))
}

/// Describes a blank file with this number of lines.
pub(in crate::locate::find) fn described_blank(lines: usize) -> String {
    match lines {
        0 => "The file is empty.".to_owned(),
        1 => "The file is empty but for whitespace (1 line).".to_owned(),
        _ => format!("The file is empty but for whitespace ({lines} lines)."),
    }
}

/// Creates the error for a search in a blank file.
fn blank(search: &MatchSearch<'_>, reached: Tier) -> Error {
    opened(search, Code::MatchNotFound, NOT_FOUND_MESSAGE, reached)
        .evidence(described_blank(search.lines().count()))
        .about(ErrorContext::EmptyFile)
        .next(fill_empty_file("Send its whole text as a new file."))
}

/// Returns the line at which the new text already is in the file, if there is evidence that it replaced the old text:
/// it is at the lines most similar to the old text, or next to a line common to both texts.
fn already_applied(search: &MatchSearch<'_>, nearest_result: &NearestResult) -> Option<usize> {
    let new = search.new.trim_matches('\n');
    if fold::count_alnum(new, 4) < 4 || search.find.old.contains(new) {
        return None;
    }
    let places: Vec<usize> =
        memchr::memmem::find_iter(search.text.as_bytes(), new.as_bytes()).take(APPLIED_PLACES_MAX).collect();
    if let NearestResult::Place(nearest) = nearest_result
        && nearest.likeness >= SHOWN_LIKENESS_MIN
    {
        // A part of a line is evidence only if the old and the new text are similar.
        let alike = similarity(&tokens(&search.find.old), &tokens(new)) >= PARTIAL_LIKENESS_MIN;
        return places
            .iter()
            .find(|&&at| {
                let overlap = lines_of_new(search, new, at).start < nearest.lines.end
                    && nearest.lines.start < lines_of_new(search, new, at).end;
                overlap && (alike || is_whole_lines(search, new, at))
            })
            .map(|&at| line_number(search, at));
    }
    match *places {
        [at] if search.pattern.new.len() > 1
            && search
                .pattern
                .new
                .iter()
                .any(|line| fold::count_alnum(line, 4) >= 4 && search.pattern.old.contains(line)) =>
        {
            Some(line_number(search, at))
        }
        _ => None,
    }
}

/// True if the new text fills whole lines.
fn is_whole_lines(search: &MatchSearch<'_>, new: &str, at: usize) -> bool {
    let (start, stop) = (line_start(search.text, at), line_stop(search.text, at + new.len() - 1));
    search.text[start..at].trim().is_empty() && search.text[at + new.len()..stop].trim().is_empty()
}

/// Returns the lines that the new text occupies.
fn lines_of_new(search: &MatchSearch<'_>, new: &str, at: usize) -> Range<usize> {
    line_number(search, at) - 1..line_number(search, at + new.len() - 1)
}

/// Returns the line number of an offset.
fn line_number(search: &MatchSearch<'_>, at: usize) -> usize {
    search.base.lines().line_of(search.text, at)
}

/// Adds the nearest place to an error: its text and the first difference.
fn explained(search: &MatchSearch<'_>, mut error: Error, nearest_result: NearestResult, rules: OfferRules) -> Error {
    if let Some(line) = already_applied(search, &nearest_result) {
        error = error
            .evidence(format!("The file seems to contain {} already at line {line}.", search.find.names.new))
            .next(format!("Nothing is left to do if line {line} is as wanted; else read the file again."))
            .about(ErrorContext::AlreadyApplied)
            .fact("already_at", line);
    }
    let nearest = match nearest_result {
        NearestResult::TooLarge => {
            return error.evidence("The text is too large to search for similar text.").fact("too_large", true);
        }
        NearestResult::Place(nearest) if nearest.likeness >= SHOWN_LIKENESS_MIN => nearest,
        _ => return with_part(search, error),
    };
    let mut error = similar::with_similar(search, error, &nearest);
    let NearestLines { lines, likeness, .. } = &nearest;
    let (from, to) = (lines.start + 1, lines.end);
    let offer = offered_text(search, &nearest, rules);
    if error.suggestion().is_none() && !error.is_about(&ErrorContext::AlreadyApplied) {
        error = error.next(offer.advice(search, &named(from, to)));
    }
    let text = offer.text;
    error.about(ErrorContext::Nearest { from, to, text, likeness: *likeness })
}

/// Adds the part of a line that resembles a searched text of less than a line.
fn with_part(search: &MatchSearch<'_>, error: Error) -> Error {
    let (part, ended) = work::with_budget(EXPLANATION_STEPS_MAX, || find_part(search));
    let Some(SimilarPart { span, errors, likeness }) = part.filter(|_| !ended) else {
        let is_explained = error.suggestion().is_some();
        return if is_explained { error } else { error.evidence("The file contains nothing similar.") };
    };
    let (line, text) = (line_number(search, span.start), &search.text[span]);
    let error = error
        .evidence(format!("Most similar (a part of line {line}, {:.0} % alike):", likeness * 100.0))
        .evidence(line_format::excerpt(search.base, line, line))
        .evidence(format!(
            "{} has `{}`, the file `{text}`{}.",
            capitalized(&search.find.names),
            search.find.old.trim(),
            if errors == 0 { ": the case of letters differs" } else { "" }
        ))
        .fact("difference", if errors == 0 { "case" } else { "word" })
        .about(ErrorContext::Nearest { from: line, to: line, text: text.to_owned(), likeness });
    if error.suggestion().is_some() || error.is_about(&ErrorContext::AlreadyApplied) {
        return error;
    }
    if memchr::memmem::find_iter(search.text.as_bytes(), text.as_bytes()).nth(1).is_some() {
        return error.next("If that is meant, copy it from the file with as much beside it as makes it unique.");
    }
    let next = advice!["If that is meant, repeat the call with ", old_string(text)];
    error.next(in_fields(search, next, format!("If that is meant, send it as it is in the file: {}", offered(text))))
}

/// Formats a range of lines.
fn named(from: usize, to: usize) -> String {
    if from == to { format!("line {from}") } else { format!("lines {from}-{to}") }
}

/// Returns `fields`, which names fields of the call, if the texts are fields; else the same advice without their names.
fn in_fields(search: &MatchSearch<'_>, fields: Advice, plain: String) -> Advice {
    if search.find.names.are_fields { fields.or(plain) } else { plain.into() }
}

/// Returns the name of the old text for the start of a sentence; names of fields are unchanged.
fn capitalized(names: &TextNames) -> String {
    let mut chars = names.old.chars();
    match chars.next() {
        Some(first) if !names.are_fields => first.to_uppercase().chain(chars).collect(),
        _ => names.old.to_string(),
    }
}

fn old_string(text: &str) -> Phrase {
    Phrase::Set("old_string", text.into())
}

/// Formats a text for use in a call.
fn offered(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((at, _)) => format!("{}… ({} lines, {} bytes)", &text[..at], count_lines(text), text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::code::Code;
    use crate::locate::find::testing::refuse;

    #[test]
    fn near_miss_suggests_a_working_call() {
        let file = "use a;\n\nfn f() {\n    const minRetries: u8 = 3;\n}\n";
        let error = refuse(file, "    const maxRetries: u8 = 3;", "    const maxRetries: u8 = 5;");
        assert_eq!(error.code(), Code::MatchNotFound);
        assert!(error.message().starts_with("String to replace not found in file."));
        let text = error.to_string();
        for part in [
            "     4\t    const minRetries: u8 = 3;",
            "[-maxRetries-]{+minRetries+}",
            "one word",
            r#""    const minRetries: u8 = 3;""#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(error.data()["nearest"]["from"], 4);
        assert_eq!(error.data()["reason"], "not_found");
    }

    #[test]
    fn applied_edit_is_recognized() {
        let error = refuse("let alpha = 2;\n", "let alpha = 1;", "let alpha = 2;");
        assert_eq!(error.data()["already_applied"], true);
        assert!(error.to_string().contains("contain new_string already at line 1"), "{error}");
    }

    #[test]
    fn text_elsewhere_does_not_count_as_an_applied_edit() {
        let file = "getUser(1);\nother();\n";
        for old in ["fetchAccount(1);", "loadAll();\nother_call();"] {
            let error = refuse(file, old, "getUser");
            assert!(!error.data().contains_key("already_applied"), "{error}");
        }
        let error = refuse(
            "a();\nnew_block();\nkept_line();\n",
            "very_old_thing_here();\nkept_line();",
            "new_block();\nkept_line();",
        );
        assert_eq!(error.data()["already_at"], 2, "{error}");
    }

    #[test]
    fn blank_file_is_reported() {
        for (file, what) in [("", "is empty"), (" \n\n", "whitespace (2 lines)")] {
            let error = refuse(file, "some text", "x");
            assert!(error.to_string().contains(what) && error.next_step().contains("write"), "{error}");
        }
    }

    #[test]
    fn copied_line_numbers_are_reported() {
        let error = refuse("alpha = 1;\nbeta = 2;\n", "1\talpha = 1;\n2\tgamma = 2;", "x");
        assert!(error.to_string().contains("old_string appears to contain line number prefix"), "{error}");
        assert_eq!(error.data()["suggestion"], "alpha = 1;\nbeta = 2;");
        let file: String = (1..30).map(|line| format!("l{line}0\n")).collect();
        let error = refuse(&file, "20\tl2O", "x");
        assert_eq!(error.data()["suggestion"], "l200", "{error}");
        assert!(error.to_string().contains("The file has at line 20:\n    20\tl200"), "{error}");
    }

    #[test]
    fn class_of_difference_is_reported() {
        let cases = [
            ("const Alpha = call();\n", "const alpha = call();", "case"),
            ("timeout_value: 60\n", "timeout_value: 30", "number"),
            ("\tfirst_call()\n        second_call()\n", "    first_call()\n    second_call()", "tabs"),
            ("alpha beta gamma delta\n", "alpha beta gama delta", "word"),
        ];
        for (file, old, class) in cases {
            let error = refuse(file, old, "something else");
            assert!(error.data()["difference"].as_str().unwrap().contains(class), "{error} {:?}", error.data());
        }
    }

    #[test]
    fn absence_of_similar_text_is_reported() {
        let error = refuse("alpha\nbeta\n", "nonexistent_text_xyz", "q");
        assert!(error.to_string().contains("nothing similar"), "{error}");
    }

    #[test]
    fn long_text_is_not_repeated() {
        let error = refuse("alpha\n", &"word \n".repeat(5000), "q");
        assert!(error.to_string().len() < 2000, "{error}");
    }
}
