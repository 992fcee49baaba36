"""What a party put into a sum, noise included, by the secrets that no single role has: how tests know that a sum is exact."""

from __future__ import annotations

from collections.abc import Mapping

from deniable.multiparty import dealer
from deniable.multiparty.engines import PaillierRoles, Roles, StreamRoles
from deniable.multiparty.message import Message
from deniable.multiparty.paillier.keys import KeyShare
from deniable.multiparty.stream import group


def contribution(roles: Roles, data: bytes, files: Mapping[str, bytes]) -> list[int]:
    """The numbers in a party's message, opened with a dealer's files."""
    message = Message.open(data)
    if isinstance(roles, PaillierRoles):
        key, agreement = roles.key, roles.agreement
        secrets = {place: dealer.read_secret(files[f"share-{place}.json"], "paillier", roles.key_id, place) for place in (1, 2)}
        shares = [KeyShare(key, place, secret) for place, secret in secrets.items()]
        plain = [key.open({share.place: share.decrypt(each) for share in shares}) for each in agreement.ciphertexts(message.body)]
        return agreement.packing.unpack(plain, key.modulus)
    assert isinstance(roles, StreamRoles)
    place = message.party + 1
    secret = dealer.read_secret(files[f"party-{place}.json"], "stream", roles.key_id, place, parties=len(roles.terms.parties))
    points = [group.read(message.body[start : start + 32]) for start in range(4, len(message.body), 32)]
    masks = [group.times(-secret, roles.period.point(0, at)) for at in range(len(points))]
    return [group.small_logarithm(group.add(point, mask), roles.largest_number) for point, mask in zip(points, masks, strict=True)]
