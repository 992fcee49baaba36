"""``deniable audit``: check a mechanism's code against its promise."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from deniable.cli.console import out, print_json, table, tell, working
from deniable.cli.exits import DIFFERS
from deniable.cli.mechanisms import Mechanism
from deniable.cli.options import Json
from deniable.client.exact import ExactSpec
from deniable.contract.spec import MECHANISMS, spec_from_json
from deniable.errors import ParameterError, WireError, one_of


def audit(
    mechanism: Annotated[Mechanism | None, typer.Argument(metavar="MECHANISM", help="The mechanism; or give --spec.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The privacy parameter; 1 if left out.")] = None,
    domain_size: Annotated[
        int | None, typer.Option(help="The number of values, a small one, since every report is enumerated; 4 if left out.")
    ] = None,
    spec_file: Annotated[Path | None, typer.Option("--spec", help="A spec's canonical JSON instead.", exists=True, dir_okay=False)] = None,
    trials: Annotated[
        int, typer.Option(help="Also sample this many reports of each input, for a lower bound on epsilon with 99 % confidence.", min=0)
    ] = 0,
    json_output: Json = False,
) -> None:
    """Enumerate the exact distribution of a mechanism's reports, and compare it with its promise.

    The exit status is 1 if they differ.
    """
    from deniable.contract.readable import confidence
    from deniable.lab.audit import empirical_audit, exact_audit
    from deniable.lab.audit.exact import audit_inputs

    spec = _spec(mechanism, epsilon, domain_size, spec_file)
    with working("enumerating every report"):
        result = exact_audit(spec)
    sampled = None
    if trials:
        first, *_, second = audit_inputs(spec.domain)
        with working(f"sampling {trials:,} reports of two inputs"):
            sampled = empirical_audit(spec, first, second, trials=trials)
    convicted = sampled is not None and sampled.convicted
    if json_output:
        content: dict[str, Any] = {"spec": repr(spec), "digest": spec.digest.hex(), "passed": result.passed and not convicted}
        content |= {"claimed": result.claimed, "epsilon": result.epsilon, "checks": [asdict(check) for check in result.checks]}
        if sampled is not None:
            content["empirical"] = {"epsilon_at_least": sampled.epsilon, "confidence": sampled.confidence, "trials": sampled.trials}
        print_json(content)
    else:
        checks = table(f"Exact audit of {spec!r}", ("check", "result", "what it means"), words=("result", "what it means"))
        for check in result.checks:
            checks.add_row(check.name, Text("passed", "green") if check.passed else Text("FAILED", "bold red"), check.detail)
        out.print(checks)
        tell(f"claimed epsilon {result.claimed:g}, actual epsilon {'infinite' if result.epsilon is None else repr(result.epsilon)}")
        if sampled is not None:
            tell(f"from samples: epsilon is at least {sampled.epsilon:.4f} (confidence {confidence(sampled.confidence)})")
    if convicted or not result.passed:
        raise typer.Exit(DIFFERS)


def _spec(mechanism: Any, epsilon: float | None, domain_size: int | None, spec_file: Path | None) -> ExactSpec:
    if spec_file is not None:
        given = [value for value in (mechanism, epsilon, domain_size) if value is not None]
        if given:
            raise ParameterError(
                "--spec", str(spec_file), allowed="--spec alone", fix=f"leave out {given[0]!s}: the file has all parameters"
            )
        try:
            spec = spec_from_json(spec_file.read_bytes().rstrip(b"\n"))  # editors end a file with a line break
        except WireError as error:
            raise WireError(f"{spec_file}, {error.parameter}", error.received, allowed=error.allowed, fix=error.fix) from error
    elif mechanism is None:
        raise ParameterError("MECHANISM", None, allowed=f"{one_of(sorted(MECHANISMS))}, or --spec", fix="try: deniable audit GRR")
    else:
        cls: Any = MECHANISMS[str(mechanism)]
        spec = cls.example(epsilon, domain_size)
    if not isinstance(spec, ExactSpec):
        raise ParameterError(
            "mechanism", spec.mechanism, allowed="a mechanism with a law to enumerate", fix="choose another mechanism, such as GRR"
        )
    return spec
