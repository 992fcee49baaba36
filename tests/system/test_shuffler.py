"""A shuffler in a process of its own, between devices and a receiver: order destroyed, nothing lost, nothing twice, whoever is killed."""

from __future__ import annotations

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise

import numpy as np
import pytest

from deniable.collect.faults import SHUFFLER_POINTS
from deniable.contract.sealed import seal_sizes
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import open_inners
from deniable.shuffle import mixer
from deniable.shuffle.mixer import Held, Rules
from tests.shuffle.ordering import REJECTED, likeness, score
from tests.system.shuffled_crowd import (
    Receiver,
    ShufflerProcess,
    free_port,
    pool,
    rank_task,
    seal_ranks,
)

PEOPLE = 40_000
BATCH = 16_384
FEW = ("--workers", "1")


def test_tens_of_thousands_of_reports_come_out_once_and_in_no_order(tmp_path):
    """Devices send in the order of their ranks, 500 seals in a request. Every rank comes out once; within a batch, positions have nothing
    to do with ranks or with digests (by which the store sorts), nor with another batch's: Spearman's test at alpha = 1e-6.
    """
    with Receiver(tmp_path / "receiver") as receiver, ShufflerProcess(tmp_path / "shuffler", "--batch", str(BATCH)) as shuffler:
        task = rank_task([shuffler.relay], minimum=1000)
        receiver.serve(task)
        shuffler.serve(task, receiver.url)
        notice = shuffler.notice()
        parts = [range(start, min(start + 500, PEOPLE)) for start in range(0, PEOPLE, 500)]
        sealing = [pool().submit(seal_ranks, task, receiver.analyst, [notice], part) for part in parts]
        for sealed in sealing:  # the first are on their way while the last are sealed
            assert shuffler.hand_in(sealed.result()).status == 201
        shuffler.end_period()
        receiver.wait(task, PEOPLE)
        assert shuffler.stop() == 0
        batches = receiver.batches(shuffler.relay.key)
        orders = receiver.ranks(task)
    assert sorted(rank for order in orders for rank in order) == list(range(PEOPLE))
    assert all(1000 <= len(order) < 2 * BATCH for order in orders)
    assert {len(seal) for batch in batches for seal in batch.seals} == {seal_sizes(task)[-1]}
    digests = [[int.from_bytes(hashlib.sha256(seal).digest()[:8], "big") for seal in batch.seals] for batch in batches]
    assert worst(orders, digests) < REJECTED
    largest = max(range(len(orders)), key=lambda i: len(orders[i]))
    rejects_twins(orders[largest], digests[largest])


def worst(orders: list[list[int]], digests: list[list[int]]) -> float:
    """The largest score: order against ranks, order against digests, one batch against the next."""
    alone = [abs(score(found)) for found in (*orders, *digests)]
    return max(alone + [abs(likeness(one, other)) for one, other in pairwise(digests)])


def rejects_twins(order: list[int], digests: list[int]) -> None:
    """The same statistics on the same seals, mixed by a shuffler that does not permute, and by one whose permutation never changes."""
    sealed = sorted(zip(digests, order, strict=True))  # as the store gives them
    held = [Held(digest.to_bytes(8, "big"), b"", b"%d" % rank) for digest, rank in sealed]
    fixed = mixer.permutation(len(held))
    for twin in (np.arange(len(held)), fixed):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mixer, "permutation", lambda count, source, twin=twin: twin)
            batches = [mixer.mix(Rules(minimum=10, batch=len(held)), held, over=True).batches[0] for _ in range(2)]
        number = {b"%d" % rank: digest for digest, rank in sealed}
        assert worst([[int(seal) for seal in batch] for batch in batches], [[number[seal] for seal in batch] for batch in batches]) > 100


