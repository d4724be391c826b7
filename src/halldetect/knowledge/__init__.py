"""Knowledge: a searchable index of documents that claims are checked against.

`readers` reads files, `passages` cuts them, `builder` keeps the index, `index` searches it.
"""

from __future__ import annotations

from halldetect.knowledge.index import KnowledgeIndex
from halldetect.knowledge.passages import Knowledge, Passage

__all__ = ["Knowledge", "KnowledgeIndex", "Passage"]
