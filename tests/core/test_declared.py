"""Files that people write: what is no TOML is refused, and so is a name that nobody knows."""

from __future__ import annotations

import pytest

from deniable.core.declared import check_names, did_you_mean, read_toml
from deniable.errors import ParameterError


def test_names_in_files_are_known_or_refused():
    assert read_toml(b"a = 1", "x.toml") == {"a": 1}
    for wrong in (b"a =", b"\xff"):
        with pytest.raises(ParameterError, match=r"x\.toml"):
            read_toml(wrong, "x.toml")
    check_names("task", {"epsilon": 1, "answers": 2}, ["epsilon"], ["answers", "rounds"])
    with pytest.raises(ParameterError, match="did you mean answers"):
        check_names("task", {"epsilon": 1, "answer": 2}, ["epsilon"], ["answers"])
    with pytest.raises(ParameterError, match="add epsilon"):
        check_names("task", {"answers": 2}, ["epsilon"], ["answers"])
    assert did_you_mean("EPSILOM", ["Epsilon", "gamma"]) == "check the spelling: did you mean Epsilon?"
    assert did_you_mean("zz", ["Epsilon", "gamma"]) == "check the spelling"
