"""measured.csv, one line a row, and summary.md."""
import csv

from .scores import CLOSE, errors, speed_ratios, tau

OTHERS = ("neusight", "habitat", "roofline", "operators")
#: Largest median error by source and GPU.
GOALS = {("timm inference", "rtx3090"): 0.10, ("timm inference, sample", "rtx3090"): 0.10, ("timm inference", "rtx4090"): 0.15,
         ("timm inference", "rtx5090"): 0.15, ("timm training", "rtx3090"): 0.15,
         ("llm-foundry", "a100"): 0.06, ("llm-foundry", "h100"): 0.08, ("llama.cpp generation", "rtx3090"): 0.10, ("llama.cpp generation", "a100"): 0.10,
         ("llama.cpp prompt", "rtx3090"): 0.15, ("llama.cpp prompt", "a100"): 0.15, ("traces", "h100"): 0.10,
         ("SimuMax", "b200"): 0.06, ("torchtitan", "h100"): 0.08, ("Megatron-LM", "a100"): 0.08, ("llm-foundry with FSDP", "a100"): 0.08,
         ("llm-foundry with FSDP", "h100"): 0.08, ("Sailor", "gh200"): 0.15}
FEWEST = 3  # rows that a family has in the table of families
SPEED_GOAL = 0.10
WORST = 5


HEAD = """# Whole models against what others measured

{lead}

Each row is a model or a step that others measured, predicted with the default prices. The prices were fitted to single ops. Only f16 convolutions were fitted to whole models, half of
timm's families on the RTX 3090, which are in these tables beside the other half ({taught} and {new} missed in the median). On the H100 some ops of
the three traces taught what odd sizes cost.
The error is |predicted / measured - 1|. The bias is its median with a sign, negative where the prediction is too fast. Tau is Kendall's, of the order of predicted and measured times
(1 is the same order). The last tau takes only pairs that differ by less than {close} times. The roofline is stowplan's cost model `analytic`, and *busy* is the share of a step in which the GPU works.
The sources are those of [the prices](../gpu/README.md), and llm-foundry, llama.cpp, TensorFlow's benchmarks of 2017 and TraceLens.

"""
LEAD = "Of {goals} sources and GPUs with a goal, {met} meet it. The prediction is nearer than the roofline's in {nearer} of {all} sources and GPUs, {peers}."


def write(out, predictions, failed, taught):
    """`failed`: (case, why); `taught`: in_fit of a case."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "measured.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["source", "gpu", "dtype", "family", "case", "in_fit", "ratio", "roofline_ratio", *(f"peer_{peer}" for peer in OTHERS), "busy", "memory",
                       "note", "left_out"])
        for one in predictions:
            case = one.case
            rows.writerow([*_names(case), taught(case), f"{one.ratio:.3f}", f"{one.roofline:.3f}",
                           *(f"{case.peers[peer]:.3f}" if peer in case.peers else "" for peer in OTHERS), f"{one.busy:.2f}",
                           "" if one.memory is None else f"{one.memory:.3f}", case.note, case.left_out])
        for case, why in failed:
            rows.writerow([*_names(case), taught(case), "", "", *("" for _ in OTHERS), "", "", case.note, why])
    counted = [one for one in predictions if not one.case.left_out]
    sections = (_overview(counted), _peers(counted), _speeds(counted), _memory(counted), _families(counted), _worst(counted), _left_out(predictions, failed))
    head = HEAD.format(lead=_lead(counted), close=CLOSE, **{key: _percent(_median(group)) if group else "none" for key, group in _timm(counted, taught).items()})
    (out / "summary.md").write_text(head + "\n".join(_table(*section) for section in sections if section[-1]))


def write_types(out, shares):
    """`shares`: (case, {op type: share of its predicted time})."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "types.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["source", "gpu", "case", "op", "share"])
        for case, of_type in shares:
            rows.writerows([case.source, case.gpu, case.name, kind, f"{share:.4f}"] for kind, share in sorted(of_type.items()))


def _names(case):
    return case.source, case.gpu, case.dtype, case.family, case.name


def _groups(predictions, key):
    found = {}
    for one in predictions:
        found.setdefault(key(one.case), []).append(one)
    return found


def _table(title, heads, rows):
    lines = [f"## {title}", "", "| " + " | ".join(heads) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(heads))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def _percent(value, signed=False):
    return f"{100 * value:{'+' if signed else ''}.1f} %"


def _median(group):
    return errors([one.ratio for one in group])[0]


def _timm(counted, taught):
    """Inference by timm's models: of the families that the law was fitted to, and of the others."""
    inference = [one for one in counted if one.case.source.startswith("timm inference")]
    return {"taught": [one for one in inference if taught(one.case) != "no"], "new": [one for one in inference if taught(one.case) == "no"]}


