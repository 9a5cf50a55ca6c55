"""Load test of `mproto serve` on loopback: throughput, errors, latency, memory, gain of batching.

    python benchmarks/service.py [--model DIR] [--clients 200] [--seconds 60]
                                 [--texts short|sentences] [--threads N]

Without --model, a model is trained for a few steps. The server and the clients run in separate
processes. There are four parts: all clients at once, with micro-batching; half of them; all of them
with batches of one text; and requests at half the rate of the first part, sent even if earlier
ones have not been answered. Goals: no errors except 429; batching triples the throughput; the p99
latency at half the rate is at most three times the median; memory does not grow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mproto import demo

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = 40  # characters of a short text: a name, a query, a cell of a table


class Load(NamedTuple):
    """The load: `rate` requests a second; with 0, each client waits for its last answer."""

    port: int
    clients: int
    seconds: float
    texts: str
    rate: float = 0.0


class Result(NamedTuple):
    codes: dict[str, int]
    latencies: list[float]
    seconds: float

    @property
    def rate(self) -> float:
        return self.codes.get("200", 0) / self.seconds

    def shown(self) -> dict[str, object]:
        median, p99 = quantiles(self.latencies)
        return {
            "requests/s": round(self.rate, 1),
            "codes": self.codes,
            "median ms": round(1000 * median, 1),
            "p99 ms": round(1000 * p99, 1),
            "p99 / median": round(p99 / median, 2) if median else None,
        }


def quantiles(values: list[float]) -> tuple[float, float]:
    if len(values) < 2:
        return (values or [0.0])[0], (values or [0.0])[0]
    return statistics.median(values), statistics.quantiles(values, n=100)[98]


def bodies(kind: str) -> list[bytes]:
    """Return whole requests as bytes, so that clients leave the cores to the server."""
    texts = [document.text for document in demo.documents("test")]
    if kind == "short":
        texts = [text[:SHORT].rpartition(" ")[0] for text in texts]
    requests = []
    for text in texts:
        body = json.dumps({"text": text}).encode()
        head = f"POST /v1/entities HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        requests.append(head.encode() + body)
    return requests


class Client:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> str:
        """Return the status code of the answer, or the name of the error."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self._port)
            reader, writer = self._streams
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            return head[9:12].decode()
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            return type(error).__name__

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def closed_loop(load: Load, requests: list[bytes], result: Result, number: int, end: float) -> None:
    client = Client(load.port)
    codes = Counter(result.codes)
    turn = number * 7
    while (start := time.perf_counter()) < end:
        code = await client.ask(requests[turn % len(requests)])
        turn += 1
        codes[code] += 1
        result.codes[code] = result.codes.get(code, 0) + 1
        if code == "200":
            result.latencies.append(time.perf_counter() - start)
        else:
            await asyncio.sleep(0.05)
    client.close()


async def open_loop(load: Load, requests: list[bytes], result: Result, end: float) -> None:
    """Send requests at even intervals. Latency counts from the time at which one was due."""
    idle = [Client(load.port) for _ in range(load.clients)]
    tasks: set[asyncio.Task[None]] = set()

    async def ask(client: Client, due: float, request: bytes) -> None:
        code = await client.ask(request)
        result.codes[code] = result.codes.get(code, 0) + 1
        if code == "200":
            result.latencies.append(time.perf_counter() - due)
        idle.append(client)

    due, turn = time.perf_counter(), 0
    while due < end:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        client = idle.pop() if idle else Client(load.port)
        task = asyncio.ensure_future(ask(client, due, requests[turn % len(requests)]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        due, turn = due + 1 / load.rate, turn + 1
    await asyncio.gather(*tasks)
    for client in idle:
        client.close()


async def drive(load: Load) -> Result:
    requests = bodies(load.texts)
    result = Result({}, [], load.seconds)
    start = time.perf_counter()
    end = start + load.seconds
    if load.rate:
        await open_loop(load, requests, result, end)
    else:
        await asyncio.gather(*(closed_loop(load, requests, result, n, end) for n in range(load.clients)))
    return result._replace(seconds=time.perf_counter() - start)


def _in_process(load: Load) -> Result:
    return asyncio.run(drive(load))


def run(load: Load) -> Result:
    """Run the load in its own process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_in_process, (load,))


class Server:
    def __init__(self, model: Path, *options: str) -> None:
        command = [sys.executable, "-m", "mproto", "serve", str(model), "--port", "0", "--json", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        self.address = json.loads("".join(self._process.stdout.readline() for _ in range(4)))["address"]
        self.port = int(self.address.rpartition(":")[2])
        while not self._is_ready():
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, "the server ended"
        with suppress(OSError), urllib.request.urlopen(f"{self.address}/health/ready") as answer:
            return answer.status == 200
        return False

    def figures(self) -> dict[str, float]:
        with urllib.request.urlopen(f"{self.address}/metrics") as page:
            lines = [line for line in page.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    @property
    def megabytes(self) -> int:
        return round(self.figures()["process_resident_memory_bytes"] / 1e6)

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait()


@contextmanager
def serving(model: Path, *options: str) -> Iterator[Server]:
    server = Server(model, *options)
    try:
        yield server
    finally:
        code = server.stop()
    assert code == 0, f"the server ended with {code}"


def small_model(folder: Path) -> Path:
    from mproto import annotate, train
    from mproto.config import load_config

    labelled = list(annotate(demo.documents("train")[:200], demo.gazetteer()))
    config = load_config(settings=["training.epochs=0", "training.min_steps=10"])
    train(labelled, config=config).recognizer.save_pretrained(folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--texts", choices=("short", "sentences"), default="short")
    parser.add_argument("--threads", default=str(os.cpu_count() or 1))
    parser.add_argument("--option", action="append", default=[], metavar="--NAME=VALUE", help="option of mproto serve")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = asked.model or small_model(Path(folder))
        print(json.dumps(measure(model, asked), indent=2))


def measure(model: Path, asked: argparse.Namespace) -> dict[str, object]:
    options = ["--threads", asked.threads, *asked.option]
    quick = Load(0, asked.clients, min(3.0, asked.seconds), asked.texts)
    memory = {}
    with serving(model, *options) as server:
        run(quick._replace(port=server.port))  # warm up allocators, caches and connections
        memory["start"] = server.megabytes
        full = run(Load(server.port, asked.clients, asked.seconds, asked.texts))
        memory["middle"] = server.megabytes
        figures = server.figures()
        half_clients = run(Load(server.port, asked.clients // 2, asked.seconds, asked.texts))
        half = run(Load(server.port, asked.clients, asked.seconds, asked.texts, rate=full.rate / 2))
        memory["end"] = server.megabytes
        spent = server.figures()["process_cpu_seconds_total"]
    with serving(model, *options, "--batch-size", "1") as server:
        run(quick._replace(port=server.port))
        single = run(Load(server.port, asked.clients, asked.seconds, asked.texts))
    return {
        "texts": asked.texts,
        "clients": asked.clients,
        "all clients": full.shown(),
        "half the clients": half_clients.shown(),
        "half the rate": half.shown(),
        "batches of one": single.shown(),
        "batching is worth": round(full.rate / max(single.rate, 1e-9), 2),
        "texts in a call of the model": round(
            figures["mproto_batch_texts_sum"] / figures["mproto_batch_texts_count"], 1
        ),
        "memory in MB": memory,
        "CPU seconds of the server": round(spent, 1),
    }


if __name__ == "__main__":
    main()
