"""A BERT folder as an ONNX graph of ONNX Runtime's own fused operators, built from the weights without a deep-learning library."""
import json

import numpy as np
import onnx
import safetensors.numpy
from onnx import TensorProto, helper, numpy_helper

FUSED = "com.microsoft"


class GraphBuilder:
    """Collects nodes and weights. Names of tensors are those of the folder; linear weights are kept [in, out]."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = safetensors.numpy.load_file(folder / "model.safetensors")
        self.epsilon = self.config["layer_norm_eps"]
        self.nodes, self.initializers = [], []

    def weight(self, name, array=None):
        array = self.tensors[name] if array is None else array
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def matrix(self, name):
        return self.weight(name + ".weight", self.tensors[name + ".weight"].T)

    def node(self, kind, inputs, output, domain=FUSED, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def embeddings(self):
        tables = [self.weight(f"embeddings.{table}_embeddings.weight") for table in ("word", "position", "token_type")]
        norm = [self.weight(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
        outputs = ["embedded", "mask_index"]
        inputs = ["ids", "types", *tables, *norm]
        self.nodes.append(helper.make_node("EmbedLayerNormalization", inputs, outputs, domain=FUSED, epsilon=self.epsilon))
        return outputs[0]

    def add_and_norm(self, source, skip, place):
        """A linear layer, the residual and the norm after it."""
        product = self.node("MatMul", [source, self.matrix(f"{place}.dense")], f"{place}.product", domain="")
        norm = [self.weight(f"{place}.LayerNorm.{part}") for part in ("weight", "bias")]
        inputs = [product, skip, *norm, self.weight(f"{place}.dense.bias")]
        return self.node("SkipLayerNormalization", inputs, f"{place}.out", epsilon=self.epsilon)

    def attention(self, source, place):
        parts = [f"{place}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = self.weight(f"{place}.qkv.weight", np.concatenate([self.tensors[part + ".weight"].T for part in parts], axis=1))
        bias = self.weight(f"{place}.qkv.bias", np.concatenate([self.tensors[part + ".bias"] for part in parts]))
        return self.node("Attention", [source, weight, bias], f"{place}.context", num_heads=self.config["num_attention_heads"])

    def layer(self, source, index):
        place = f"encoder.layer.{index}"
        attended = self.add_and_norm(self.attention(source, place), source, f"{place}.attention.output")
        up = self.node("MatMul", [attended, self.matrix(f"{place}.intermediate.dense")], f"{place}.up", domain="")
        active = self.node("BiasGelu", [up, self.weight(f"{place}.intermediate.dense.bias")], f"{place}.active")
        return self.add_and_norm(active, attended, f"{place}.output")

    def model(self):
        hidden = self.embeddings()
        for index in range(self.config["num_hidden_layers"]):
            hidden = self.layer(hidden, index)
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"]) for name in ("ids", "types")]
        output = helper.make_tensor_value_info(hidden, TensorProto.FLOAT, ["texts", "tokens", self.config["hidden_size"]])
        graph = helper.make_graph(self.nodes, "bert", inputs, [output], self.initializers)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def serialized(folder):
    """The graph as bytes: inputs `ids` and `types` (int32 [texts, tokens], no padding), output the last hidden states."""
    model = GraphBuilder(folder).model()
    onnx.checker.check_model(model)
    return model.SerializeToString()
