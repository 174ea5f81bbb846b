"""The server: a page and its questions, on this machine alone; the only import of starlette and uvicorn.

A request must come to a name of this machine, from no page but ours: `Host` is looked at, so that no name of
somebody else's that leads here is answered, and `Origin` must be the same, so that no other page asks. The
port may be any, as a tunnel (`ssh -L 9000:127.0.0.1:8471`) begins at one of its own. A question is JSON of
at most `LARGEST` bytes. A few are answered at a time, a few more wait, whoever comes then is told to come
again. Whatever is wrong is a JSON object `{"error": "one line"}` with a status of 400 or more.

The fact a newcomer would get wrong: a page of another site can send requests here without being able to read
the answers. That is why questions must say that they are JSON, which browsers let no other page do unasked.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import logging
import re
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scfg_sampler import __version__
from scfg_sampler.core.compiling import is_compiling
from scfg_sampler.core.pages.style import STYLE
from scfg_sampler.core.svg import PICTURE_STYLE
from scfg_sampler.errors import ScfgError, SettingsError
from scfg_sampler.explore.grammar import find_rules, list_shapes, tell_rule
from scfg_sampler.explore.pairs import Pairs, find_pairs
from scfg_sampler.explore.questions import LARGEST, Question, read_question
from scfg_sampler.explore.sources import Sources, described
from scfg_sampler.explore.translation import translate

__all__ = ["ADDRESS", "answers", "build_app", "listen", "require_packages", "serve"]

ADDRESS = "127.0.0.1"

_PAGE = Path(__file__).parent / "page"
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/address.js": ("address.js", "text/javascript; charset=utf-8"),
    "/explore.js": ("explore.js", "text/javascript; charset=utf-8"),
    "/grid.js": ("grid.js", "text/javascript; charset=utf-8"),
    "/pairs.js": ("pairs.js", "text/javascript; charset=utf-8"),
    "/rules.js": ("rules.js", "text/javascript; charset=utf-8"),
    "/translations.js": ("translations.js", "text/javascript; charset=utf-8"),
    "/common.js": ("common.js", "text/javascript; charset=utf-8"),
}
_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?")
"""What `Host` may be, in lower case."""
_AT_A_TIME, _MOST = 2, 18
"""Questions of a kind that are answered side by side; questions of all kinds that are answered or wait."""
_SECONDS = 10.0
"""How long a question may take to arrive."""
_GRACE = 2
"""Seconds that answers under way are waited for when the server is told to stop."""

_PICTURES = base64.b64encode(hashlib.sha256(PICTURE_STYLE.encode()).digest()).decode()
# Pictures bring a style sheet of their own, which is let in by its digest.
_HEADERS = {
    "content-security-policy": f"default-src 'self'; style-src 'self' 'sha256-{_PICTURES}'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}

Answer = Callable[[Question], Mapping[str, Any]]


def require_packages() -> None:
    """Raise a SettingsError that says what to install where starlette or uvicorn is missing."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise SettingsError(
            "explore needs starlette and uvicorn: pip install 'scfg-sampler[pages]'"
        ) from None


def answers(sources: Sources) -> dict[str, Answer]:
    """What answers the questions sent to each path."""
    pairs = Pairs(sources)
    return {
        "/pair": pairs.pair,
        "/forest": pairs.forest,
        "/steps": pairs.steps,
        "/pairs": partial(find_pairs, sources),
        "/grammar": partial(find_rules, sources),
        "/shapes": partial(list_shapes, sources),
        "/rule": partial(tell_rule, sources),
        "/translate": partial(translate, sources),
    }


def listen(port: int) -> socket.socket:
    """A socket that listens on the loopback interface; port 0 takes any that is free.

    Raises
    ------
    SettingsError
        The port is out of range or in use.
    """
    if not 0 <= port < 1 << 16:
        raise SettingsError(f"--port is {port}; it must be from 0 to 65535")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
    except OSError as error:
        found.close()
        reason = error.strerror or str(error)
        raise SettingsError(
            f"--port {port} cannot be used ({reason}); choose another, or 0 for any"
        ) from None
    found.listen(64)
    return found


def serve(sources: Sources, listening: socket.socket) -> None:
    """Answer until the process is told to stop.

    Parameters
    ----------
    sources : Sources
    listening : socket
        As `listen` returns it.
    """
    import uvicorn

    config = uvicorn.Config(
        build_app(sources),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        limit_concurrency=200,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE,
    )
    # That answers under way are given up, nobody who stops the server need hear.
    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(lambda record: "graceful shutdown" not in record.getMessage())
    server = uvicorn.Server(config)
    with _ended_by_hangup(server):
        server.run(sockets=[listening])


@contextlib.contextmanager
def _ended_by_hangup(server: Any) -> Iterator[None]:
    """Within the block a terminal that closes stops the server as SIGTERM does; then it is handled as ever.

    uvicorn does that for SIGTERM and Ctrl-C. An exception from elsewhere, in the midst of its loop, would be
    taken for a fault of the answer under way, or leave without waiting for any.
    """
    number = getattr(signal, "SIGHUP", None)
    handler = signal.getsignal(number) if number else None
    if number is None or not callable(handler):  # as nohup ignores it
        yield
        return
    came: list[tuple[int, Any]] = []

    def stop(*signalled: Any) -> None:
        came.append(signalled)
        server.should_exit = True

    signal.signal(number, stop)
    try:
        yield
    finally:
        signal.signal(number, handler)
        if came:
            handler(*came[0])


