"""Reuters-21578: the news stories of the ModApte split, their topics and their words."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.data.fetchers import read_file
from lab.data.sources import SOURCES

STORY = re.compile(r"<REUTERS(.*?)>(.*?)</REUTERS>", re.DOTALL)
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>")
TEXT = re.compile(r"<TEXT.*?>(.*)</TEXT>", re.DOTALL)
TAG = re.compile(r"<.*?>", re.DOTALL)
CONTROL = re.compile(r"&#\d+;")


class Stories(NamedTuple):
    """The 12 902 stories: 9 603 to train on, then 3 299 to test on."""

    texts: list[str]
    topics: list[frozenset[str]]
    in_training: NDArray[np.bool_]

    def about(self, topic: str) -> NDArray[np.bool_]:
        """Which stories have the topic."""
        return np.array([topic in of_story for of_story in self.topics])

    def shared_topics(self) -> list[str]:
        """The 90 topics with a story on either side of the split, the most frequent first."""
        train, test = (
            {t for of_story, here in zip(self.topics, side, strict=True) if here for t in of_story}
            for side in (self.in_training, ~self.in_training)
        )
        return [topic for topic in self.by_frequency() if topic in train & test]

    def by_frequency(self) -> list[str]:
        """All topics, the most frequent first; names break ties."""
        every = [topic for of_story in self.topics for topic in of_story]
        found, counts = np.unique(every, return_counts=True)
        return [str(topic) for _, topic in sorted(zip(-counts, found, strict=True))]


@cache
def stories() -> Stories:
    """The ModApte split: stories marked ``TOPICS="YES"``, in the order of the files."""
    found = []
    for path in sorted(p for p in SOURCES if p.startswith("reuters21578/")):
        for head, body in STORY.findall(read_file(path).decode("latin-1")):
            if 'TOPICS="YES"' not in head or 'LEWISSPLIT="NOT-USED"' in head:
                continue
            named, text = TOPICS.search(body), TEXT.search(body)
            topics = frozenset(TOPIC.findall(named.group(1)) if named else [])
            found.append(('LEWISSPLIT="TRAIN"' in head, topics, _plain(text)))
    found.sort(key=lambda story: not story[0])
    in_training, topics, texts = zip(*found, strict=True)
    return Stories(list(texts), list(topics), np.array(in_training))


def _plain(text: re.Match[str] | None) -> str:
    """Words only: marks and control characters go, ``&lt;`` and its kin are read."""
    if text is None:
        return ""
    return html.unescape(CONTROL.sub(" ", TAG.sub(" ", text.group(1))))


def word_matrix(
    texts: list[str], training: NDArray[np.bool_] | NDArray[np.intp], weights: str = "tf-idf"
) -> Any:
    """CSR matrix of the words of the training rows, a word being two letters or more.

    ``weights``: ``"tf-idf"`` is ``(1 + log tf) idf`` with rows of unit length; ``"counts"`` is
    how often each word occurs.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    pattern = r"(?u)\b[^\W\d_]{2,}\b"
    if weights == "tf-idf":
        words = TfidfVectorizer(sublinear_tf=True, token_pattern=pattern)
    else:
        words = CountVectorizer(token_pattern=pattern, dtype=np.float64)
    chosen = np.arange(len(texts))[training]
    words.fit([texts[k] for k in chosen])
    return words.transform(texts).tocsr()
