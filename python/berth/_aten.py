"""What PyTorch's ops are called in a berth.graph: the types that cost models know."""

#: By the name of the op in torch.ops.aten, without overload and without the "_" of one that works in place.
TYPES = {
    # products
    "mm": "MatMul", "addmm": "MatMul", "bmm": "BatchMatMul", "baddbmm": "BatchMatMul", "addbmm": "BatchMatMul", "mv": "MatMul",
    "dot": "MatMul", "addmv": "MatMul", "_scaled_mm": "MatMul", "_grouped_mm": "BatchMatMul",
    "_scaled_dot_product_flash_attention": "Attention", "_scaled_dot_product_flash_attention_backward": "AttentionGrad",
    "_scaled_dot_product_efficient_attention": "Attention", "_scaled_dot_product_efficient_attention_backward": "AttentionGrad",
    "_scaled_dot_product_flash_attention_for_cpu": "Attention", "_scaled_dot_product_flash_attention_for_cpu_backward": "AttentionGrad",
    # normalisation
    "native_layer_norm": "LayerNorm", "native_layer_norm_backward": "LayerNormGrad", "_fused_rms_norm": "RMSNorm",
    "_fused_rms_norm_backward": "RMSNormGrad", "native_group_norm": "GroupNormalization", "native_group_norm_backward": "GroupNormalizationGrad",
    "native_batch_norm": "FusedBatchNorm", "_native_batch_norm_legit": "FusedBatchNorm", "native_batch_norm_backward": "FusedBatchNormGrad",
    "_native_batch_norm_legit_no_training": "FusedBatchNorm", "cudnn_batch_norm": "FusedBatchNorm", "cudnn_batch_norm_backward": "FusedBatchNormGrad",
    "_softmax": "Softmax", "_safe_softmax": "Softmax", "_softmax_backward_data": "SoftmaxGrad", "_log_softmax": "LogSoftmax", "_log_softmax_backward_data": "LogSoftmaxGrad",
    # activations
    "relu": "Relu", "threshold_backward": "ReluGrad", "gelu": "Gelu", "gelu_backward": "GeluGrad", "silu": "Swish", "silu_backward": "SwishGrad",
    "sigmoid": "Sigmoid", "sigmoid_backward": "SigmoidGrad", "tanh": "Tanh", "tanh_backward": "TanhGrad", "elu": "Elu", "hardswish": "HardSwish",
    "hardsigmoid": "HardSigmoid", "leaky_relu": "LeakyRelu", "native_dropout": "Dropout", "native_dropout_backward": "DropoutGrad",
    "hardtanh": "Clip", "clamp": "Clip", "clamp_min": "Clip", "clamp_max": "Clip",
    # element by element
    "add": "Add", "sub": "Sub", "rsub": "Sub", "mul": "Mul", "div": "Div", "neg": "Neg", "abs": "Abs", "exp": "Exp", "log": "Log", "pow": "Pow",
    "sqrt": "Sqrt", "rsqrt": "Rsqrt", "reciprocal": "Reciprocal", "square": "Square", "erf": "Erf", "sin": "Sin", "cos": "Cos", "floor": "Floor",
    "ceil": "Ceil", "round": "Round", "maximum": "Maximum", "minimum": "Minimum", "where": "Where", "masked_fill": "Where", "eq": "Equal",
    "ne": "Equal", "gt": "Greater", "ge": "GreaterEqual", "lt": "Less", "le": "LessEqual", "logical_not": "Not", "bitwise_not": "Not",
    "logical_and": "And", "bitwise_and": "And", "logical_or": "Or", "bitwise_or": "Or", "_to_copy": "Cast", "addcmul": "AddN", "addcdiv": "AddN",
    "lerp": "AddN", "sign": "Sign", "tril": "Mul", "triu": "Mul", "cumsum": "CumSum", "isinf": "IsInf", "isnan": "IsNaN",
    # from nothing
    "full": "Fill", "zeros": "Fill", "ones": "Fill", "arange": "Fill", "full_like": "Fill", "zeros_like": "Fill", "ones_like": "Fill",
    "new_zeros": "Fill", "new_ones": "Fill", "new_full": "Fill", "fill": "Fill", "zero": "Fill", "scalar_tensor": "Fill", "eye": "Fill",
    "rand": "RandomUniform", "randn": "RandomUniform", "rand_like": "RandomUniform", "bernoulli": "RandomUniform", "normal": "RandomUniform",
    "empty": "NoOp", "empty_like": "NoOp", "new_empty": "NoOp", "empty_strided": "NoOp", "new_empty_strided": "NoOp", "empty_permuted": "NoOp",
    # reductions
    "mean": "Mean", "sum": "ReduceSum", "amax": "ReduceMax", "amin": "ReduceMin", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd",
    "argmax": "ArgMax", "argmin": "ArgMin", "var_mean": "Mean", "var": "Mean", "any": "ReduceMax", "all": "ReduceMin", "topk": "TopK", "sort": "TopK",
    "logsumexp": "ReduceLogSumExp", "linalg_vector_norm": "ReduceL2", "max_pool2d_with_indices": "MaxPool",
    "max_pool2d_with_indices_backward": "MaxPoolGrad", "avg_pool2d": "AvgPool", "avg_pool2d_backward": "AvgPoolGrad",
    "_adaptive_avg_pool2d": "AvgPool", "_adaptive_avg_pool2d_backward": "AvgPoolGrad",
    # movement
    "cat": "ConcatV2", "stack": "Pack", "clone": "Assign", "copy": "Assign", "constant_pad_nd": "Pad", "slice_backward": "SliceGrad",
    "select_backward": "SliceGrad", "slice_scatter": "Assign", "select_scatter": "Assign", "repeat": "Tile", "flip": "Transpose", "roll": "Transpose",
    "embedding": "GatherV2", "embedding_dense_backward": "ScatterND", "index_select": "GatherV2", "index": "GatherND", "gather": "GatherElements",
    "index_put": "ScatterND", "_index_put_impl": "ScatterND", "scatter": "ScatterElements", "scatter_add": "ScatterElements",
    "index_add": "ScatterND", "nll_loss_forward": "GatherElements", "nll_loss_backward": "ScatterElements", "nll_loss2d_forward": "GatherElements",
    "nll_loss2d_backward": "ScatterElements", "one_hot": "OneHot", "upsample_nearest2d": "Resize", "upsample_bilinear2d": "Resize",
    "_unsafe_index": "GatherND", "pixel_shuffle": "DepthToSpace",
}

#: Functional collectives of torch.distributed (_c10d_functional), without the underscore of what works in place.
COLLECTIVES = {"all_reduce": "AllReduce", "all_gather_into_tensor": "AllGather", "reduce_scatter_tensor": "ReduceScatter"}

#: Inputs of products stand first, whatever PyTorch's order.
BIAS_FIRST = ("addmm", "baddbmm", "addbmm", "addmv")

DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool", "float8_e4m3fn": "f8", "float8_e5m2": "f8",
    "float8_e4m3fnuz": "f8", "float8_e5m2fnuz": "f8",
}
