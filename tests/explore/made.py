"""A run and systems over words that would break a page that does not escape them."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from decoder.cli import main as decoder
from scfg_sampler.cli import main
from scfg_sampler.explore.server import build_app, listen
from scfg_sampler.explore.sources import Sources
from tests.report.made import made_run, nasty_pairs

WEIGHTS = {
    "LogForward": 1.0,
    "LogBackward": 0.3,
    "LexForward": 0.1,
    "LexBackward": 0.1,
    "LogCount": 0.0,
    "TargetWords": 0.2,
    "Abstract": 0.0,
    "LogPosterior": 0.0,
    "LanguageModel": 0.5,
    "Glue": -1.0,
    "PassThrough": -1.0,
}


def made_directory(directory: Path) -> Path:
    """A directory with a run called `sample` and a system called `system`, as recipes leave it."""
    run, _ = made_run(directory, "--marginals")
    run.rename(directory / "sample")
    grammar, lm, weights = directory / "grammar.gz", directory / "lm.arpa", directory / "w.json"
    assert main(["grammar", str(directory / "sample"), "--output", str(grammar), "--quiet"]) == 0
    text = directory / "text.e"
    text.write_text("".join(" ".join(pair.target) + "\n" for pair in nasty_pairs()[:-1]))
    train = ["train-lm", str(text), "--order", "2", "--output", str(lm), "--quiet"]
    assert decoder(train) == 0
    weights.write_text(json.dumps(WEIGHTS))
    bundle = ["--grammar", str(grammar), "--lm", str(lm), "--weights", str(weights), "--quiet"]
    assert decoder(["bundle", *bundle, "--output", str(directory / "system")]) == 0
    weights.write_text(json.dumps(WEIGHTS | {"PassThrough": 5.0, "Glue": 1.0}))
    assert decoder(["bundle", *bundle, "--output", str(directory / "other")]) == 0
    return directory


@contextlib.contextmanager
def served(sources: Sources) -> Iterator[int]:
    """The port of a server that runs meanwhile."""
    listening: socket.socket = listen(0)
    port = listening.getsockname()[1]
    config = uvicorn.Config(build_app(sources), log_level="warning", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield port
    server.should_exit = True
    thread.join(10)
    listening.close()


def send(
    port: int, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of what a server answers."""
    given = {"Content-Type": "application/json"} | (headers or {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, given)
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def asked(port: int, path: str, question: Any) -> tuple[int, Any]:
    """Status and JSON of the answer to a question."""
    status, _, body = send(port, path, json.dumps(question).encode())
    return status, json.loads(body)
