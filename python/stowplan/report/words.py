"""Numbers in words: "18 % faster (90 % interval 12 to 23)", "3.1 times as long"."""

import math
from typing import List, Optional

from .table import Estimate


def seconds(value: Optional[float]) -> str:
    """Three digits: "0.724", "1.20", "37.5"; "OOM" where infinite."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "OOM"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.3g}")))))
    return f"{value:.{digits}f}"


def _percent(ratio: float) -> str:
    amount = abs(1 - ratio) * 100
    return f"{amount:.1f}" if amount < 9.95 else f"{amount:.0f}"


def faster(ratio: float) -> str:
    """Of a ratio of times: "18 % faster", "4.1 % slower", "as fast", "3.1 times as long"."""
    if math.isinf(ratio):
        return "does not fit"
    if ratio == 0:
        return "the other does not fit"
    if _percent(ratio) == "0.0":
        return "as fast"
    if ratio > 2:
        return f"{seconds(ratio)} times as long"
    return f"{_percent(ratio)} % {'faster' if ratio < 1 else 'slower'}"


def _seeds(estimate: Estimate) -> str:
    return f"{estimate.seeds} seed{'' if estimate.seeds == 1 else 's'}"


def compared(estimate: Estimate, of: str = "") -> str:
    """The same with its interval. `of`: what was drawn, where it is not seeds: "29 rows"."""
    if estimate.unpaired and not of:
        return "not compared, no seed that both have"
    if math.isnan(estimate.value):
        return "no mean, not every seed fits"
    text = faster(estimate.value)
    if not estimate.sampled and estimate.low == estimate.high:
        return text
    if not estimate.sampled:
        of = of or "over graphs"
    if estimate.open and not of:
        return f"{text} ({_seeds(estimate)}, too few for an interval)"
    of = of or _seeds(estimate)
    low, high = estimate.low, estimate.high
    if max(low, high, estimate.value) > 2 or low == 0:
        between = f"{seconds(low)} to {'no end' if math.isinf(high) else seconds(high)} times as long"
    elif high <= 1 and estimate.value <= 1:
        between = _span(high, low)
    elif low >= 1 and estimate.value >= 1:
        between = _span(low, high)
    else:
        between = f"{faster(low)} to {faster(high)}"
    return f"{text} (90 % interval {between}; {of})"


def _span(least: float, most: float) -> str:
    """Of percents: "12 to 23", "10.2 to 10.4", "less than 0.1 wide"."""
    ends = _percent(least), _percent(most)
    if ends[0] == ends[1]:
        ends = f"{abs(1 - least) * 100:.1f}", f"{abs(1 - most) * 100:.1f}"
    return f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else "less than 0.1 wide"


def samples(estimate: Estimate, ours: str, theirs: str) -> str:
    """Of theirs over ours: "HDP needs 1.8 times as many samples (90 % interval 1.2 to 2.4; 3 seeds)", of who needs more."""
    who, value, low, high = theirs, estimate.value, estimate.low, estimate.high
    if value < 1:
        who, value, low, high = ours, 1 / value, 1 / high, 1 / low if low else math.inf
    between = "too few for an interval" if estimate.open else f"90 % interval {seconds(low)} to {seconds(high)}"
    return f"{who} needs {seconds(value)} times as many samples ({between}; {_seeds(estimate)})"


def longer(estimate: Estimate) -> str:
    """Of times that are no steps: "39 % longer (90 % interval 11 % shorter to 64 % longer; 10 seeds)"."""
    return compared(estimate).replace("faster", "shorter").replace("slower", "longer")


def fewer(speedup: float) -> str:
    """"1.6 times fewer", "2.8 times more", "never as good" where they are never enough."""
    if math.isinf(speedup):
        return "the other is never as good"
    return "never as good" if speedup == 0 else f"{seconds(speedup)} times fewer" if speedup >= 1 else f"{seconds(1 / speedup)} times more"


def listed(items: List[str]) -> str:
    """"a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


def count(number: float) -> str:
    return f"{number:,.0f}"
