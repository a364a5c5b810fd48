//! The embedded script and style sheet. Their addresses contain a hash, so browsers keep them.

use std::sync::OnceLock;

/// A file that the page uses.
pub(crate) struct Asset {
    /// The name of the file in addresses, before the hash.
    name: &'static str,
    /// The extension of the file.
    extension: &'static str,
    /// The media type of the file.
    pub(crate) media_type: &'static str,
    /// The content of the file.
    pub(crate) bytes: &'static [u8],
}

const ASSETS: &[Asset] = &[
    Asset {
        name: "review",
        extension: "js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../assets/review.js"),
    },
    Asset {
        name: "review",
        extension: "css",
        media_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../assets/review.css"),
    },
    Asset {
        name: "login",
        extension: "js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../assets/login.js"),
    },
    Asset { name: "icon", extension: "svg", media_type: "image/svg+xml", bytes: include_bytes!("../assets/icon.svg") },
];

/// Returns the addresses of all assets.
fn addresses() -> &'static [String] {
    static ADDRESSES: OnceLock<Vec<String>> = OnceLock::new();
    ADDRESSES.get_or_init(|| ASSETS.iter().map(format_address).collect())
}

/// Returns the address of an asset. It changes with the content, so that browsers keep it for good.
fn format_address(asset: &Asset) -> String {
    let hash = blake3::hash(asset.bytes).to_hex();
    format!("/assets/{}.{}.{}", asset.name, hash.get(..12).unwrap_or_default(), asset.extension)
}

/// Returns the address of an asset, such as `review.js`.
pub(crate) fn address(file: &str) -> &'static str {
    let found = ASSETS.iter().position(|it| file.strip_prefix(it.name).is_some_and(|rest| rest[1..] == *it.extension));
    found.and_then(|at| addresses().get(at)).map_or("", |address| address)
}

/// Returns the asset at an address.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    let at = addresses().iter().position(|address| address == path)?;
    ASSETS.get(at)
}

#[cfg(test)]
mod tests {
    use super::{address, asset};

    #[test]
    fn addresses_lead_to_their_assets() {
        for file in ["review.js", "review.css", "login.js", "icon.svg"] {
            let address = address(file);
            assert!(address.starts_with("/assets/") && !asset(address).unwrap().bytes.is_empty(), "{file}");
        }
        assert!(asset("/assets/review.js").is_none() && address("other.js").is_empty());
    }
}
