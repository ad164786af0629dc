"""Errors and orders of predictions."""
import math

import numpy as np

CLOSE = 2  # of times that differ by less the order says more


def errors(ratios):
    """Median and 90th percentile of |predicted / measured - 1|, and the median with its sign."""
    off = [abs(ratio - 1) for ratio in ratios]
    return np.quantile(off, 0.5), np.quantile(off, 0.9), np.quantile(ratios, 0.5) - 1


def tau(measured, predicted, apart=math.inf):
    """Kendall's, over the pairs whose measured times differ, by less than `apart` times; None without a pair."""
    same = count = 0
    for i, a in enumerate(measured):
        for j in range(i):
            b = measured[j]
            if a == b or max(a, b) >= apart * min(a, b):
                continue
            count += 1
            product = (a - b) * (predicted[i] - predicted[j])
            same += (product > 0) - (product < 0)
    return same / count if count else None


def speed_ratios(predictions):
    """{(one GPU, another): predicted / measured ratio of their speeds, for each name that both have}"""
    found = {}
    for i, a in enumerate(predictions):
        for b in predictions[:i]:
            if (a.case.source, a.case.name) == (b.case.source, b.case.name) and a.case.gpu != b.case.gpu:
                first, second = sorted((a, b), key=lambda one: one.case.gpu)
                found.setdefault((a.case.source, first.case.gpu, second.case.gpu), []).append(first.ratio / second.ratio)
    return found
