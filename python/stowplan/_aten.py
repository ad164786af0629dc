"""What PyTorch's ops and types are called in a stowplan.graph."""

from ._core import aten_types

#: By the name of the op in torch.ops.aten, without overload and without the "_" of one that works in place.
TYPES = aten_types()

#: Functional collectives of torch.distributed (_c10d_functional), without the underscore of what works in place.
COLLECTIVES = {"all_reduce": "AllReduce", "all_gather_into_tensor": "AllGather", "reduce_scatter_tensor": "ReduceScatter",
               "all_to_all_single": "AllToAll", "broadcast": "Broadcast"}

#: Inputs of products stand first, whatever PyTorch's order.
BIAS_FIRST = ("addmm", "baddbmm", "addbmm", "addmv")

DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool", "float8_e4m3fn": "f8", "float8_e5m2": "f8",
    "float8_e4m3fnuz": "f8", "float8_e5m2fnuz": "f8",
}
