//! Compiles the text of a schema to rules: every part that is reached becomes one rule.

use super::keyword::{Constant, Keyword, PatternId, Rule, RuleId, Types};
use super::pattern::Pattern;
use super::refer::{joined, split};
use super::{Broken, Files, Schema};
use crate::document::{Document, Id, Object, Value};
use crate::number::Number;
use crate::{Kind, Place, read};
use std::collections::HashMap;

/// Maximum number of rules of a schema.
const MOST_RULES: usize = 200_000;

/// A part of one of the files: file index and value.
pub(super) type Part = (usize, Id);

/// A version of JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
}

/// A file of the schema.
pub(super) struct File {
    /// Path relative to the directory of the first file.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) document: Document,
    pub(super) draft: Draft,
    /// Base URIs with their values, the file itself first.
    pub(super) resources: Vec<(String, Id)>,
    /// Index of the resource of each value.
    pub(super) within: Vec<u32>,
}

pub(super) struct Compiler<'f> {
    pub(super) files: Vec<File>,
    /// Loads the texts of other files.
    pub(super) more: &'f mut Files<'f>,
    /// Indices of loaded files by path.
    pub(super) paths: HashMap<String, usize>,
    pub(super) addresses: HashMap<String, Part>,
    pub(super) anchors: HashMap<(usize, u32, String), Id>,
    pub(super) dynamic: HashMap<(usize, u32, String), Id>,
    pub(super) numbers: HashMap<Part, RuleId>,
    pub(super) parts: Vec<Part>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) known_patterns: HashMap<String, PatternId>,
}

pub(super) fn schema(text: &str, kind: Kind, more: &mut Files<'_>) -> Result<Schema, Broken> {
    let mut compiler = Compiler {
        files: Vec::new(),
        more: &mut |path| more(path),
        paths: HashMap::new(),
        addresses: HashMap::new(),
        anchors: HashMap::new(),
        dynamic: HashMap::new(),
        numbers: HashMap::new(),
        parts: Vec::new(),
        patterns: Vec::new(),
        known_patterns: HashMap::new(),
    };
    let root = compiler.add_file(String::new(), text.to_owned(), kind)?;
    compiler.number(root)?;
    let mut rules = Vec::new();
    while let Some(part) = compiler.parts.get(rules.len()).copied() {
        rules.push(compiler.rule(part)?);
    }
    Ok(Schema { rules, patterns: compiler.patterns })
}

