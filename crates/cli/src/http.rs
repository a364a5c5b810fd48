//! Settings of `emend mcp --http` from its flags, the environment and the token's file.

use crate::args::HttpArgs;
use crate::{io_error, output};
use emendate::core::Result;
use emendate_mcp::{BearerToken, HttpListener};

/// The variable with the token. It is not a flag, because command lines are visible to everybody.
const TOKEN_VARIABLE: &str = "EMEND_HTTP_TOKEN";

/// Opens the listener, if HTTP was requested, and prints its address on standard error.
///
/// Errors: those of [`HttpListener::open`]; a token's file that cannot be read.
pub(crate) fn open_listener(args: &HttpArgs) -> Result<Option<HttpListener>> {
    let Some(address) = &args.http else { return Ok(None) };
    let token = match &args.http_token_file {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.map_err(|error| io_error(&path.display().to_string(), &error))?)
        }
        None => std::env::var(TOKEN_VARIABLE).ok(),
    };
    let token = token.as_deref().map(BearerToken::new).transpose()?;
    let (listener, made) = HttpListener::open(address, token, &args.http_host, &args.http_origin)?;
    output::note(&format!("serving {}", listener.url()));
    if let Some(token) = made {
        output::note(&format!("token {token}"));
    }
    Ok(Some(listener))
}
