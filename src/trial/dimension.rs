//! By what exchanges can be grouped.

/// A property that sorts exchanges into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Model name as asked for or served.
    Model,
    /// Who asked.
    Caller,
    /// Bucket of the prompt's length.
    Input,
    /// Bucket of the answer's length.
    Output,
    /// Class that the load plan gave.
    Class,
    /// Instance that served it.
    Instance,
    /// Among the first exchanges of an instance, or not.
    Cold,
    /// Window of time it was sent in.
    Window,
    /// HTTP status.
    Status,
}

impl Dimension {
    /// Every dimension, in the order reports show them.
    pub const ALL: [Dimension; 9] = [
        Dimension::Model,
        Dimension::Caller,
        Dimension::Input,
        Dimension::Output,
        Dimension::Class,
        Dimension::Instance,
        Dimension::Cold,
        Dimension::Window,
        Dimension::Status,
    ];

    /// The word used in the plan, on the command line and in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Dimension::Model => "model",
            Dimension::Caller => "caller",
            Dimension::Input => "input",
            Dimension::Output => "output",
            Dimension::Class => "class",
            Dimension::Instance => "instance",
            Dimension::Cold => "cold",
            Dimension::Window => "window",
            Dimension::Status => "status",
        }
    }

    /// The dimension of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Dimension> {
        Dimension::ALL.into_iter().find(|dimension| dimension.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again_and_nothing_else_is() {
        assert!(Dimension::ALL.iter().all(|d| Dimension::parse(d.as_str()) == Some(*d)));
        assert_eq!(Dimension::parse("Model"), None);
        assert_eq!(Dimension::parse(""), None);
    }
}