def build_app(sources: Sources) -> Callable:
    """The application, which answers about some runs and systems."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        return _json(Response, {"error": error.detail}, error.status_code, headers)

    def failed(request: Request, error: Exception) -> Response:
        return _json(Response, {"error": f"a fault of explore: {type(error).__name__}"}, 500)

    def about(request: Request) -> Response:
        return _json(Response, described(sources, __version__) | {"compiling": is_compiling()})

    def style(request: Request) -> Response:
        sheet = STYLE + (_PAGE / "explore.css").read_text(encoding="utf-8")
        return Response(sheet, media_type="text/css; charset=utf-8")

    def file(path: str) -> Callable[[Request], Response]:
        name, kind = _FILES[path]
        return lambda request: Response((_PAGE / name).read_bytes(), media_type=kind)

    desk = _Desk(Response, HTTPException, ClientDisconnect)
    routes = [Route(path, file(path)) for path in _FILES]
    routes += [Route("/explore.css", style), Route("/about", about)]
    routes += [Route(path, desk.at(answer), methods=["POST"]) for path, answer in answers(sources).items()]
    handlers: Any = {HTTPException: refused, Exception: failed}
    return _guarded(Starlette(routes=routes, exception_handlers=handlers))


def _json(response: Any, content: Mapping[str, Any], status: int = 200, headers: Any = None) -> Any:
    body = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    encoded = body.encode("utf-8", "backslashreplace")  # What is not UTF-8 in names of files, as JSON has it.
    return response(encoded, status, headers, "application/json; charset=utf-8")


class _Desk:
    """Takes questions, and has those of each kind answered by a few threads of its own.

    What one kind waits for, a program to be compiled or the rules of a run to be counted, holds up no other.
    """

    def __init__(self, response: Any, refusal: Any, gone: type[Exception]):
        self._response, self._refusal, self._gone = response, refusal, gone
        self._taken = 0

    def at(self, answer: Answer) -> Callable[[Any], Awaitable[Any]]:
        """What a route does with a request for such an answer."""
        pool = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="answers")

        async def respond(request: Any) -> Any:
            body = await self._body(request)
            if self._taken >= _MOST:
                raise self._refusal(
                    503, "there are too many questions at a time; ask again", {"retry-after": "1"}
                )
            self._taken += 1
            try:
                work = partial(self._answered, answer, body)
                return await asyncio.get_running_loop().run_in_executor(pool, work)
            finally:
                self._taken -= 1

        return respond

    async def _body(self, request: Any) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            await _hear_out(request.receive)
            raise self._refusal(415, "questions are of content type application/json")
        too_large = self._refusal(413, f"the question has more than {LARGEST} bytes")
        length = request.headers.get("content-length", "0")
        if length.isdecimal() and int(length) > LARGEST:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > LARGEST:
                        raise too_large
        except TimeoutError:
            raise self._refusal(408, "the question did not arrive in time") from None
        except self._gone:
            # Nobody hears this; who serves the page need not hear of a tab that was closed either.
            raise self._refusal(400, "the question did not arrive whole") from None
        return bytes(body)

    def _answered(self, answer: Answer, body: bytes) -> Any:
        try:
            return _json(self._response, answer(read_question(body)))
        except ScfgError as error:
            raise self._refusal(400, " ".join(str(error).split())) from None


def _guarded(app: Callable) -> Callable:
    """The application, for requests to this machine and from its own pages; all answers with our headers."""
    headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        has_begun = False

        async def sent(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message.get("headers", []), *headers]}
            await send(message)

        found = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", [])}

        async def refused(status: int, reason: str) -> None:
            body = json.dumps({"error": reason}).encode()
            kind = [(b"content-type", b"application/json; charset=utf-8")]
            await sent({"type": "http.response.start", "status": status, "headers": kind})
            await sent({"type": "http.response.body", "body": body})

        if reason := _refusal(scope.get("method", ""), found):
            await _hear_out(receive)
            await refused(403, reason)
            return
        try:
            await app(scope, receive, sent)
        except asyncio.CancelledError:
            # Whoever stops the server need not see where an answer under way was given up.
            if not has_begun:
                await refused(503, "explore is being stopped")

    return guarded


async def _hear_out(receive: Callable[[], Awaitable[Any]]) -> None:
    """Read a question that is refused, if it is not too large or slow.

    Of an answer given before, the asker may see nothing but that the connection was reset.
    """
    size = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS):
            while size <= LARGEST:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def _refusal(method: str, headers: Mapping[str, str]) -> str:
    """Why a request is not answered; empty if it is."""
    host = headers.get("host", "").lower()
    if not _HOST.fullmatch(host):
        return "requests must be sent to 127.0.0.1 or localhost"
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host}":
        return "pages of other sites are not answered"
    # Links from elsewhere may lead to the page.
    if method != "GET" and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "pages of other sites are not answered"
    return ""
