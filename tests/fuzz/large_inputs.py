#!/usr/bin/env python3
"""Writes what is as large as a megabyte and as costly to read as one can think of, for each reader.

    large_inputs.py FOLDER [TARGET...]      FOLDER/TARGET/NAME, a target being one of tests/fuzz/README.md, or `table` or `external`
"""

import argparse
import gzip
import json
import pathlib
import sqlite3
import struct
import subprocess
import tempfile

BYTES = 1_000_000
ROOT = pathlib.Path(__file__).resolve().parents[2]


def fill(piece, before="", behind="", between=""):
    """`before`, then piece(0), piece(1), … up to the size, then `behind`."""
    pieces, size = [], len(before) + len(behind)
    for i in range(BYTES):
        text = piece(i) if callable(piece) else piece
        size += len(text) + len(between)
        if size > BYTES:
            break
        pieces.append(text)
    return before + between.join(pieces) + behind


def repeated(pieces):
    return {f"repeated_{number}": fill(piece) for number, piece in enumerate(pieces)}


JSON_PIECES = ["[", '{"a":', "0,", '"\\u0041"', "1", '"', "\\", "[],", "{},", '"a",', "-", "1e", "\n", "[" * 60 + "]" * 60 + ","]
YAML_PIECES = ["[", "{", "- ", "? ", "a: ", "'", '"', "\n", "#", "|\n", "&a ", "*a ", "!a ", "a, ", "%", "\t", ": ", "[a,", "{a,", "a\n", "-\n", "? a\n",
               "[[],", "{a: {}, ", '"a": ', "a: b: ", "--- ", "- - - - - - - -\n", ">\n ", "\u00e9"]
CSV_PIECES = [",", '"', '""', "\n", "a,", "\r\n", '"a"\n']


def graphs():
    head = '{"format":"stowplan.graph","version":1,"name":"g","ops":['
    ranks = 512
    rings = [{"name": f"a{rank}", "type": "T", "outputs": [{"bytes": 4}]} for rank in range(ranks)]
    rings += [{"name": f"r{ring}", "type": "AllReduce", "inputs": [f"a{rank}" if ring == 0 else f"r{ring - 1}:{rank}" for rank in range(ranks)],
               "outputs": [{"bytes": 4}] * ranks} for ring in range(2)]
    rings += [{"name": f"c{i}", "type": "T", "control": ["r0", "r1"]} for i in range(20_000)]
    parts = [{"name": f"a{rank}", "type": "T", "outputs": [{"bytes": ranks}]} for rank in range(ranks)]
    parts += [{"name": f"e{i}", "type": "AllToAll", "inputs": [f"a{rank}" if i == 0 else f"e{i - 1}:{rank}" for rank in range(ranks)],
               "outputs": [{"bytes": ranks}] * ranks} for i in range(3)]
    return {
        "ops": fill(lambda i: f'{{"name":"{i}","type":"T"}}', head, "]}", ","),
        "priced": fill(lambda i: f'{{"name":"{i}","type":"T","cost_us":{{"cpu":1,"gpu":1}}}}', head, "]}", ","),
        "chain": fill(lambda i: f'{{"name":"{i}","type":"T","inputs":["{max(i - 1, 0)}"],"outputs":[{{}}]}}' if i else
                      '{"name":"0","type":"T","outputs":[{}]}', head, "]}", ","),
        "outputs": fill("{}", head + '{"name":"a","type":"T","outputs":[', "]}]}", ","),
        "shape": fill("1", head + '{"name":"a","type":"T","outputs":[{"shape":[', "]}]}]}", ","),
        "readers": fill('"a"', head + '{"name":"a","type":"T","outputs":[{}]},{"name":"b","type":"T","inputs":[', "]}]}", ","),
        "waits": fill('"a"', head + '{"name":"a","type":"T"},{"name":"b","type":"T","control":[', "]}]}", ","),
        "attributes": fill(lambda i: f'"{i}":1', head + '{"name":"a","type":"T","attributes":{', "}}]}", ","),
        "kinds": fill(lambda i: f'"{i}":1', head + '{"name":"a","type":"T","cost_us":{', "}}]}", ","),
        "aliases": fill(lambda i: f'{{"name":"{i}","type":"T","inputs":["{i - 1}"],"outputs":[{{"alias":"{i - 1}"}}]}}' if i else
                        '{"name":"0","type":"T","outputs":[{}]}', head, "]}", ","),
        "circle": fill(lambda i: f'{{"name":"{i}","type":"T","control":["{i + 1}"]}}', head, ',{"name":"x","type":"T"}]}', ","),
        "name": fill("a", head + '{"name":"', '","type":"T"}]}'),
        "modules": fill("a/", head + '{"name":"', 'a","type":"T"}]}'),
        **{name: json.dumps({"format": "stowplan.graph", "version": 1, "name": "g", "ops": ops}, separators=(",", ":"))
           for name, ops in (("rings", rings), ("exchanges", parts))},
    }


