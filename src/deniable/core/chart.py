"""Charts of estimates: one Vega-Lite form for notebooks, files and web pages, and nothing fetched from a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from deniable.core.figure import themed
from deniable.core.vega import draw_all
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.table import Table

ENDINGS = (".svg", ".png", ".html", ".json")


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite chart that saves and shows itself without a network; ``altair`` is an Altair chart, to be changed further."""

    drawn: Any
    """The Vega-Lite specification, as plain data or as an Altair chart."""

    def to_dict(self) -> dict[str, Any]:
        """The Vega-Lite specification as plain data."""
        spec: dict[str, Any] = self.drawn if isinstance(self.drawn, dict) else self.drawn.to_dict()
        return spec

    @property
    def altair(self) -> Any:
        """The chart as an Altair chart."""
        from altair import Chart as AltairChart

        return AltairChart.from_dict(self.drawn) if isinstance(self.drawn, dict) else self.drawn

    def save(self, path: str | PathLike[str]) -> None:
        """Write the chart to a path that ends in .svg, .png, .json or .html; the last needs no other file."""
        check_ending(path)
        ending = fspath(path).lower().rpartition(".")[2]  # altair itself takes no capitals
        self.altair.save(fspath(path), format=ending, **({"inline": True} if ending == "html" else {}))

    def _repr_svg_(self) -> str:
        import vl_convert

        svg: str = vl_convert.vegalite_to_svg(self.to_dict())
        return svg


def check_ending(path: str | PathLike[str]) -> None:
    """Raise unless a chart can be written to this file name, before any work is done."""
    if not str(fspath(path)).lower().endswith(ENDINGS):
        raise ParameterError(
            "path", fspath(path), allowed=f"a name that ends in {', '.join(ENDINGS)}", fix="change the end of the file's name"
        )


def table_chart(table: Table, k: int, *, truth: Any = None, title: str | None = None) -> Chart:
    """The figures of a table, one below the other: the first k rows where rows are bars or points, the k highest curves, otherwise all."""
    figures = table.figures()
    if not figures:
        raise ParameterError(
            "table",
            type(table).__name__,
            allowed="a table with a figure",
            fix="draw its columns with another tool: to_arrow() returns them",
        )
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError("k", k, allowed="an integer from 1 on", fix="ask for at least one row")
    drawn = draw_all(table, k, truth=truth)
    first, *rest = (title or table.headline()).splitlines()
    legends = [figure.legend for figure in figures if figure.legend]
    rest += [f"{legends[-1]}{'' if truth is None else ', orange: truth'}"] if legends else []
    heading = {"title": {"text": first, "subtitle": rest}}
    whole = drawn[0] if len(drawn) == 1 else {"vconcat": drawn}
    return Chart(themed(whole | heading))


def stacked(charts: Sequence[Chart]) -> Chart:
    """Charts below one another, as one."""
    if len(charts) == 1:
        return charts[0]
    drawn = [chart.to_dict() for chart in charts]
    data = {name: rows for each in drawn for name, rows in each.get("datasets", {}).items()}
    parts = [{name: part for name, part in each.items() if name not in ("config", "datasets", "$schema")} for each in drawn]
    return Chart(themed({"vconcat": parts} | ({"datasets": data} if data else {})))
