//! Sets the arguments of the linker that a module of Node needs on this platform.

fn main() {
    napi_build::setup();
}
