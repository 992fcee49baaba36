"""Timing, and reading one JSON line from a fresh process."""

import json
import subprocess
import sys
import time


def seconds(function):
    """How long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def best(times, function):
    """The shortest of several calls: the one that other work on the machine disturbed least."""
    return min(seconds(function) for _ in range(times))


def cpu(times, function):
    """The shortest of several calls, in CPU seconds of this process, all threads together: less disturbed by other work."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        function()
        taken.append(time.process_time() - start)
    return min(taken)


def say(text):
    """Progress, apart from the tables."""
    print(f"  {text}", file=sys.stderr, flush=True)


def json_line(command, timeout=None, **options):
    """The last line that a command prints, as JSON; RuntimeError with its last line of complaint if it fails."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout, check=False, **options)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"not done after {timeout} s") from error
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])
