//! A text as a tree of values with positions, whatever its format. Values are in one list, parts before wholes. Each
//! has a fingerprint, so that equality is a comparison of numbers, and a part that YAML shares is stored once.

use crate::number::Number;
use crate::{DEPTH_MAX, SyntaxError};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Maximum number of members and items.
const NODES_MAX: usize = 2 << 20;
/// Maximum number of repeated names that are kept.
const DUPLICATES_MAX: usize = 20;

/// Index of a value in its document.
pub(crate) type Id = u32;

/// A text as a tree of values.
#[derive(Debug, Default)]
pub struct Document {
    nodes: Vec<Node>,
    /// Root values: one, except in a YAML stream.
    pub(crate) roots: Vec<Id>,
    repeated: Vec<DuplicateName>,
    parts: usize,
}

/// A name that occurs twice in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateName {
    /// The name.
    pub name: String,
    /// Offset of its second occurrence.
    pub at: usize,
}

#[derive(Debug)]
struct Node {
    value: Value,
    at: u32,
    fingerprint: u128,
}

/// A value.
#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// `yes`, `no`, `on` or `off` in YAML: a boolean for some readers, a string for others.
    Word(bool, String),
    List(Vec<Id>),
    Object(Object),
    /// A value that only its reader understands: YAML with a custom tag.
    Unknown,
}

/// Members in the order of the text, with an index by name.
#[derive(Debug, Default)]
pub(crate) struct Object {
    pub(crate) members: Vec<ObjectMember>,
    /// Indices of members sorted by name; of equal names only the last.
    sorted: Vec<u32>,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectMember {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) value: Id,
}

impl Object {
    pub(crate) fn get(&self, name: &str) -> Option<&ObjectMember> {
        let at = self.sorted.binary_search_by(|nth| self.members[*nth as usize].name.as_str().cmp(name)).ok()?;
        self.members.get(self.sorted[at] as usize)
    }

    /// Iterates in the order of names, each name once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ObjectMember> {
        self.sorted.iter().map(|nth| &self.members[*nth as usize])
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }
}

impl Document {
    /// Names that occur twice in an object; at most twenty.
    pub fn duplicates(&self) -> &[DuplicateName] {
        &self.repeated
    }

    /// True if the text contains no value at all.
    pub fn is_blank(&self) -> bool {
        self.roots.is_empty()
    }

    pub(crate) fn value(&self, id: Id) -> &Value {
        &self.nodes[id as usize].value
    }

    pub(crate) fn at(&self, id: Id) -> usize {
        self.nodes[id as usize].at as usize
    }

    /// Returns the fingerprint, which is equal for equal values only.
    pub(crate) fn fingerprint(&self, id: Id) -> u128 {
        self.nodes[id as usize].fingerprint
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a value whose parts have been added before.
    ///
    /// Errors: too many parts.
    pub(crate) fn add(&mut self, value: Value, at: usize) -> Result<Id, SyntaxError> {
        let parts = match &value {
            Value::List(items) => items.len(),
            Value::Object(object) => object.members.len(),
            _ => 0,
        };
        self.spend(parts + 1, at)?;
        let id = Id::try_from(self.nodes.len()).unwrap_or(Id::MAX);
        let print = self.fingerprint_of(&value);
        self.nodes.push(Node { value, at: u32::try_from(at).unwrap_or(u32::MAX), fingerprint: print });
        Ok(id)
    }

    /// Counts parts against the limit.
    ///
    /// Errors: too many parts.
    pub(crate) fn spend(&mut self, parts: usize, at: usize) -> Result<(), SyntaxError> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts <= NODES_MAX {
            Ok(())
        } else {
            Err(SyntaxError::limit_reached(at, "the text contains more than a million values"))
        }
    }

