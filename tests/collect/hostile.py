"""Publications as an attacker would write them: mutations of honest ones, some signed again by a key of the attacker's own.

``verify`` may refuse a folder with an error of the package, or accept it; it must not fail otherwise, hang, or fill the memory. What nobody
has signed again it may accept only if every byte is the one that was signed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

import deniable as dn
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.publication_files import CONTEXT
from deniable.collect.publication.verification import verify_publication
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.ed25519 import TASK_CONTEXT
from deniable.contract.envelope import Envelope
from deniable.contract.public_log import LOG_CONTEXT, LogEntry, log_record
from deniable.contract.task import Task
from deniable.errors import DeniableError
from deniable.sealing.identity import sign
from tests.collect.crowd import send, survey_task
from tests.collect.publishing import SEED, crowd, opened, sealed, searched

SECONDS = 20
"""A verification that takes longer than this hangs: an honest one of these takes a tenth of a second."""
DEEP = "[" * 100_000
NASTY = [
    *(-1, 0, 1, 2, 7, 2**31, 2**32, 2**53 - 1, 2**63, 10**400, True, None, 0.5, 1e308, [], {}, [[]], {"a": 1}, [0] * 50),
    *(
        "",
        "\0",
        "0",
        "1",
        "-1",
        "00",
        "1.0",
        "1e999",
        "-inf",
        "nan",
        "1/3",
        "1/0",
        "9" * 5000,
        "ab",
        "../..",
        "é",
        "\ud83d\ude00",
        "f" * 64,
    ),
]
"""Values that take the place of others in JSON."""


@dataclass(frozen=True)
class Attack:
    """A mutated folder: which files differ, what was done, and whether somebody has signed the result."""

    files: dict[str, bytes]
    what: str
    signed: bool
    special: tuple[str, str] | None = None
    """A name that is no ordinary file, and what it is."""


def honest(folder: Path) -> dict[str, tuple[Path, bytes]]:
    """Publications and the seeds of their keys: a survey of three questions, one with eight reports, a search in two rounds."""
    collector, task = opened(folder / "survey-store", minimum_batch=1)
    send(collector, *crowd(task))
    sealed(collector, task)
    publish_reports(collector, task.id, folder / "survey", [0])
    collector.store.close()
    collector, task = opened(folder / "small-store", minimum_batch=1)
    small = survey_task(collector.registry.key, dn.OUE(domain_size=5, epsilon=1.0), name="small", minimum_batch=1)
    collector.publish(small)
    spec = small.survey.questions[0].spec
    send(collector, *(Envelope(small.id, 0, 0, 0, bytes([0] * 15 + [i]), spec.encode(spec.randomize(i % 5))) for i in range(8)))
    collector.seal(small.id, 0)
    publish_reports(collector, small.id, folder / "small")
    collector.store.close()
    collector, task = searched(folder / "search-store", rounds=2)
    seed = collector.store.signing_key()
    publish_reports(collector, task.id, folder / "search")
    collector.store.close()
    return {name: (folder / name, key) for name, key in (("survey", SEED), ("small", SEED), ("search", seed))}


class Attacker:
    """Draws attacks on a publication. ``seed`` is the key of its task: the attacker may be whoever has published it."""

    def __init__(self, folder: Path, random: Random, seed: bytes) -> None:
        self.files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        self._random = random
        self._seed = seed

    def attack(self) -> Attack:
        """The next one."""
        random = self._random
        name = random.choice(sorted(self.files))
        kind = random.choice(["bytes", "bytes", "json", "json", "json", "files", "special", "task", "parquet"])
        if kind == "special":
            special = random.choice(["missing", "folder", "loop", "zero", "fifo", "dangling", "elsewhere", "extra", "hole", "signed hole"])
            signed = special == "signed hole"
            files = self.claiming(1 << 40, self.files) if signed else self.files
            return Attack(files, f"{special} {name}", signed=signed, special=(name, special.removeprefix("signed ")))
        if kind == "task":
            return self._other_task()
        files = dict(self.files)
        if kind == "bytes":
            files[name] = self._other_bytes(files[name])
        elif kind == "parquet":
            name = random.choice([each for each in sorted(files) if each.endswith(".parquet")])
            if random.random() < 0.5:
                files[name] = self._other_bytes(files[name])
            else:
                files[name] = self._other_table(files[name])
                if random.random() < 0.3:  # the manifest claims what the footer does
                    return Attack(self.claiming(rows_of(files[name]), files), f"parquet {name}, claimed", signed=True)
        elif kind == "json":
            name = random.choice([each for each in sorted(files) if each.endswith(".json")])
            files[name] = self._other_json(files[name])
        else:
            other = random.choice(sorted(files))
            files[name], files[other] = files[other], files[name]
            kind = f"files {other}"
        signed = random.random() < 0.7
        return Attack(self._signed(files) if signed else files, f"{kind} {name}", signed=signed)

    # --- changes ---

    def _other_bytes(self, data: bytes) -> bytes:
        random = self._random
        place, length = random.randrange(len(data) + 1), random.choice([1, 4, 64])
        flipped = bytearray(data)
        for _ in range(random.choice([1, 1, 1, 8])):
            at = random.randrange(len(data) or 1)
            flipped[at : at + 1] = bytes([flipped[at] ^ 1 << random.randrange(8)]) if data else b""
        big = random.choice([b"\xff", b"\0", b"\x7f"]) * length
        without, deep = data[:place] + data[place + length :], DEEP.encode()
        changed = [bytes(flipped), bytes(flipped), data[:place], without, data[:place] + big + data[place + length :], data[:place] + data]
        return random.choice([*changed, b"", data + b"\0", deep, b"9" * 10_000, b"\xff\xfe" + data])

    def _other_json(self, data: bytes) -> bytes:
        random, content = self._random, json.loads(data)
        for _ in range(random.choice([1, 1, 2])):
            content = self._changed(content)
        try:
            return canonical_json(content)
        except ValueError:  # what has no canonical form is a hostile file, too
            text = json.dumps(content, allow_nan=True)
            return (text.replace('"ab"', DEEP) if random.random() < 0.2 else text).encode("utf-8", "surrogatepass")

    def _changed(self, content: object) -> object:
        """The content with one value of it replaced, left out, repeated or put under another name; inside of JSON in text, too."""
        random = self._random
        if isinstance(content, dict) and content and random.random() < 0.93:
            name = random.choice(sorted(content))
            return content | {name: self._changed(content[name])}
        if isinstance(content, list) and content and random.random() < 0.9:
            place = random.randrange(len(content))
            return [*content[:place], self._changed(content[place]), *content[place + 1 :]]
        if isinstance(content, str) and content.startswith(("{", "[")) and DEEP not in content and random.random() < 0.95:
            return self._other_json(content.encode()).decode("utf-8", "surrogatepass")
        if isinstance(content, list) and random.random() < 0.5:
            return random.choice([content[:-1], content + content[-1:], content[::-1], content * 3])
        if isinstance(content, dict) and random.random() < 0.5:
            return {name: value for name, value in content.items() if random.random() < 0.7} | (
                {"more": 1} if random.random() < 0.3 else {}
            )
        if isinstance(content, int) and not isinstance(content, bool) and random.random() < 0.5:
            return random.choice([content + 1, content - 1, -content, content * 1000, content << 20])
        return random.choice(NASTY)

    def _other_table(self, data: bytes) -> bytes:
        """A sound Parquet file with other rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        random, source, target = self._random, pa.BufferReader(data), pa.BufferOutputStream()
        table = pq.read_table(source)
        change = random.choice(["less", "many", "none", "types", "nulls", "columns", "metadata", "footer"])
        if change == "footer":
            return with_footer(data, random.choice([0, 1, len(table) - 1, len(table) + 1, 1000 * len(table), 1 << 40]))
        if change == "many":
            table = pa.concat_tables([table.slice(0, 1)] * random.choice([2, 1000, 100_000])).combine_chunks()
        elif change == "types":
            table = pa.table({name: pa.array(["x" * 9] * len(table)) for name in table.column_names}, metadata=table.schema.metadata)
        elif change == "nulls":
            table = pa.table([pa.nulls(len(table), field.type) for field in table.schema], schema=table.schema)
        elif change == "columns":
            table = table.append_column("more", pa.array(range(len(table))))
        elif change == "metadata":
            spec = json.dumps(self._changed(json.loads(table.schema.metadata[b"deniable"])))
            table = table.replace_schema_metadata({"deniable": spec.encode("utf-8", "replace")})
        else:
            table = table.slice(0, len(table) // 2 if change == "less" else 0)
        pq.write_table(table, target, use_dictionary=False)
        return target.getvalue().to_pybytes()

    def _other_task(self) -> Attack:
        content = json.loads(self.files["task.json"])
        return self.with_task(self._other_json(content["task"].encode()))

    def with_task(self, canonical: bytes) -> Attack:
        """Another task, signed, alone in a log of its own, with a manifest to it: what is behind all signatures is reached."""
        files = dict(self.files)
        try:
            task = Task.from_json(canonical)
        except DeniableError:
            identity, entry = hashlib.sha256(canonical).digest(), json.loads(files["log.json"])
        else:
            record = log_record(0, "task", task.id, canonical, bytes(32))
            identity, entry = task.id, [LogEntry(record, sign(self._seed, LOG_CONTEXT, record)).to_json()]
        signature = sign(self._seed, TASK_CONTEXT, canonical).hex()
        files["task.json"] = canonical_json({"task": canonical.decode("utf-8", "replace"), "signature": signature})
        files["log.json"] = canonical_json(entry)
        return Attack(self._signed(files, task=identity.hex()), "task", signed=True)

    def claiming(self, reports: int, files: dict[str, bytes]) -> dict[str, bytes]:
        """The files with a signed manifest that claims so many reports in each batch."""
        batches = parse_canonical(files["manifest.json"])["batches"]
        return self._signed(files, batches=[batch | {"reports": reports} for batch in batches])

    def _signed(self, files: dict[str, bytes], **changes: object) -> dict[str, bytes]:
        """The files with a manifest that its key has signed, if it has any form that can be signed."""
        try:
            content = parse_canonical(files["manifest.json"])
            content.pop("signature")
            if self._random.random() < 0.9:
                content["files"] = {name: hashlib.sha256(files[name]).hexdigest() for name in content["files"]}
            signature = sign(self._seed, CONTEXT, canonical_json(content | changes)).hex()
            return files | {"manifest.json": canonical_json(content | changes | {"signature": signature})}
        except (DeniableError, KeyError, TypeError, AttributeError):
            return files


def with_footer(data: bytes, rows: int) -> bytes:
    """A Parquet file whose footer claims so many rows in all; the footers of its row groups stay as they are."""
    length = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - length], data[-8 - length : -8]
    footer = footer.replace(b"\x16" + _number(rows_of(data)) + b"\x19", b"\x16" + _number(rows) + b"\x19", 1)  # a number, then a list
    changed = body + footer + len(footer).to_bytes(4, "little") + data[-4:]
    assert rows_of(changed) == rows
    return changed


