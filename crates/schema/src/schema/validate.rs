//! Evaluation of rules: each rule is evaluated once per value, and every step is counted.

use super::evaluated::EvaluatedParts;
use super::explain::explain;
use super::keyword::{Constant, Keyword, PatternId, RuleId, TypeSet};
use super::{CheckReport, Schema, Violation};
use crate::document::{Document, Id, Object, Value, fingerprint_of_bool};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Maximum number of steps of a check.
const STEPS_MAX: usize = 4_000_000;
/// Maximum nesting of rules, because of the stack.
const RULE_DEPTH_MAX: usize = 500;

/// The step budget ran out.
pub(super) struct BudgetError;

/// A check of one document.
pub(super) struct Validation<'a> {
    pub(super) schema: &'a Schema,
    pub(super) document: &'a Document,
    results: HashMap<(RuleId, Id), bool>,
    pub(super) evaluated: HashMap<(RuleId, Id), Rc<EvaluatedParts>>,
    steps: usize,
    depth: usize,
    untried: BTreeSet<PatternId>,
}

pub(super) fn check(schema: &Schema, document: &Document) -> CheckReport {
    let mut run = Validation {
        schema,
        document,
        results: HashMap::new(),
        evaluated: HashMap::new(),
        steps: 0,
        depth: 0,
        untried: BTreeSet::new(),
    };
    let mut checked =
        CheckReport { violations: Vec::new(), more: false, limit_reached: false, untried_patterns: Vec::new() };
    for (nth, root) in document.roots.iter().enumerate() {
        match run.fits(0, *root) {
            Ok(true) => {}
            Ok(false) => {
                let name = if document.roots.len() > 1 { format!("document {} ", nth + 1) } else { String::new() };
                checked.more |= explain(&mut run, *root, &name, &mut checked.violations);
            }
            Err(BudgetError) => {
                checked.limit_reached = true;
                checked.violations.clear();
                break;
            }
        }
    }
    if document.roots.is_empty() {
        let (pointer, what) = (String::new(), "the text contains no value".to_owned());
        checked.violations.push(Violation { at: 0, pointer, kind: what.clone(), what });
    }
    checked.untried_patterns = run.untried.iter().map(|id| schema.patterns[*id as usize].text.clone()).collect();
    checked
}

/// Returns the types of a value.
pub(super) fn types_of(value: &Value) -> TypeSet {
    match value {
        Value::Null => TypeSet::NULL,
        Value::Bool(_) => TypeSet::BOOLEAN,
        Value::Number(number) if number.is_integer() => TypeSet::NUMBER.with(TypeSet::INTEGER),
        Value::Number(_) => TypeSet::NUMBER,
        Value::Text(_) => TypeSet::STRING,
        Value::Word(..) => TypeSet::STRING.with(TypeSet::BOOLEAN),
        Value::List(_) => TypeSet::ARRAY,
        Value::Object(_) => TypeSet::OBJECT,
        Value::Unknown => TypeSet::default(),
    }
}

