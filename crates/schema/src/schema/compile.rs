//! Compiles the text of a schema to rules: every part that is reached becomes one rule.

use super::keyword::{Constant, Keyword, PatternId, RuleId, SchemaRule, TypeSet};
use super::pattern::SchemaPattern;
use super::reference::{joined, split};
use super::{FileLoader, Schema, SchemaError};
use crate::document::{Document, Id, Object, Value};
use crate::number::Number;
use crate::{DataFormat, LineCol, read};
use std::collections::HashMap;

/// Maximum number of rules of a schema.
const RULES_MAX: usize = 200_000;

/// A part of one of the files: file index and value.
pub(super) type NodeRef = (usize, Id);

/// A version of JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchemaDraft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
}

/// A file of the schema.
pub(super) struct SchemaFile {
    /// Path relative to the directory of the first file.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) document: Document,
    pub(super) draft: SchemaDraft,
    /// Base URIs with their values, the file itself first.
    pub(super) resources: Vec<(String, Id)>,
    /// Index of the resource of each value.
    pub(super) resource_of: Vec<u32>,
}

pub(super) struct Compiler<'f> {
    pub(super) files: Vec<SchemaFile>,
    /// Loads the texts of other files.
    pub(super) load_file: &'f mut FileLoader<'f>,
    /// Indices of loaded files by path.
    pub(super) paths: HashMap<String, usize>,
    pub(super) addresses: HashMap<String, NodeRef>,
    pub(super) anchors: HashMap<(usize, u32, String), Id>,
    pub(super) dynamic: HashMap<(usize, u32, String), Id>,
    pub(super) numbers: HashMap<NodeRef, RuleId>,
    pub(super) parts: Vec<NodeRef>,
    pub(super) patterns: Vec<SchemaPattern>,
    pub(super) pattern_ids: HashMap<String, PatternId>,
}

