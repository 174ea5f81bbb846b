"""The server: whom it answers, and how it refuses the others."""

from __future__ import annotations

import http.client
import json
import logging
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from scfg_sampler.cli import main
from scfg_sampler.explore.questions import LARGEST
from tests.explore.made import asked, send
from tests.report.made import nasty_pairs

FOREIGN = "are not answered"


def test_page_and_what_belongs_to_it_are_served(port, root):
    for path, kind in {
        "/": "text/html",
        "/explore.css": "text/css",
        **{
            f"/{name}.js": "text/javascript"
            for name in ("explore", "address", "grid", "pairs", "rules", "translations", "common")
        },
    }.items():
        status, headers, body = send(port, path)
        assert status == 200
        assert headers["content-type"].startswith(kind)
        assert body
    assert b"https://" not in send(port, "/")[2]


def test_every_answer_forbids_what_is_not_from_here(port):
    paths = ["/", "/about", "/nowhere"]
    for _, headers, _ in [send(port, path) for path in paths] + [send(port, "/pair", b"{")]:
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:PORT",
        "localhost.evil.example:PORT",
        "evil.example:127.0.0.1",
        "127.0.0.1.evil.example",
        "127x0.0.1:PORT",
        "localhost:PORT@evil.example",
        "localhost:PORT/",
        "localhost:",
        "[::1]:PORT",
    ],
)
def test_name_that_is_not_of_this_machine_is_refused(port, host):
    status, _, body = send(port, "/about", headers={"Host": host.replace("PORT", str(port))})
    assert status == 403
    assert json.loads(body) == {"error": "requests must be sent to 127.0.0.1 or localhost"}


@pytest.mark.parametrize(
    "host", ["localhost:PORT", "LocalHost:PORT", "localhost", "127.0.0.1", "127.0.0.1:1"]
)
def test_name_of_this_machine_is_answered_at_any_port(port, host):
    """A tunnel has a port of its own at its other end."""
    assert send(port, "/about", headers={"Host": host.replace("PORT", str(port))})[0] == 200


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:9000", "localhost"])
def test_question_from_its_own_page_at_the_end_of_a_tunnel_is_answered(port, host):
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert send(port, "/translate", b'{"text": "a"}', headers)[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example:9000",
        "http://127.0.0.1:9000",
        "http://localhost:PORT",
        "http://localhost",
        "https://localhost:9000",
        "http://localhost:9000.evil.example",
        "null",
        "",
    ],
)
def test_question_through_a_tunnel_from_another_page_is_refused(port, origin):
    headers = {"Host": "localhost:9000", "Origin": origin.replace("PORT", str(port))}
    status, _, body = send(port, "/translate", b'{"text": "a"}', headers)
    assert status == 403
    assert FOREIGN in json.loads(body)["error"]


def test_name_that_leads_here_is_refused_also_to_a_page_of_that_name(port):
    host = f"evil.example:{port}"
    headers = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert send(port, "/translate", b'{"text": "a"}', headers)[0] == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:PORT", "http://127.0.0.1:1", "null"]
)
def test_question_from_a_page_of_another_site_is_refused(port, origin):
    headers = {"Origin": origin.replace("PORT", str(port))}
    status, _, body = send(port, "/translate", b'{"text": "a"}', headers)
    assert status == 403
    assert FOREIGN in json.loads(body)["error"]


def test_refused_question_whose_text_comes_late_hears_why(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", "/translate")
    for name, value in (("Origin", "null"), ("Content-Length", "4096"), ("Connection", "close")):
        connection.putheader(name, value)
    connection.endheaders()
    for _ in range(4):  # What comes after a connection has been closed resets it.
        time.sleep(0.1)
        connection.send(b" " * 1024)
    time.sleep(0.1)
    response = connection.getresponse()
    assert response.status == 403
    assert FOREIGN in json.loads(response.read())["error"]


def test_question_from_its_own_page_is_answered(port):
    headers = {"Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}
    assert send(port, "/translate", b'{"text": "a"}', headers)[0] == 200


def test_browser_that_says_the_page_is_of_another_site_is_believed(port):
    assert send(port, "/translate", b'{"text": "a"}', {"Sec-Fetch-Site": "cross-site"})[0] == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_question_that_does_not_say_it_is_json_is_refused(port, kind):
    status, _, body = send(port, "/translate", b'{"text": "a"}', {"Content-Type": kind})
    assert (status, json.loads(body)) == (415, {"error": "questions are of content type application/json"})


def test_tab_that_is_closed_in_a_question_leaves_no_traceback(port, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(
        logging.getLogger("uvicorn.error"), "handle", lambda each: told.append(each.getMessage())
    )
    with socket.create_connection(("127.0.0.1", port)) as client:
        head = f"POST /translate HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        client.sendall(f'{head}Content-Length: 100\r\n\r\n{{"text'.encode())
    deadline = time.monotonic() + 0.5
    while not told and time.monotonic() < deadline:
        assert asked(port, "/translate", {"text": "a"})[0] == 200
    assert told == []


def test_question_that_is_too_large_is_refused(port):
    body = json.dumps({"text": "a" * LARGEST}).encode()
    status, _, answer = send(port, "/translate", body)
    assert (status, json.loads(answer)) == (413, {"error": f"the question has more than {LARGEST} bytes"})


def test_question_that_does_not_say_how_large_it_is_is_cut_off(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    parts = iter([b"x" * 40_000] * 3)
    connection.request("POST", "/translate", parts, {"Content-Type": "application/json"}, encode_chunked=True)
    assert connection.getresponse().status == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/translate", 405),
        ("DELETE", "/", 405),
        ("GET", "/../pyproject.toml", 404),
        ("GET", "/x", 404),
    ],
)
def test_other_methods_and_paths_are_refused_in_json(port, method, path, status):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path)
    response = connection.getresponse()
    assert response.status == status
    assert list(json.loads(response.read())) == ["error"]


def test_a_name_that_is_not_utf8_is_told(port, monkeypatch):
    monkeypatch.setattr("scfg_sampler.explore.server.described", lambda *given: {"name": "m\udcfcller"})
    status, _, body = send(port, "/about")
    assert status == 200
    assert json.loads(body)["name"] == "m\udcfcller"


def test_a_fault_is_told_without_its_insides(port, sources, monkeypatch):
    monkeypatch.setattr(type(sources.systems[0]), "with_weights", lambda self, weights: 1 / 0)
    status, answer = asked(port, "/translate", {"text": "a"})
    assert (status, answer) == (500, {"error": "a fault of explore: ZeroDivisionError"})


def test_more_questions_than_can_wait_are_sent_away(port, sources, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr(type(sources.systems[0]), "with_weights", lambda self, weights: go_on.wait(30))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(asked(port, "/translate", {"text": "a"})[0]))
        for _ in range(25)
    ]
    for thread in threads:
        thread.start()
    while len(found) < 7:
        time.sleep(0.02)
    assert found == [503] * 7
    go_on.set()
    for thread in threads:
        thread.join(30)
    monkeypatch.undo()
    assert asked(port, "/translate", {"text": "a"})[0] == 200


