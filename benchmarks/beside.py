"""A job of the library beside the same one in plain NumPy, which uses one core: on all cores, on one core, and in CPU time.

The jobs take turns, so that other work on the machine disturbs them alike; of each the best turn counts. CPU time of one core hardly
changes when others use the machine, and is the ratio to trust there.
"""

import time

from deniable.core import stream
from printing import compact, markdown

REPEATS = 5


def beside(mechanism, people, ours, plain, **others):
    """People per second of both jobs, and of other jobs by their names."""
    jobs = {"all cores": ours, "one core": lambda: on_one_core(ours), "numpy": plain, **others}
    for job in jobs.values():
        job()  # compiles or loads kernels, and touches memory: not timed
    wall, cpu = ({name: float("inf") for name in jobs} for _ in range(2))
    for _ in range(REPEATS):
        for name, job in jobs.items():
            started, used = time.perf_counter(), time.process_time()
            job()
            cpu[name] = min(cpu[name], time.process_time() - used)
            wall[name] = min(wall[name], time.perf_counter() - started)
    rates = {name: people / seconds for name, seconds in wall.items()}
    return {"mechanism": mechanism, "people_per_second": rates, "cpu_ratio": cpu["numpy"] / cpu["one core"]}


def on_one_core(job):
    """What a job does when the library may use one core."""
    cores, stream.cores = stream.cores, lambda: 1
    try:
        return job()
    finally:
        stream.cores = cores


def table(results):
    """People per second, and how many times NumPy's."""
    names = list(results[0]["people_per_second"])
    rows = []
    for result in results:
        rates = result["people_per_second"]
        ratios = [f"{rates[name] / rates['numpy']:.1f}" for name in ("all cores", "one core")]
        rows.append([result["mechanism"], *(compact(rates[name]) for name in names), *ratios, f"{result['cpu_ratio']:.1f}"])
    header = [{"numpy": "NumPy"}.get(name, name) for name in names]
    return markdown(["people/s", *header, "all / NumPy", "one / NumPy", "CPU time, one / NumPy"], rows)
