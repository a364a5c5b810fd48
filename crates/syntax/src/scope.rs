//! Which thing of a name is meant where it stands: a name that is bound again means something else in a part of the text.

use crate::outline::Symbol;
use core::cmp::Reverse;
use core::iter::successors;
use emendate_core::Span;
use std::collections::HashMap;
use tree_sitter::Node;

/// Scopes inside one another; deeper ones are not looked at.
const DEEPEST: usize = 1000;

/// Parts of the text in which what is bound there counts, as a language's query says, and what is bound in them.
pub(crate) struct Scopes {
    all: Vec<Scope>,
    /// Some bindings count in the whole function around them, whatever block they stand in.
    hoists: bool,
    bound: HashMap<Place, Bound>,
}

/// A scope by its number; `None` is the text as a whole.
pub(crate) type Place = Option<usize>;

struct Scope {
    span: Span,
    kind: Kind,
    /// The one around it.
    outer: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Function,
    /// What is bound in it is not seen by the functions in it.
    Class,
    /// Nothing of what is around it is seen in it, unless it says so.
    Module,
}

/// What a name is bound to in one scope.
struct Bound {
    /// The symbol that is asked about, or another thing.
    this: bool,
    /// From where on that is sure.
    settled: usize,
}

/// What a name means where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The symbol that is asked about.
    This,
    /// Another thing.
    Other,
    /// It cannot be told.
    Unsure,
}

impl Scopes {
    /// Without scopes as yet; `hoists` where some bindings count in the whole function around them.
    pub(crate) fn new(hoists: bool) -> Scopes {
        Scopes { all: Vec::new(), hoists, bound: HashMap::new() }
    }

    /// Adds what a query captured under that name; false when the name is not one of scopes.
    pub(crate) fn add(&mut self, capture: &str, node: Node<'_>) -> bool {
        let kind = match capture {
            "scope" => Kind::Block,
            "function" => Kind::Function,
            "class" => Kind::Class,
            "module" => Kind::Module,
            _ => return false,
        };
        self.all.push(Scope { span: node.byte_range().into(), kind, outer: None });
        true
    }

    /// Finds out which scope is in which, when all were added. False when they are too deep.
    pub(crate) fn nest(&mut self) -> bool {
        self.all.sort_by_key(|it| (it.span.start(), Reverse(it.span.end())));
        let mut open: Vec<usize> = Vec::new();
        for at in 0..self.all.len() {
            let span = self.all[at].span;
            while open.last().is_some_and(|&outer| !self.all[outer].span.covers(span)) {
                open.pop();
            }
            self.all[at].outer = open.last().copied();
            open.push(at);
            if open.len() > DEEPEST {
                return false;
            }
        }
        true
    }

    /// The scopes around a place, the innermost first.
    fn around(&self, span: Span) -> impl Iterator<Item = usize> {
        let last = self.all.partition_point(|it| it.span.start() <= span.start()).checked_sub(1);
        successors(last, |&at| self.all[at].outer).filter(move |&at| self.all[at].span.covers(span))
    }

    /// Where a name counts that stands directly in `node`, e.g. in a parameter or on the left of a declaration, and from
    /// where on that is sure.
    pub(crate) fn of_name(&self, node: Node<'_>, hoisted: bool) -> (Place, usize) {
        // Several names on the left are a list of their own.
        let list = node.kind().ends_with("_list");
        let node = node.parent().filter(|_| list).unwrap_or(node);
        let span = Span::from(node.byte_range());
        let settled = node.child_by_field_name("body").map_or(span.end(), |body| body.start_byte());
        (self.around(span).find(|&at| !hoisted || self.all[at].kind == Kind::Function), settled)
    }

    /// The same for the name of a symbol.
    pub(crate) fn of_symbol(&self, symbol: &Symbol) -> (Place, usize) {
        let outer = |at: &usize| self.all[*at].span != symbol.span;
        let Some(scope) = self.around(symbol.span).find(outer) else { return (None, 0) };
        let function = self.around(symbol.span).find(|at| outer(at) && self.all[*at].kind == Kind::Function);
        let body = function.is_some_and(|at| self.all[at].span.end() == self.all[scope].span.end());
        if self.hoists && self.all[scope].kind == Kind::Block && !body {
            // Whether it counts outside of the block depends on the mode of the language.
            return (function, usize::MAX);
        }
        (Some(scope), 0)
    }

    /// True for one whose functions do not see what is bound in it.
    pub(crate) fn is_class(&self, place: Place) -> bool {
        place.is_some_and(|at| self.all[at].kind == Kind::Class)
    }

    /// Binds the name there to the symbol that is asked about, or to another thing.
    pub(crate) fn bind(&mut self, (place, settled): (Place, usize), this: bool) {
        let bound = self.bound.entry(place).or_insert(Bound { this: false, settled: 0 });
        bound.this |= this;
        bound.settled = bound.settled.max(settled);
    }

    /// What the name means that stands at `at`.
    pub(crate) fn meaning(&self, at: Span) -> Meaning {
        let places = self.around(at).enumerate().filter(|(nth, it)| *nth == 0 || !self.is_class(Some(*it)));
        let mut places = places.map(|(_, it)| Some(it)).chain([None]);
        match places.find_map(|it| self.bound.get(&it)) {
            Some(bound) if at.start() < bound.settled => Meaning::Unsure,
            Some(bound) if bound.this => Meaning::This,
            _ => Meaning::Other,
        }
    }

    /// The modules around a place, the innermost first.
    fn modules(&self, at: Span) -> impl Iterator<Item = Span> {
        self.around(at).filter(|&it| self.all[it].kind == Kind::Module).map(|it| self.all[it].span)
    }

    /// True when a path that goes up so many modules from a place ends where `target` is.
    pub(crate) fn leads_to(&self, at: Span, up: usize, target: Span) -> bool {
        self.modules(at).count() >= up && self.modules(at).nth(up) == self.modules(target).next()
    }

    /// The modules that stand between a place and what it may mean outside of them.
    pub(crate) fn between(&self, at: Span, target: Span) -> impl Iterator<Item = Span> {
        self.modules(at).filter(move |it| !it.covers(target))
    }
}
