//! Resolution of references: within the file and to files beside it, never over a network.

use super::compile::{Compiler, NodeRef};
use super::keyword::RuleId;
use super::reference::{decoded, has_scheme, joined, normalized, pointer_names, split};
use super::{FILES_MAX, SchemaError};
use crate::DataFormat;
use crate::document::{Id, Value};
use std::path::Path;

impl Compiler<'_> {
    pub(super) fn referred(&mut self, part: NodeRef, id: Id) -> Result<RuleId, SchemaError> {
        let reference = self.text(part, id)?.to_owned();
        let target = self.target((part.0, id), &reference)?;
        self.number(target)
    }

    /// Resolves a dynamic reference: the outermost schema, the one that the check begins with, takes precedence.
    pub(super) fn referred_dynamically(&mut self, part: NodeRef, id: Id) -> Result<RuleId, SchemaError> {
        let reference = self.text(part, id)?.to_owned();
        let mut target = self.target((part.0, id), &reference)?;
        let (_, anchor) = split(&reference);
        let resource = self.files[target.0].resource_of[target.1 as usize];
        if self.dynamic.get(&(target.0, resource, anchor.clone())) == Some(&target.1)
            && let Some(outer) = self.dynamic.get(&(0, 0, anchor))
        {
            target = (0, *outer);
        }
        self.number(target)
    }

    pub(super) fn referred_recursively(&mut self, part: NodeRef, id: Id) -> Result<RuleId, SchemaError> {
        let reference = self.text(part, id)?.to_owned();
        let mut target = self.target((part.0, id), &reference)?;
        let root = (0, self.files[0].resources[0].1);
        if self.is_recursive_anchor(target) && self.is_recursive_anchor(root) {
            target = root;
        }
        self.number(target)
    }

    /// True for a schema with `$recursiveAnchor: true`.
    fn is_recursive_anchor(&self, part: NodeRef) -> bool {
        match self.document(part).value(part.1) {
            Value::Object(object) => object
                .get("$recursiveAnchor")
                .is_some_and(|it| matches!(self.document(part).value(it.value), Value::Bool(true))),
            _ => false,
        }
    }

    /// Returns the part that a reference points to.
    fn target(&mut self, part: NodeRef, reference: &str) -> Result<NodeRef, SchemaError> {
        let (address, fragment) = split(reference);
        let resource = self.files[part.0].resource_of[part.1 as usize];
        let (base, own) = &self.files[part.0].resources[resource as usize];
        let root = if address.is_empty() {
            (part.0, *own)
        } else if let Some(known) = self.addresses.get(&joined(base, address)) {
            *known
        } else if has_scheme(address) || address.starts_with("//") {
            let what = format!(
                "it refers to {address}, which would have to be fetched; put a copy beside it and refer to that"
            );
            return Err(self.broken(part, what));
        } else {
            self.file(part, address)?
        };
        if fragment.is_empty() {
            return Ok(root);
        }
        let nowhere = |it: &Self| it.broken(part, format!("it refers to {reference}, and there is no such part"));
        if !fragment.starts_with('/') {
            let resource = self.files[root.0].resource_of[root.1 as usize];
            let found = self.anchors.get(&(root.0, resource, fragment));
            return found.map(|id| (root.0, *id)).ok_or_else(|| nowhere(self));
        }
        let mut at = root;
        for name in pointer_names(&fragment) {
            let next = match self.document(at).value(at.1) {
                Value::Object(object) => object.get(&name).map(|member| member.value),
                Value::List(items) => name.parse().ok().and_then(|nth: usize| items.get(nth)).copied(),
                _ => None,
            };
            at.1 = next.ok_or_else(|| nowhere(self))?;
        }
        match self.document(at).value(at.1) {
            Value::Object(_) | Value::Bool(_) => Ok(at),
            _ => Err(self.broken(part, format!("it refers to {reference}, which is not a schema"))),
        }
    }

    /// Loads a file beside the one that refers to it.
    fn file(&mut self, part: NodeRef, address: &str) -> Result<NodeRef, SchemaError> {
        let from = &self.files[part.0].path;
        let folder = from.rfind('/').map_or("", |end| &from[..=end]);
        let address = decoded(address);
        let path =
            if address.starts_with('/') { normalized(&address) } else { normalized(&format!("{folder}{address}")) };
        if let Some(known) = self.paths.get(&path) {
            return Ok((*known, self.files[*known].resources[0].1));
        }
        if self.files.len() >= FILES_MAX {
            return Err(self.broken(part, "it refers to more than 64 files"));
        }
        let text =
            (self.load_file)(&path).map_err(|why| self.broken(part, format!("it refers to {path}, and {why}")))?;
        let kind = DataFormat::of(Path::new(&path)).unwrap_or(DataFormat::Json);
        self.add_file(path, text, kind)
    }
}
