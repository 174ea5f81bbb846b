"""`explore`: runs and systems in the browser."""

from __future__ import annotations

import argparse

from scfg_sampler.core import console

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "explore",
        help="look into runs and systems in the browser",
        description="Serve a page on this machine, until stopped with Ctrl-C: sentence pairs with their "
        "phrases and derivations, and the sampler choosing among them step by step; the grammar, by words "
        "and shapes; translations, what was tried for them, and what other weights would change. With two "
        "systems, both side by side. Programs can ask the same questions, in JSON: see docs/explore.md.",
        epilog="examples:\n  scfg-sampler explore runs/quickstart\n"
        "  scfg-sampler explore run --port 8080\n  scfg-sampler explore old/system new/system",
    )
    parser.add_argument(
        "paths",
        metavar="RUN_OR_SYSTEM",
        nargs="+",
        help="run directory, system, or directory of a recipe that holds both; at most two",
    )
    parser.add_argument("--port", metavar="N", type=int, default=8471, help="where it listens; 0: any free")
    parser.add_argument("--quiet", action="store_true", help="say nothing but the address")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve the page."""
    import sys

    from scfg_sampler.errors import SettingsError

    if len(options.paths) > 2:
        raise SettingsError(f"explore shows at most two at a time; {len(options.paths)} are given")
    from scfg_sampler.explore.server import ADDRESS, listen, require_packages, serve

    require_packages()
    listening = listen(options.port)
    from scfg_sampler.explore.sources import open_sources

    console.say(f"reading {' and '.join(options.paths)}")
    sources = open_sources(options.paths)
    print(f"http://{ADDRESS}:{listening.getsockname()[1]}/", flush=True)
    console.say("open this address in a browser on this machine; Ctrl-C stops")
    console.rest()
    try:
        serve(sources, listening)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        console.say("stopped")
