//! `bindgen MODULE.wasm FOLDER`: writes the module for the web and its JavaScript, as `wasm-bindgen --target web` does.
//! The command itself would need a server and a client for HTTP.

use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: bindgen MODULE.wasm FOLDER");
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("module").web(true)?.typescript(false).reset_state_function(true);
    bindgen.omit_default_module_path(true).remove_name_section(true).remove_producers_section(true);
    bindgen.generate(folder)
}
