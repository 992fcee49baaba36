"""``deniable party``: take part in a secure sum with numbers that nobody else sees."""

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
Folder = Annotated[Path, typer.Option(help="Where the party keeps its identity, and where it stands in each sum.")]
Url = Annotated[str, typer.Option(help="The aggregator.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Speak plain http, on a network that you trust.")]
LARGEST = 1 << 26
"""The most bytes that are read of an aggregator's answer."""
ANSWER_SECONDS = 300.0
"""How long one exchange with the aggregator may take in all; a message can be of 134 MB."""


@party.command()
def keys(folder: Folder, json_output: Json = False) -> None:
    """Make the party's identity and print its public key, which goes into the terms. Harmless if it is there."""
    with summing_extra("deniable party"):
        from deniable.collect.sums.party_folder import PartyFolder
    key = PartyFolder(folder).make_identity().hex()
    print_json({"key": key}) if json_output else typer.echo(key)
    remark("Give these digits to whoever writes the terms.")
    remark("Back up identity.json alone, never the folder. After any restore confirm no sum that was created before it,")
    remark("and have the keys of a stream dealt anew: a party that forgot what it said could say something else.")


@party.command()
def terms(url: Url, insecure: Insecure = False, json_output: Json = False) -> None:
    """Show the terms of an aggregator's sum with their id, and what is promised: read them before you confirm them."""
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
        str, typer.Option("--sum", help="The id of the terms, which confirms them; without it they are shown, and that is all.")
    ] = "",
    numbers: Annotated[Path | None, typer.Option(help="The party's numbers, .csv or .json; not read again once it has begun.")] = None,
    secret: Annotated[Path | None, typer.Option(help="Its file of a dealer: a decryptor's, or that of a party of a stream.")] = None,
    patience: Annotated[float, typer.Option(help="Seconds to try without an answer before giving up for now.")] = 3_600.0,
    insecure: Insecure = False,
    json_output: Json = False,
) -> None:
    """Take part: adds the party's share of the noise, hides the numbers, and stays until the sum is over; or opens it, as a decryptor.

    It can be killed at any time: the same command goes on where it stopped. Exit status 2: it is not in the sum, or there is none.
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

    clock_of(os.environ)  # tests may have named a point at which this dies
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
                raise ParameterError("--numbers", "nothing", allowed="a file", fix="this party has not begun yet: give its numbers")
            return read_numbers(numbers, agreement)

        end = take_part(kept, way, read, say=remark)
    if end != OPENED:
        standing = kept.standing(agreement.id)
        spent = standing is not None and standing.spent
        fix = {LOST: "its numbers are not in the sum", LATE: "its numbers are in the sum, which goes on without it"}
        again = "it may have been opened all the same, so its epsilon is spent: begin a new sum" if spent else "begin a new sum"
        raise ProtocolError("sum", end, allowed="a sum that was opened", fix=fix.get(end, again))
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
    """Show the sums that this party took part in, and what they cost, opened or not, once its vector was sent: epsilons add up."""
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
