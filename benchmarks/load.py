"""A load of reports with ids that never repeat: by wrk where it is installed, else by a slower generator of our own.

As a script, ``load.py PORT BATCH CONNECTIONS SECONDS ENVELOPE_IN_HEX`` runs our own and prints one JSON line. ``send_all`` sends requests
that were made before, each once.
"""

import asyncio
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import uvloop

from timing import json_line

MEDIA_TYPE = "application/vnd.deniable.reports.v1"
PATH = "/v1/reports"
ID = slice(48, 64)
"""Where the report id stands in an envelope."""
SCRIPT = """
local head, tail, batch = {head}, {tail}, {batch}
local char, floor = string.char, math.floor
local headers = {{ ["Content-Type"] = "{media_type}" }}
local sent, own = 0, nil
function init(args)
  local random = io.open("/dev/urandom", "rb")
  own = random:read(10)
  random:close()
end
function request()
  local envelopes = {{}}
  for i = 1, batch do
    sent = sent + 1
    local id = char(sent % 256, floor(sent / 256) % 256, floor(sent / 65536) % 256, floor(sent / 16777216) % 256, 0, 0)
    envelopes[i] = head .. own .. id .. tail
  end
  return wrk.format("POST", "{path}", headers, table.concat(envelopes))
end
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format('{{"requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "refused": %d, "broken": %d}}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
"""


def generator():
    """What makes the load, in words."""
    return "wrk" if shutil.which("wrk") else "a generator in Python (apt-get install wrk for a faster one)"


def load(port, envelope, *, batch, connections, seconds):
    """Requests, seconds, percentiles of their latency, how many were refused (not 2xx) and how many broke."""
    if not shutil.which("wrk"):
        return json_line([sys.executable, __file__, port, batch, connections, seconds, envelope.hex()], timeout=seconds + 60)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "reports.lua"
        fields = {"head": _lua(envelope[: ID.start]), "tail": _lua(envelope[ID.stop :]), "batch": batch}
        script.write_text(SCRIPT.format(**fields, media_type=MEDIA_TYPE, path=PATH))
        threads = ["--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s", "--timeout", "30s"]
        command = ["wrk", *threads, "--latency", "--script", str(script), f"http://127.0.0.1:{port}"]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def _lua(data):
    return '"' + "".join(f"\\{byte:03d}" for byte in data) + '"'


class Sender(asyncio.Protocol):
    """One keep-alive connection: sends a request, waits for the answer, sends the next, and leaves when ``make`` has no more."""

    def __init__(self, make, results):
        self.make, self.results, self.answer = make, results, b""
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        self.send()

    def connection_lost(self, error):
        self.ended.set_result(error)

    def send(self):
        request = self.make()
        if request is None:
            self.transport.close()
            return
        self.start = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data):
        self.answer += data
        head, found, body = self.answer.partition(b"\r\n\r\n")
        if found and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            self.results.append((time.perf_counter() - self.start, head.split(b" ", 2)[1]))
            self.answer = b""
            self.send()


def send_all(port, requests, connections):
    """Send requests, each once, and return how many seconds that took; RuntimeError unless all are answered by 201."""
    return uvloop.run(_send_all(port, iter(requests), len(requests), connections))


async def _send_all(port, left, count, connections):
    loop, results = asyncio.get_running_loop(), []
    began = time.perf_counter()
    made = [await loop.create_connection(lambda: Sender(partial(next, left, None), results), "127.0.0.1", port) for _ in range(connections)]
    await asyncio.wait([sender.ended for _, sender in made])
    spent = time.perf_counter() - began
    statuses = Counter(status for _, status in results)
    if statuses != {b"201": count}:
        raise RuntimeError(f"{count} requests were answered by {dict(statuses)}, not all by 201")
    return spent


async def own_load(port, batch, connections, seconds, envelope):
    """The same figures as wrk's."""
    numbers, results = itertools.count(), []
    own = os.urandom(10)
    length = len(envelope) * batch
    start = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {length}\r\n\r\n".encode()

    def make():
        ids = (own + next(numbers).to_bytes(6, "little") for _ in range(batch))
        return start + b"".join([envelope[: ID.start] + report + envelope[ID.stop :] for report in ids])

    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    made = [await loop.create_connection(lambda: Sender(make, results), "127.0.0.1", port) for _ in range(connections)]
    await asyncio.sleep(seconds)
    spent, results = time.perf_counter() - began, list(results)
    broken = sum(transport.is_closing() for transport, _ in made)
    for transport, _ in made:
        transport.abort()
    cuts = statistics.quantiles([latency for latency, _ in results], n=100)
    refused = sum(status[:1] != b"2" for _, status in results)
    return {
        "requests": len(results),
        "seconds": spent,
        "p50_ms": 1e3 * cuts[49],
        "p99_ms": 1e3 * cuts[98],
        "refused": refused,
        "broken": broken,
    }


if __name__ == "__main__":
    *sizes, sample = sys.argv[1:]
    print(json.dumps(uvloop.run(own_load(*map(int, sizes), bytes.fromhex(sample)))))