def clusters():
    head = "{format: stowplan.cluster, version: 1, name: c, devices: ["
    device = "{{name: d{}, kind: cpu-a, memory: 1GiB}}".format
    star = "], switches: [s], links: ["
    link = "{{name: l{0}, ends: [d{0}, s], bandwidth: 1GB/s}}".format

    def of(devices, rest=""):
        return head + ", ".join(device(i) for i in range(devices)) + rest + "]}"

    def stars(devices):
        return of(devices, star + ", ".join(link(i) for i in range(devices)))
    row = ", ".join("{{name: l{0}, ends: [d{0}, d{1}], bandwidth: 1GB/s}}".format(i, i + 1) for i in range(199))
    return {
        "devices": of(2048),
        "too_many": of(2049),
        "star": stars(1448),
        "star_too_large": stars(1500),
        "row": of(200, "], links: [" + row),
        "parallel_links": fill(lambda i: f"{{name: l{i}, ends: [d0, d1], bandwidth: 1GB/s}}", of(2)[:-2] + "], links: [", "]}", ", "),
        "switches": fill(lambda i: f"s{i}", of(2)[:-2] + "], switches: [", "]}", ","),
        "route": fill("l", of(2)[:-2] + "], links: [{name: l, ends: [d0, d1], bandwidth: 1GB/s}], routes: [{from: d0, to: d1, via: [", "]}]}", ","),
        "curve": fill(lambda i: f"[{i}B, {i}us]", of(2)[:-2] + "], links: [{name: l, ends: [d0, d1], bandwidth: 1GB/s, curve: [", "]}]}", ","),
        "concurrency": fill("0.1", head + "{name: d, kind: gpu-a, memory: 1GiB, streams: 1024, concurrency: [", "]}]}", ","),
    }


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def texts(number, *each):
    return b"".join(field(number, one) for one in each)


def onnx_value(name, dims, element=1):
    shape = b"".join(field(1, b"\x08" + varint(dim)) for dim in dims)
    return field(1, name) + field(2, field(1, b"\x08" + varint(element) + field(2, shape)))


def onnx_node(op, inputs, outputs, name=b"", domain=b"", attributes=b""):
    return texts(1, *inputs) + texts(2, *outputs) + (field(3, name) if name else b"") + field(4, op) + attributes + (field(7, domain) if domain else b"")


def onnx_graph_attribute(name, graph):
    return field(5, field(1, name) + field(6, graph) + b"\xa0\x01\x05")


def onnx_model(graph, functions=b""):
    return b"\x08\x08" + field(8, b"\x10\x11") + field(7, graph) + functions  # in this order, by which a model is told


def onnx_loop(nodes, trips, dims=(4,), name=b"", last=b"t", hints=(), behind=b"", outputs=(b"y",)):
    """Of a state `s`, which becomes `last`: what nodes of a short file become when they are written out."""
    go = onnx_value(b"go", (), 9)
    body = texts(1, *nodes) + field(2, b"b") + texts(11, onnx_value(b"i", (), 7), go, onnx_value(b"s", dims))
    body += texts(12, go, field(1, last)) + behind + texts(13, *[onnx_value(hint, dims) for hint in hints])
    loop = onnx_node(b"Loop", [b"trips", b"", b"x"], outputs, name, b"", onnx_graph_attribute(b"body", body))
    number = b"\x10\x07" + field(9, struct.pack("<q", trips)) + field(8, b"trips")
    return onnx_model(field(1, loop) + field(2, b"g") + field(5, number) + field(11, onnx_value(b"x", dims)) + texts(12, *[field(1, each) for each in outputs]))


