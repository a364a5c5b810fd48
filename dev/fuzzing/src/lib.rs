//! A stand-in for `libfuzzer-sys` that turns each fuzz target into a function.
//!
//! `fuzz/` is a workspace of its own, because libFuzzer needs a build of its own. The test of this crate includes the
//! targets as modules instead, so that clippy checks them with all other code, and every run of the suite tries random
//! bytes.

pub use arbitrary;

/// Defines `run`, which makes the input of the target from bytes, as libFuzzer does, and calls the target with it.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        fn target($input: $kind) $body

        pub(super) fn run(bytes: &[u8]) {
            let unstructured = $crate::arbitrary::Unstructured::new(bytes);
            if let Ok(input) = <$kind as $crate::arbitrary::Arbitrary>::arbitrary_take_rest(unstructured) {
                target(input);
            }
        }
    };
}
