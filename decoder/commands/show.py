"""`scfg-decoder show`: derivations as drawings."""

from __future__ import annotations

import argparse

from scfg_sampler.core.wording import counted

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Add the command to the decoder's parser."""
    parser = subparsers.add_parser(
        "show",
        help="draw derivations",
        description=(
            "Draws derivations that translate --derivations has written as indented trees: the span of\n"
            "source words, the rule (① and ② stand for its nonterminals), and what it adds to the score.\n"
            "With --svg, one derivation as a picture: each rule a box above the words it covers."
        ),
        epilog="examples:\n  scfg-decoder show derivations.jsonl --sentence 3\n"
        "  scfg-decoder show derivations.jsonl --sentence 3 --svg derivation.svg",
    )
    parser.add_argument("derivations", metavar="FILE", help="what translate --derivations FILE wrote")
    parser.add_argument("--sentence", type=int, metavar="K", help="only this one, counted from 0")
    parser.add_argument("--svg", metavar="FILE", help="draw the derivation of --sentence into an SVG file")
    parser.add_argument("--no-scores", action="store_true", help="leave the scores of the rules out")
    parser.add_argument("--quiet", action="store_true", help="say nothing but warnings")
    parser.writes("--svg")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Draw the derivations that are asked for."""
    from decoder.translation.derivations import check_record, draw_text
    from decoder.translation.drawing import draw_svg
    from scfg_sampler.core.files import atomic_output, read_lines
    from scfg_sampler.core.json_text import parse_json
    from scfg_sampler.errors import InputError, SettingsError

    if options.svg is not None and options.sentence is None:
        raise SettingsError("--svg draws one derivation; say which with --sentence, counted from 0")

    lines = 0
    found = False
    for lines, line in enumerate(read_lines(options.derivations), start=1):
        try:
            record = parse_json(line)
        except ValueError:
            hint = "Derivations are what translate --derivations writes"
            raise InputError(options.derivations, lines, "not JSON", hint) from None
        record = check_record(record, options.derivations, lines)
        if options.sentence is None or record["sentence"] == options.sentence:
            found = True
            if options.svg is None:
                print(draw_text(record, scores=not options.no_scores))
                continue
            with atomic_output(options.svg) as out:
                out.write(draw_svg(record, scores=not options.no_scores))
    if not found and options.sentence is not None:
        raise InputError(
            options.derivations, None, f"has no sentence {options.sentence} in its {counted(lines, 'line')}"
        )
