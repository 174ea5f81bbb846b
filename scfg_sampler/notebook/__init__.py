"""The project in a notebook: corpora, forests, runs and rules as objects that show themselves.

`import scfg_sampler` offers all of it, loaded when it is first asked for::

    corpus = scfg_sampler.read_corpus("train.fr", "train.en", "train.fr-en.gdfa")
    corpus[0].forest()                          # drawn
    run = scfg_sampler.sample(corpus, "run", iterations=60)
    run.derivation(0)                           # drawn
    rules = run.grammar()
    rules.write("rule-table.gz", "moses")

Behind every object are the arrays that the rest of the project works on (`corpus.arrays`, `forest.forest`,
`rules.table`), so whatever is missing here is one import away. The fact a newcomer would get wrong: a run
lives in its directory, not in memory; `open_run` finds it again tomorrow.
"""
