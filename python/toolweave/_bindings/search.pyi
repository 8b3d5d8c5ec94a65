"""Search by words."""

from collections.abc import Iterable, Sequence
from typing import final

from typing_extensions import Self

@final
class SearchIndex:
    """An index of texts by their words, ranked with BM25.

    Words are split at punctuation, digits and changes of case. Parts that are separated only by
    digits or case also count in pairs and as a whole (``GitHub`` is *git*, *hub* and *github*).
    Case is ignored, and so is a final *s*. In scripts without spaces, each character counts, and
    each pair of adjacent characters.

    Args:
        documents: Sequences of texts, each with a weight from 0 to 100.

    Example:
        >>> index = SearchIndex([[("GetWeather", 3)], [("send_mail", 3), ("Sends a mail.", 1)]])
        >>> [position for position, _ in index.search("mails of today", 5)]
        [1]
    """

    def __new__(cls, documents: Iterable[Iterable[tuple[str, int]]]) -> Self: ...
    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Return positions and scores of the documents with a word of `query`, best first.

        Equal scores are in the order of the documents. Of a long query, only the first 10,000
        characters are read, and the first 64 words that occur in any document.
        """

    def coverage(self, query: str, documents: Sequence[int]) -> float:
        """Return the share of the words of `query` that occur in documents, from 0 to 1.

        Rare words count more. Of a long query, only the first 10,000 characters and the first 64
        words are read.

        Args:
            query: The query.
            documents: Positions of documents; a word counts if it occurs in at least one of them.
        """
