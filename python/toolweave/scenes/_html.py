"""Names of HTML elements: tags in replies that are not calls."""

from __future__ import annotations

_NAMES = """
a abbr acronym address applet area article aside audio b base bdi bdo big blink blockquote body
br button canvas caption center cite code col colgroup data datalist dd del details dfn dialog
dir div dl dt em embed fencedframe fieldset figcaption figure font footer form frame frameset h1
h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main
map mark marquee math menu meta meter nav nobr noframes noscript object ol optgroup option
output p param picture plaintext pre progress q rp rt ruby s samp script search section select
selectedcontent slot small source span strike strong style sub summary sup svg table tbody td
template textarea tfoot th thead time title tr track tt u ul var video wbr xmp
"""

HTML_ELEMENTS = frozenset(_NAMES.split())
"""Names in lower case, including obsolete elements."""
