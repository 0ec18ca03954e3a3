use crate::{AptError, DebError, StoreError};

/// Why packages cannot be used for what they are wanted for.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// They cannot be had.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// They cannot be read.
    #[error(transparent)]
    Deb(#[from] DebError),
    /// They cannot be put into the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// They are not packaged as expected.
    #[error("the package {package} holds no {what}")]
    Lacks {
        /// The package.
        package: String,
        /// What is missing.
        what: String,
    },
}

/// Lets `?` turn what is wrong with a package into what that means for whoever wanted it.
macro_rules! from_package_errors {
    ($error:ident) => {
        impl<E> From<E> for $error
        where
            $crate::PackageError: From<E>,
        {
            fn from(error: E) -> Self {
                Self::Packages(error.into())
            }
        }
    };
}

pub(crate) use from_package_errors;
