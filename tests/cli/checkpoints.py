"""Reads and writes safetensors files, and packs matrices as GPTQ and AWQ checkpoints hold them, from their descriptions."""
import json
import struct

import numpy

TYPES = {"F32": "<f4", "F16": "<f2", "I32": "<i4", "I64": "<i8", "U8": "u1", "I8": "i1", "BF16": "<u2"}
NAMES = {numpy.dtype(code): name for name, code in TYPES.items() if name != "BF16"}


def read_safetensors(path):
    """All tensors; bf16 ones as the bits they are."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = numpy.frombuffer(data[8 + size + begin : 8 + size + end], TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": NAMES[values.dtype], "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(numpy.ascontiguousarray(v).tobytes() for v in tensors.values()))


class Grouped:
    """A matrix [outputs, inputs] of random 4-bit codes with a scale and a zero for each group of inputs."""

    def __init__(self, random, shape, group, symmetric, scattered=False):
        outputs, inputs = shape
        groups = -(-inputs // group)
        self.codes = random.integers(0, 16, (inputs, outputs))
        self.scales = (0.02 + 0.02 * random.random((groups, outputs))).astype(numpy.float16)
        self.zeros = numpy.full((groups, outputs), 8) if symmetric else random.integers(4, 13, (groups, outputs))
        self.group_of = numpy.arange(inputs) // group
        if scattered:
            random.shuffle(self.group_of)

    def floats(self):
        scale = self.scales.astype(numpy.float32)[self.group_of]
        return (scale * (self.codes - self.zeros[self.group_of]).astype(numpy.float32)).T.copy()

    def gptq(self, less_one=True):
        words = sum(self.codes[i::8].astype(numpy.uint32) << (4 * i) for i in range(8))
        stored = (self.zeros - (1 if less_one else 0)) % 16
        zeros = sum(stored[:, i::8].astype(numpy.uint32) << (4 * i) for i in range(8))
        return {
            "qweight": words.view(numpy.int32),
            "qzeros": zeros.view(numpy.int32),
            "scales": self.scales,
            "g_idx": self.group_of.astype(numpy.int32),
        }

    def awq(self):
        order = [0, 2, 4, 6, 1, 3, 5, 7]  # nibble i holds column 8 c + order[i]
        words = sum(self.codes[:, order[i] :: 8].astype(numpy.uint32) << (4 * i) for i in range(8))
        zeros = sum(self.zeros[:, order[i] :: 8].astype(numpy.uint32) << (4 * i) for i in range(8))
        return {"qweight": words.view(numpy.int32), "qzeros": zeros.view(numpy.int32), "scales": self.scales}
