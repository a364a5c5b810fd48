//! Evaluated parts of a value, i.e. those to which `unevaluatedItems` and `unevaluatedProperties` do not apply.

use super::keyword::{Keyword, RuleId};
use super::validate::{BudgetError, Validation};
use crate::document::{Id, Value};
use std::collections::HashSet;
use std::rc::Rc;

/// Parts by index; members in the order of their names.
#[derive(Debug, Default)]
pub(super) struct EvaluatedParts {
    all: bool,
    some: HashSet<usize>,
}

impl EvaluatedParts {
    pub(super) fn has(&self, nth: usize) -> bool {
        self.all || self.some.contains(&nth)
    }

    fn add(&mut self, other: &EvaluatedParts) {
        self.all |= other.all;
        self.some.extend(&other.some);
    }
}

impl<'a> Validation<'a> {
    /// Returns the parts that a fitting rule evaluates.
    fn marks(&mut self, rule: RuleId, id: Id) -> Result<Rc<EvaluatedParts>, BudgetError> {
        if let Some(known) = self.evaluated.get(&(rule, id)) {
            return Ok(known.clone());
        }
        self.deeper()?;
        self.evaluated.insert((rule, id), Rc::default());
        let mut marks = EvaluatedParts::default();
        if self.fits(rule, id)? {
            for keyword in self.keywords(rule) {
                self.mark(keyword, id, &mut marks)?;
            }
        }
        self.higher();
        let marks = Rc::new(marks);
        self.evaluated.insert((rule, id), marks.clone());
        Ok(marks)
    }

    /// Returns the parts that the other keywords of a rule evaluate.
    pub(super) fn marks_beside(&mut self, rule: RuleId, id: Id) -> Result<EvaluatedParts, BudgetError> {
        let mut marks = EvaluatedParts::default();
        for keyword in self
            .keywords(rule)
            .iter()
            .filter(|it| !matches!(it, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_)))
        {
            self.mark(keyword, id, &mut marks)?;
        }
        Ok(marks)
    }

    fn mark(&mut self, keyword: &'a Keyword, id: Id, marks: &mut EvaluatedParts) -> Result<(), BudgetError> {
        self.spend(1 + marks.some.len() / 8)?;
        let value = self.document.value(id);
        match (keyword, value) {
            (Keyword::Ref(rule), _) => marks.add(&*self.marks(*rule, id)?),
            (Keyword::All(rules) | Keyword::Any(rules) | Keyword::One(rules), _) => {
                for rule in rules {
                    let more = self.marks(*rule, id)?;
                    self.spend(more.some.len())?;
                    marks.add(&more);
                }
            }
            (Keyword::If { when, then, otherwise }, _) => {
                let chosen = if self.fits(*when, id)? {
                    marks.add(&*self.marks(*when, id)?);
                    then
                } else {
                    otherwise
                };
                if let Some(rule) = chosen {
                    marks.add(&*self.marks(*rule, id)?);
                }
            }
            (Keyword::DependentSchemas(rows), Value::Object(object)) => {
                for (name, rule) in rows {
                    if object.get(name).is_some() {
                        marks.add(&*self.marks(*rule, id)?);
                    }
                }
            }
            (Keyword::Properties { named, patterns, rest }, Value::Object(object)) => {
                for (nth, member) in object.iter().enumerate() {
                    let mut known = rest.is_some() || named.contains_key(&member.name);
                    for (pattern, _) in patterns {
                        known = known || self.matches(*pattern, &member.name)?.unwrap_or(true);
                    }
                    if known {
                        marks.some.insert(nth);
                    }
                }
                self.spend(object.len())?;
            }
            (Keyword::Items { first, rest }, Value::List(items)) => {
                marks.all |= rest.is_some();
                marks.some.extend(0..first.len().min(items.len()));
            }
            (Keyword::Contains { rule, .. }, Value::List(items)) => {
                for (nth, item) in items.iter().enumerate() {
                    if self.fits(*rule, *item)? {
                        marks.some.insert(nth);
                    }
                }
            }
            (Keyword::UnevaluatedItems(_), Value::List(_)) | (Keyword::UnevaluatedProperties(_), Value::Object(_)) => {
                marks.all = true;
            }
            _ => {}
        }
        Ok(())
    }
}
