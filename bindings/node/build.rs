//! Sets the arguments of the linker that a module of Node needs on this platform.
#![expect(clippy::disallowed_methods, reason = "cargo tells a build script its target in the environment")]

fn main() {
    // On Windows the module looks up the functions of Node when it is loaded, so it is linked with nothing.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("windows") {
        napi_build::setup();
    }
}
