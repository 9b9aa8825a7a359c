"""Replacement policies in Python, for teaching."""

from __future__ import annotations

from collections.abc import Sequence


class Policy:
    """A replacement policy, told of folios in batches.

    A folio is a number: its first page frame. Each run makes an instance for each memory node.
    ``name`` is the name of its variant in reports; empty: the class's name in small letters.

    mmsim asks ``candidates`` for folios to evict. It takes them off, looks whether each was used
    since somebody looked last, and evicts those that were not. It tells the others by ``kept``.
    """

    name: str = ""

    def arrived(self, folios: Sequence[int]) -> None:
        """Folios came into memory, first to last."""
        raise NotImplementedError

    def departed(self, folio: int) -> None:
        """A folio is gone, or was taken, without the policy's doing."""
        raise NotImplementedError

    def candidates(self, wanted: int) -> Sequence[int]:
        """Folios to evict, best first: at most ``wanted`` of those that arrived.

        The policy does not own them any more: each is evicted, or comes back by ``kept``. An
        empty answer ends this round of reclaim.
        """
        raise NotImplementedError

    def kept(self, folios: Sequence[int]) -> None:
        """Candidates that stay, since they were used or cannot be evicted now."""
        raise NotImplementedError