    /// Adds an object and notes its repeated names.
    ///
    /// Errors: as [`Document::add`].
    pub(crate) fn add_object(&mut self, members: Vec<ObjectMember>, at: usize) -> Result<Id, SyntaxError> {
        let mut sorted: Vec<u32> = (0..u32::try_from(members.len()).unwrap_or(u32::MAX)).collect();
        sorted.sort_by(|a, b| member_name(&members, *a).cmp(member_name(&members, *b)).then(b.cmp(a)));
        let mut repeated = Vec::new();
        sorted.dedup_by(|next, kept| {
            let same = member_name(&members, *next) == member_name(&members, *kept);
            if same {
                repeated.push(*kept);
            }
            same
        });
        repeated.dedup();
        for nth in repeated.into_iter().take(DUPLICATES_MAX.saturating_sub(self.repeated.len())) {
            let member = &members[nth as usize];
            self.repeated.push(DuplicateName { name: member.name.clone(), at: member.at });
        }
        self.add(Value::Object(Object { members, sorted }), at)
    }

    fn fingerprint_of(&self, value: &Value) -> u128 {
        match value {
            Value::Null => value_hash(0, b""),
            Value::Bool(value) => value_hash(1, &[u8::from(*value)]),
            Value::Number(number) => value_hash(2, &number.key()),
            Value::Text(text) | Value::Word(_, text) => value_hash(3, text.as_bytes()),
            Value::List(items) => {
                let mut hash = Xxh3::new();
                hash.update(&[4]);
                for item in items {
                    hash.update(&self.fingerprint(*item).to_le_bytes());
                }
                hash.digest128()
            }
            Value::Object(object) => {
                let mut hash = Xxh3::new();
                hash.update(&[5]);
                for member in object.iter() {
                    hash.update(&xxh3_128(member.name.as_bytes()).to_le_bytes());
                    hash.update(&self.fingerprint(member.value).to_le_bytes());
                }
                hash.digest128()
            }
            // A value of unknown meaning equals nothing, not even itself.
            Value::Unknown => value_hash(6, &self.nodes.len().to_le_bytes()),
        }
    }
}

/// Returns the hash of a value of one kind.
fn value_hash(kind: u8, bytes: &[u8]) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&[kind]);
    hash.update(bytes);
    hash.digest128()
}

/// Returns the name of a member.
fn member_name(members: &[ObjectMember], nth: u32) -> &str {
    members[nth as usize].name.as_str()
}

/// Returns the fingerprint of a boolean, for words that may be one.
pub(crate) fn fingerprint_of_bool(value: bool) -> u128 {
    Document::default().fingerprint_of(&Value::Bool(value))
}

/// Lists and objects that are not closed yet.
#[derive(Default)]
pub(crate) struct OpenContainers {
    stack: Vec<OpenContainer>,
}

/// An open list or object.
pub(crate) struct OpenContainer {
    pub(crate) at: usize,
    pub(crate) items: PartialItems,
}

pub(crate) enum PartialItems {
    List(Vec<Id>),
    /// An object, with the name whose value follows.
    Object(Vec<ObjectMember>, Option<(String, usize)>),
}

impl OpenContainers {
    /// Opens a list or object.
    ///
    /// Errors: nested too deep.
    pub(crate) fn push(&mut self, at: usize, items: PartialItems) -> Result<(), SyntaxError> {
        if self.stack.len() == DEPTH_MAX {
            return Err(SyntaxError::limit_reached(at, "lists and objects are nested deeper than 128 levels"));
        }
        self.stack.push(OpenContainer { at, items });
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<OpenContainer> {
        self.stack.pop()
    }

    pub(crate) fn last(&self) -> Option<&OpenContainer> {
        self.stack.last()
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut OpenContainer> {
        self.stack.last_mut()
    }

    /// Adds a finished value to the innermost open part; returns it if nothing is open.
    pub(crate) fn put(&mut self, value: Id) -> Option<Id> {
        match self.stack.last_mut().map(|part| &mut part.items) {
            None => return Some(value),
            Some(PartialItems::List(items)) => items.push(value),
            Some(PartialItems::Object(members, name)) => {
                if let Some((name, at)) = name.take() {
                    members.push(ObjectMember { name, at, value });
                }
            }
        }
        None
    }
}