def _lead(counted):
    groups = _groups(counted, lambda case: (case.source, case.gpu))
    goals = {key: GOALS[key] for key in groups if key in GOALS}
    beside = [group for group in groups.values() if any("neusight" in one.case.peers for one in group)]
    nearer = sum(_median(group) < errors([one.case.peers["neusight"] for one in group if "neusight" in one.case.peers])[0] for group in beside)
    return LEAD.format(goals=len(goals), met=sum(_median(groups[key]) <= goal for key, goal in goals.items()), all=len(groups),
                       nearer=sum(_median(group) < errors([one.roofline for one in group])[0] for group in groups.values()),
                       peers=f"and nearer than NeuSight's in {nearer} of {len(beside)}")


def _orders(group):
    measured = [one.case.measured_us / one.case.units for one in group]
    predicted = [one.ratio * time for one, time in zip(group, measured)]
    return ["–" if found is None else f"{found:.2f}" for found in (tau(measured, predicted), tau(measured, predicted, CLOSE))]


def _overview(counted):
    rows = []
    for (source, gpu, dtype), group in _groups(counted, lambda case: (case.source, case.gpu, case.dtype)).items():
        median, high, bias = errors([one.ratio for one in group])
        goal = GOALS.get((source, gpu))
        notes = {one.case.note for one in group}
        said = f"{source} ({notes.pop()})" if len(notes) == 1 and "" not in notes else source
        rows.append([said, gpu, dtype, len(group), _percent(median), _percent(high), _percent(bias, True), *_orders(group),
                     _percent(errors([one.roofline for one in group])[0]), "" if goal is None else f"{100 * goal:.0f} %"])
    heads = ["source", "GPU", "type", "rows", "median error", "90th percentile", "bias", "tau", f"tau within {CLOSE} times", "roofline, median", "goal"]
    return "By source and GPU", heads, rows


def _peers(counted):
    rows = []
    for (source, gpu), group in _groups([one for one in counted if one.case.peers], lambda case: (case.source, case.gpu)).items():
        cells = []
        for peer in OTHERS:
            theirs = [one.case.peers[peer] for one in group if peer in one.case.peers]
            cells.append(f"{_percent(errors(theirs)[0])} ({len(theirs)})" if theirs else "")
        rows.append([source, gpu, len(group), _percent(errors([one.ratio for one in group])[0]), *cells])
    return "Beside peers, median error (rows that have it)", ["source", "GPU", "rows", "stowplan", *(f"{name} (theirs)" if name == "roofline" else name for name in OTHERS)], rows


def _speeds(counted):
    rows = []
    for (source, first, second), ratios in speed_ratios(counted).items():
        median, high, bias = errors(ratios)
        rows.append([source, f"{second} / {first}", len(ratios), _percent(median), _percent(high), _percent(bias, True)])
    return f"Speed ratios between GPUs (goal: {100 * SPEED_GOAL:.0f} %)", ["source", "GPUs", "rows", "median error", "90th percentile", "bias"], rows


def _memory(counted):
    rows = []
    for (source, gpu), group in _groups([one for one in counted if one.memory is not None], lambda case: (case.source, case.gpu)).items():
        median, high, bias = errors([one.memory for one in group])
        rows.append([source, gpu, len(group), _percent(median), _percent(high), _percent(bias, True)])
    return "Peak of memory", ["source", "GPU", "rows", "median error", "90th percentile", "bias"], rows


def _families(counted):
    rows = []
    for (source, family), group in sorted(_groups(counted, lambda case: (case.source, case.family)).items()):
        if len(group) >= FEWEST:
            median, high, bias = errors([one.ratio for one in group])
            rows.append([source, family, len(group), _percent(median), _percent(high), _percent(bias, True)])
    return f"By family ({FEWEST} rows or more)", ["source", "family", "rows", "median error", "90th percentile", "bias"], rows


def _worst(counted):
    rows = []
    for source, group in _groups(counted, lambda case: case.source).items():
        for one in sorted(group, key=lambda one: max(one.ratio, 1 / one.ratio), reverse=True)[:WORST]:
            rows.append([source, one.case.gpu, one.case.name, f"{one.ratio:.2f}", f"{one.roofline:.2f}", f"{one.busy:.2f}"])
    return f"The {WORST} furthest off of each source (predicted / measured)", ["source", "GPU", "row", "ratio", "roofline", "busy"], rows


def _left_out(predictions, failed):
    counts = {}
    for case, why in [(one.case, one.case.left_out) for one in predictions if one.case.left_out] + failed:
        counts[case.source, why] = counts.get((case.source, why), 0) + 1
    return "Left out of every error", ["source", "why", "rows"], [[source, why, count] for (source, why), count in counts.items()]
