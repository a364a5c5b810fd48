//! Hunks that fit several places: which evidence decides, and which contradicts another one.

use super::{below, edit, refuse};
use crate::code::Code;

#[test]
fn anchor_prefers_whole_words() {
    let file = "class FooBar(Base):\n    limit = 10\n\n\nclass Foo(Base):\n    kind = 1\n    limit = 10\n";
    let change = "-    limit = 10\n+    limit = 20";
    let edited = "class FooBar(Base):\n    limit = 10\n\n\nclass Foo(Base):\n    kind = 1\n    limit = 20\n";
    assert_eq!(edit(file, below(&["class Foo"], change)), edited);
    assert!(edit(file, below(&["class Foo"], "+    size = 1")).contains("class Foo(Base):\n    size = 1\n"));
    // Part of a word is enough if it is unique.
    assert_eq!(edit(file, below(&["class FooB"], change)), file.replacen("10", "20", 1));
    let exported = file.replace("class Foo(", "export class Foo(");
    assert_eq!(refuse(&exported, below(&["class Foo"], change)).code(), Code::MatchAmbiguous);
}

#[test]
fn place_right_after_an_anchor_is_not_preferred_to_another_block() {
    let file = "class A:\n    def close(self):\n        self.open = False\n\n\nclass B:\n    def close(self):\n        self.log()\n        self.open = False\n";
    let change = "-        self.open = False\n+        self.open = None";
    assert_eq!(refuse(file, below(&["def close(self):"], change)).code(), Code::MatchAmbiguous);
    assert!(
        edit(file, below(&["class B:", "def close(self):"], change)).ends_with("log()\n        self.open = None\n")
    );
}
