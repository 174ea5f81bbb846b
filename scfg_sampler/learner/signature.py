"""What reproduces a run, for the signature line of its rule tables: all that decides a chain, and no more."""

from __future__ import annotations

from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.learner.settings import LearnerSettings

__all__ = ["signature_fields"]


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
    if settings["anneal_sweeps"]:
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
