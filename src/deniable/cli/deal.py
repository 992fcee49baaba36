"""``deniable deal``: make the keys of sums under encryption and of streams, for somebody whom all parties trust to forget them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.console import print_json, remark, working
from deniable.cli.extra import summing_extra
from deniable.cli.options import Json
from deniable.errors import ParameterError

deal = typer.Typer(no_args_is_help=True, help="Deal the keys of secure sums that are not by masking. Deal, hand out, delete.")
Out = Annotated[Path, typer.Option("--out", help="A new folder for the files.")]


@deal.command()
def paillier(
    folder: Out,
    decryptors: Annotated[int, typer.Option(help="The members of the committee.")],
    threshold: Annotated[int, typer.Option(help="How many of them open a sum, or together anything: more than half.")],
    bits: Annotated[int, typer.Option(help="The length of the key: 2048, 3072 or 4096.")] = 3072,
    json_output: Json = False,
) -> None:
    """Make a key that a committee opens together.

    Writes key.toml for the terms, and share-1.json and so on, one for each decryptor. It looks for large primes, for a minute perhaps.
    """
    with summing_extra("deniable deal"):
        from deniable.multiparty.dealer import deal_paillier

    _write(folder, lambda: deal_paillier(bits=bits, decryptors=decryptors, threshold=threshold), json_output)


@deal.command()
def stream(
    folder: Out,
    parties: Annotated[int, typer.Option(help="The parties of the stream, all of them in every period.")],
    json_output: Json = False,
) -> None:
    """Make the secrets of a stream.

    Writes key.toml for the terms, aggregator.json, and party-1.json and so on, in the order of the terms.
    """
    with summing_extra("deniable deal"):
        from deniable.multiparty.dealer import deal_stream

    _write(folder, lambda: deal_stream(parties=parties), json_output)


def _write(folder: Path, make: Callable[[], dict[str, bytes]], json_output: bool) -> None:
    from deniable.collect.sums.party_folder import write_private

    if folder.exists():
        raise ParameterError("--out", str(folder), allowed="a folder that is not there yet", fix="keys are dealt once")
    with working("dealing keys"):
        files = make()
    folder.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        write_private(folder / name, content)
    places = [str(folder / name) for name in files]
    print_json({"files": places}) if json_output else typer.echo("\n".join(places))
    remark("key.toml goes into the terms. Hand every other file to whom it is for, over a safe way, and delete it: who has all, reads all.")