pub(super) fn schema(text: &str, kind: DataFormat, more: &mut FileLoader<'_>) -> Result<Schema, SchemaError> {
    let mut compiler = Compiler {
        files: Vec::new(),
        load_file: &mut |path| more(path),
        paths: HashMap::new(),
        addresses: HashMap::new(),
        anchors: HashMap::new(),
        dynamic: HashMap::new(),
        numbers: HashMap::new(),
        parts: Vec::new(),
        patterns: Vec::new(),
        pattern_ids: HashMap::new(),
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
    pub(super) fn broken(&self, (file, id): NodeRef, what: impl Into<String>) -> SchemaError {
        let file = &self.files[file];
        let place = Some(LineCol::of(&file.text, file.document.at(id)));
        SchemaError { file: file.path.clone(), place, what: what.into() }
    }

    /// Parses a file and notes the addresses and anchors in it.
    pub(super) fn add_file(&mut self, path: String, text: String, kind: DataFormat) -> Result<NodeRef, SchemaError> {
        let broken = |place, what: String| SchemaError { file: path.clone(), place, what };
        let document = read(kind, &text).map_err(|fault| {
            let what =
                if fault.limit_reached { fault.what } else { format!("it is not {}: {}", kind.name(), fault.what) };
            broken(Some(LineCol::of(&text, fault.at)), what)
        })?;
        let &[root] = &*document.roots else {
            return Err(broken(None, "it contains no schema, or several".to_owned()));
        };
        if !matches!(document.value(root), Value::Object(_) | Value::Bool(_)) {
            return Err(broken(None, "it is not an object".to_owned()));
        }
        let draft = draft(&document, root);
        let within = vec![0; document.len()];
        let nth = self.files.len();
        self.paths.insert(path.clone(), nth);
        self.files.push(SchemaFile {
            resources: vec![(path.clone(), root)],
            path,
            text,
            document,
            draft,
            resource_of: within,
        });
        self.note_addresses(nth, root);
        Ok((nth, root))
    }

    /// Visits all values of a file. Values inside an `enum` are visited too: an address there does no harm.
    fn note_addresses(&mut self, nth: usize, root: Id) {
        let mut left = vec![(root, 0u32)];
        while let Some((id, mut resource)) = left.pop() {
            let SchemaFile { document, draft, resources, resource_of: within, .. } = &mut self.files[nth];
            match document.value(id) {
                Value::Object(object) => {
                    let own = text_member(document, object, if *draft == SchemaDraft::D4 { "id" } else { "$id" });
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
                        if let Some(anchor) = text_member(document, object, name) {
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
    pub(super) fn number(&mut self, part: NodeRef) -> Result<RuleId, SchemaError> {
        if let Some(known) = self.numbers.get(&part) {
            return Ok(*known);
        }
        if self.parts.len() >= RULES_MAX {
            return Err(self.broken(part, "it has more rules than can be tried"));
        }
        let number = RuleId::try_from(self.parts.len()).unwrap_or(RuleId::MAX);
        self.parts.push(part);
        self.numbers.insert(part, number);
        Ok(number)
    }

    pub(super) fn document(&self, part: NodeRef) -> &Document {
        &self.files[part.0].document
    }

    /// Returns the rule of a part of the same file.
    fn subschema(&mut self, part: NodeRef, id: Id) -> Result<RuleId, SchemaError> {
        let part = (part.0, id);
        match self.document(part).value(id) {
            Value::Object(_) | Value::Bool(_) => self.number(part),
            _ => Err(self.broken(part, "here a schema is expected: an object, true or false")),
        }
    }

    fn subschemas(&mut self, part: NodeRef, id: Id) -> Result<Vec<RuleId>, SchemaError> {
        let items = self.list(part, id)?;
        items.into_iter().map(|item| self.subschema(part, item)).collect()
    }

    fn list(&self, part: NodeRef, id: Id) -> Result<Vec<Id>, SchemaError> {
        match self.document(part).value(id) {
            Value::List(items) => Ok(items.clone()),
            _ => Err(self.broken((part.0, id), "here a list is expected")),
        }
    }

    fn object(&self, part: NodeRef, id: Id) -> Result<&Object, SchemaError> {
        match self.document(part).value(id) {
            Value::Object(object) => Ok(object),
            _ => Err(self.broken((part.0, id), "here an object is expected")),
        }
    }

    /// Returns the rules of an object that contains schemas by name.
    fn named_subschemas(&mut self, part: NodeRef, id: Id) -> Result<Vec<(String, RuleId)>, SchemaError> {
        let members: Vec<(String, Id)> = self.object(part, id)?.iter().map(|it| (it.name.clone(), it.value)).collect();
        members.into_iter().map(|(name, id)| Ok((name, self.subschema(part, id)?))).collect()
    }

    pub(super) fn text(&self, part: NodeRef, id: Id) -> Result<&str, SchemaError> {
        match self.document(part).value(id) {
            Value::Text(text) | Value::Word(_, text) => Ok(text),
            _ => Err(self.broken((part.0, id), "here a string is expected")),
        }
    }

    fn texts(&self, part: NodeRef, id: Id) -> Result<Vec<String>, SchemaError> {
        self.list(part, id)?.into_iter().map(|item| self.text(part, item).map(str::to_owned)).collect()
    }

    fn number_value(&self, part: NodeRef, id: Id) -> Result<Number, SchemaError> {
        match self.document(part).value(id) {
            Value::Number(number) => Ok(*number),
            _ => Err(self.broken((part.0, id), "here a number is expected")),
        }
    }

    fn count(&self, part: NodeRef, id: Id) -> Result<usize, SchemaError> {
        let count = self.number_value(part, id)?.count();
        count.ok_or_else(|| self.broken((part.0, id), "here a number without a sign or fraction is expected"))
    }

    fn constant(&self, part: NodeRef, id: Id) -> Constant {
        let document = self.document(part);
        Constant { print: document.fingerprint(id), shown: super::shown::shown(document, id) }
    }

    fn types(&self, part: NodeRef, id: Id) -> Result<TypeSet, SchemaError> {
        match self.document(part).value(id) {
            Value::List(items) => {
                items.iter().try_fold(TypeSet::default(), |types, item| Ok(types.with(self.type_named(part, *item)?)))
            }
            _ => self.type_named(part, id),
        }
    }

    /// Returns the type that a part of the schema names.
    fn type_named(&self, part: NodeRef, id: Id) -> Result<TypeSet, SchemaError> {
        let name = self.text(part, id)?;
        TypeSet::named(name).ok_or_else(|| self.broken((part.0, id), format!("`{name}` is not a type")))
    }

    fn pattern(&mut self, text: &str) -> PatternId {
        let fresh = PatternId::try_from(self.patterns.len()).unwrap_or(PatternId::MAX);
        let number = *self.pattern_ids.entry(text.to_owned()).or_insert(fresh);
        if number == fresh {
            self.patterns.push(SchemaPattern::new(text));
        }
        number
    }

    /// Compiles one part to a rule.
    fn rule(&mut self, part: NodeRef) -> Result<SchemaRule, SchemaError> {
        let members: Vec<(String, Id)> = match self.document(part).value(part.1) {
            Value::Bool(true) => return Ok(SchemaRule::default()),
            Value::Bool(false) => return Ok(SchemaRule { keywords: vec![Keyword::Never] }),
            Value::Object(object) => object.iter().map(|it| (it.name.clone(), it.value)).collect(),
            _ => return Err(self.broken(part, "here a schema is expected: an object, true or false")),
        };
        let draft = self.files[part.0].draft;
        let reference = members.iter().find(|(name, _)| name == "$ref");
        if let Some((_, id)) = reference.filter(|_| draft <= SchemaDraft::D7) {
            // In these drafts other keywords next to `$ref` are ignored.
            return Ok(SchemaRule { keywords: vec![Keyword::Ref(self.referred(part, *id)?)] });
        }
        let get = |name: &str| members.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        let mut keywords = Vec::new();
        for (name, id) in &members {
            keywords.extend(self.keyword(part, draft, name, *id)?);
        }
        keywords.extend(self.bounds(part, draft, &get)?);
        keywords.extend(self.items(part, draft, &get)?);
        keywords.extend(self.properties(part, &get)?);
        if let (Some(when), true) = (get("if"), draft >= SchemaDraft::D7) {
            let when = self.subschema(part, when)?;
            let then = get("then").map(|id| self.subschema(part, id)).transpose()?;
            let otherwise = get("else").map(|id| self.subschema(part, id)).transpose()?;
            keywords.push(Keyword::If { when, then, otherwise });
        }
        if draft >= SchemaDraft::D2019 {
            // Last, because they depend on what the others evaluated.
            if let Some(id) = get("unevaluatedItems") {
                keywords.push(Keyword::UnevaluatedItems(self.subschema(part, id)?));
            }
            if let Some(id) = get("unevaluatedProperties") {
                keywords.push(Keyword::UnevaluatedProperties(self.subschema(part, id)?));
            }
        }
        Ok(SchemaRule { keywords })
    }

    /// Compiles a keyword that does not depend on others.
    fn keyword(&mut self, part: NodeRef, draft: SchemaDraft, name: &str, id: Id) -> Result<Vec<Keyword>, SchemaError> {
        let keyword = match name {
            "$ref" => Keyword::Ref(self.referred(part, id)?),
            "$dynamicRef" if draft >= SchemaDraft::D2020 => Keyword::Ref(self.referred_dynamically(part, id)?),
            "$recursiveRef" if draft == SchemaDraft::D2019 => Keyword::Ref(self.referred_recursively(part, id)?),
            "type" => Keyword::Type(self.types(part, id)?),
            "enum" => {
                let items = self.list(part, id)?;
                Keyword::Enum(items.into_iter().map(|item| self.constant(part, item)).collect())
            }
            "const" if draft >= SchemaDraft::D6 => Keyword::Const(self.constant(part, id)),
            "multipleOf" => Keyword::MultipleOf(self.number_value(part, id)?),
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
            "propertyNames" if draft >= SchemaDraft::D6 => Keyword::Names(self.subschema(part, id)?),
            "required" => Keyword::Required(self.texts(part, id)?),
            "maxProperties" => Keyword::MaxProperties(self.count(part, id)?),
            "minProperties" => Keyword::MinProperties(self.count(part, id)?),
            "dependentRequired" if draft >= SchemaDraft::D2019 => self.dependencies(part, id)?.0,
            "dependentSchemas" if draft >= SchemaDraft::D2019 => {
                Keyword::DependentSchemas(self.named_subschemas(part, id)?)
            }
            "dependencies" if draft <= SchemaDraft::D7 => {
                let (required, schemas) = self.dependencies(part, id)?;
                return Ok(vec![required, schemas]);
            }
            "allOf" => Keyword::All(self.subschemas(part, id)?),
            "anyOf" => Keyword::Any(self.subschemas(part, id)?),
            "oneOf" => Keyword::One(self.subschemas(part, id)?),
            "not" => Keyword::Not(self.subschema(part, id)?),
            _ => return Ok(Vec::new()),
        };
        Ok(vec![keyword])
    }

    /// Compiles dependencies of members, on other names or on a schema.
    fn dependencies(&mut self, part: NodeRef, id: Id) -> Result<(Keyword, Keyword), SchemaError> {
        let members: Vec<(String, Id)> = self.object(part, id)?.iter().map(|it| (it.name.clone(), it.value)).collect();
        let (mut required, mut schemas) = (Vec::new(), Vec::new());
        for (name, id) in members {
            if matches!(self.document(part).value(id), Value::List(_)) {
                required.push((name, self.texts(part, id)?));
            } else {
                schemas.push((name, self.subschema(part, id)?));
            }
        }
        Ok((Keyword::DependentRequired(required), Keyword::DependentSchemas(schemas)))
    }

    fn bounds(
        &mut self,
        part: NodeRef,
        draft: SchemaDraft,
        get: &dyn Fn(&str) -> Option<Id>,
    ) -> Result<Vec<Keyword>, SchemaError> {
        let mut out = Vec::new();
        for (inner, outer, upper) in [("maximum", "exclusiveMaximum", true), ("minimum", "exclusiveMinimum", false)] {
            let flag = get(outer).map(|id| (id, self.document(part).value(id)));
            let outside = matches!(flag, Some((_, Value::Bool(true)))) && draft == SchemaDraft::D4;
            if let Some(id) = get(inner) {
                out.push(limit_keyword(upper, self.number_value(part, id)?, outside));
            }
            match flag {
                None => {}
                Some((_, Value::Bool(_))) if draft == SchemaDraft::D4 => {}
                Some((id, _)) => out.push(limit_keyword(upper, self.number_value(part, id)?, true)),
            }
        }
        Ok(out)
    }

    fn items(
        &mut self,
        part: NodeRef,
        draft: SchemaDraft,
        get: &dyn Fn(&str) -> Option<Id>,
    ) -> Result<Vec<Keyword>, SchemaError> {
        let mut out = Vec::new();
        let prefix = get("prefixItems").filter(|_| draft >= SchemaDraft::D2020);
        let items = get("items");
        let listed = items.filter(|id| matches!(self.document(part).value(*id), Value::List(_)));
        let (first, rest) = match (prefix, listed) {
            (Some(prefix), _) => (self.subschemas(part, prefix)?, items),
            (None, Some(listed)) => (self.subschemas(part, listed)?, get("additionalItems")),
            (None, None) => (Vec::new(), items),
        };
        let rest = rest.map(|id| self.subschema(part, id)).transpose()?;
        if !first.is_empty() || rest.is_some() {
            out.push(Keyword::Items { first, rest });
        }
        if let (Some(id), true) = (get("contains"), draft >= SchemaDraft::D6) {
            let bound = |name: &str| get(name).filter(|_| draft >= SchemaDraft::D2019);
            let least = bound("minContains").map_or(Ok(1), |id| self.count(part, id))?;
            let most = bound("maxContains").map(|id| self.count(part, id)).transpose()?;
            let rule = self.subschema(part, id)?;
            out.push(Keyword::Contains { rule, least, most });
        }
        Ok(out)
    }

    fn properties(&mut self, part: NodeRef, get: &dyn Fn(&str) -> Option<Id>) -> Result<Option<Keyword>, SchemaError> {
        let named = get("properties").map_or(Ok(Vec::new()), |id| self.named_subschemas(part, id))?;
        let patterns = get("patternProperties").map_or(Ok(Vec::new()), |id| self.named_subschemas(part, id))?;
        let patterns: Vec<(PatternId, RuleId)> =
            patterns.into_iter().map(|(text, rule)| (self.pattern(&text), rule)).collect();
        let rest = get("additionalProperties").map(|id| self.subschema(part, id)).transpose()?;
        let says = !named.is_empty() || !patterns.is_empty() || rest.is_some();
        Ok(says.then(|| Keyword::Properties { named: named.into_iter().collect(), patterns, rest }))
    }
}

/// Returns the keyword of an upper or a lower limit.
fn limit_keyword(upper: bool, number: Number, outside: bool) -> Keyword {
    if upper { Keyword::Most(number, outside) } else { Keyword::Least(number, outside) }
}

/// Returns a member that is a text.
fn text_member(document: &Document, object: &Object, name: &str) -> Option<String> {
    match document.value(object.get(name)?.value) {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the draft that a schema declares.
fn draft(document: &Document, root: Id) -> SchemaDraft {
    let Value::Object(object) = document.value(root) else { return SchemaDraft::D2020 };
    let Some(Value::Text(text)) = object.get("$schema").map(|it| document.value(it.value)) else {
        return SchemaDraft::D2020;
    };
    let known = [
        ("draft-04", SchemaDraft::D4),
        ("draft-03", SchemaDraft::D4),
        ("draft-06", SchemaDraft::D6),
        ("draft-07", SchemaDraft::D7),
        ("2019-09", SchemaDraft::D2019),
    ];
    known.iter().find(|(name, _)| text.contains(name)).map_or(SchemaDraft::D2020, |(_, draft)| *draft)
}
