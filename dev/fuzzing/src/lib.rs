//! A stand-in for `libfuzzer-sys` that makes a function of each fuzz target.
//!
//! `fuzz/` is a workspace of its own, because libFuzzer needs another build. The test of this crate includes its targets
//! as modules instead, so that clippy checks them with everything else, and every run of the suite tries random bytes.

pub use arbitrary;

/// Defines `run`, which makes the input of the target from bytes, as libFuzzer does, and calls the target.
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
