/// Options of kubectl that say which cluster and whose rights. Others could change what it prints or
/// does.
const ALLOWED: [&str; 10] = [
    "--as",
    "--as-group",
    "--certificate-authority",
    "--cluster",
    "--context",
    "--kubeconfig",
    "--namespace",
    "--server",
    "--tls-server-name",
    "--user",
];

/// Options of a user's own for every call of kubectl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<String>);

/// Error of an option that kubectl is not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no option for kubectl here: write one of {list}, each with its value, such as \
    --engine-arg=--namespace=lab", list = ALLOWED.join(", "))]
pub struct OptionsError(String);

impl Options {
    /// Takes options for kubectl.
    ///
    /// # Errors
    ///
    /// When one of them is not among the known ones.
    pub fn new(options: &[String]) -> Result<Self, OptionsError> {
        let is_allowed = |option: &str| {
            option.split_once('=').is_some_and(|(name, value)| {
                ALLOWED.contains(&name) && !value.is_empty() && !value.contains('\0')
            })
        };
        match options.iter().find(|option| !is_allowed(option)) {
            Some(option) => Err(OptionsError(option.escape_debug().to_string())),
            None => Ok(Self(options.to_vec())),
        }
    }

    /// Lists them.
    pub fn iter(&self) -> impl Iterator<Item = String> {
        self.0.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_a_cluster_reaches_kubectl() {
        let one = |option: &str| Options::new(&[option.to_owned()]);
        for option in ["--namespace=lab", "--context=a b"] {
            assert_eq!(one(option).unwrap().iter().collect::<Vec<_>>(), [option]);
        }
        for option in ["-n", "--namespace", "--namespace=", "--output=yaml", "delete", "--v=9", ""]
        {
            assert!(
                one(option).unwrap_err().to_string().contains("no option for kubectl"),
                "{option}"
            );
        }
    }
}
