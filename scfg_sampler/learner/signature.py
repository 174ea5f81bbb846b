"""What reproduces a run, for the signature line of its rule tables: all that decides a chain, and no more."""

from __future__ import annotations

from pathlib import Path

from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.learner.settings import LearnerSettings, RunSettings

__all__ = ["grammar_fields", "signature_fields"]


def signature_fields(record: dict) -> list[tuple[str, object]]:
    """What reproduces a run, as names and values of a signature line.

    Parameters
    ----------
    record : dict
        As `read_run` returns it.
    """
    # Runs of before there was a setting have it as it is by default.
    settings, run = {**LearnerSettings._field_defaults, **record["settings"]}, record["run"]
    fields: list[tuple[str, object]] = [("model", settings["model"])]
    if settings["model"] == "pitman-yor":
        fields += [("base", settings["base"]), ("tables", settings["tables"])]
        fields += [("d", f"{settings['discount']:g}"), ("mean_length", f"{settings['mean_length']:g}")]
    schedule = settings["schedule"]
    if schedule == "stratified":
        schedule += f"x{settings['sweeps_per_level']}"
    fields += [("strength", f"{settings['strength']:g}"), ("schedule", schedule)]
    fields.append(("max_cut_span", settings["max_cut_span"]))
    if settings.get("unaligned", "lowest") != "lowest":
        fields += [("unaligned", settings["unaligned"]), ("max_attached", settings["max_attached"])]
    if not settings["density_factor"]:
        fields.append(("density_factor", "no"))
    if settings["order"] != "depth-first":
        fields.append(("order", settings["order"]))
    if settings["types"] > 1:
        fields += [("types", settings["types"]), ("types_start", settings["types_start"])]
    if settings["operator"] != "top-down":
        fields.append(("operator", settings["operator"]))
    if settings["learned"]:
        fields.append(("learned", ",".join(settings["learned"])))
    if settings["divide_by_trees"]:
        fields.append(("divide_by_trees", "yes"))
    if settings["type_moves"]:
        fields.append(("type_moves", settings["type_moves"]))
    if settings["anneal_sweeps"] or settings["anneal_end"] != 1.0:
        anneal = f"{settings['anneal_start']:g}:{settings['anneal_end']:g}:{settings['anneal_sweeps']}"
        fields.append(("anneal", anneal))
    if settings["shards"] > 1:
        fields.append(("shards", settings["shards"]))
    alignments = CorpusFiles.from_names(record["corpus"]["files"]).alignments
    if len(alignments) > 1:
        fields.append(("alignments", len(alignments)))
    if "labels" in record["corpus"]["files"]:
        fields.append(("labels", f"{settings['labels_form']} {settings['labels_side']}"))
    if settings.get("choose", "none") != "none":
        fields.append(("choose", settings["choose"]))
    return [*fields, ("sweeps", record["sweeps"]), ("seed", run["seed"])]


def grammar_fields(record: dict, origin: str) -> list[tuple[str, object]]:
    """What reproduces the counts that a grammar is made of: `signature_fields`, and what those leave to
    `run.json`, beside which they lie.

    Parameters
    ----------
    record : dict
        As `read_run` returns it.
    origin : str
        Which counts: one of `settings.ORIGINS`.
    """
    settings = {**LearnerSettings._field_defaults, **record["settings"]}
    run = {**RunSettings._field_defaults, **record["run"]}
    fields = signature_fields(record)
    if settings["model"] == "dirichlet":
        names = ["source_vocabulary", "target_vocabulary", "tables"]
        fields += [(name, settings[name]) for name in names if _is_given(settings, name)]
    if _is_given(settings, "max_length"):
        fields.append(("max_length", settings["max_length"]))
    if record.get("chains", 1) > 1:
        fields.append(("chains", record["chains"]))
    # Their names alone, so that a table does not depend on where they lie.
    for name, path in record["corpus"]["files"].items():
        fields.append(("labels_file" if name == "labels" else name, Path(path).name))
    fields += [("burn_in", run["burn_in"]), ("from", origin)]
    if origin == "average":
        names = ["average_every", "average_until"]
        fields += [(name, run[name]) for name in names if run[name] != RunSettings._field_defaults[name]]
    return fields


def _is_given(settings: dict, name: str) -> bool:
    """Whether a setting is another than the default."""
    return settings[name] != LearnerSettings._field_defaults[name]
