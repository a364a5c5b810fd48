//! Attachments of a reply: images and documents, in base64.

use data_encoding::BASE64;
use emendate_core::Result;
use emendate_media::{Image, image};
use serde_json::{Value, json};

/// The field of a reply's data that lists them: `[{"mediaType", "data", "width"?, "height"?, "uri"?}]`.
pub const ATTACHMENTS: &str = "attachments";

/// Bytes of one image, or of all images of a notebook together: 5 MiB as base64.
pub(crate) const IMAGE_BYTES_MAX: usize = 3_932_160;

/// An attachment.
pub(crate) struct Attachment {
    media_type: &'static str,
    data: String,
    image: Option<Image>,
    /// The origin of a document; `None` for images.
    uri: Option<String>,
}

impl Attachment {
    /// Creates an image attachment with its dimensions.
    ///
    /// Errors: `media.unreadable`.
    pub(crate) fn image(bytes: &[u8]) -> Result<Attachment> {
        let image = image(bytes)?;
        let media_type = image.kind.media_type();
        Ok(Attachment { media_type, data: BASE64.encode(bytes), image: Some(image), uri: None })
    }

    /// Creates any other attachment.
    pub(crate) fn document(media_type: &'static str, bytes: &[u8], uri: String) -> Attachment {
        Attachment { media_type, data: BASE64.encode(bytes), image: None, uri: Some(uri) }
    }

    /// Describes the attachment for people.
    pub(crate) fn describe(&self) -> String {
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

/// Converts attachments to JSON for a reply's data.
pub(crate) fn list_to_json(attachments: &[Attachment]) -> Value {
    attachments.iter().map(Attachment::to_json).collect()
}