def onnx_loops():
    """Each is written out to nearly as many nodes as are let be, but for the first."""
    six, axes = [b"t", b"a", b"c", b"d", b"e", b"f"], (1,) * 5
    relu = onnx_node(b"Relu", [b"s"], [b"t"])
    row = [onnx_node(b"Relu", [b"v%d" % (i - 1) if i else b"s"], [b"v%d" % i]) for i in range(1000)]
    wide = [onnx_node(b"W", [b"v%d" % (i - 1) if i else b"s"], [b"v%d" % i, *(each + b"%d" % i for each in six[1:])], b"", b"w") for i in range(100)]
    return {
        "loop_too_long": onnx_loop([onnx_node(b"W", [b"s"], six, b"n" * 150, b"w")], 65_000, (1,) * 64, hints=six),
        "loop_row": onnx_loop(row, 260, last=b"v999"),
        "loop_names": onnx_loop([onnx_node(b"Relu", [b"s"], [b"t"], b"n" * 110)], 87_000, name=b"n" * 110),
        "loop_constants": onnx_loop([onnx_node(b"W", [b"s", b"i", b"go"], [b"t"], b"", b"w")], 65_000),
        "loop_axes": onnx_loop([onnx_node(b"W", [b"s"], six, b"n" * 150, b"w")], 65_000, axes, hints=six),
        "loop_axes_row": onnx_loop(wide, 1295, axes, last=b"v99", hints=[each + b"%d" % i for each in (b"v", *six[1:]) for i in range(100)]),
        "loop_collected": onnx_loop([relu], 87_000, behind=field(12, field(1, b"t")), outputs=(b"y", b"z")),
    }


def onnx_functions():
    attributes = b"".join(field(5, field(1, b"a%d" % i) + b"\x18\x01\xa0\x01\x02") for i in range(5))
    nodes = [onnx_node(b"W", [b"v%d" % (i - 1) if i else b"p"], [b"v%d" % i], b"", b"w", attributes) for i in range(1000)]
    function = field(1, b"F") + field(4, b"p") + field(5, b"v999") + texts(7, *nodes) + field(9, b"\x10\x11") + field(10, b"f")
    calls = [onnx_node(b"F", [b"v%d" % (i - 1) if i else b"x"], [b"v%d" % i], b"", b"f") for i in range(130)]
    return onnx_model(texts(1, *calls) + field(2, b"g") + field(11, onnx_value(b"x", (4,))) + field(12, field(1, b"v129")), field(25, function))


