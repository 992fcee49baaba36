"""``deniable party``: contribute to a secure sum numbers that nobody else sees."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.console import out, print_json, remark, table, tell, waiting
from deniable.cli.extra import summing_extra
from deniable.cli.options import Json
from deniable.errors import ParameterError, ProtocolError

if TYPE_CHECKING:
    from deniable.collect.sums.agreement import Agreement

party = typer.Typer(no_args_is_help=True, help="Take part in a secure sum.")
Folder = Annotated[Path, typer.Option(help="The party's folder, with its identity and its progress in each sum.")]
Url = Annotated[str, typer.Option(help="The aggregator's address.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow plain http, on a network that you trust.")]
LARGEST = 1 << 26
"""The largest answer of an aggregator, in bytes."""
ANSWER_SECONDS = 300.0
"""The longest exchange with the aggregator, in seconds; a message can have 134 MB."""


@party.command()
def keys(folder: Folder, json_output: Json = False) -> None:
    """Create the party's identity, and print its public key for the terms. Keeps an identity that exists."""
    with summing_extra("deniable party"):
        from deniable.collect.sums.party_folder import PartyFolder
    key = PartyFolder(folder).make_identity().hex()
    print_json({"key": key}) if json_output else typer.echo(key)
    remark("Give this key to the person who writes the terms.")
    remark("Back up identity.json alone, never the folder. After a restore, confirm no sum that was created before it,")
    remark("and have the dealer generate new stream keys: a party that lost its state could send a different message.")


@party.command()
def terms(url: Url, insecure: Insecure = False, json_output: Json = False) -> None:
    """Show the terms of an aggregator's sum, their id, and the privacy promise: read them before you confirm."""
    with summing_extra("deniable party"):
        from deniable.client.transport import HTTPTransport
        from deniable.collect.sums.agreement import described
        from deniable.collect.sums.participation import fetch_agreement, patient

    transport = HTTPTransport(url, timeout=ANSWER_SECONDS, insecure=insecure, largest=LARGEST)
    with closing(transport), waiting(url, ANSWER_SECONDS):
        agreement = fetch_agreement(transport, patient(0))
    if json_output:
        parties, decryptors = (
            [{"name": member.name, "key": member.key.hex()} for member in members]
            for members in (agreement.parties, agreement.decryptors or ())
        )
        listed = {"parties": parties, "decryptors": decryptors}
        print_json({**described(agreement), **listed, "promise": agreement.guarantee.statement()})
        return
    _show_terms(agreement, tell)


@party.command()
def run(
    folder: Folder,
    url: Url,
    sum_: Annotated[
        str, typer.Option("--sum", help="The id of the terms, which confirms them; without it the command only shows them.")
    ] = "",
    numbers: Annotated[Path | None, typer.Option(help="The party's numbers as .csv or .json; read once, at the start.")] = None,
    secret: Annotated[
        Path | None, typer.Option(help="Secret file from the dealer (for decryptors and for parties of a stream sum).")
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds to retry without an answer before giving up.")] = 3_600.0,
    insecure: Insecure = False,
    json_output: Json = False,
) -> None:
    """Take part: add this party's noise, hide its numbers, and stay until the sum is complete; or help open it, as a decryptor.

    You can kill it at any time: run the same command again, and it continues. Exit status 2: no sum, or one without this party.
    """
    with summing_extra("deniable party"):
        from deniable.client.transport import HTTPTransport
        from deniable.collect.clock import clock_of
        from deniable.collect.storage.sum_store import OPENED
        from deniable.collect.sums.aggregation import LATE, LOST
        from deniable.collect.sums.numbers import read_numbers
        from deniable.collect.sums.participation import Way, confirmed, fetch_agreement, patient, take_part
        from deniable.collect.sums.party_folder import PartyFolder, read_private
        from deniable.collect.tasks.spans import until

    clock_of(os.environ)  # tests may name a point at which this process dies
    kept = PartyFolder(folder)
    transport = HTTPTransport(url, timeout=ANSWER_SECONDS, insecure=insecure, largest=LARGEST)
    identity = kept.identity()
    retries = patient(patience, say=remark, bound=lambda seconds: setattr(transport, "timeout", min(seconds, ANSWER_SECONDS)))
    remark(f"asking {url} for the terms, until {until(patience)} at the latest")
    with closing(transport):
        agreement = fetch_agreement(transport, retries)
        _show_terms(agreement, remark)
        confirmed(agreement, sum_)
        way = Way(transport, agreement, identity, retries, read_private(secret) if secret else b"")

        def read() -> list[float]:
            if numbers is None:
                raise ParameterError("--numbers", "nothing", allowed="a file", fix="pass this party's numbers: it has not sent any yet")
            return read_numbers(numbers, agreement)

        end = take_part(kept, way, read, say=remark)
    if end != OPENED:
        standing = kept.standing(agreement.id)
        spent = standing is not None and standing.spent
        fix = {
            LOST: "begin a new sum: its numbers are not in this one",
            LATE: "wait for the result: its numbers are in the sum, which goes on without it",
        }
        again = "begin a new sum" + (": this one may have been opened all the same, so its epsilon is spent" if spent else "")
        raise ProtocolError("sum", end, allowed="a complete sum", fix=fix.get(end, again))
    if json_output:
        print_json({"sum": agreement.id.hex(), "name": agreement.name, "state": end})
        return
    tell(f"{agreement.name}: opened")


def _show_terms(agreement: Agreement, say: Callable[[str], None]) -> None:
    from deniable.collect.sums.agreement import described

    for name, text in described(agreement).items():
        say(f"{name:<10}{text}")
    for member in agreement.members:
        say(f"{'':<10}{member.key.hex()}  {member.name}")
    say(agreement.guarantee.statement())


@party.command()
def sums(folder: Folder, json_output: Json = False) -> None:
    """Show the sums that this party took part in and what each cost. A sum costs epsilon once the vector is sent; epsilons add up."""
    with summing_extra("deniable party"):
        from deniable.collect.sums.party_folder import PartyFolder

    found = PartyFolder(folder).all()
    if json_output:
        listed = [
            {"sum": name, "name": each.name, "state": each.state, "spent": each.spent, "epsilon": each.epsilon, "delta": each.delta}
            for name, each in found.items()
        ]
        print_json({"sums": listed})
        return
    rows = table("Sums", ("sum", "name", "state", "epsilon", "delta"), words=("name", "state"), whole=("sum", "state"))
    for name, each in found.items():
        spent = (f"{each.epsilon:g}", f"{each.delta:g}") if each.spent else ("0", "0")
        rows.add_row(name[:16], each.name, each.state, *spent)
    out.print(rows)
