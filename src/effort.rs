//! The effort of property tests, one number for all of them: `PROPTEST_CASES`.

use proptest::prelude::ProptestConfig;

/// The cases of a property if neither it nor `PROPTEST_CASES` sets another number.
const DEFAULT_CASES: u64 = 256;

/// Return a configuration with `count` cases, scaled by what `PROPTEST_CASES` makes of the default.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let scaled = u64::from(count) * u64::from(config.cases) / DEFAULT_CASES;
    let cases = u32::try_from(scaled.max(1)).unwrap_or(u32::MAX);
    ProptestConfig { cases, failure_persistence: None, ..config }
}

/// Return a size of input, scaled like the number of cases.
pub(crate) fn size(full: u32) -> usize {
    usize::try_from(cases(full).cases).unwrap_or(usize::MAX)
}

#[test]
fn one_number_scales_the_cases_of_all_properties() {
    let default = ProptestConfig::default().cases;
    assert_eq!(cases(256).cases, default);
    assert_eq!(cases(512).cases, 2 * default);
    assert_eq!(cases(1).cases, (default / 256).max(1));
}
