"""Debian's nginx with the configuration in packaging; only addresses and files are this machine's."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT
from tests.services import needed
from tests.system.certificates import make_certificate

CONFIGURATION = ROOT / "packaging" / "nginx.conf"
HOST = "survey.example.org"
LIVE = f"/etc/letsencrypt/live/{HOST}"
FRAME = """{user}
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr crit;
events {{ worker_connections 512; }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/site;
}}
"""
"""What Debian's own configuration puts around a site."""


@contextmanager
def nginx(folder: Path, collector: str) -> Iterator[tuple[str, Path]]:
    """Run it in front of a collector; its address, and the certificate to trust."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    needed(program, "nginx is not installed (Debian and Ubuntu: apt-get install nginx)")
    folder.mkdir()
    certificate = folder / "fullchain.pem"
    make_certificate(certificate, folder / "privkey.pem", HOST)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    site = CONFIGURATION.read_text()
    for theirs, ours in {
        "server 127.0.0.1:8000;": f"server {collector};",
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        f"{LIVE}/fullchain.pem": str(certificate),
        f"{LIVE}/privkey.pem": str(folder / "privkey.pem"),
        "/var/log/nginx/": f"{folder}/",
    }.items():
        assert site.count(theirs) == 1, theirs
        site = site.replace(theirs, ours)
    (folder / "site").write_text(site)
    (folder / "nginx.conf").write_text(FRAME.format(folder=folder, user="user root;" if os.getuid() == 0 else ""))
    with (folder / "stderr").open("w+") as errors:
        process = subprocess.Popen([program, "-p", folder, "-c", folder / "nginx.conf"], stdin=subprocess.DEVNULL, stderr=errors)
        try:
            _wait(process, port, folder / "stderr")
            yield f"https://127.0.0.1:{port}", certificate
        finally:
            process.terminate()
            process.wait(60)


def _wait(process: subprocess.Popen[bytes], port: int, errors: Path) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"nginx does not listen: {errors.read_text()}")
