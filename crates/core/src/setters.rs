//! Methods of builders.

/// Defines methods of a builder that set one field each. The type is `#[must_use]`, because each returns it.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (impl $Builder:ident$(<$life:lifetime>)? {
        $($(#[$doc:meta])+ $name:ident($($arg:ident: $kind:ty)?) { $($field:ident).+ = $value:expr })+
    }) => {
        impl$(<$life>)? $Builder$(<$life>)? {
            $(
                $(#[$doc])+
                pub fn $name(mut self $(, $arg: $kind)?) -> Self {
                    self.$($field).+ = $value;
                    self
                }
            )+
        }
    };
}
