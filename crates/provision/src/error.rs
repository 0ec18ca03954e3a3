use crate::{AptError, ArchiveError, DebError, StoreError};

/// Reason why packages cannot be used for their purpose.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// apt cannot provide them.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// The archive of another distribution than Debian cannot provide them.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Their files cannot be read.
    #[error(transparent)]
    Deb(#[from] DebError),
    /// The packages cannot be put into the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Their content is not as expected.
    #[error("the package {package} holds no {what}")]
    Lacks {
        /// Name of the package.
        package: String,
        /// Missing file.
        what: String,
    },
}

/// Lets `?` turn an error of packages into the error of their user.
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
