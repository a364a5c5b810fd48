//! YAML, built from parser events. The target of an alias is stored once, so no text can expand; a value that YAML 1.1
//! and 1.2 interpret differently counts as both.

use crate::document::{Document, Id, Object, ObjectMember, OpenContainer, OpenContainers, PartialItems, Value};
use crate::number::Number;
use crate::{DEPTH_MAX, SyntaxError};
use granit_parser::{Event, Options, Parser, ScalarStyle, Tag};
use std::collections::HashMap;

pub(crate) fn read(text: &str) -> Result<Document, SyntaxError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH_MAX * 2;
    options.block_nesting_limit = DEPTH_MAX * 2;
    let mut reader = YamlReader::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(text.len());
            SyntaxError::new(at, error.info())
        })?;
        reader.take(event, span.start.byte_offset().unwrap_or(0))?;
    }
    Ok(reader.document)
}

#[derive(Default)]
struct YamlReader {
    document: Document,
    open: OpenContainers,
    /// Anchors of the open values, the outermost first, with a flag for custom tags.
    heads: Vec<(usize, bool)>,
    anchors: HashMap<usize, Id>,
}

impl YamlReader {
    fn take(&mut self, event: Event<'_>, at: usize) -> Result<(), SyntaxError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if self.waits_for_name() {
                    self.name(text.into_owned(), at, anchor)?;
                } else {
                    let id = self.document.add(scalar(&text, style, tag.as_deref()), at)?;
                    self.put(id, anchor);
                }
            }
            Event::Alias(anchor) => {
                // An alias inside its own anchor is not a tree, so its value is unknown.
                let known = self.anchors.get(&anchor).copied();
                let id = known.map_or_else(|| self.document.add(Value::Unknown, at), Ok)?;
                if self.waits_for_name() {
                    let name = match self.document.value(id) {
                        Value::Text(text) | Value::Word(_, text) => text.clone(),
                        _ => "*".to_owned(),
                    };
                    self.name(name, at, 0)?;
                } else {
                    self.put(id, 0);
                }
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(at, PartialItems::List(Vec::new()), anchor, tag.as_deref())?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.begin(at, PartialItems::Object(Vec::new(), None), anchor, tag.as_deref())?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::DocumentStart(..) => self.anchors.clear(),
            _ => {}
        }
        Ok(())
    }

    fn waits_for_name(&self) -> bool {
        matches!(self.open.last(), Some(OpenContainer { items: PartialItems::Object(_, None), .. }))
    }

    fn name(&mut self, name: String, at: usize, anchor: usize) -> Result<(), SyntaxError> {
        if anchor != 0 {
            let id = self.document.add(Value::Text(name.clone()), at)?;
            self.anchors.insert(anchor, id);
        }
        if let Some(OpenContainer { items: PartialItems::Object(_, waiting), .. }) = self.open.last_mut() {
            *waiting = Some((name, at));
        }
        Ok(())
    }

    fn put(&mut self, id: Id, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        if let Some(root) = self.open.put(id) {
            self.document.roots.push(root);
        }
    }

    fn begin(&mut self, at: usize, items: PartialItems, anchor: usize, tag: Option<&Tag>) -> Result<(), SyntaxError> {
        let unknown = tag.is_some_and(|tag| !tag.is_yaml_core_schema());
        self.heads.push((anchor, unknown));
        self.open.push(at, items)
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let (Some(part), Some((anchor, unknown))) = (self.open.pop(), self.heads.pop()) else { return Ok(()) };
        let id = match part.items {
            PartialItems::List(items) => {
                let value = if unknown { Value::Unknown } else { Value::List(items) };
                self.document.add(value, part.at)?
            }
            PartialItems::Object(members, _) => {
                let members = self.merged(members, part.at)?;
                if unknown {
                    self.document.add(Value::Unknown, part.at)?
                } else {
                    self.document.add_object(members, part.at)?
                }
            }
        };
        // A list or object as a name: no schema can refer to it.
        if self.waits_for_name() {
            return self.name("?".to_owned(), part.at, anchor);
        }
        self.put(id, anchor);
        Ok(())
    }

    /// Adds the members that `<<` merges, unless the object has one of that name itself.
    ///
    /// Errors: merges of merges beyond the limit.
    fn merged(&mut self, members: Vec<ObjectMember>, at: usize) -> Result<Vec<ObjectMember>, SyntaxError> {
        if !members.iter().any(|member| member.name == "<<") {
            return Ok(members);
        }
        let sizes = members.iter().filter(|it| it.name == "<<").map(|it| self.brings(it.value));
        self.document.spend(sizes.sum(), at)?;
        let (merges, mut own): (Vec<ObjectMember>, Vec<ObjectMember>) =
            members.into_iter().partition(|it| it.name == "<<");
        let mut brought: HashMap<String, ObjectMember> = HashMap::new();
        for merge in &merges {
            match self.document.value(merge.value) {
                Value::Object(object) => add_missing(&mut brought, object),
                Value::List(items) => {
                    for item in items {
                        if let Value::Object(object) = self.document.value(*item) {
                            add_missing(&mut brought, object);
                        }
                    }
                }
                _ => own.push(merge.clone()),
            }
        }
        for member in &own {
            brought.remove(&member.name);
        }
        let mut brought: Vec<ObjectMember> = brought.into_values().collect();
        brought.sort_by(|a, b| a.name.cmp(&b.name));
        own.extend(brought);
        Ok(own)
    }

    /// Returns the number of members that a merge reads.
    fn brings(&self, id: Id) -> usize {
        match self.document.value(id) {
            Value::List(items) => items.iter().map(|id| self.merged_size(*id)).sum(),
            _ => self.merged_size(id),
        }
    }

    /// Returns how many members a merged value adds.
    fn merged_size(&self, id: Id) -> usize {
        match self.document.value(id) {
            Value::Object(object) => object.len() + 1,
            _ => 1,
        }
    }
}

