//! Name resolution: a name that is bound again has another meaning in a part of the text.

use crate::outline::Symbol;
use core::cmp::Reverse;
use core::iter::successors;
use emendate_core::Span;
use std::collections::HashMap;
use tree_sitter::Node;

/// Maximum nesting of scopes.
const SCOPE_DEPTH_MAX: usize = 1000;

/// The scopes of a text, according to a language's query, and the bindings of one name in them.
pub(crate) struct Scopes {
    all: Vec<LexicalScope>,
    /// Some bindings apply to the whole enclosing function, whatever block they are in.
    hoists: bool,
    bound: HashMap<ScopeId, ScopeBinding>,
}

/// Index of a scope; `None` is the whole text.
pub(crate) type ScopeId = Option<usize>;

struct LexicalScope {
    span: Span,
    /// The offset at which its body begins; what is in front of that, such as the default of a parameter, is evaluated
    /// outside.
    body: usize,
    kind: ScopeKind,
    /// The enclosing scope.
    outer: ScopeId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Block,
    Function,
    /// The bindings of a class are not visible in functions inside it.
    Class,
    /// Names around it are not visible inside, unless it imports them.
    Module,
}

/// Binding of the name in one scope.
struct ScopeBinding {
    /// True for the symbol in question, false for another one.
    this: bool,
    /// Offset from which on the binding is certain.
    body_start: usize,
}

impl ScopeBinding {
    /// Returns the meaning of the name at a position in the scope.
    fn meaning(&self, at: Span) -> NameMeaning {
        match self.this {
            _ if at.start() < self.body_start => NameMeaning::Unknown,
            true => NameMeaning::This,
            false => NameMeaning::Other,
        }
    }
}

/// Meaning of an occurrence of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameMeaning {
    /// The symbol in question.
    This,
    /// Another one.
    Other,
    /// Unknown.
    Unknown,
}

impl Scopes {
    /// Creates it without scopes; `hoists` if some bindings apply to the whole enclosing function.
    pub(crate) fn new(hoists: bool) -> Scopes {
        Scopes { all: Vec::new(), hoists, bound: HashMap::new() }
    }

    /// Adds a query capture; false if the capture is not about scopes.
    pub(crate) fn add(&mut self, capture: &str, node: Node<'_>) -> bool {
        let kind = match capture {
            "scope" => ScopeKind::Block,
            "function" => ScopeKind::Function,
            "class" => ScopeKind::Class,
            "module" => ScopeKind::Module,
            _ => return false,
        };
        let body = node.child_by_field_name("body").map_or(node.start_byte(), |it| it.start_byte());
        self.all.push(LexicalScope { span: node.byte_range().into(), body, kind, outer: None });
        true
    }

    /// Determines the enclosing scope of each, after all were added. False if they are nested too deep.
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
            if open.len() > SCOPE_DEPTH_MAX {
                return false;
            }
        }
        true
    }

    /// Returns the scopes around a span, the innermost first.
    fn around(&self, span: Span) -> impl Iterator<Item = usize> {
        let last = self.all.partition_point(|it| it.span.start() <= span.start()).checked_sub(1);
        successors(last, |&at| self.all[at].outer).filter(move |&at| self.all[at].span.covers(span))
    }

    /// Returns the scope of a name directly in `node`, e.g. in a parameter or on the left of a declaration, and the
    /// offset from which on that is certain.
    pub(crate) fn of_name(&self, node: Node<'_>, hoisted: bool) -> (ScopeId, usize) {
        // Several names on the left form a list node of their own.
        let list = node.kind().ends_with("_list");
        let node = node.parent().filter(|_| list).unwrap_or(node);
        let span = Span::from(node.byte_range());
        let body_start = node.child_by_field_name("body").map_or(span.end(), |body| body.start_byte());
        (self.around(span).find(|&at| !hoisted || self.all[at].kind == ScopeKind::Function), body_start)
    }

    /// Returns the scope of a symbol's name, likewise.
    pub(crate) fn of_symbol(&self, symbol: &Symbol) -> (ScopeId, usize) {
        let Some(scope) = self.around(symbol.span).find(|at| self.is_other_symbol(symbol, *at)) else {
            return (None, 0);
        };
        let function = self
            .around(symbol.span)
            .find(|at| self.is_other_symbol(symbol, *at) && self.all[*at].kind == ScopeKind::Function);
        let body = function.is_some_and(|at| self.all[at].span.end() == self.all[scope].span.end());
        if self.hoists && self.all[scope].kind == ScopeKind::Block && !body {
            // Whether the symbol is visible outside the block depends on the mode of the language.
            return (function, usize::MAX);
        }
        (Some(scope), 0)
    }

    /// True for another symbol than this one.
    fn is_other_symbol(&self, symbol: &Symbol, at: usize) -> bool {
        self.all[at].span != symbol.span
    }

    /// True for a scope whose bindings are not visible in the functions inside it.
    pub(crate) fn is_class(&self, place: ScopeId) -> bool {
        place.is_some_and(|at| self.all[at].kind == ScopeKind::Class)
    }

    /// True for a scope that is a part of this span, and not all of it.
    pub(crate) fn is_within(&self, place: ScopeId, span: Span) -> bool {
        place.is_some_and(|at| span.covers(self.all[at].span) && self.all[at].span != span)
    }

    /// Binds the name in a scope to the symbol in question, or to another one.
    pub(crate) fn bind(&mut self, place: ScopeId, body_start: usize, this: bool) {
        let bound = self.bound.entry(place).or_insert(ScopeBinding { this: false, body_start: 0 });
        bound.this |= this;
        bound.body_start = bound.body_start.max(body_start);
    }

    /// Returns the meaning of the name at a position.
    pub(crate) fn meaning(&self, at: Span) -> NameMeaning {
        // A comprehension in a class sees the names of the class in some of its parts only.
        let (mut in_function, mut in_block) = (false, false);
        for place in self.around(at) {
            let scope = &self.all[place];
            let is_class = scope.kind == ScopeKind::Class;
            match self.bound.get(&Some(place)) {
                Some(_) if is_class && in_function => {}
                Some(_) if is_class && in_block => return NameMeaning::Unknown,
                Some(bound) => return bound.meaning(at),
                None => {}
            }
            in_function |= scope.kind == ScopeKind::Function && at.start() >= scope.body;
            in_block |= scope.kind == ScopeKind::Block;
        }
        self.bound.get(&None).map_or(NameMeaning::Other, |bound| bound.meaning(at))
    }

    /// Returns the modules around a position, the innermost first.
    fn modules(&self, at: Span) -> impl Iterator<Item = Span> {
        self.around(at).filter(|&it| self.all[it].kind == ScopeKind::Module).map(|it| self.all[it].span)
    }

    /// True if a path from a position that goes up this many modules ends in the module of `target`.
    pub(crate) fn path_ends_in(&self, at: Span, up: usize, target: Span) -> bool {
        self.modules(at).count() >= up && self.modules(at).nth(up) == self.modules(target).next()
    }

    /// Returns the modules between a position and a possible target outside of them.
    pub(crate) fn between(&self, at: Span, target: Span) -> impl Iterator<Item = Span> {
        self.modules(at).filter(move |it| !it.covers(target))
    }
}