impl<'a> Validation<'a> {
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), BudgetError> {
        self.steps += steps;
        if self.steps > STEPS_MAX { Err(BudgetError) } else { Ok(()) }
    }

    /// Enters a nested rule; fails beyond the maximum nesting.
    pub(super) fn deeper(&mut self) -> Result<(), BudgetError> {
        self.depth += 1;
        if self.depth > RULE_DEPTH_MAX { Err(BudgetError) } else { self.spend(1) }
    }

    pub(super) fn higher(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn keywords(&self, rule: RuleId) -> &'a [Keyword] {
        &self.schema.rules[rule as usize].keywords
    }

    /// True if the value fits the rule.
    pub(super) fn fits(&mut self, rule: RuleId, id: Id) -> Result<bool, BudgetError> {
        self.spend(1)?;
        let keywords = self.keywords(rule);
        if keywords.is_empty() || matches!(self.document.value(id), Value::Unknown) {
            return Ok(true);
        }
        // A rule that refers to itself for the same value adds nothing the second time.
        if let Some(known) = self.results.get(&(rule, id)) {
            return Ok(*known);
        }
        self.deeper()?;
        self.results.insert((rule, id), true);
        let mut fits = true;
        for keyword in keywords {
            if !self.holds(rule, keyword, id)? {
                fits = false;
                break;
            }
        }
        self.higher();
        self.results.insert((rule, id), fits);
        Ok(fits)
    }

    pub(super) fn all_fit(&mut self, rules: &[RuleId], id: Id) -> Result<bool, BudgetError> {
        for rule in rules {
            if !self.fits(*rule, id)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if a value satisfies one keyword of a rule.
    pub(super) fn holds(&mut self, rule: RuleId, keyword: &'a Keyword, id: Id) -> Result<bool, BudgetError> {
        self.spend(1)?;
        let value = self.document.value(id);
        Ok(match keyword {
            Keyword::Never => false,
            Keyword::Type(types) => types_of(value).has_any(*types),
            Keyword::Enum(constants) => {
                self.spend(constants.len() / 8)?;
                constants.iter().any(|constant| self.equals(constant, id))
            }
            Keyword::Const(constant) => self.equals(constant, id),
            Keyword::All(rules) => self.all_fit(rules, id)?,
            Keyword::Any(rules) => {
                for rule in rules {
                    if self.fits(*rule, id)? {
                        return Ok(true);
                    }
                }
                false
            }
            Keyword::One(rules) => {
                let mut fitting = 0;
                for rule in rules {
                    fitting += usize::from(self.fits(*rule, id)?);
                    if fitting > 1 {
                        break;
                    }
                }
                fitting == 1
            }
            Keyword::Not(rule) => !self.fits(*rule, id)?,
            Keyword::If { when, then, otherwise } => {
                let chosen = if self.fits(*when, id)? { then } else { otherwise };
                chosen.map_or(Ok(true), |rule| self.fits(rule, id))?
            }
            Keyword::Ref(rule) => self.fits(*rule, id)?,
            _ => match value {
                Value::Number(number) => match keyword {
                    Keyword::MultipleOf(of) => number.is_multiple_of(*of),
                    Keyword::Most(most, outside) => within(number.compare(*most), *outside, false),
                    Keyword::Least(least, outside) => within(number.compare(*least), *outside, true),
                    _ => true,
                },
                Value::Text(text) | Value::Word(_, text) => self.text_holds(keyword, text)?,
                Value::List(items) => self.list_holds(rule, keyword, id, items)?,
                Value::Object(object) => self.object_holds(rule, keyword, id, object)?,
                _ => true,
            },
        })
    }

    fn equals(&self, constant: &Constant, id: Id) -> bool {
        let word = match self.document.value(id) {
            Value::Word(value, _) => Some(fingerprint_of_bool(*value)),
            _ => None,
        };
        constant.print == self.document.fingerprint(id) || word == Some(constant.print)
    }

    fn text_holds(&mut self, keyword: &Keyword, text: &str) -> Result<bool, BudgetError> {
        self.spend(text.len() / 64)?;
        Ok(match keyword {
            Keyword::MaxLength(most) => text.len() <= *most || text.chars().count() <= *most,
            Keyword::MinLength(least) => text.len() >= *least && text.chars().count() >= *least,
            Keyword::Pattern(pattern) => self.matches(*pattern, text)?.unwrap_or(true),
            _ => true,
        })
    }

    /// Matches a pattern; `None` if it cannot be evaluated.
    pub(super) fn matches(&mut self, pattern: PatternId, text: &str) -> Result<Option<bool>, BudgetError> {
        let it = &self.schema.patterns[pattern as usize];
        self.spend(1 + text.len() / 16 + it.cost_to_build())?;
        let fits = it.fits(text);
        if fits.is_none() {
            self.untried.insert(pattern);
        }
        Ok(fits)
    }

    fn list_holds(&mut self, rule: RuleId, keyword: &'a Keyword, id: Id, items: &[Id]) -> Result<bool, BudgetError> {
        match keyword {
            Keyword::MaxItems(most) => Ok(items.len() <= *most),
            Keyword::MinItems(least) => Ok(items.len() >= *least),
            Keyword::Unique => {
                self.spend(items.len())?;
                Ok(items.iter().map(|item| self.document.fingerprint(*item)).collect::<HashSet<u128>>().len()
                    == items.len())
            }
            Keyword::Items { first, rest } => {
                for (nth, item) in items.iter().enumerate() {
                    let Some(rule) = first.get(nth).copied().or(*rest) else { break };
                    if !self.fits(rule, *item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::Contains { rule, least, most, .. } => {
                let mut count = 0;
                for item in items {
                    count += usize::from(self.fits(*rule, *item)?);
                }
                Ok(count >= *least && most.is_none_or(|most| count <= most))
            }
            Keyword::UnevaluatedItems(left) => {
                let marks = self.marks_beside(rule, id)?;
                for (nth, item) in items.iter().enumerate() {
                    if !marks.has(nth) && !self.fits(*left, *item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn object_holds(
        &mut self,
        rule: RuleId,
        keyword: &'a Keyword,
        id: Id,
        object: &'a Object,
    ) -> Result<bool, BudgetError> {
        match keyword {
            Keyword::MaxProperties(most) => Ok(object.len() <= *most),
            Keyword::MinProperties(least) => Ok(object.len() >= *least),
            Keyword::Required(names) => {
                self.spend(names.len())?;
                Ok(names.iter().all(|name| object.get(name).is_some()))
            }
            Keyword::DependentRequired(rows) => {
                for (name, others) in rows {
                    self.spend(others.len() + 1)?;
                    if object.get(name).is_some() && others.iter().any(|other| object.get(other).is_none()) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::DependentSchemas(rows) => {
                for (name, rule) in rows {
                    self.spend(1)?;
                    if object.get(name).is_some() && !self.fits(*rule, id)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::Names(rule) => {
                for member in object.iter() {
                    if !self.name_fits(*rule, &member.name)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::Properties { .. } => {
                for member in object.iter() {
                    let rules = self.rules_for(keyword, &member.name)?;
                    if !self.all_fit(&rules, member.value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Keyword::UnevaluatedProperties(left) => {
                let marks = self.marks_beside(rule, id)?;
                for (nth, member) in object.iter().enumerate() {
                    if !marks.has(nth) && !self.fits(*left, member.value)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// Returns the rules that apply to a member of that name.
    pub(super) fn rules_for(&mut self, keyword: &Keyword, name: &str) -> Result<Vec<RuleId>, BudgetError> {
        let Keyword::Properties { named, patterns, rest } = keyword else { return Ok(Vec::new()) };
        self.spend(1)?;
        let mut rules: Vec<RuleId> = named.get(name).copied().into_iter().collect();
        let mut known = !rules.is_empty();
        for (pattern, rule) in patterns {
            match self.matches(*pattern, name)? {
                Some(true) => {
                    known = true;
                    rules.push(*rule);
                }
                Some(false) => {}
                // Unknown whether the pattern applies.
                None => known = true,
            }
        }
        if !known {
            rules.extend(*rest);
        }
        Ok(rules)
    }

    /// True if a name fits, as a string.
    pub(super) fn name_fits(&mut self, rule: RuleId, name: &str) -> Result<bool, BudgetError> {
        let mut document = Document::default();
        let Ok(id) = document.add(Value::Text(name.to_owned()), 0) else { return Ok(true) };
        let mut inner = Validation {
            schema: self.schema,
            document: &document,
            results: HashMap::new(),
            evaluated: HashMap::new(),
            steps: self.steps,
            depth: self.depth,
            untried: BTreeSet::new(),
        };
        let fits = inner.fits(rule, id);
        self.steps = inner.steps;
        self.untried.append(&mut inner.untried);
        fits
    }
}

/// True if a comparison is within a bound, or impossible.
fn within(order: Option<std::cmp::Ordering>, outside: bool, from_below: bool) -> bool {
    order.is_none_or(|order| {
        let order = if from_below { order.reverse() } else { order };
        order.is_lt() || (order.is_eq() && !outside)
    })
}
