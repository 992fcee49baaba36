"""The yardstick of the collector: an application that reads the body and answers, behind the collector's own server and its settings."""

import socket

from deniable.collect.kit.server import BACKLOG, ProcessServer, server_config
from deniable.collect.settings import Settings


async def bare(scope, receive, send):
    """Read the body, answer 201."""
    if scope["type"] == "lifespan":
        for stage in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{stage}.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body"})


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        ProcessServer(server_config(bare, Settings())).run([listening])
