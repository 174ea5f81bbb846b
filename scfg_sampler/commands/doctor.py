"""`doctor`: is the installation in order?"""

from __future__ import annotations

import argparse

from scfg_sampler.errors import SettingsError

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="say whether the installation is in order, and what to do if not",
        description="Check versions, the cache of compiled code and its place, processors, room for "
        "temporary files, and what is optional; say what to do. Ends with status 2 if commands cannot work.",
        epilog="example:\n  scfg-sampler doctor --quiet",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="print only what there is to do")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what was found, and fail if something is wrong."""
    import json

    from scfg_sampler.core.installation import findings

    found = list(findings())
    if options.json:
        print(json.dumps([each._asdict() for each in found], ensure_ascii=False, indent=1))
    else:
        width = max(len(each.name) for each in found)
        for each in found:
            mark = "!!" if each.is_wrong else " →" if each.advice else "ok"
            if each.advice or not options.quiet:
                print(f"{mark}  {each.name:<{width}}  {each.found}")
            if each.advice:
                print(f"    {'':<{width}}  {each.advice}")
    wrong = [each.name for each in found if each.is_wrong]
    if wrong:
        raise SettingsError(f"commands cannot work before this is mended: {', '.join(wrong)}")
