//! Explains why a document does not conform, with a path to each violation; visits only what does not fit.

use super::keyword::{Keyword, RuleId, TypeSet};
use super::reference::pointer_name;
use super::shown::{described, listed, not_allowed, shown};
use super::validate::{BudgetError, Validation, types_of};
use super::{VIOLATIONS_MAX, Violation};
use crate::document::{Id, Object, ObjectMember, Value};
use std::collections::HashMap;

/// One step of a JSON pointer.
#[derive(Clone, Copy)]
enum PointerStep<'a> {
    Name(&'a str),
    Item(usize),
}

/// Collects violations.
struct Explainer<'r, 'a> {
    run: &'r mut Validation<'a>,
    path: Vec<PointerStep<'a>>,
    /// Prefix of the pointers.
    document: &'r str,
    out: Vec<Violation>,
    more: bool,
    /// The violations of each rule that was explained, by its value and the pointer to that. Schemas may refer to a rule
    /// along exponentially many ways.
    explained: HashMap<(RuleId, Id, String), Vec<Violation>>,
}

/// Adds the violations of a document that does not fit; returns true if not all are listed.
pub(super) fn explain(run: &mut Validation<'_>, root: Id, name: &str, out: &mut Vec<Violation>) -> bool {
    let mut told = Explainer {
        run,
        path: Vec::new(),
        document: name,
        out: std::mem::take(out),
        more: false,
        explained: HashMap::new(),
    };
    let before = told.out.len();
    // If the steps run out, the violations so far are kept, and the list counts as incomplete.
    let cut = told.rule(0, root).is_err();
    if told.out.len() == before {
        told.report(root, "it does not fit the schema", "schema");
    }
    let more = told.more || cut;
    *out = told.out;
    more
}