def rows_of(data: bytes) -> int:
    """How many rows a Parquet file claims."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.BufferReader(data)).metadata.num_rows


def _number(value: int) -> bytes:
    """A natural number as Thrift writes it compactly: twice the number, seven bits a byte, the lowest first."""
    value, parts = 2 * value, []
    while value >= 128:
        value, low = divmod(value, 128)
        parts.append(128 + low)
    return bytes([*parts, value])


@contextmanager
def laid_out(attack: Attack, base: dict[str, bytes], folder: Path):
    """The attack in a folder that holds the honest files otherwise, and afterwards holds them again."""
    changed = [name for name, data in attack.files.items() if base[name] != data]
    for name in changed:
        (folder / name).write_bytes(attack.files[name])
    if attack.special:
        changed.append(attack.special[0])
        _make_special(folder / attack.special[0], attack.special[1], folder)
    try:
        yield
    finally:
        for name in changed:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
            path.write_bytes(base[name])
        for name in ("more.json", "reports/more"):
            (folder / name).unlink(missing_ok=True)


def _make_special(path: Path, kind: str, folder: Path) -> None:
    if kind == "extra":
        (folder / "more.json").write_bytes(b"{}")
        os.mkfifo(folder / "reports" / "more")
        return
    data = path.read_bytes()
    if kind == "hole":
        os.truncate(path, 1 << 42)
        return
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "elsewhere":
        (folder.parent / "same").write_bytes(data)
        path.symlink_to(folder.parent / "same")
    elif kind != "missing":
        path.symlink_to({"loop": path, "zero": Path("/dev/zero"), "dangling": folder / "nowhere"}[kind])


def _too_long(_signal: int, _frame: object) -> None:
    raise AssertionError("it hangs")


def verdict(folder: Path) -> str:
    """Say "accepted" or "refused"; AssertionError if it takes too long, and whatever else verification raises."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        with np.errstate(all="ignore"):
            found = verify_publication(folder)
            assert found.reports == sum(tally.n for tally in found.tallies.values()), "it counts other reports than it claims"
    except DeniableError as error:
        return "refused" if str(error) else "silent"
    finally:
        signal.alarm(0)
    return "accepted"


def throw(folder: Path, key: bytes, attacks: int, *, seed: int) -> dict[str, int]:
    """Throw so many attacks at a copy of a publication; how many ended how. The seed draws the attacks: each can be repeated."""
    copy = folder.with_name(folder.name + "-attacked")
    shutil.copytree(folder, copy)
    attacker, counts = Attacker(folder, Random(seed), key), {"accepted": 0, "refused": 0}
    assert verdict(copy) == "accepted"
    for number in range(attacks):
        attack = attacker.attack()
        with laid_out(attack, attacker.files, copy):
            try:
                found = verdict(copy)
            except BaseException as error:
                raise AssertionError(f"attack {number} of seed {seed}: {attack.what}") from error
        counts[found] += 1
        same = attack.files == attacker.files and (attack.special is None or attack.special[1] == "elsewhere")
        assert found == "refused" or attack.signed or same, (number, attack.what)
    return counts
