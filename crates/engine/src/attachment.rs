//! What goes along with a reply beside its text: images and documents, in base64.

use data_encoding::BASE64;
use emendate_core::Result;
use emendate_media::{Image, image};
use serde_json::{Value, json};

/// The field of a reply's data that lists them: `[{"mediaType", "data", "width"?, "height"?, "uri"?}]`.
pub const ATTACHMENTS: &str = "attachments";

/// Bytes of an image that goes along, or of all images in a notebook together: 5 MiB as base64.
pub(crate) const MOST_IMAGE: usize = 3_932_160;

/// One of them.
pub(crate) struct Attachment {
    media_type: &'static str,
    data: String,
    image: Option<Image>,
    /// Where it comes from, for what is no image.
    uri: Option<String>,
}

impl Attachment {
    /// An image, measured.
    ///
    /// Errors: `media.unreadable`.
    pub(crate) fn image(bytes: &[u8]) -> Result<Attachment> {
        let image = image(bytes)?;
        let media_type = image.kind.media_type();
        Ok(Attachment { media_type, data: BASE64.encode(bytes), image: Some(image), uri: None })
    }

    /// Anything else.
    pub(crate) fn document(media_type: &'static str, bytes: &[u8], uri: String) -> Attachment {
        Attachment { media_type, data: BASE64.encode(bytes), image: None, uri: Some(uri) }
    }

    /// What it is, for people.
    pub(crate) fn told(&self) -> String {
        match self.image {
            Some(image) => format!("{}, {}×{} pixels", self.media_type, image.width, image.height),
            None => self.media_type.to_owned(),
        }
    }

    fn to_json(&self) -> Value {
        let mut out = json!({ "mediaType": self.media_type, "data": self.data });
        if let Some(image) = self.image {
            out["width"] = image.width.into();
            out["height"] = image.height.into();
        }
        if let Some(uri) = &self.uri {
            out["uri"] = uri.clone().into();
        }
        out
    }
}

/// All of them, for a reply's data.
pub(crate) fn listed(attachments: &[Attachment]) -> Value {
    attachments.iter().map(Attachment::to_json).collect()
}
