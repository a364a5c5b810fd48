//! The access token of clients.

use data_encoding::BASE64URL_NOPAD;
use emendate_core::{Code, Error, Result};

/// Minimum number of characters of a token; shorter ones could be guessed.
const TOKEN_CHARS_MIN: usize = 16;

/// An access token. Only its hash is kept, and hashes are compared in constant time.
#[derive(Clone)]
pub struct AccessToken(blake3::Hash);

impl AccessToken {
    /// Creates a chosen token; spaces and line ends around it are ignored.
    ///
    /// Errors: `call.invalid` if it is too short, or invalid in a header.
    pub fn new(text: &str) -> Result<AccessToken> {
        let text = text.trim();
        if text.len() < TOKEN_CHARS_MIN {
            return Err(token_refusal(format!(
                "A token has at least {TOKEN_CHARS_MIN} characters; this one has {}.",
                text.len()
            )));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(token_refusal("A token consists of ASCII characters without spaces.".to_owned()));
        }
        Ok(AccessToken(blake3::hash(text.as_bytes())))
    }

    /// Generates a token; also returns its text.
    ///
    /// Errors: `io.failed` if the system has no random numbers.
    pub fn random() -> Result<(AccessToken, String)> {
        let text = random_text()?;
        Ok((AccessToken::new(&text)?, text))
    }

    /// True when the value of an `Authorization` header carries it.
    pub fn is_in(&self, header: &[u8]) -> bool {
        let Some((scheme, said)) = header.split_at_checked("Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && self.is(said.trim_ascii())
    }

    /// True when this is the token; both are compared in constant time.
    pub fn is(&self, said: &[u8]) -> bool {
        // `blake3::Hash` compares in constant time.
        blake3::hash(said) == self.0
    }
}

/// Returns 256 random bits as text.
///
/// Errors: `io.failed` if the system has no random numbers.
pub fn random_text() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(Code::IoFailed, format!("The system provides no random numbers: {error}."))
            .next("Give a token of your own.")
    })?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// Refuses a token.
fn token_refusal(what: String) -> Error {
    Error::new(Code::CallInvalid, what)
        .next("Use e.g. what `openssl rand -hex 32` prints, or omit it, and one is generated.")
}

#[cfg(test)]
mod tests {
    use super::AccessToken;

    #[test]
    fn only_the_exact_token_is_accepted() {
        let (token, text) = AccessToken::random().unwrap();
        let opens = |header: &str| token.is_in(header.as_bytes());
        assert!(opens(&format!("Bearer {text}")) && opens(&format!("bearer  {text} ")));
        for wrong in ["", "Bearer", "Bearer ", &text, &format!("Basic {text}"), &format!("Bearer {text}x")] {
            assert!(!opens(wrong), "{wrong}");
        }
        assert!(!opens(&format!("Bearer {}", &text[1..])) && AccessToken::random().unwrap().1 != text);
    }

    #[test]
    fn weak_token_is_refused() {
        for weak in ["", "short", "fifteen-letters", "with a blank inside it", "nicht-ganz-geheim-für-uns"] {
            assert!(AccessToken::new(weak).is_err(), "{weak}");
        }
        assert!(AccessToken::new(" sixteen-letters!\n").unwrap().is_in(b"Bearer sixteen-letters!"));
    }
}