def test_questions_of_one_kind_that_wait_hold_up_no_other_kind(port, sources, monkeypatch):
    """As when its program is compiled, which takes half a minute."""
    go_on = threading.Event()
    monkeypatch.setattr(type(sources.systems[0]), "with_weights", lambda self, weights: go_on.wait(60))
    ask = [threading.Thread(target=asked, args=(port, "/translate", {"text": "a"})) for _ in range(6)]
    for thread in ask:
        thread.start()
    found = []
    other = threading.Thread(target=lambda: found.append(asked(port, "/grammar", {})[0]))
    other.start()
    other.join(20)
    found_meanwhile = list(found)
    go_on.set()
    for thread in [*ask, other]:
        thread.join(30)
    assert found_meanwhile == [200]


def test_two_of_a_kind_are_answered_at_a_time(port, sources, monkeypatch):
    at_work, go_on = [], threading.Event()

    def wait(self, weights):
        at_work.append(1)
        go_on.wait(30)
        return self.system

    monkeypatch.setattr(type(sources.systems[0]), "with_weights", wait)
    ask = [threading.Thread(target=asked, args=(port, "/translate", {"text": "a"})) for _ in range(5)]
    for thread in ask:
        thread.start()
    time.sleep(0.5)
    assert len(at_work) == 2
    go_on.set()
    for thread in ask:
        thread.join(30)
    assert len(at_work) == 5


def test_about_says_what_there_is(port):
    found = json.loads(send(port, "/about")[2])
    assert [run["pairs"] for run in found["runs"]] == [len(nasty_pairs())]
    assert [len(system["weights"]) for system in found["systems"]] == [11, 11]
    assert len(found["tables"]) == 3
    # What a test before this one asked, and did not wait for, may still be compiled.
    stop = time.monotonic() + 120
    while json.loads(send(port, "/about")[2])["compiling"]:
        assert time.monotonic() < stop
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: holds neither a run nor a system"),
        (["a", "b", "c"], "explore shows at most two at a time; 3 are given"),
        ([".", "--port", "70000"], "--port is 70000; it must be from 0 to 65535"),
    ],
)
def test_wrong_arguments_are_told(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_port_in_use_is_told(capsys, port, explored_directory):
    assert main(["explore", str(explored_directory), "--port", str(port)]) == 2
    assert f"--port {port} cannot be used" in capsys.readouterr().err


def test_without_its_packages_the_extra_is_named(capsys, monkeypatch, explored_directory):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["explore", str(explored_directory)]) == 2
    assert "pip install 'scfg-sampler[pages]'" in capsys.readouterr().err


def test_command_serves_until_interrupted(explored_directory):
    command = [sys.executable, "-m", "scfg_sampler", "explore", str(explored_directory), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        own = int(address.rstrip("/").rpartition(":")[2])
        assert address == f"http://127.0.0.1:{own}/"
        status, answer = asked(own, "/pair", {"number": 0})
        assert status == 200
        assert tuple(answer["source"]) == nasty_pairs()[0].source
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        said = process.stderr.read()
    assert said.rstrip().endswith("stopped")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("ending", "status"),
    [("SIGINT", 130), ("SIGTERM", 143), pytest.param("SIGHUP", 129, id="closed terminal")],
)
def test_stopping_while_an_answer_is_under_way_shows_no_traceback(root, ending, status):
    script = f"""
        import signal, threading, time, os
        from scfg_sampler.core import console
        from scfg_sampler.explore import server
        from scfg_sampler.explore.sources import Sources
        from tests.explore.made import asked
        def slow(question):
            os.kill(os.getpid(), signal.{ending})
            time.sleep(1.0)
            return {{}}
        server.answers = lambda sources: {{"/slow": slow}}
        server._GRACE = 0.2
        listening = server.listen(0)
        port = listening.getsockname()[1]
        told = []
        client = threading.Thread(target=lambda: told.append(asked(port, "/slow", {{}})))
        client.start()
        status = console.run("program", lambda arguments: server.serve(Sources([], []), listening), [])
        client.join()
        print(status, told)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{status} [(503, {{'error': 'explore is being stopped'}})]\n"
    assert (done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr) == (0, 1, False)
