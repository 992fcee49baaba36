"""What an operator decides about any process that serves: where it listens, by which certificate, how much it takes, what it logs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address

from deniable.collect.kit.limits import Limits
from deniable.core.declared import did_you_mean
from deniable.errors import ParameterError

LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """What collector, shuffler and aggregator have in common."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str = ""
    key_file: str = ""
    behind_proxy: bool = False
    tend_seconds: float = 1.0
    log_level: str = "info"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not 0 <= self.port < 1 << 16:
            raise ParameterError("port", self.port, allowed="from 0 to 65535", fix="choose another port, or 0 for any free one")
        if bool(self.certificate) != bool(self.key_file):
            raise ParameterError(
                "certificate, key_file", (self.certificate, self.key_file), allowed="both or neither", fix="set both for TLS"
            )
        for parameter in ("certificate", "key_file"):
            path = getattr(self, parameter)
            if path and not os.access(path, os.R_OK):
                raise ParameterError(parameter, path, allowed="a file that can be read", fix="check the file's path and owner")
        if not 0.01 <= self.tend_seconds <= 3600:
            raise ParameterError("tend_seconds", self.tend_seconds, allowed="from 0.01 to 3600", fix="set tend_seconds to 1, the default")
        if self.log_level not in LEVELS:
            raise ParameterError("log_level", self.log_level, allowed=f"one of {list(LEVELS)}", fix=did_you_mean(self.log_level, LEVELS))
        if not (self.secure or self.behind_proxy or is_loopback(self.host)):
            fix = "give a TLS certificate and its key_file, or set behind_proxy if a proxy in front speaks TLS"
            raise ParameterError("host", self.host, allowed="a loopback address, since there is no TLS", fix=fix)

    @property
    def secure(self) -> bool:
        """True if this process speaks TLS itself."""
        return bool(self.certificate)


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the host.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, True, False, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
