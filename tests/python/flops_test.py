"""FLOPs of PyTorch's products (stowplan._flops), each against multiplications counted one by one. Run by run.py; needs no torch."""

import itertools
import math
import unittest

import stowplan._aten
from stowplan._flops import FLOPS, flops_of

#: Types of a stowplan.graph that are products, whatever PyTorch's op is called.
PRODUCTS = {"MatMul", "BatchMatMul", "GroupedMatMul", "Attention", "AttentionGrad", "ConvBackward", "CudnnRNN", "CudnnRNNBackprop", "RNN", "RNNGrad"}


class Shape:
    """What a formula sees of a tensor."""

    def __init__(self, *shape):
        self.shape = shape

    def dim(self):
        return len(self.shape)

    def numel(self):
        return math.prod(self.shape)


def count(*ranges):
    """Multiplications of nested loops."""
    return sum(1 for _ in itertools.product(*(range(one) for one in ranges)))


def product(rows, depth, columns, batch=1):
    return 2 * count(batch, rows, columns, depth)


def window_positions(size, kernel, stride, padding, dilation):
    """Where a window stands, along one axis."""
    places, start = 0, -padding
    while start + dilation * (kernel - 1) < size + padding:
        places, start = places + 1, start + stride
    return places


class Convolution:
    """image [n, c_in, …], filters per group; counts what each product multiplies, in loops over images, groups, channels, places and taps."""

    def __init__(self, batch, channels, sizes, filters, kernel, stride=1, padding=0, dilation=1, groups=1, transposed=False):
        self.groups, self.transposed = groups, transposed
        self.inner, self.outer = channels // groups, filters // groups
        places = [window_positions(size, k, stride, padding, dilation) for size, k in zip(sizes, kernel)]
        self.batch, self.kernel = batch, kernel
        if transposed:
            places = list(sizes)  # each pixel is spread over a window of what comes out
            out = [(size - 1) * stride - 2 * padding + dilation * (k - 1) + 1 for size, k in zip(sizes, kernel)]
            self.filters = Shape(channels, filters // groups, *kernel)
        else:
            out = places
            self.filters = Shape(filters, channels // groups, *kernel)
        self.places = places
        self.image, self.given = Shape(batch, channels, *sizes), Shape(batch, filters, *out)
        dimensions = len(kernel)
        self.window = [[stride] * dimensions, [padding] * dimensions, [dilation] * dimensions, transposed, [0] * dimensions, groups]

    def multiplications(self):
        return sum(1 for _ in itertools.product(range(self.batch), range(self.groups), range(self.outer), range(self.inner),
                                                *map(range, self.places), *map(range, self.kernel)))

    def forward(self):
        return flops_of("convolution", self.given, [self.image, self.filters, None, *self.window])

    def backward(self, mask):
        gradients = tuple(one if asked else None for one, asked in zip((self.image, self.filters, Shape(self.given.shape[1])), mask))
        return flops_of("convolution_backward", gradients, [self.given, self.image, self.filters, None, *self.window, mask])


CONVOLUTIONS = [
    Convolution(2, 4, (9,), 6, (3,)),
    Convolution(2, 4, (9,), 6, (3,), stride=2, padding=1, dilation=2, groups=2),
    Convolution(1, 3, (8, 7), 5, (3, 2), stride=2, padding=1),
    Convolution(2, 6, (6, 6), 6, (3, 3), padding=1, groups=6),  # depthwise
    Convolution(2, 4, (6, 6), 8, (3, 3), padding=1, groups=4),  # depthwise, two filters a channel
    Convolution(2, 6, (6, 6), 4, (3, 3), groups=2, dilation=2),
    Convolution(1, 2, (4, 5, 6), 4, (2, 2, 2), stride=2),
    Convolution(1, 4, (4, 4, 4), 4, (3, 3, 3), padding=1, groups=4),
    Convolution(2, 4, (5, 5), 6, (3, 3), stride=2, padding=1, groups=2, transposed=True),
    Convolution(2, 3, (5,), 4, (4,), stride=3, transposed=True),
    Convolution(1, 2, (3, 3, 3), 2, (2, 2, 2), transposed=True),
    Convolution(0, 3, (5, 5), 4, (3, 3)),  # no image
    Convolution(2, 0, (5, 5), 4, (3, 3)),  # no channel
]


def attention(batch, heads, queries, keys, size, value_size):
    """Scores, and values weighed by them."""
    return product(queries, size, keys, batch * heads) + product(queries, keys, value_size, batch * heads)


def attention_backward(batch, heads, queries, keys, size, value_size):
    """Scores are worked out again; gradients of values, of the scores, of queries and of keys."""
    return (product(queries, size, keys, batch * heads) + product(keys, queries, value_size, batch * heads)
            + product(queries, value_size, keys, batch * heads) + product(queries, keys, size, batch * heads)
            + product(keys, queries, size, batch * heads))


def recurrent(steps, batch, inputs, hidden, gates, layers, directions):
    """Each gate of each step reads what comes in and what was hidden."""
    total, width = 0, inputs
    for _ in range(layers):
        total += directions * sum(product(batch, width, gates * hidden) + product(batch, hidden, gates * hidden) for _ in range(steps))
        width = directions * hidden
    return total


def weights(inputs, hidden, gates, layers, directions):
    found, width = [], inputs
    for _ in range(layers):
        for _ in range(directions):
            found += [Shape(gates * hidden, width), Shape(gates * hidden, hidden), Shape(gates * hidden), Shape(gates * hidden)]
        width = directions * hidden
    return found


SIZES = [(3, 4, 5), (1, 7, 2), (0, 4, 5), (3, 0, 5), (3, 4, 0)]
ATTENTIONS = [(2, 3, 4, 6, 8, 8), (1, 2, 5, 5, 6, 4), (2, 2, 1, 7, 4, 4), (2, 2, 0, 3, 4, 4), (1, 1, 3, 0, 4, 4)]


def cases():
    """Of every op of the table: its name, what the formula says, and the count."""
    for rows, depth, columns in SIZES:
        first, second, bias = Shape(rows, depth), Shape(depth, columns), Shape(columns)
        wanted = product(rows, depth, columns)
        for name in ("mm", "_int_mm", "_scaled_mm"):
            yield name, flops_of(name, None, [first, second, None, None]), wanted
        for name in ("addmm", "_addmm_activation"):
            yield name, flops_of(name, None, [bias, first, second, None]), wanted
        many, more = Shape(2, rows, depth), Shape(2, depth, columns)
        yield "bmm", flops_of("bmm", None, [many, more]), product(rows, depth, columns, 2)
        for name in ("baddbmm", "addbmm"):
            yield name, flops_of(name, None, [bias, many, more]), product(rows, depth, columns, 2)
        yield "mv", flops_of("mv", None, [first, Shape(depth)]), product(rows, depth, 1)
        yield "addmv", flops_of("addmv", None, [Shape(rows), first, Shape(depth)]), product(rows, depth, 1)
        for name in ("dot", "vdot"):
            yield name, flops_of(name, None, [Shape(depth), Shape(depth)]), product(1, depth, 1)
        for name in ("_grouped_mm", "_scaled_grouped_mm", "grouped_mm_fallback"):  # three experts, of which each row meets one
            ends = Shape(3)
            yield name, flops_of(name, None, [first, Shape(3, depth, columns), ends]), sum(product(1, depth, columns) for _ in range(rows))
            yield name, flops_of(name, None, [Shape(3, rows, depth), Shape(3, depth, columns), None]), product(rows, depth, columns, 3)
            yield name, flops_of(name, None, [Shape(3, rows, depth), Shape(depth, columns), ends]), sum(product(rows, depth, 1) for _ in range(columns))
            yield name, flops_of(name, None, [first, Shape(depth, columns), ends]), sum(product(rows, 1, columns) for _ in range(depth))
    for convolution in CONVOLUTIONS:
        once = 2 * convolution.multiplications()
        arguments = [convolution.image, convolution.filters, None, *convolution.window]
        for name in ("convolution", "_convolution", "convolution_overrideable"):
            yield name, flops_of(name, convolution.given, arguments), once
        for mask in itertools.product((False, True), repeat=3):
            wanted = sum(once for asked in mask[:2] if asked)
            yield "convolution_backward", convolution.backward(mask), wanted
            yield "convolution_backward_overrideable", flops_of("convolution_backward_overrideable", None, [
                convolution.given, convolution.image, convolution.filters, *convolution.window, mask]), wanted
    for batch, heads, queries, keys, size, value_size in ATTENTIONS:
        query, key, value = (Shape(batch, heads, rows, width) for rows, width in ((queries, size), (keys, size), (keys, value_size)))
        rest = [None] * 8
        for kind in ("flash_attention", "efficient_attention", "cudnn_attention", "flash_attention_for_cpu"):
            name = f"_scaled_dot_product_{kind}"
            yield name, flops_of(name, None, [query, key, value, *rest]), attention(batch, heads, queries, keys, size, value_size)
            yield name + "_backward", flops_of(name + "_backward", None, [Shape(*query.shape[:3], value_size), query, key, value, *rest]), \
                attention_backward(batch, heads, queries, keys, size, value_size)
        fewer = Shape(batch, 1, keys, size)  # heads of keys that several queries share
        yield "_scaled_dot_product_flash_attention", flops_of("_scaled_dot_product_flash_attention", None, [query, fewer, Shape(batch, 1, keys, value_size)]), \
            attention(batch, heads, queries, keys, size, value_size)
    for steps, batch, inputs, hidden, gates, layers, directions in ((4, 2, 3, 5, 4, 2, 2), (3, 1, 2, 2, 3, 1, 1), (0, 2, 3, 5, 4, 1, 1)):
        sequence, wanted = Shape(steps, batch, inputs), recurrent(steps, batch, inputs, hidden, gates, layers, directions)
        all_weights = weights(inputs, hidden, gates, layers, directions)
        yield "_cudnn_rnn", flops_of("_cudnn_rnn", None, [sequence, all_weights, 4]), wanted
        yield "_cudnn_rnn_backward", flops_of("_cudnn_rnn_backward", None, [sequence, all_weights, 4]), 2 * wanted
        one, layer = weights(inputs, hidden, gates, 1, 1), recurrent(steps, batch, inputs, hidden, gates, 1, 1)
        yield "mkldnn_rnn_layer", flops_of("mkldnn_rnn_layer", None, [sequence, *one, Shape(1, batch, hidden)]), layer
        yield "mkldnn_rnn_layer_backward", flops_of("mkldnn_rnn_layer_backward", None, [sequence, *one, Shape(1, batch, hidden)]), 2 * layer


class Flops(unittest.TestCase):
    def test_every_product_has_as_many_as_are_counted_one_by_one(self):
        seen = set()
        for name, said, wanted in cases():
            seen.add(name)
            with self.subTest(name):
                self.assertEqual(said, wanted)
        self.assertEqual(seen, set(FLOPS), "a case for each formula")

    def test_every_product_of_the_table_of_types_has_a_formula(self):
        products = {name for name, kind in stowplan._aten.TYPES.items() if kind in PRODUCTS}
        self.assertEqual(products - set(FLOPS), set())

    def test_what_is_no_product_has_none(self):
        for name in ("add", "native_layer_norm", "embedding"):
            self.assertEqual(flops_of(name, Shape(3), [Shape(3), Shape(3)]), 0)


if __name__ == "__main__":
    unittest.main()
