"""Names that earlier versions had, and what to use instead. The changelog has the whole list."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

NAMES = {
    "Association": "NumberEstimate, which association() gives",
    "AssociationRules": "Estimate, which association_rules(found) gives",
    "CentralComparison": "Comparison",
    "CentralHistogram": "FrequencyEstimate, whose law is LaplaceCounts",
    "CentralMean": "NumberEstimate",
    "ConditionalShares": "Estimate, which given(column) gives",
    "CountEstimate": "NumberEstimate",
    "CountSeries": "Estimate",
    "Decoded": "PeopleEstimate",
    "DesignChoice": "Choice",
    "DummyEstimate": "FrequencyEstimate, whose law is PoissonCounts",
    "ErrorCurves": "Listing",
    "FoundWords": "Estimate, which NewWords.run() gives",
    "FrequentSets": "PeopleEstimate, which run() gives",
    "HaarEstimate": "RangeEstimate",
    "HeavyHitters": "FrequencyEstimate, which run() gives",
    "HistogramEstimate": "DistributionEstimate",
    "ItemEstimate": "FrequencyEstimate, whose law is PaddedSupports",
    "JointMean": "NumberEstimate",
    "MeanChoice": "Choice",
    "MeanComparison": "Comparison",
    "MeanPlan": "Plan",
    "NormalCounts": "FrequencyEstimate, whose law is SubGaussianCounts",
    "NumberComparison": "Comparison",
    "PairCounts": "PairShares",
    "Play": "Estimate, which run() gives; regret(losses, play) needs the losses",
    "Postprocessed": "PeopleEstimate",
    "QuantileEstimate": "Estimate, which session.quantiles() gives",
    "RangeChoice": "Choice",
    "RangeCounts": "PeopleEstimate",
    "Reconstruction": "Estimate",
    "RegionCount": "NumberEstimate",
    "RegressionEstimate": "FrequencyEstimate, whose law is Regression",
    "ReleasedNumber": "NumberEstimate",
    "RepeatedMean": "RepeatedEstimate",
    "ScoreEstimate": "FrequencyEstimate, whose law is Scores",
    "Search": "ProtocolRun",
    "SeriesEstimate": "Estimate, which release() gives",
    "SetEstimate": "PeopleEstimate",
    "ShuffledSum": "NumberEstimate",
    "SumEstimate": "Estimate",
    "SupportEstimate": "FrequencyEstimate, whose law is Supports",
    "Topics": "Estimate, which topics(k) gives",
    "TreeEstimate": "RangeEstimate",
    "Trends": "Comparison",
    "VectorEstimate": "Estimate, which estimate(tally) and vector_of_means(means) give",
    "WaveEstimate": "DistributionEstimate",
}
"""Classes that were removed, and what to use instead."""
MEMBERS = {
    "average_interval": "average().interval()",
    "best": "tasks.learning.regret(losses, play)",
    "biased": "bias",
    "change_interval": "change(first, second).interval()",
    "checked": "point and stderr of topics(k, words)",
    "chosen": 'parts["days"]',
    "clear": "significant()",
    "counts": "point",
    "difference": "contrast(first, second)",
    "distance": "stderr, whose length numpy.linalg.norm gives",
    "enough": "law.enough",
    "errors": "tasks.series.series_errors(series, truth)",
    "known": "about",
    "limits": "law.limits",
    "losses": "tasks.learning.regret(losses, play)",
    "mean": "point",
    "mechanism": "spec",
    "method": "about",
    "missed": 'details["missed"]',
    "p_values": 'details["p"]',
    "pairs": 'parts["pairs"]',
    "q": "values",
    "quantile": "only(q)",
    "raw": 'parts["raw"]',
    "regret": "tasks.learning.regret(losses, play)",
    "release": "spec",
    "replayed": "settled()",
    "rising": "risen",
    "rules": "association_rules(found)",
    "search": "screening.how",
    "supports": "law.supports",
    "tables": "parts",
    "times": "values",
    "totals": "point",
    "variance": "law.variance",
    "weights": 'parts["weights"]',
    "who": "about",
    "why": "screening.how",
}
"""Members of estimates that were removed, and what to use instead."""
ITSELF = "run() and close() give the estimate itself, and further results are in its parts"


def explain_removed(package: str) -> None:
    """Make errors about a package's removed names say what to use instead."""

    def refuse(name: str) -> NoReturn:
        raise missing_name(package, name)

    sys.modules[package].__getattr__ = refuse  # type: ignore[method-assign]  # in the package itself, it would make type checkers accept any name


def missing_name(module: str, name: str) -> Exception:
    """Return the error about a name that a package does not have.

    It is an ImportError for removed names, since ``from deniable import ...`` replaces the text of an AttributeError.
    """
    if name in NAMES:
        return ImportError(f"{module}.{name} was removed; use {NAMES[name]}", name=module)
    return AttributeError(f"module {module!r} has no attribute {name!r}")


def missing_member(of: Any, name: str) -> AttributeError:
    """Return the error about a member that an estimate does not have."""
    instead = f"; it was removed: use {MEMBERS[name]}" if name in MEMBERS else ""
    return AttributeError(f"{type(of).__name__!r} object has no attribute {name!r}{instead}", name=name, obj=of)