/// Adds the members of an object whose names are new.
fn add_missing(brought: &mut HashMap<String, ObjectMember>, object: &Object) {
    for member in object.iter() {
        brought.entry(member.name.clone()).or_insert_with(|| member.clone());
    }
}

/// Interprets a scalar.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    if let Some(tag) = tag {
        return match tag.core_suffix() {
            Some("str") => Value::Text(text.to_owned()),
            Some("int" | "float") => number(text).map_or(Value::Unknown, Value::Number),
            Some("bool" | "null") => plain(text),
            _ => Value::Unknown,
        };
    }
    if style == ScalarStyle::Plain { plain(text) } else { Value::Text(text.to_owned()) }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Value::Word(true, text.to_owned()),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => Value::Word(false, text.to_owned()),
        _ => number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(body, ".inf" | ".Inf" | ".INF") {
        return Some(Number::Approximate(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }));
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Number::Approximate(f64::NAN));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return i128::from_str_radix(digits, radix).ok().filter(|value| *value >= 0).map(Number::whole);
        }
    }
    // Rust would also accept `inf` and `nan`.
    body.starts_with(|char: char| char.is_ascii_digit() || char == '.').then(|| Number::decimal(text)).flatten()
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::document::Value;

    #[test]
    fn yaml_of_all_kinds_is_parsed() {
        for text in [
            "",
            "# only a comment\n",
            "a: 1\nb:\n- x\n- {c: d}\n",
            "---\na: 1\n---\nb: 2\n...\n",
            "on: push\n",
            "- !Ref x\n- !GetAtt [a, b]\n",
            "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n",
            "? [a, b]\n: c\n",
            "a: |\n  text: {\n",
            "'quoted': \"x\\ny\"\n",
            "&a [*a]\n",
            "run: ${{ matrix.os }}\n",
            "a:\n- b\n-   c: d\n",
            "%YAML 1.2\n---\na: 1\n",
            "key: value: more\n",
        ] {
            let read = read(text);
            assert_eq!(read.is_err(), text.starts_with("key"), "{text:?}: {read:?}");
        }
        for text in ["a: [1, 2", "a: 'x", "a: b\n c: d\n", "a: *missing\n", "- a\nb: c\n", "{a: 1}}\n"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn merges_and_aliases_do_not_expand() {
        let document = read("a: &x {b: 1, d: 1}\nc:\n  <<: *x\n  d: 2\n").unwrap();
        let Value::Object(root) = document.value(document.roots[0]) else { panic!() };
        let Value::Object(c) = document.value(root.get("c").unwrap().value) else { panic!() };
        let names: Vec<&str> = c.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["b", "d"]);
        assert!(matches!(document.value(c.get("d").unwrap().value), Value::Number(two) if two.to_string() == "2"));
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..60 {
            bomb.extend([format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1)]);
        }
        assert!(read(&bomb).unwrap().len() < 400);
        let members: String = (0..2000).map(|nth| format!("  k{nth}: 1\n")).collect();
        let merges = vec!["*a"; 2000].join(", ");
        let fault = read(&format!("a: &a\n{members}b:\n  <<: [{merges}]\n")).unwrap_err();
        assert!(fault.limit_reached);
    }
}
