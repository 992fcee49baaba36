"""Writings: texts or lists of words, of any length."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from deniable.contract.canonical import canonical_json
from deniable.contract.domain import DOMAINS, Domain
from deniable.contract.hashing import string_key
from deniable.contract.words import split
from deniable.errors import DomainError, ParameterError


@DOMAINS.add
@dataclass(frozen=True)
class Writing(Domain):
    """A text, which is split into words (``words_of``), or a list of words, which are taken as they are; the empty ones too.

    Without ``texts``, only lists of words: for public lists with words that no text is split into, such as ``"Tea"`` or ``"e-mail"``. A
    value's key is a hash of its words; encoders ask about one of these (``contract.texts``).

    >>> Writing().key("Tea, please") == Writing().key(["tea", "please"]), Writing(texts=False).describe()
    (True, 'lists of words')
    """

    texts: bool = True
    kind: ClassVar[str] = "writing"
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if type(self.texts) is not bool:
            raise ParameterError("texts", self.texts, allowed="True or False", fix="pass False to take lists of words only")

    @property
    def size(self) -> int:
        raise ParameterError("domain", self.describe(), allowed="a domain with a largest value", fix="ask about one of the words")

    def words(self, value: Any) -> list[str]:
        """Return one person's words; DomainError if the value is no writing."""
        if isinstance(value, str) and not self.texts:
            raise self.refuse(value)
        try:
            return split(value)
        except DomainError as error:
            raise self.refuse(value) from error

    def key(self, value: Any) -> int:
        return string_key(canonical_json(self.words(value)))

    def value(self, key: int) -> Hashable:
        raise ParameterError("key", key, allowed="a key of a listed domain", fix="ask about one of the words: a hash cannot be turned back")

    def describe(self) -> str:
        return "a text, or a list of words" if self.texts else "lists of words"
