//! The WebAssembly module of `@emendate/core`: one function, whose arguments and result are JSON. `index.js` has the
//! functions that people call.

use wasm_bindgen::prelude::wasm_bindgen;

/// Calls a function on text by name; see `emendate_javascript::call`.
#[wasm_bindgen]
pub fn call(name: &str, input: &str) -> String {
    emendate_javascript::call(name, input)
}