def test_a_shuffler_that_dies_anywhere_loses_and_doubles_nothing(tmp_path):
    """At each point once: on the way into the store, into a batch and out of it. What was acknowledged comes out once, and nothing else."""
    chunk = 160  # each is enough for a batch
    ranks = range(chunk * len(SHUFFLER_POINTS))
    with Receiver(tmp_path / "receiver") as receiver, ShufflerProcess(tmp_path / "shuffler", "--batch", "100", *FEW) as shuffler:
        task = rank_task([shuffler.relay], minimum=50)
        receiver.serve(task)
        shuffler.fault(f"{SHUFFLER_POINTS[0]}:1")
        shuffler.serve(task, receiver.url)
        seals = seal_ranks(task, receiver.analyst, [shuffler.notice()], ranks)
        faults = [f"{point}:1" for point in SHUFFLER_POINTS[1:]] + [""]
        for start in range(0, len(ranks), chunk):
            shuffler.insist(seals[start : start + chunk], faults)
        while shuffler.environment["DENIABLE_TEST_FAULT"]:  # it dies in one of its threads, which nobody has to ask for
            shuffler.revive(faults)
        shuffler.end_period()
        receiver.wait(task, len(ranks))
        assert shuffler.codes(seals) == [""] * len(ranks)  # replays, of what is gone: successes that add nothing
        assert shuffler.stop() == 0
        found = receiver.ranks(task)
    assert sorted(rank for order in found for rank in order) == list(ranks)
    assert all(len(order) >= 50 for order in found)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_receiver_that_dies_gets_the_same_batch_again(tmp_path, when):
    """Before it is stored, or before it is answered: the id and every byte are the same, and the receiver says 200 the second time."""
    with Receiver(tmp_path / "receiver") as receiver, ShufflerProcess(tmp_path / "shuffler", "--batch", "100", *FEW) as shuffler:
        task = rank_task([shuffler.relay], minimum=50)
        receiver.serve(task)
        shuffler.serve(task, receiver.url)
        seals = seal_ranks(task, receiver.analyst, [shuffler.notice()], range(150))
        (receiver.folder / "die").write_text(when)
        shuffler.insist(seals)
        assert receiver.ended() == 137
        assert receiver.count() == (1 if when == "after" else 0)
        shuffler.restart()  # killed as well, with a batch on its way
        receiver.start()
        shuffler.end_period()
        receiver.wait(task, 150)
        assert shuffler.stop() == 0
        assert sorted(rank for order in receiver.ranks(task) for rank in order) == list(range(150))


def test_kills_at_random_moments_under_load(tmp_path):
    """Devices that insist, and a shuffler that is killed again and again."""
    with Receiver(tmp_path / "receiver") as receiver, ShufflerProcess(tmp_path / "shuffler", "--batch", "200", *FEW) as shuffler:
        task = rank_task([shuffler.relay], minimum=100)
        receiver.serve(task)
        shuffler.serve(task, receiver.url)
        seals = seal_ranks(task, receiver.analyst, [shuffler.notice()], range(900))
        with ThreadPoolExecutor(1) as background:
            for start in range(0, 900, 300):
                sending = background.submit(shuffler.hand_in, seals[start : start + 300])
                wait([sending], random.uniform(0, 0.1))  # a random moment, or once it is answered
                shuffler.restart()
                wait([sending])
                shuffler.insist(seals[start : start + 300])
        shuffler.end_period()
        receiver.wait(task, 900)
        assert shuffler.stop() == 0
        assert sorted(rank for order in receiver.ranks(task) for rank in order) == list(range(900))


@pytest.mark.parametrize("killed", [False, True])
def test_two_shufflers_in_a_row(tmp_path, killed):
    """The first passes on to the second by the same door that devices use; a chain whose second is killed loses and doubles nothing."""
    with (
        Receiver(tmp_path / "receiver") as receiver,
        ShufflerProcess(tmp_path / "second", "--batch", "200", *FEW) as second,
        ShufflerProcess(tmp_path / "first", "--batch", "100", *FEW) as first,
    ):
        task = rank_task([first.relay, second.relay], minimum=50)
        receiver.serve(task)
        second.options = (*second.options, "--port", str(free_port()))
        if killed:
            second.fault("seals durable:1")
        second.serve(task, receiver.url)
        first.options = (*first.options, "--next", second.url)
        first.serve(task, receiver.url)
        seals = seal_ranks(task, receiver.analyst, [first.notice(), second.notice()], range(400))
        assert {len(seal) for seal in seals} == {seal_sizes(task)[0]}
        assert second.codes(seals[:3]) == ["bad_seal"] * 3  # nobody skips a shuffler
        assert first.hand_in(seals).status == 201
        first.end_period()
        if killed:
            assert second.died() == 137
            second.fault("")
            second.start()
        first.wait_until_passed_on()
        second.end_period(1)
        receiver.wait(task, 400)
        assert (first.stop(), second.stop()) == (0, 0)
        orders = receiver.ranks(task)
    assert sorted(rank for order in orders for rank in order) == list(range(400))
    for order in orders:
        assert len(order) >= 50
        assert abs(score(order)) < REJECTED


def test_padding_hides_how_many_and_the_dummies_are_known_to_the_collector_alone(tmp_path):
    options = ("--batch", "100", "--pad", "64", *FEW)
    with Receiver(tmp_path / "receiver") as receiver, ShufflerProcess(tmp_path / "shuffler", *options) as shuffler:
        task = rank_task([shuffler.relay], minimum=50)
        receiver.serve(task)
        shuffler.serve(task, receiver.url)
        seals = seal_ranks(task, receiver.analyst, [shuffler.notice()], range(70))
        assert shuffler.codes(seals) == [""] * 70
        shuffler.end_period()
        receiver.wait(task, 128)
        (batch,) = receiver.batches(shuffler.relay.key)
        (ranks,) = receiver.ranks(task)
        assert shuffler.stop() == 0
    assert len(batch.seals) == 128
    assert ranks.count(None) == 58
    assert sorted(rank for rank in ranks if rank is not None) == list(range(70))
    stranger = KeyPair.make(0)
    assert all(isinstance(item, Exception) for item in open_inners({stranger.id: stranger}, batch.seals, task))
