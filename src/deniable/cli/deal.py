"""``deniable deal``: generate keys for Paillier and stream sums, by a dealer that all parties trust to delete them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.console import print_json, remark, working
from deniable.cli.extra import summing_extra
from deniable.cli.options import Json
from deniable.errors import ParameterError

deal = typer.Typer(no_args_is_help=True, help="Generate keys for Paillier and stream sums. Hand them out, then delete your copies.")
Out = Annotated[Path, typer.Option("--out", help="A new folder for the files.")]


@deal.command()
def paillier(
    folder: Out,
    decryptors: Annotated[int, typer.Option(help="How many members the committee has.")],
    threshold: Annotated[int, typer.Option(help="How many of them it takes to open a sum: more than half.")],
    bits: Annotated[int, typer.Option(help="The length of the key in bits: 2048, 3072 or 4096.")] = 3072,
    json_output: Json = False,
) -> None:
    """Generate a key that a committee uses together.

    Writes key.toml for the terms, and share-1.json and so on, one for each decryptor. Finding large primes can take a minute.
    """
    with summing_extra("deniable deal"):
        from deniable.multiparty.dealer import deal_paillier

    _write(folder, lambda: deal_paillier(bits=bits, decryptors=decryptors, threshold=threshold), json_output)


@deal.command()
def stream(
    folder: Out,
    parties: Annotated[int, typer.Option(help="How many parties the stream has; every one reports in every period.")],
    json_output: Json = False,
) -> None:
    """Generate the secrets of a stream sum.

    Writes key.toml for the terms, aggregator.json, and party-1.json and so on, in the order of the terms.
    """
    with summing_extra("deniable deal"):
        from deniable.multiparty.dealer import deal_stream

    _write(folder, lambda: deal_stream(parties=parties), json_output)


def _write(folder: Path, make: Callable[[], dict[str, bytes]], json_output: bool) -> None:
    from deniable.collect.sums.party_folder import write_private

    if folder.exists():
        raise ParameterError("--out", str(folder), allowed="a new folder", fix="choose another one: keys are dealt once")
    with working("generating keys"):
        files = make()
    folder.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        write_private(folder / name, content)
    places = [str(folder / name) for name in files]
    print_json({"files": places}) if json_output else typer.echo("\n".join(places))
    remark("key.toml goes into the terms. Send every other file to its owner securely, then delete it: together they decrypt everything.")
