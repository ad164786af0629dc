"""The page of a measured GPU: what `finish` found, for a reader."""

import html

_STYLE = "body{font:14px sans-serif;margin:2em}td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #ccc}"


def _row(tag, cells):
    return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _table(head, rows):
    if not rows:
        return "<p>Nothing was measured.</p>"
    return "<table>" + _row("th", head) + "".join(_row("td", row) for row in rows) + "</table>"


def _percent(share):
    return "" if share is None else f"{100 * share:.1f} %"


def _steps(session):
    return [(step["name"], step["outcome"], step.get("seconds", ""), step.get("why", ""),
             ", ".join(state.get("clocks.sm", "") for state in step.get("clocks", []))) for step in session["steps"]]


def _scores(scores):
    rows = []
    for name, found in scores.items():
        prices, devices = name.split(".")
        rows += [(prices.replace("_", " "), devices, one["workload"], one["placements"], _percent(one["median_error"]),
                  _percent(one["p95_error"]), "" if one["tau_b"] is None else f"{one['tau_b']:.2f}") for one in found]
    return rows


def text(summary):
    session, recorders = summary["session"], summary.get("recorders")
    gpus = session["gpus"]
    title = f"{gpus[0]['name'] if gpus else 'No GPU'}, {session['date'][:10]}, revision {session['revision']}"
    parts = (
        ("What was measured", _table(("step", "outcome", "seconds", "why", "SM clock before and after"), _steps(session))),
        ("What is to be known of it", "".join(f"<p>{html.escape(sentence)}</p>" for sentence in summary["said"])),
        ("Simulated against measured steps",
         "<p>Held out: the prices have seen no op of these graphs. All: each op was measured alone.</p>" +
         _table(("prices", "devices", "workload", "placements", "median error", "95 %", "tau"), _scores(summary["scores"]))),
        ("Training steps in PyTorch",
         _table(("network", "way", "step, ms", "allocated, MiB", "reserved, MiB", "kernels a step"), summary["networks"])),
        ("Our recorder beside Kineto", f"<p>{html.escape(recorders['sentence'] if recorders else 'It was not measured.')}</p>"))
    if summary["collectives"]:
        parts += (("Collectives", _table(("collective", "GPUs", "bytes", "us"), summary["collectives"])),)
    body = "".join(f"<h2>{name}</h2>{content}" for name, content in parts)
    return (f"<!doctype html><meta charset='utf-8'><title>A measured GPU</title><style>{_STYLE}</style>"
            f"<h1>{html.escape(title)}</h1>{body}\n")