impl Compiler<'_> {
    pub(super) fn broken(&self, (file, id): Part, what: impl Into<String>) -> Broken {
        let file = &self.files[file];
        let place = Some(Place::of(&file.text, file.document.at(id)));
        Broken { file: file.path.clone(), place, what: what.into() }
    }

    /// Parses a file and notes the addresses and anchors in it.
    pub(super) fn add_file(&mut self, path: String, text: String, kind: Kind) -> Result<Part, Broken> {
        let broken = |place, what: String| Broken { file: path.clone(), place, what };
        let document = read(kind, &text).map_err(|fault| {
            let what = if fault.beyond { fault.what } else { format!("it is no {}: {}", kind.name(), fault.what) };
            broken(Some(Place::of(&text, fault.at)), what)
        })?;
        let &[root] = &*document.roots else {
            return Err(broken(None, "it holds no schema, or several".to_owned()));
        };
        if !matches!(document.value(root), Value::Object(_) | Value::Bool(_)) {
            return Err(broken(None, "it is no object".to_owned()));
        }
        let draft = draft(&document, root);
        let within = vec![0; document.len()];
        let nth = self.files.len();
        self.paths.insert(path.clone(), nth);
        self.files.push(File { resources: vec![(path.clone(), root)], path, text, document, draft, within });
        self.note_addresses(nth, root);
        Ok((nth, root))
    }

    /// Visits all values of a file. Values inside an `enum` are visited too: an address there does no harm.
    fn note_addresses(&mut self, nth: usize, root: Id) {
        let mut left = vec![(root, 0u32)];
        while let Some((id, mut resource)) = left.pop() {
            let File { document, draft, resources, within, .. } = &mut self.files[nth];
            let text = |object: &Object, name: &str| match document.value(object.get(name)?.value) {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            };
            match document.value(id) {
                Value::Object(object) => {
                    let own = text(object, if *draft == Draft::D4 { "id" } else { "$id" });
                    if let Some(own) = own {
                        let (address, anchor) = split(&own);
                        if !address.is_empty() {
                            let whole = joined(&resources[resource as usize].0, address);
                            resource = if id == root { 0 } else { u32::try_from(resources.len()).unwrap_or(0) };
                            if id == root {
                                resources[0].0.clone_from(&whole);
                            } else {
                                resources.push((whole.clone(), id));
                            }
                            self.addresses.insert(whole, (nth, id));
                        }
                        if !anchor.is_empty() {
                            self.anchors.insert((nth, resource, anchor), id);
                        }
                    }
                    for name in ["$anchor", "$dynamicAnchor"] {
                        if let Some(anchor) = text(object, name) {
                            if name == "$dynamicAnchor" {
                                self.dynamic.insert((nth, resource, anchor.clone()), id);
                            }
                            self.anchors.insert((nth, resource, anchor), id);
                        }
                    }
                    left.extend(object.iter().map(|member| (member.value, resource)));
                }
                Value::List(items) => left.extend(items.iter().map(|item| (*item, resource))),
                _ => {}
            }
            within[id as usize] = resource;
        }
    }

    /// Returns the rule number of a part.
    pub(super) fn number(&mut self, part: Part) -> Result<RuleId, Broken> {
        if let Some(known) = self.numbers.get(&part) {
            return Ok(*known);
        }
        if self.parts.len() >= MOST_RULES {
            return Err(self.broken(part, "it has more rules than can be tried"));
        }
        let number = RuleId::try_from(self.parts.len()).unwrap_or(RuleId::MAX);
        self.parts.push(part);
        self.numbers.insert(part, number);
        Ok(number)
    }

    pub(super) fn document(&self, part: Part) -> &Document {
        &self.files[part.0].document
    }

    /// Returns the rule of a part of the same file.
    fn sub(&mut self, part: Part, id: Id) -> Result<RuleId, Broken> {
        let part = (part.0, id);
        match self.document(part).value(id) {
            Value::Object(_) | Value::Bool(_) => self.number(part),
            _ => Err(self.broken(part, "here a schema is expected: an object, true or false")),
        }
    }

    fn subs(&mut self, part: Part, id: Id) -> Result<Vec<RuleId>, Broken> {
        let items = self.list(part, id)?;
        items.into_iter().map(|item| self.sub(part, item)).collect()
    }

    fn list(&self, part: Part, id: Id) -> Result<Vec<Id>, Broken> {
        match self.document(part).value(id) {
            Value::List(items) => Ok(items.clone()),
            _ => Err(self.broken((part.0, id), "here a list is expected")),
        }
    }

    fn object(&self, part: Part, id: Id) -> Result<&Object, Broken> {
        match self.document(part).value(id) {
            Value::Object(object) => Ok(object),
            _ => Err(self.broken((part.0, id), "here an object is expected")),
        }
    }

    /// Returns the rules of an object that contains schemas by name.
    fn named(&mut self, part: Part, id: Id) -> Result<Vec<(String, RuleId)>, Broken> {
        let members: Vec<(String, Id)> = self.object(part, id)?.iter().map(|it| (it.name.clone(), it.value)).collect();
        members.into_iter().map(|(name, id)| Ok((name, self.sub(part, id)?))).collect()
    }

    pub(super) fn text(&self, part: Part, id: Id) -> Result<&str, Broken> {
        match self.document(part).value(id) {
            Value::Text(text) | Value::Word(_, text) => Ok(text),
            _ => Err(self.broken((part.0, id), "here a string is expected")),
        }
    }

    fn texts(&self, part: Part, id: Id) -> Result<Vec<String>, Broken> {
        self.list(part, id)?.into_iter().map(|item| self.text(part, item).map(str::to_owned)).collect()
    }

    fn amount(&self, part: Part, id: Id) -> Result<Number, Broken> {
        match self.document(part).value(id) {
            Value::Number(number) => Ok(*number),
            _ => Err(self.broken((part.0, id), "here a number is expected")),
        }
    }

    fn count(&self, part: Part, id: Id) -> Result<usize, Broken> {
        let count = self.amount(part, id)?.count();
        count.ok_or_else(|| self.broken((part.0, id), "here a number without a sign or fraction is expected"))
    }

    fn constant(&self, part: Part, id: Id) -> Constant {
        let document = self.document(part);
        Constant { print: document.print(id), shown: super::explain::shown(document, id) }
    }

    fn types(&self, part: Part, id: Id) -> Result<Types, Broken> {
        let named = |id: Id| {
            let name = self.text(part, id)?;
            Types::named(name).ok_or_else(|| self.broken((part.0, id), format!("`{name}` is no type")))
        };
        match self.document(part).value(id) {
            Value::List(items) => items.iter().try_fold(Types::default(), |types, item| Ok(types.with(named(*item)?))),
            _ => named(id),
        }
    }

    fn pattern(&mut self, text: &str) -> PatternId {
        let fresh = PatternId::try_from(self.patterns.len()).unwrap_or(PatternId::MAX);
        let number = *self.known_patterns.entry(text.to_owned()).or_insert(fresh);
        if number == fresh {
            self.patterns.push(Pattern::new(text));
        }
        number
    }

    /// Compiles one part to a rule.
    fn rule(&mut self, part: Part) -> Result<Rule, Broken> {
        let members: Vec<(String, Id)> = match self.document(part).value(part.1) {
            Value::Bool(true) => return Ok(Rule::default()),
            Value::Bool(false) => return Ok(Rule { keywords: vec![Keyword::Never] }),
            Value::Object(object) => object.iter().map(|it| (it.name.clone(), it.value)).collect(),
            _ => return Err(self.broken(part, "here a schema is expected: an object, true or false")),
        };
        let draft = self.files[part.0].draft;
        let reference = members.iter().find(|(name, _)| name == "$ref");
        if let Some((_, id)) = reference.filter(|_| draft <= Draft::D7) {
            // In these drafts other keywords beside `$ref` are ignored.
            return Ok(Rule { keywords: vec![Keyword::Ref(self.referred(part, *id)?)] });
        }
        let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        let mut keywords = Vec::new();
        for (name, id) in &members {
            keywords.extend(self.keyword(part, draft, name, *id)?);
        }
        keywords.extend(self.bounds(part, draft, &get)?);
        keywords.extend(self.items(part, draft, &get)?);
        keywords.extend(self.properties(part, &get)?);
        if let (Some(when), true) = (get("if"), draft >= Draft::D7) {
            let when = self.sub(part, when)?;
            let then = get("then").map(|id| self.sub(part, id)).transpose()?;
            let otherwise = get("else").map(|id| self.sub(part, id)).transpose()?;
            keywords.push(Keyword::If { when, then, otherwise });
        }
        if draft >= Draft::D2019 {
            // Last, because they depend on what the others evaluated.
            if let Some(id) = get("unevaluatedItems") {
                keywords.push(Keyword::UnevaluatedItems(self.sub(part, id)?));
            }
            if let Some(id) = get("unevaluatedProperties") {
                keywords.push(Keyword::UnevaluatedProperties(self.sub(part, id)?));
            }
        }
        Ok(Rule { keywords })
    }

    /// Compiles a keyword that does not depend on others.
    fn keyword(&mut self, part: Part, draft: Draft, name: &str, id: Id) -> Result<Vec<Keyword>, Broken> {
        let keyword = match name {
            "$ref" => Keyword::Ref(self.referred(part, id)?),
            "$dynamicRef" if draft >= Draft::D2020 => Keyword::Ref(self.referred_dynamically(part, id)?),
            "$recursiveRef" if draft == Draft::D2019 => Keyword::Ref(self.referred_recursively(part, id)?),
            "type" => Keyword::Type(self.types(part, id)?),
            "enum" => {
                let items = self.list(part, id)?;
                Keyword::Enum(items.into_iter().map(|item| self.constant(part, item)).collect())
            }
            "const" if draft >= Draft::D6 => Keyword::Const(self.constant(part, id)),
            "multipleOf" => Keyword::MultipleOf(self.amount(part, id)?),
            "maxLength" => Keyword::MaxLength(self.count(part, id)?),
            "minLength" => Keyword::MinLength(self.count(part, id)?),
            "pattern" => {
                let text = self.text(part, id)?.to_owned();
                Keyword::Pattern(self.pattern(&text))
            }
            "maxItems" => Keyword::MaxItems(self.count(part, id)?),
            "minItems" => Keyword::MinItems(self.count(part, id)?),
            "uniqueItems" => match self.document(part).value(id) {
                Value::Bool(true) => Keyword::Unique,
                Value::Bool(false) => return Ok(Vec::new()),
                _ => return Err(self.broken((part.0, id), "here true or false is expected")),
            },
            "propertyNames" if draft >= Draft::D6 => Keyword::Names(self.sub(part, id)?),
            "required" => Keyword::Required(self.texts(part, id)?),
            "maxProperties" => Keyword::MaxProperties(self.count(part, id)?),
            "minProperties" => Keyword::MinProperties(self.count(part, id)?),
            "dependentRequired" if draft >= Draft::D2019 => self.dependencies(part, id)?.0,
            "dependentSchemas" if draft >= Draft::D2019 => Keyword::DependentSchemas(self.named(part, id)?),
            "dependencies" if draft <= Draft::D7 => {
                let (required, schemas) = self.dependencies(part, id)?;
                return Ok(vec![required, schemas]);
            }
            "allOf" => Keyword::All(self.subs(part, id)?),
            "anyOf" => Keyword::Any(self.subs(part, id)?),
            "oneOf" => Keyword::One(self.subs(part, id)?),
            "not" => Keyword::Not(self.sub(part, id)?),
            _ => return Ok(Vec::new()),
        };
        Ok(vec![keyword])
    }

    /// Compiles dependencies of members, on other names or on a schema.
    fn dependencies(&mut self, part: Part, id: Id) -> Result<(Keyword, Keyword), Broken> {
        let members: Vec<(String, Id)> = self.object(part, id)?.iter().map(|it| (it.name.clone(), it.value)).collect();
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for (name, id) in members {
            if matches!(self.document(part).value(id), Value::List(_)) {
                required.push((name, self.texts(part, id)?));
            } else {
                schemas.push((name, self.sub(part, id)?));
            }
        }
        Ok((Keyword::DependentRequired(required), Keyword::DependentSchemas(schemas)))
    }

    fn bounds(&mut self, part: Part, draft: Draft, get: &dyn Fn(&str) -> Option<Id>) -> Result<Vec<Keyword>, Broken> {
        let mut out = Vec::new();
        for (inner, outer, upper) in [("maximum", "exclusiveMaximum", true), ("minimum", "exclusiveMinimum", false)] {
            let make = |number, outside| {
                if upper { Keyword::Most(number, outside) } else { Keyword::Least(number, outside) }
            };
            let flag = get(outer).map(|id| (id, self.document(part).value(id)));
            let outside = matches!(flag, Some((_, Value::Bool(true)))) && draft == Draft::D4;
            if let Some(id) = get(inner) {
                out.push(make(self.amount(part, id)?, outside));
            }
            match flag {
                None => {}
                Some((_, Value::Bool(_))) if draft == Draft::D4 => {}
                Some((id, _)) => out.push(make(self.amount(part, id)?, true)),
            }
        }
        Ok(out)
    }

    fn items(&mut self, part: Part, draft: Draft, get: &dyn Fn(&str) -> Option<Id>) -> Result<Vec<Keyword>, Broken> {
        let mut out = Vec::new();
        let prefix = get("prefixItems").filter(|_| draft >= Draft::D2020);
        let items = get("items");
        let listed = items.filter(|id| matches!(self.document(part).value(*id), Value::List(_)));
        let (first, rest) = match (prefix, listed) {
            (Some(prefix), _) => (self.subs(part, prefix)?, items),
            (None, Some(listed)) => (self.subs(part, listed)?, get("additionalItems")),
            (None, None) => (Vec::new(), items),
        };
        let rest = rest.map(|id| self.sub(part, id)).transpose()?;
        if !first.is_empty() || rest.is_some() {
            out.push(Keyword::Items { first, rest });
        }
        if let (Some(id), true) = (get("contains"), draft >= Draft::D6) {
            let bound = |name: &str| get(name).filter(|_| draft >= Draft::D2019);
            let least = bound("minContains").map_or(Ok(1), |id| self.count(part, id))?;
            let most = bound("maxContains").map(|id| self.count(part, id)).transpose()?;
            let rule = self.sub(part, id)?;
            out.push(Keyword::Contains { rule, least, most });
        }
        Ok(out)
    }

    fn properties(&mut self, part: Part, get: &dyn Fn(&str) -> Option<Id>) -> Result<Option<Keyword>, Broken> {
        let named = get("properties").map_or(Ok(Vec::new()), |id| self.named(part, id))?;
        let patterns = get("patternProperties").map_or(Ok(Vec::new()), |id| self.named(part, id))?;
        let patterns: Vec<(PatternId, RuleId)> =
            patterns.into_iter().map(|(text, rule)| (self.pattern(&text), rule)).collect();
        let rest = get("additionalProperties").map(|id| self.sub(part, id)).transpose()?;
        let says = !named.is_empty() || !patterns.is_empty() || rest.is_some();
        Ok(says.then(|| Keyword::Properties { named: named.into_iter().collect(), patterns, rest }))
    }
}

/// Returns the draft that a schema declares.
fn draft(document: &Document, root: Id) -> Draft {
    let Value::Object(object) = document.value(root) else { return Draft::D2020 };
    let Some(Value::Text(text)) = object.get("$schema").map(|it| document.value(it.value)) else {
        return Draft::D2020;
    };
    let known = [
        ("draft-04", Draft::D4),
        ("draft-03", Draft::D4),
        ("draft-06", Draft::D6),
        ("draft-07", Draft::D7),
        ("2019-09", Draft::D2019),
    ];
    known.iter().find(|(name, _)| text.contains(name)).map_or(Draft::D2020, |(_, draft)| *draft)
}
