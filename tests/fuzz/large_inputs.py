#!/usr/bin/env python3
"""Writes what is as large as a megabyte and as costly to read as one can think of, for each reader.

    large_inputs.py FOLDER [TARGET...]      FOLDER/TARGET/NAME, a target being one of tests/fuzz/README.md, or `table` or `external`
"""

import gzip
import json
import pathlib
import sqlite3
import struct
import subprocess
import sys
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
    head = '{"format":"berth.graph","version":1,"name":"g","ops":['
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
        **{name: json.dumps({"format": "berth.graph", "version": 1, "name": "g", "ops": ops}, separators=(",", ":"))
           for name, ops in (("rings", rings), ("exchanges", parts))},
    }


def clusters():
    head = "{format: berth.cluster, version: 1, name: c, devices: ["
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


def onnx():
    def model(graph):
        return field(8, b"\x10\x0d") + field(7, graph) + b"\x08\x08"

    def tensor_type(dims):
        shape = b"".join(field(1, b"\x08" + varint(dim)) for dim in dims)
        return field(1, b"\x08\x01" + field(2, shape))

    value = field(1, b"x") + field(2, tensor_type([4]))
    node = [b"".join([field(1, b"x" if i == 0 else b"v%d" % (i - 1)), field(2, b"v%d" % i), field(4, b"Relu")]) for i in range(40_000)]
    head = field(2, b"g") + field(11, value)
    graphs = {f"empty_{number}": field(number, b"") * (BYTES // 2 - 20) for number in (1, 5, 11, 12, 13, 14, 15)}
    graphs["chain"] = head + b"".join(field(1, each) for each in node) + field(12, field(1, b"v%d" % (len(node) - 1)))
    graphs["wide"] = head + field(1, b"".join(field(1, b"x") for _ in range(300_000)) + field(2, b"y") + field(4, b"Sum")) + field(12, field(1, b"y"))
    graphs["dims"] = field(2, b"g") + field(11, field(1, b"x") + field(2, tensor_type([1] * 150_000)))
    graphs["numbers"] = field(2, b"g") + field(5, b"\x08" + varint(400_000) + b"\x10\x07" + field(7, b"\x01" * 900_000) + field(8, b"w"))
    deep = b""
    while len(deep) < BYTES - 2000:
        attribute = field(1, b"body") + field(6, field(1, field(4, b"If") + field(5, field(1, b"then_branch") + field(6, deep) + b"\xa0\x01\x05")))
        deep = attribute + b""
        if len(deep) > 900_000:
            break
        if len(deep) > 20_000 and len(deep) % 7:
            break
    graphs["deep"] = deep
    return {name: model(graph) for name, graph in graphs.items()}


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
    sections = ",".join(['{"name":"","bytes":0}'] * 3000)
    header = f'{{"format":"berth.checkpoint","version":1,"agent":"a","checksum":"cbf29ce484222325","sections":[{sections}]}}\n'
    return {"sections": b"\0" + header.encode(), "one_line": b"\0" + b"[" * BYTES, "lists": b"\1" + b"\0" * BYTES, "texts": b"\1" + b"\1" * BYTES}


def traces():
    event = '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"correlation":1}}'
    return {"empty_events": fill("{}", '{"schemaVersion":1,"traceEvents":[', "]}", ","), "kernels": fill(event, '{"schemaVersion":1,"traceEvents":[', "]}", ","),
            "correlations": fill(lambda i: event.replace('"correlation":1', f'"correlation":{i}').replace('"ts":1', f'"ts":{i}'),
                                 '{"schemaVersion":1,"traceEvents":[', "]}", ",")}


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


def tables():
    head = "{format: berth.experiment, version: 1, name: mine, cluster: k40(gpus=2), columns: "
    return {"rows": fill(lambda i: f"{{key: r{i}, workload: chain(ops=4)}}", head + "[single_gpu], rows: [", "]}", ", "),
            "columns": fill(lambda i: f"{{key: c{i}, agent: random}}", head + "[", "], rows: [{workload: chain(ops=4)}]}", ", "),
            "claims": fill("{claim: a, kind: beats, column: random, than: single_gpu, named: b}",
                           head + "[single_gpu, random], rows: [{workload: chain(ops=4)}], claims: [", "]}", ", ")}


def squeezed(texts):
    """Whatever is behind it, as large as the limits let it become: of bytes, or (the last) of values."""
    inside = {"zeros": bytes(99 * BYTES), "list": b"[" + b"0," * (49 * BYTES) + b"0]", "objects": b"[" + b"{}," * (33 * BYTES) + b"0]",
              "strings": b'["' + b'a","' * (24 * BYTES) + b'"]',
              "attributes": b'{"format":"berth.graph","version":1,"name":"g","ops":[{"name":"a","type":"T","attributes":{"a":[' +
              b'{"a":0},' * (3 * BYTES - 100) + b"0]}}]}"}
    return {name: texts(content) for name, content in inside.items()}


def zstd(content):
    made = subprocess.run(["zstd", "-q", "-c", "-"], input=content, capture_output=True, check=True).stdout
    # Frames that say nothing fill it up: what it may expand to is counted by its size.
    return made + struct.pack("<II", 0x184D2A50, BYTES - len(made) - 8) + bytes(BYTES - len(made) - 8)


def gzipped(content):
    made = gzip.compress(content, 6, mtime=0)
    filler = gzip.compress(b"", 0, mtime=0)
    return made + filler * ((BYTES - len(made)) // len(filler))


OWN = {"graph": graphs, "cluster": clusters, "onnx": onnx, "store": stores, "checkpoint": checkpoints, "kineto": traces, "msr": msr,
       "doppler": doppler, "table": tables, "zstd": lambda: squeezed(zstd), "gzip": lambda: squeezed(gzipped),
       "map": lambda: {"entries": fill(lambda i: f'"{i}": 0', "{", "}", ", ")},
       "json": lambda: {"keys": fill(lambda i: f'"{i}":0', "{", "}", ","), "digits": fill("1", "[1", "]"), "zeros": fill("0", "[0.", "1]")},
       "rows": lambda: {"lines": fill("," * 40 + "\n", (ROOT / "results/mars/rows.csv").read_text(encoding="utf-8").split("\n", 1)[0] + "\n")},
       "memory": lambda: {"lines": fill(lambda i: f"n_{i},0,0,0,0\n", "#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations\n")},
       "spec": lambda: {"list": fill("a=1,", "f(", "a=1)")}}
PIECES = {**dict.fromkeys(("graph", "placement", "json", "trace", "kineto", "validation", "parameters", "msr", "split", "map", "external"), JSON_PIECES),
          **dict.fromkeys(("cluster", "scenario", "yaml", "sheet", "table"), YAML_PIECES), **dict.fromkeys(("rows", "gate", "measured", "memory"), CSV_PIECES),
          **dict.fromkeys(("units", "spec"), ["(", "a(", "9", "a=", ",", "a(b=", "'", '"', " ", "."])}


def main():
    folder = pathlib.Path(sys.argv[1])
    for target in sys.argv[2:] or sorted({*OWN, *PIECES}):
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, content in {**OWN.get(target, dict)(), **repeated(PIECES.get(target, []))}.items():
            (folder / target / name).write_bytes(content if isinstance(content, bytes) else content.encode())


if __name__ == "__main__":
    main()