impl<'a> Explainer<'_, 'a> {
    fn report(&mut self, id: Id, what: impl Into<String>, kind: &str) {
        let at = self.run.document.at(id);
        self.report_at(at, what, kind);
    }

    fn report_at(&mut self, at: usize, what: impl Into<String>, kind: &str) {
        let what = what.into();
        let mut general = String::new();
        for step in &self.path {
            match step {
                PointerStep::Name(name) => general.extend(["/", &pointer_name(name)]),
                PointerStep::Item(_) => general.push_str("/*"),
            }
        }
        let kind = format!("{general} {kind}: {what}");
        let pointer = self.pointer();
        self.add(Violation { at, pointer, what, kind });
    }

    /// Returns the pointer to the current value.
    fn pointer(&self) -> String {
        let mut pointer = self.document.to_owned();
        for step in &self.path {
            match step {
                PointerStep::Name(name) => pointer.extend(["/", &pointer_name(name)]),
                PointerStep::Item(nth) => pointer.extend(["/", &nth.to_string()]),
            }
        }
        pointer
    }

    /// Adds a violation, unless there are too many, or the same one was added before.
    fn add(&mut self, violation: Violation) {
        if self.out.len() >= VIOLATIONS_MAX {
            self.more = true;
            return;
        }
        let same = |it: &Violation| it.pointer == violation.pointer && it.what == violation.what;
        if !self.out.iter().rev().take(20).any(same) {
            self.out.push(violation);
        }
    }

    fn inside(&mut self, step: PointerStep<'a>, rule: RuleId, id: Id) -> Result<(), BudgetError> {
        self.path.push(step);
        let done = self.rule(rule, id);
        self.path.pop();
        done
    }

    /// Reports violations of a rule; nothing if the value fits.
    fn rule(&mut self, rule: RuleId, id: Id) -> Result<(), BudgetError> {
        if self.out.len() >= VIOLATIONS_MAX {
            self.more = true;
            return Ok(());
        }
        self.run.deeper()?;
        if !self.run.fits(rule, id)? {
            self.violations_of(rule, id)?;
        }
        self.run.higher();
        Ok(())
    }

    /// Reports the violations of a rule that a value does not fit. They are found once.
    fn violations_of(&mut self, rule: RuleId, id: Id) -> Result<(), BudgetError> {
        let key = (rule, id, self.pointer());
        if let Some(known) = self.explained.get(&key) {
            for violation in known.clone() {
                self.add(violation);
            }
            return Ok(());
        }
        let others = std::mem::take(&mut self.out);
        let done = self.failing_keywords(rule, id);
        let own = std::mem::replace(&mut self.out, others);
        if done.is_ok() {
            self.explained.insert(key, own.clone());
        }
        for violation in own {
            self.add(violation);
        }
        done
    }

    fn failing_keywords(&mut self, rule: RuleId, id: Id) -> Result<(), BudgetError> {
        for keyword in self.run.keywords(rule) {
            if !self.run.holds(rule, keyword, id)? {
                self.keyword(rule, keyword, id)?;
            }
        }
        Ok(())
    }

    fn keyword(&mut self, rule: RuleId, keyword: &'a Keyword, id: Id) -> Result<(), BudgetError> {
        let value = self.run.document.value(id);
        match keyword {
            Keyword::Ref(to) => return self.rule(*to, id),
            Keyword::All(rules) => {
                for rule in rules {
                    self.rule(*rule, id)?;
                }
            }
            Keyword::Any(rules) => return self.alternatives(rules, id),
            Keyword::One(rules) => return self.one(rules, id),
            Keyword::If { when, then, otherwise } => {
                let chosen = if self.run.fits(*when, id)? { then } else { otherwise };
                if let Some(rule) = chosen {
                    return self.rule(*rule, id);
                }
            }
            _ => match value {
                Value::List(items) => return self.list(rule, keyword, id, items),
                Value::Object(object) => return self.object(rule, keyword, id, object),
                _ => self.plain(keyword, id),
            },
        }
        Ok(())
    }

    /// Reports a violation that does not depend on parts.
    fn plain(&mut self, keyword: &Keyword, id: Id) {
        let shown = shown(self.run.document, id);
        let (kind, what) = match keyword {
            Keyword::Never => ("false", "is not allowed here".to_owned()),
            Keyword::Type(types) => {
                let is = described(self.run.document, id);
                ("type", format!("{is}; expected {}", types.names().join(" or ")))
            }
            Keyword::Enum(constants) => ("enum", format!("{shown} is not one of {}", listed(constants, &shown))),
            Keyword::Const(constant) => ("const", format!("{shown} is not {}", constant.shown)),
            Keyword::MultipleOf(of) => ("multipleOf", format!("{shown} is not a multiple of {of}")),
            Keyword::Most(most, true) => ("exclusiveMaximum", format!("{shown} is not less than {most}")),
            Keyword::Most(most, false) => ("maximum", format!("{shown} is more than {most}")),
            Keyword::Least(least, true) => ("exclusiveMinimum", format!("{shown} is not more than {least}")),
            Keyword::Least(least, false) => ("minimum", format!("{shown} is less than {least}")),
            Keyword::MaxLength(most) => ("maxLength", format!("{shown} has more than {most} characters")),
            Keyword::MinLength(least) => ("minLength", format!("{shown} has fewer than {least} characters")),
            Keyword::Pattern(pattern) => {
                let pattern: String = self.run.schema.patterns[*pattern as usize].text.chars().take(200).collect();
                ("pattern", format!("{shown} does not match the pattern {pattern}"))
            }
            Keyword::Not(_) => ("not", format!("{shown} is what the schema excludes")),
            _ => ("schema", "it does not fit the schema".to_owned()),
        };
        self.report(id, what, kind);
    }

    fn list(&mut self, rule: RuleId, keyword: &'a Keyword, id: Id, items: &[Id]) -> Result<(), BudgetError> {
        match keyword {
            Keyword::MaxItems(most) => {
                self.report(id, format!("has {} items; at most {most} are allowed", items.len()), "maxItems");
            }
            Keyword::MinItems(least) => {
                self.report(id, format!("has {} items; at least {least} are needed", items.len()), "minItems");
            }
            Keyword::Unique => {
                let mut seen = HashMap::new();
                for (nth, item) in items.iter().enumerate() {
                    if let Some(first) = seen.insert(self.run.document.fingerprint(*item), nth) {
                        self.report(*item, format!("items {first} and {nth} are equal"), "uniqueItems");
                        break;
                    }
                }
            }
            Keyword::Contains { least, most, .. } => {
                let bound = match most {
                    Some(most) if *least <= 1 => format!("at most {most}"),
                    _ => format!("at least {least}"),
                };
                self.report(id, format!("not the right number of items is of the kind asked for: {bound}"), "contains");
            }
            Keyword::Items { first, rest } => {
                for (nth, item) in items.iter().enumerate() {
                    let Some(rule) = first.get(nth).copied().or(*rest) else { break };
                    self.inside(PointerStep::Item(nth), rule, *item)?;
                }
            }
            Keyword::UnevaluatedItems(left) => {
                let marks = self.run.marks_beside(rule, id)?;
                for (nth, item) in items.iter().enumerate() {
                    if !marks.has(nth) {
                        self.inside(PointerStep::Item(nth), *left, *item)?;
                    }
                }
            }
            _ => self.plain(keyword, id),
        }
        Ok(())
    }

    fn object(&mut self, rule: RuleId, keyword: &'a Keyword, id: Id, object: &'a Object) -> Result<(), BudgetError> {
        match keyword {
            Keyword::MaxProperties(most) => {
                self.report(id, format!("has {} members; at most {most} are allowed", object.len()), "maxProperties");
            }
            Keyword::MinProperties(least) => {
                self.report(id, format!("has {} members; at least {least} are needed", object.len()), "minProperties");
            }
            Keyword::Required(names) => {
                for name in names.iter().filter(|name| object.get(name).is_none()) {
                    self.report(id, format!("\"{name}\" is missing"), "required");
                }
            }
            Keyword::DependentRequired(rows) => {
                for (name, others) in rows.iter().filter(|(name, _)| object.get(name).is_some()) {
                    for other in others.iter().filter(|other| object.get(other).is_none()) {
                        self.report(id, format!("\"{other}\" is missing; \"{name}\" needs it"), "dependentRequired");
                    }
                }
            }
            Keyword::DependentSchemas(rows) => {
                for (name, rule) in rows {
                    if object.get(name).is_some() {
                        self.rule(*rule, id)?;
                    }
                }
            }
            Keyword::Names(rule) => {
                for member in object.iter() {
                    if !self.run.name_fits(*rule, &member.name)? {
                        self.member(member, "is not a name that is allowed here", "propertyNames");
                    }
                }
            }
            Keyword::Properties { named, rest, .. } => {
                for member in object.iter() {
                    let rules = self.run.rules_for(keyword, &member.name)?;
                    for rule in rules {
                        let by_rest = *rest == Some(rule) && !named.contains_key(&member.name);
                        if by_rest && self.is_never(rule) {
                            let known = named.keys().map(String::as_str).collect();
                            self.member(member, &not_allowed(&member.name, known), "additionalProperties");
                        } else {
                            self.inside(PointerStep::Name(&member.name), rule, member.value)?;
                        }
                    }
                }
            }
            Keyword::UnevaluatedProperties(left) => {
                let marks = self.run.marks_beside(rule, id)?;
                for (nth, member) in object.iter().enumerate() {
                    if !marks.has(nth) {
                        if self.is_never(*left) {
                            self.member(member, "is not allowed here", "unevaluatedProperties");
                        } else {
                            self.inside(PointerStep::Name(&member.name), *left, member.value)?;
                        }
                    }
                }
            }
            _ => self.plain(keyword, id),
        }
        Ok(())
    }

    /// Reports a violation at the name of a member.
    fn member(&mut self, member: &'a ObjectMember, what: &str, kind: &str) {
        self.path.push(PointerStep::Name(&member.name));
        self.report_at(member.at, what, kind);
        self.path.pop();
    }

    fn is_never(&self, rule: RuleId) -> bool {
        matches!(self.run.keywords(rule), [Keyword::Never])
    }

    fn one(&mut self, rules: &[RuleId], id: Id) -> Result<(), BudgetError> {
        let mut fitting = Vec::new();
        for (nth, rule) in rules.iter().enumerate() {
            if self.run.fits(*rule, id)? {
                fitting.push((nth + 1).to_string());
            }
        }
        if fitting.is_empty() {
            return self.alternatives(rules, id);
        }
        let which = fitting.join(" and ");
        self.report(id, format!("fits alternatives {which} of {}; exactly one may", rules.len()), "oneOf");
        Ok(())
    }

    /// Explains why none of several alternatives fits: by the violations of the closest one, or the types that all
    /// require.
    fn alternatives(&mut self, rules: &[RuleId], id: Id) -> Result<(), BudgetError> {
        let types = rules.iter().try_fold(TypeSet::default(), |all, rule| Some(all.with(self.wanted(*rule)?)));
        if let Some(types) = types.filter(|types| !types.has_any(types_of(self.run.document.value(id)))) {
            let is = described(self.run.document, id);
            self.report(id, format!("{is}; expected {}", types.names().join(" or ")), "anyOf");
            return Ok(());
        }
        let (before, more) = (self.out.len(), self.more);
        let mut best: Option<(usize, Vec<Violation>)> = None;
        for rule in rules {
            let wrong_type = self.wanted(*rule).is_some_and(|it| !it.has_any(types_of(self.run.document.value(id))));
            self.rule(*rule, id)?;
            let said = self.out.split_off(before);
            // An alternative that fails further inside is closer; one of another type is not meant.
            let here = said.iter().filter(|it| it.at == self.run.document.at(id)).count();
            let score = said.len() + 2 * here + if wrong_type { 1000 } else { 0 };
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, said));
            }
        }
        self.more = more;
        match best {
            Some((_, said)) if rules.len() == 1 || said.len() <= 3 => {
                let hint = format!(" (none of {} alternatives fits; this is the nearest)", rules.len());
                for mut violation in said {
                    if rules.len() > 1 && !violation.what.ends_with(')') {
                        violation.what.push_str(&hint);
                    }
                    self.out.push(violation);
                }
            }
            _ => self.report(id, format!("fits none of {} alternatives", rules.len()), "anyOf"),
        }
        Ok(())
    }

    /// Returns the types that a rule requires before anything else.
    fn wanted(&self, rule: RuleId) -> Option<TypeSet> {
        let mut rule = rule;
        for _ in 0..8 {
            let keywords = self.run.keywords(rule);
            let types = keywords.iter().find_map(|it| if let Keyword::Type(types) = it { Some(*types) } else { None });
            match (types, keywords) {
                (Some(types), _) => return Some(types),
                (None, [Keyword::Ref(to)]) => rule = *to,
                _ => return None,
            }
        }
        None
    }
}
