//! Names of HTML elements. A tag with such a name may be markup of a page, whatever the tools are.

use std::sync::LazyLock;

/// The elements of HTML, obsolete ones included, and the two elements of other languages that HTML
/// embeds.
static ELEMENTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "
    a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big
    blink blockquote body br button canvas caption center cite code col colgroup data datalist
    dd del details dfn dialog dir div dl dt em embed fencedframe fieldset figcaption figure
    font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe
    image img input ins kbd keygen label legend li link listing main map mark marquee math
    menu menuitem meta meter nav nobr noembed noframes noscript object ol optgroup option
    output p param picture plaintext portal pre progress q rb rp rt rtc ruby s samp script
    search section select selectedcontent slot small source spacer span strike strong style
    sub summary sup svg table tbody td template textarea tfoot th thead time title tr track
    tt u ul var video wbr xmp
"
    .split_ascii_whitespace()
    .collect()
});

/// Return true if HTML has an element of this name, in any case: components are named after
/// elements.
pub fn is_element(name: &str) -> bool {
    ELEMENTS.binary_search(&name.to_ascii_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_any_case() {
        assert!(ELEMENTS.is_sorted());
        assert_eq!(ELEMENTS.iter().filter(|element| is_element(element)).count(), 144);
        assert!(["Select", "BUTTON", "h1", "Summary"].into_iter().all(is_element));
        assert!(!["", "GetWeather", "selects", "search_web", "ſelect"].into_iter().any(is_element));
    }
}
