"""What the commands of `scfg-decoder` do, from Python: language models, systems, tuning, scores.

`import decoder` offers all of it, loaded when it is first asked for::

    lm = decoder.train_lm("train.en", "en.arpa")
    tuning = decoder.tune(rules, lm, "dev.fr", "dev.en")
    system = decoder.make_system(rules, lm, tuning.weights)
    system.translate(["un chat dort"])
    decoder.evaluate(translations, "test.en")

Rules are what `scfg_sampler.Run.grammar`, `extract_rules` and `read_rules` return, or the path of a table.
The fact a newcomer would get wrong: a string is the path of a text; sentences are given as a list.
"""
