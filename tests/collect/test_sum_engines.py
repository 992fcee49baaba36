"""Sums under encryption and streams through the same service: exact, however often everybody is stopped, and nothing opened for too few."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deniable.client.transport import TransportError
from deniable.collect.storage.sum_store import SumStore
from deniable.collect.sums.aggregation import Aggregation, Over, Patience, estimate_of
from deniable.collect.sums.agreement import Agreement, described
from deniable.collect.sums.agreement_file import read_agreement_file
from deniable.collect.sums.participation import Way, patient, take_part
from deniable.collect.sums.party_folder import PartyFolder, read_private
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.multiparty.dealer import deal_stream
from deniable.multiparty.message import Message
from deniable.multiparty.paillier.roles import OPENED
from tests.collect.test_sums import Direct
from tests.multiparty.inside import contribution
from tests.multiparty.small_keys import long_files

PARTIES = 4
SHARES = {"paillier": ("1/2", "1/4", "1/4"), "stream": ("1/2", "1/2", "0")}
ENGINES = tuple(SHARES)


@pytest.fixture(scope="module")
def dealt():
    """What dealers handed out."""
    return {"paillier": long_files(), "stream": deal_stream(parties=PARTIES)}


def text_of(engine, keys, dealt):
    honest, corrupt, lost = SHARES[engine]
    tables = {"parties": keys[:PARTIES], "decryptors": keys[PARTIES:]}
    named = "".join(
        f"[{table}]\n" + "".join(f'{table}-{at} = "{key.hex()}"\n' for at, key in enumerate(each)) for table, each in tables.items()
    )
    head = f'name = "week 46"\nvalues = ["flu", "rsv"]\nunit = "person"\nepsilon = 1.0\nengine = "{engine}"\n'
    shares = f'honest = "{honest}"\ncorrupt = "{corrupt}"\nlost = "{lost}"\n[numbers]\nlargest = 1000\n'
    return head + shares + named + dealt[engine]["key.toml"].decode()


class Others:
    """Parties with folders, decryptors where there are any, and their aggregation."""

    def __init__(self, folder, engine, dealt):
        self.files, count = dealt[engine], PARTIES + (3 if engine == "paillier" else 0)
        self.folders = [PartyFolder(folder / str(number)) for number in range(count)]
        self.agreement = read_agreement_file(text_of(engine, [own.make_identity() for own in self.folders], dealt).encode())
        names = [f"party-{at + 1}.json" for at in range(PARTIES)] + [f"share-{at + 1}.json" for at in range(3)]
        self.secrets = [self.files.get(name, b"") for name in names]
        self.now, self.said = 0.0, []
        self.store = SumStore(folder / "store", self.agreement.canonical)
        self.sum = self.made()
        self.ways = [Direct(self.sum) for _ in range(count)]

    def made(self):
        """The aggregation as its folder has it."""
        secret = self.files.get("aggregator.json", b"")
        return Aggregation(self.store, steady=lambda: self.now, patience=Patience(100, 10), secret=secret)

    def go(self, *numbers):
        """Have members go on as far as they can: they give up where nothing is there for them yet."""
        ends = []
        for number in numbers or range(len(self.folders)):
            way = Way(self.ways[number], self.agreement, self.folders[number].identity(), patient(0), self.secrets[number])
            try:
                ends.append(take_part(self.folders[number], way, lambda number=number: [10 * number, number], say=self.said.append))
            except TransportError:
                ends.append("")
        return ends

    def true(self, *numbers):
        """The sum of what parties put in, with its noise."""
        sent = [bytes.fromhex(self.folders[number].standing(self.agreement.id).outgoing) for number in numbers]
        found = [contribution(self.agreement.roles, data, self.files) for data in sent]
        assert np.abs(np.array(found) - [[10 * number, number] for number in numbers]).max() < self.agreement.plan.reach
        return np.sum(found, axis=0).tolist()


@pytest.fixture
def whole(tmp_path, dealt, engine):
    found = Others(tmp_path, engine, dealt)
    yield found
    found.store.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_goes_through_however_often_everybody_is_stopped(whole, engine):
    """Each step of each member is a new start; the aggregator is made anew from its folder after every message, too."""
    for way in whole.ways:
        way.before = lambda body, way=way: setattr(way, "sum", whole.made())
    everybody = len(whole.folders)
    for _ in whole.agreement.roles.steps:
        assert whole.go() == [""] * everybody
        whole.go()  # and once more: what was sent is sent again
        true = whole.true(*range(PARTIES))
        whole.sum = whole.made()
        assert whole.sum.tend()
        for way in whole.ways:
            way.sum = whole.sum
    assert whole.go() == ["opened"] * everybody
    assert all(len(set(way.sent)) == 1 for way in whole.ways)  # never a second message of anybody
    estimate = estimate_of(whole.store)
    assert (estimate.values, estimate.point.tolist()) == (("flu", "rsv"), true)
    spent = [folder.standing(whole.agreement.id).spent for folder in whole.folders]
    assert spent == [number < PARTIES for number in range(everybody)]
    assert all(folder.standing(whole.agreement.id).engine == "" for folder in whole.folders)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_sent_before_it_is_on_disk(whole, engine):
    for number, way in enumerate(whole.ways):
        way.before = lambda body, number=number: kept(body, whole.folders[number].standing(whole.agreement.id))

    def kept(body, standing):
        assert bytes.fromhex(standing.outgoing) == body
        state = json.loads(standing.engine)
        assert state["opened"] if Message.open(body).kind == OPENED else state["message"] == body.hex()

    for _ in whole.agreement.roles.steps:
        whole.go()
        whole.sum.tend()
    assert whole.sum.state == "opened"


@pytest.mark.parametrize("engine", ["paillier"])
def test_lost_parties_and_lost_decryptors(whole):
    """One party never comes and one decryptor never answers; who has sent its numbers waits for the end, and is told."""
    whole.go(0, 2, 3)
    true = whole.true(0, 2, 3)
    whole.now = 100.0
    assert whole.sum.tend()
    assert whole.go(0, 1, 4) == ["", "lost", ""]
    assert (whole.sum.status()["step"], whole.sum.status()["waiting"]) == ("opening", 2)
    whole.go(6)
    assert whole.sum.tend()  # two are enough
    assert whole.go(1, 2, 3, 4, 5, 6) == ["lost", *["opened"] * 5]
    assert not whole.sum.everybody_told
    assert whole.go(0) == ["opened"]
    assert whole.sum.everybody_told
    assert estimate_of(whole.store).point.tolist() == true
    assert whole.store.kept().survivors == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_too_few_are_aborted_and_nothing_is_opened(whole, engine):
    present = [0, 1, 2] if engine == "stream" else [0, 1]
    whole.go(*present)
    whole.now = 100.0
    assert whole.sum.tend()
    assert whole.go() == ["aborted"] * len(whole.folders)
    with pytest.raises(ProtocolError, match=r"nothing was opened|no sum"):
        estimate_of(whole.store)
    assert all(Message.open(body).kind == 1 for way in whole.ways for body in way.sent)


@pytest.mark.parametrize("engine", ["paillier"])
def test_too_few_decryptors(whole):
    whole.go()
    whole.sum.tend()
    whole.go(4)
    whole.now = 10.0
    assert whole.sum.tend()
    assert whole.go() == ["aborted"] * 7
    with pytest.raises(ProtocolError, match="nothing was opened"):
        estimate_of(whole.store)
    assert whole.folders[0].standing(whole.agreement.id).spent


class Lying:
    """An aggregator that asks once, keeps whatever it gets, and says that it is over."""

    def __init__(self, asked):
        self.asked = [asked]

    def take(self, party, data):
        pass

    def look(self, party):
        if not self.asked:
            raise Over("opened")
        return self.asked.pop()


@pytest.mark.parametrize("engine", ["paillier"])
def test_a_decryptor_that_was_killed_does_not_open_another_sum(whole):
    """A lying aggregator asks for all, and after the decryptor was killed for all but one: the difference would be that one."""
    whole.go()
    whole.sum.tend()
    asked, way = whole.sum.look(4), whole.ways[4]

    def cut(_):
        raise KeyboardInterrupt  # as good as kill -9: the answer is on disk, and did not leave

    way.before = cut
    with pytest.raises(KeyboardInterrupt):
        whole.go(4)
    message = Message.open(asked)
    fewer = message._replace(body=b"\x03\0\0\0" + message.body[4:16] + message.body[20:])
    way.before, way.lie = lambda body: None, lambda _: fewer.pack()
    way.sum = Lying(asked)
    with pytest.raises(ProtocolError, match="begin a new sum"):
        whole.go(4)
    assert len(set(way.sent)) == 1


# --- agreements ---


@pytest.mark.parametrize("engine", ENGINES)
def test_an_agreement_names_its_engine_and_who_is_trusted(whole, engine, dealt):
    agreement = whole.agreement
    assert Agreement.from_json(agreement.canonical) == agreement
    assert Agreement.from_json(agreement.canonical).id == agreement.id
    shown, promise = described(agreement), agreement.guarantee.statement()
    assert shown["engine"] == f"{engine}, key {agreement.roles.key_id.hex()}"
    assert "a dealer who forgot" in promise
    assert ("fewer than 2 of 3 decryptors" in promise) == (engine == "paillier")
    content = json.loads(agreement.canonical)
    other = content["key"] | ({"stream": "ab" * 32} if engine == "stream" else {"threshold": 3})
    changed = Agreement.from_json(json.dumps(content | {"key": other}, sort_keys=True, separators=(",", ":")).encode())
    assert changed.id != agreement.id
    for damage in ({"engine": "masking"}, {"key": 1}, {"key": {}}, {"decryptors": 5}, {"decryptors": [{"name": "x"}]}, {"signed": True}):
        with pytest.raises((WireError, ParameterError)):
            Agreement.from_json(json.dumps(content | damage, sort_keys=True, separators=(",", ":")).encode())


@pytest.mark.parametrize("engine", ENGINES)
def test_without_ones_secret_there_is_nothing_to_do(whole, engine, tmp_path):
    place = 0 if engine == "stream" else 4
    whole.secrets[place] = b""
    with pytest.raises(ParameterError, match="secret"):
        whole.go(place)
    assert whole.folders[place].standing(whole.agreement.id) is None
    if engine == "stream":
        with pytest.raises(ParameterError, match="secret"):
            Aggregation(whole.store, steady=lambda: 0.0)
    (tmp_path / "open.json").write_bytes(b"{}")
    (tmp_path / "open.json").chmod(0o644)
    with pytest.raises(ParameterError, match="chmod 600"):
        read_private(tmp_path / "open.json")


@pytest.mark.parametrize("engine", ["paillier"])
@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('engine = "paillier"', "", "leave them out"),
        ('engine = "paillier"', 'engine = "magic"', "use masking"),
        ('engine = "paillier"', 'engine = "paillier"\nsigned = true', "use masking"),
        ('engine = "paillier"', 'engine = "paillier"\nhybrid = true', "leave hybrid out"),
        ("[decryptors]", "[parties.more]", "what deniable party keys printed"),
        ("threshold = 2", "threshold = 4", "for whom the key was dealt"),
        ("threshold = 2", "treshold = 2", "key.toml"),
        ("threshold = 2", "threshold = 2.0", "key.toml"),
        ("threshold = 2", "threshold = 2026-11-16", "key.toml"),
        ('engine = "paillier"', "engine = 1.5", "engine.*quotation marks"),
        ("[key]", "[[key]]", "begin it with .key"),
        ("parties-1", "decryptors-1", "the same name twice"),
    ],
)
def test_mistakes_in_the_file_are_named(dealt, engine, old, new, named):
    text = text_of(engine, [bytes([number]) * 32 for number in range(7)], dealt)
    assert old in text
    with pytest.raises(ParameterError, match=named):
        read_agreement_file(text.replace(old, new, 1).encode())


def test_slots_are_as_wide_as_the_sum_and_a_stream_is_refused_what_it_cannot_find(dealt):
    """Four times 10^12 and some noise, with a sign; a logarithm in that range would take years."""
    texts = [text_of(engine, [bytes([number]) * 32 for number in range(7)], dealt) for engine in ENGINES]
    large = [text.replace("largest = 1000", "largest = 1_000_000_000_000").encode() for text in texts]
    assert read_agreement_file(large[0]).roles.agreement.packing.width == 43
    with pytest.raises(ParameterError, match="larger sums"):
        read_agreement_file(large[1].replace(b"[decryptors]", b"#").replace(b"decryptors-", b"#"))


def test_a_key_for_each_role(dealt):
    with pytest.raises(ParameterError, match="the same key twice"):
        read_agreement_file(text_of("paillier", [bytes([number % 6]) * 32 for number in range(7)], dealt).encode())
