//! Detection of misspelled names of fields and kinds.

/// Shorter names are too similar to others for edits to be detected.
const MIN_LENGTH: usize = 5;

/// Return true if two names are equal except for case, `_` and `-`.
pub(crate) fn same_letters(name: &str, known: &str) -> bool {
    folded(name).eq(folded(known))
}

/// Return true if a name looks like a misspelling of a known one: equal except for case, `_` and
/// `-`, or one edit away from it, if the known name has five letters or more.
pub(crate) fn is_misspelling_of(name: &str, known: &str) -> bool {
    if same_letters(name, known) {
        return true;
    }
    let [name, known] = [name, known].map(|name| folded(name).collect::<String>());
    // Computing the distance costs the product of the lengths.
    if known.len() < MIN_LENGTH || name.chars().count() > known.len() + 1 {
        return false;
    }
    strsim::osa_distance(&name, &known) <= 1
}

fn folded(name: &str) -> impl Iterator<Item = char> {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.map(|letter| letter.to_ascii_lowercase())
}
