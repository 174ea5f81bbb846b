"""The second run of every TSG command compiles nothing."""

from __future__ import annotations

from tests.test_kernel_cache import run

PIPELINE = """
    import pathlib
    from monolingual.cli import main

    trees = "(S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (N cat))))\\n" * 3
    pathlib.Path("trees").write_text(trees)
    pathlib.Path("lists").write_text("0 ||| (S (A the) (B cat))\\n0 ||| (S (B the) (A cat))\\n")
    pathlib.Path("words").write_text("the dog sees the cat\\n")
    learn = ["tsg", "train", "--quiet", "--iterations", "6", "--type-every", "2", "--burn-in", "3"]
    result = [
        main([*learn, "trees", "--output", "run"]),
        main([*learn, "trees", "--nbest-lists", "lists", "--output", "all", "--moves", "single,block,type",
              "--anneal", "1:1:0", "--marginals", "--discount", "0.2", "--check"]),
        main(["tsg", "resume", "all", "--iterations", "8", "--quiet"]),
        main(["tsg", "parse", "run", "--input", "words", "--output", "parsed", "--quiet"]),
        main(["tsg", "parse", "run", "--input", "words", "--output", "mer", "--method", "mer", "--quiet"]),
        main(["tsg", "score", "parsed", "mer", "--quiet"]),
        main(["tsg", "statistics", "run", "--quiet"]),
    ]
"""


def test_second_run_of_tsg_commands_compiles_nothing(root, tmp_path):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        result, compiled, cached = run(PIPELINE, root, cwd=tmp_path / place)
        assert set(result) == {0}, result
    assert compiled == []
    for kernel in ("sweep.sweep_sentences", "sweep.propose_sentences", "cache._fill", "hyperparameters"):
        assert any(name.startswith(f"monolingual.tsg.{kernel}") for name in cached), (kernel, cached)