def onnx():
    head = field(2, b"g") + field(11, onnx_value(b"x", [4]))
    node = [onnx_node(b"Relu", [b"v%d" % (i - 1) if i else b"x"], [b"v%d" % i]) for i in range(38_000)]
    graphs = {f"empty_{number}": field(number, b"") * (BYTES // 2 - 20) for number in (1, 5, 11, 12, 13, 14, 15)}
    graphs["chain"] = head + texts(1, *node) + field(12, field(1, b"v%d" % (len(node) - 1)))
    graphs["wide"] = head + field(1, onnx_node(b"Sum", [b"x"] * 300_000, [b"y"])) + field(12, field(1, b"y"))
    graphs["dims"] = field(2, b"g") + field(11, onnx_value(b"x", [1] * 150_000)) + field(12, field(1, b"x"))
    graphs["numbers"] = head + field(5, b"\x08" + varint(900_000) + b"\x10\x07" + field(7, b"\x01" * 900_000) + field(8, b"w"))
    graphs["numbers"] += field(1, onnx_node(b"Add", [b"x", b"x"], [b"y"])) + field(12, field(1, b"y"))
    # Of 2^16 numbers each, as many as are worked out for a model.
    graphs["constants"] = head + field(5, b"\x08\x01\x10\x07" + field(9, struct.pack("<q", 1 << 16)) + field(8, b"dims"))
    graphs["constants"] += texts(1, *[onnx_node(b"ConstantOfShape", [b"dims"], [b"c%d" % i]) for i in range(1020)], onnx_node(b"Relu", [b"x"], [b"y"]))
    graphs["constants"] += field(12, field(1, b"y"))
    deep = field(1, onnx_node(b"Relu", [b"x"], [b"y"])) + field(12, field(1, b"y"))
    while len(deep) < BYTES // 2 - 1000:
        both = b"".join(onnx_graph_attribute(name, field(2, b"b") + deep) for name in (b"then_branch", b"else_branch"))
        deep = field(1, onnx_node(b"If", [b"go"], [b"y"], attributes=both)) + field(12, field(1, b"y"))
    graphs["deep"] = head + field(11, onnx_value(b"go", (), 9)) + deep
    return {**{name: onnx_model(graph) for name, graph in graphs.items()}, **onnx_loops(), "functions": onnx_functions()}


def stores():
    fields = ["table_name", *(ROOT / "results/mars/rows.csv").read_text(encoding="utf-8").split("\n", 1)[0].strip().split(",")]
    if "screens" not in fields:
        fields.append("screens")
    keys = fields[:8]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tables.db"
        with sqlite3.connect(path) as database:
            database.execute(f"CREATE TABLE cells ({', '.join(f'[{name}] TEXT NOT NULL' for name in fields)}, PRIMARY KEY ({', '.join(f'[{name}]' for name in keys)}))")
            for number in range(2500):
                row = [str(number) if name in ("seed", "row") else "1" if name in ("budget", "runtime_us") else "ok" if name == "status" else
                       "searched" if name == "kind" else "no" if name == "dirty" else "random" if name == "agent" else "" for name in fields]
                database.execute(f"INSERT INTO cells VALUES ({','.join('?' * len(fields))})", row)
        database.close()
        whole = path.read_bytes()
    page = 4096
    return {"whole": whole, "last_page": whole[:-page] + bytes(page), "zeros": bytes(BYTES),
            "half": b"".join(whole[at:at + page] if at // page % 2 == 0 else bytes(page) for at in range(0, len(whole), page)),
            "noise": b"".join(whole[at:at + page - 9] + b"\xff" * 9 for at in range(0, len(whole), page))}


def checkpoints():
    sections = ",".join(['{"name":"","bytes":0}'] * 2900)
    header = f'{{"format":"stowplan.checkpoint","version":1,"agent":"a","checksum":"cbf29ce484222325","sections":[{sections}]}}\n'
    return {"sections": b"\0" + header.encode(), "one_line": b"\0" + b"[" * BYTES, "nested": b"\0" + b"[" * 65_000 + b"\n" + bytes(900_000), "lists": b"\1" + b"\0" * BYTES, "texts": b"\1" + b"\1" * BYTES}


def traces():
    event = '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"correlation":1}}'
    return {"empty_events": fill("{}", '{"schemaVersion":1,"traceEvents":[', "]}", ","), "kernels": fill(event, '{"schemaVersion":1,"traceEvents":[', "]}", ","),
            "correlations": fill(lambda i: event.replace('"correlation":1', f'"correlation":{i}').replace('"ts":1', f'"ts":{i}'),
                                 '{"schemaVersion":1,"traceEvents":[', "]}", ","),
            "nested_ops": nested_ops(3_000)}


def execution_node(number, name, inputs="", outputs="", schema="aten::a(Tensor self) -> Tensor", parent=1, shapes="", types=""):
    def told(values, shapes, types):
        return f'{{"values":[{values}],"shapes":[{shapes}],"types":[{types}]}}'
    of_outputs = ",".join(['"Tensor(f)"'] * outputs.count("["))
    return (f'{{"id":{number},"name":"{name}","ctrl_deps":{parent},"inputs":{told(inputs, shapes, types)},"outputs":{told(outputs, "", of_outputs)},'
            f'"attrs":[{{"name":"rf_id","value":{number}}},{{"name":"op_schema","value":"{schema}"}}]}}')


def executions():
    """What stands behind a NUL is the Kineto trace of the same run."""
    head, behind = '{"schema":"1.1.1","nodes":[', "]}"

    def whole(*nodes):
        return head + ",".join(nodes) + behind

    def tensor(number, device="cpu", storage=None):
        return f'[{number},{storage or number},0,1,4,"{device}"]'

    def views(storage):
        return ",".join(tensor(20_000 + i, storage=storage) for i in range(storage))

    def tensors(count, first=1):
        return ",".join(tensor(first + i) for i in range(count))

    def types(count):
        return ",".join(['"Tensor(f)"'] * count)

    def updates(count, name="a", device="cpu", shape="[]", outputs=""):
        """One call for a list of tensors, with another tensor that all share."""
        of_list = ",".join(["Tensor(f)"] * count)
        return whole(execution_node(2, f"aten::_foreach_{name}", f"[{tensors(count)}],{tensor(count + 1, device)}", outputs,
                                    types=f'"GenericList[{of_list}]","Tensor(f)"', shapes=f"[{','.join(['[]'] * count)}],{shape}"))

    def op(i):
        return execution_node(i + 2, "aten::a", tensor(i + 1), tensor(i + 2), types=types(1))

    one = tensor(1)
    record = '{{"ph":"X","cat":"cpu_op","name":"aten::a","pid":7,"tid":7,"ts":{},"dur":1,"args":{{"Record function id":{}}}}}'.format
    return {
        "ops": fill(op, head, behind, ","),
        "ranges": fill(lambda i: execution_node(i + 2, "a", parent=i + 1, schema=""), head, f",{op(1 << 40)}{behind}", ","),
        "in_place": fill(lambda i: execution_node(i + 2, "aten::a_", one, one, "aten::a_(Tensor(a!) self) -> Tensor(a!)", types=types(1)), head, behind, ","),
        "inputs": whole(execution_node(2, "aten::a", tensors(26_000), tensor(0), types=types(26_000))),
        "outputs": whole(execution_node(2, "aten::a", one, tensors(26_000), types=types(1))),
        "views": whole(execution_node(2, "aten::a", tensors(13_000), views(13_000), types=types(13_000))),
        "gives_back": whole(execution_node(2, "a", tensors(13_000), tensors(13_000), "", types=types(13_000))),
        "colons": whole(execution_node(2, ":" * 900_000, one, tensor(2), types=types(1))),
        "schema": whole(execution_node(2, "aten::a", one, tensor(2), "a(" + "Tensor(a!) s," * 70_000 + ") -> ", types=types(1))),
        "updates": updates(24_000),
        "updates_names": updates(12_000, "a" * 1_370),
        "updates_devices": updates(12_000, device="a" * 480_000),
        "updates_shapes": updates(12_000, shape="[" + ",".join(["1"] * 170) + "]"),
        "updates_views": updates(9_000, outputs=views(9_000)),
        "pair": whole(*[op(i) for i in range(2500)]) + "\0" + '{"traceEvents":[' + ",".join(record(i + 1, i + 2) for i in range(2500)) + "]}",
    }


def nested_ops(count):
    """A Kineto trace of ops that each enclose the next, and of calls behind the end of all but the first."""
    marker = '{{"ph":"X","cat":"cpu_op","name":"a","pid":7,"tid":7,"ts":{},"dur":{}}}'.format
    call = '{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":{},"dur":0,"args":{{"correlation":{}}}}}'.format
    kernel = '{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{},"dur":1,"args":{{"device":0,"stream":7,"correlation":{}}}}}'.format
    events = [marker(i + 1, 3 * count - 2 * i if i else 9 * count) for i in range(count)]
    events += [each for i in range(count) for each in (call(4 * count + 2 * i, i + 1), kernel(4 * count + 2 * i + 1, i + 1))]
    return '{"traceEvents":[' + ",".join(events) + "]}"


def msr():
    nodes = fill(lambda i: f'{{"id":{i},"supportedOnFpga":1,"cpuLatency":1,"fpgaLatency":1,"isBackwardNode":0,"size":1}}',
                 '{"maxSizePerFPGA":1,"maxFPGAs":1,"maxCPUs":1,"edges":[],"nodes":[', "]}", ",")
    star = [f'{{"id":{i},"supportedOnFpga":1,"cpuLatency":1,"fpgaLatency":1,"isBackwardNode":0,"size":1}}' for i in range(6000)]
    edges = fill(lambda i: f'{{"sourceId":0,"destId":{i + 1},"size":{i}}}' if i < 5999 else "", "", "", ",").rstrip(",")
    return {"nodes": nodes, "edges": '{"maxSizePerFPGA":1,"maxFPGAs":1,"maxCPUs":1,"nodes":[' + ",".join(star) + '],"edges":[' + edges + "]}"}


def doppler():
    nodes = 60_000
    return {"star": "\n".join([str(nodes), "", " ".join(map(str, range(nodes - 1))), " ".join([str(nodes - 1)] * (nodes - 1))] + ["0,0"] * nodes),
            "words": "4\n" + " " * 200_000 + "\n" + "0 " * 200_000 + "\n" + "1 " * 200_000, "lines": "1\n\n\n\n" + "0 0\n" * 240_000}


def validations():
    """Of two ops in a row, whatever the program or the target takes for the workload."""
    peaks = '"peak_bytes":[1,1],"least_peak_bytes":[1,1],"most_peak_bytes":[1,1]'
    placement = f'{{"family":"f","device":"01","steps_us":[1],{peaks}}}'
    many_devices = ", ".join(f"{{name: d{i}, kind: cpu, memory: 1GiB}}" for i in range(2048))

    def whole(placements=placement, cluster="{name: a, kind: cpu, memory: 1GiB}, {name: b, kind: cpu, memory: 1GiB}", traced="", more=""):
        return (f'{{"format":"stowplan.validation","version":2,"workload":"chain(ops=2)","provenance":{{"machine":"m","date":"d","commit":"c","command":"x"}},'
                f'"load":{{}},"wanted_steps":2,"cluster":"{{format: stowplan.cluster, version: 1, name: two, devices: [{cluster}]}}","stand_ins":[],'
                f'"placements":[{placements}],"traced":[{traced}]{more}}}')

    def filled(piece, **where):
        """As many of the pieces as there is room for, where `@` stands."""
        before, behind = whole(**where).split("@")
        return fill(piece, before, behind, ",")
    step = f'{{"family":"f","device":"01","steps_us":[@],{peaks}}}'
    ordered = f'{{"family":"f","device":"01","order":[@],"steps_us":[1],{peaks}}}'
    return {
        "placements": filled(placement, placements="@"),
        "steps": filled("1", placements=step),
        "order": filled("0", placements=ordered),
        "devices": filled(placement, placements="@", cluster=many_devices),
        "traced": filled('{"placement":0,"ns":9,"ops":[[0,0,0,1]],"copies":[]}', traced="@"),
        "copies": filled("[0,0,0,1,0,1]", traced='{"placement":0,"ns":9,"ops":[],"copies":[@]}'),
        "clocks": filled('{"before":0,"clocks":{"a":1}}', more=',"clocks":[@]'),
        "facts": filled(lambda i: f'"{i}":1', more=',"execution":{@}'),
    }


def measured():
    head = "".join(f"# {fact}: a\n" for fact in ("machine", "device", "library", "date", "source", "licence"))
    names = "op,name,dtype,rows,columns,depth,us\n"
    return {"rows": fill(lambda i: f"linear,,f32,{i + 1},{i % 97 + 1},8,{i + 1}\n", head.replace("device: a", "device: t4") + names),
            "kinds": fill(lambda i: f"linear,,f32,1,1,8,1,k{i}\n", head + "op,name,dtype,rows,columns,depth,us,device\n"),
            "names": fill(lambda i: f"elementwise,n{i},f32,9,9,,1\n", head.replace("device: a", "device: t4") + names),
            "facts": fill("# source: a\n", behind=head + names), "columns": fill("rows,", head + "op,dtype,us,", "rows\n")}


def reports():
    def of(evaluations, piece):
        return b"\0" + struct.pack("<Q", evaluations) + piece * min(evaluations, BYTES // len(piece))
    empty = struct.pack("<q", 1) + b"\1\0\0" + bytes(16)
    return {"evaluations": of(BYTES // len(empty), empty), "too_few": of(1 << 60, empty),
            "starts": of(1, struct.pack("<q", 1) + b"\1\0\0" + bytes(8) + struct.pack("<Q", 120_000) + bytes(960_000)),
            "list_too_long": of(1, struct.pack("<q", 1) + b"\1\0\0" + struct.pack("<Q", 1 << 61) + bytes(900_000))}


def tables():
    head = "{format: stowplan.experiment, version: 1, name: mine, cluster: k40(gpus=2), columns: "
    return {"rows": fill(lambda i: f"{{key: r{i}, workload: chain(ops=4)}}", head + "[single_gpu], rows: [", "]}", ", "),
            "columns": fill(lambda i: f"{{key: c{i}, agent: random}}", head + "[", "], rows: [{workload: chain(ops=4)}]}", ", "),
            "claims": fill("{claim: a, kind: beats, column: random, than: single_gpu, named: b}",
                           head + "[single_gpu, random], rows: [{workload: chain(ops=4)}], claims: [", "]}", ", ")}


def squeezed(texts):
    """Whatever is behind it, as large as the limits let it become: of bytes, or (the last) of values."""
    inside = {"zeros": bytes(99 * BYTES), "list": b"[" + b"0," * (49 * BYTES) + b"0]", "objects": b"[" + b"{}," * (33 * BYTES) + b"0]",
              "strings": b'["' + b'a","' * (24 * BYTES) + b'"]',
              "attributes": b'{"format":"stowplan.graph","version":1,"name":"g","ops":[{"name":"a","type":"T","attributes":{"a":[' +
              b'{"a":0},' * (3 * BYTES - 100) + b"0]}}]}",
              "nested_ops": nested_ops(110_000).encode()}
    return {name: texts(content) for name, content in inside.items()}


def zstd(content):
    made = subprocess.run(["zstd", "-q", "-c", "-"], input=content, capture_output=True, check=True).stdout
    # Frames that say nothing fill it up: what it may expand to is counted by its size.
    return made + struct.pack("<II", 0x184D2A50, BYTES - len(made) - 8) + bytes(BYTES - len(made) - 8)


def gzipped(content):
    made = gzip.compress(content, 6, mtime=0)
    filler = gzip.compress(b"", 0, mtime=0)
    return made + filler * ((BYTES - len(made)) // len(filler))


GATE = "case,agent,seed,best_s,late_s,goal_s,single_device,entropy,gradient_norm,experiment,revision\n"
OWN = {"graph": graphs, "cluster": clusters, "onnx": onnx, "store": stores, "checkpoint": checkpoints, "kineto": traces, "msr": msr,
       "doppler": doppler, "table": tables, "zstd": lambda: squeezed(zstd), "gzip": lambda: squeezed(gzipped),
       "map": lambda: {"entries": fill(lambda i: f'"{i}": 0', "{", "}", ", ")},
       "json": lambda: {"keys": fill(lambda i: f'"{i}":0', "{", "}", ","), "digits": fill("1", "[1", "]"), "zeros": fill("0", "[0.", "1]")},
       "rows": lambda: {"lines": fill("," * 40 + "\n", (ROOT / "results/mars/rows.csv").read_text(encoding="utf-8").split("\n", 1)[0] + "\n")},
       "memory": lambda: {name: fill(lambda i: f"{name}_{i},0,0,0,0\n", "#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations\n")
                          for name in ("n", "Relu")},
       "execution": executions, "validation": validations, "measured": measured, "report": reports,
       "gate": lambda: {"runs": fill(lambda i: f"inception_v3,rnn,{i},1.5,1.75,1.25,0.5,3,0.01,0123,abc\n", GATE)},
       "units": lambda: {"digits": fill("1", behind="GiB"), "zeros": fill("0", "0.", "1GB/s"), "exponent": fill("9", "1e", "s")},
       "spec": lambda: {"list": fill("a=1,", "f(", "a=1)"), "keys": fill(lambda i: f"{i}=1,", "f(", "a=1)"), "places": fill("1,", "f(", "1)")}}
PIECES = {**dict.fromkeys(("graph", "placement", "json", "trace", "kineto", "validation", "parameters", "msr", "split", "map", "external"), JSON_PIECES),
          **dict.fromkeys(("cluster", "scenario", "yaml", "sheet", "table"), YAML_PIECES), **dict.fromkeys(("rows", "gate", "measured", "memory"), CSV_PIECES),
          **dict.fromkeys(("units", "spec"), ["(", "a(", "9", "a=", ",", "a(b=", "'", '"', " ", "."])}


def main():
    targets = sorted({*OWN, *PIECES})
    usage, _, text = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=usage, epilog=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("target", nargs="*", help=", ".join(targets))
    options = parser.parse_args()
    if unknown := set(options.target) - set(targets):
        parser.error(f"there is no target {unknown.pop()}")
    folder = options.folder
    for target in options.target or targets:
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, content in {**OWN.get(target, dict)(), **repeated(PIECES.get(target, []))}.items():
            (folder / target / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main()
