"""Other engines behind one call: texts in, unit vectors out. Names are FAMILY-PRECISION, as ort-int8.

Each gets the texts sorted by length in batches of 32, pads a batch to its longest text, pools by the mean, and uses as many
threads as it is told; settings are those that were fastest for it.
"""
import dataclasses
import pathlib

import numpy as np

import measure
import peer_models

BATCH = 32


@dataclasses.dataclass
class Setup:
    """What every engine is built from."""

    model: pathlib.Path
    threads: int
    max_length: int
    calibration: list  # texts for engines that calibrate; not among those measured


class Batches:
    """Texts as padded batches of ids, and results put back in their order."""

    def __init__(self, setup, pad=True):
        import tokenizers
        self.tokenizer = tokenizers.Tokenizer.from_file(str(setup.model / "tokenizer.json"))
        self.tokenizer.enable_truncation(setup.max_length)
        self.tokenizer.enable_padding() if pad else self.tokenizer.no_padding()

    @staticmethod
    def indices(texts):
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        return [order[at:at + BATCH] for at in range(0, len(order), BATCH)]

    def encode(self, texts, index):
        return self.tokenizer.encode_batch([texts[i] for i in index])

    def feed(self, texts, index):
        encodings = self.encode(texts, index)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def pooled(hidden, mask):
    mask = mask[..., None].astype(np.float32)
    return measure.unit((hidden * mask).sum(axis=1) / mask.sum(axis=1))


def sentence_transformers(setup, precision):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(setup.threads)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    net = SentenceTransformer(str(setup.model), device="cpu", model_kwargs={"dtype": dtype})
    net.max_seq_length = setup.max_length
    return lambda texts: net.encode(texts, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True).astype(np.float32)


def onnx_session(model, precision, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    path = {"fp32": peer_models.onnx_fp32, "int8": peer_models.onnx_int8}[precision](model)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def onnx_runtime(setup, precision):
    session = onnx_session(setup.model, precision, setup.threads)
    batches = Batches(setup)

    def run(texts):
        out = [None] * len(texts)
        for index in batches.indices(texts):
            feed = batches.feed(texts, index)
            for i, row in zip(index, pooled(session.run(None, feed)[0], feed["attention_mask"])):
                out[i] = row
        return np.array(out, np.float32)
    return run


def openvino_net(setup, precision):
    import openvino
    config = {"INFERENCE_NUM_THREADS": setup.threads, "INFERENCE_PRECISION_HINT": "f32" if precision == "fp32" else "bf16"}
    path = peer_models.onnx_fp32(setup.model)
    if precision == "int8":
        batches = Batches(setup, pad=False)
        path = peer_models.openvino_int8(setup.model, lambda: [e.ids for e in batches.tokenizer.encode_batch(setup.calibration)])
    else:
        config["PERFORMANCE_HINT"] = "THROUGHPUT"  # several streams: slower for the int8 graph
    return openvino.Core().compile_model(str(path), "CPU", config)


def openvino(setup, precision):
    from openvino import AsyncInferQueue
    net = openvino_net(setup, precision)
    batches = Batches(setup)

    def run(texts):
        out = [None] * len(texts)

        def take(request, user):
            index, mask = user
            for i, row in zip(index, pooled(request.get_output_tensor(0).data, mask)):
                out[i] = row
        queue = AsyncInferQueue(net)
        queue.set_callback(take)
        for index in batches.indices(texts):
            feed = batches.feed(texts, index)
            queue.start_async(feed, (index, feed["attention_mask"]))
        queue.wait_all()
        return np.array(out, np.float32)
    return run


def ctranslate2(setup, precision):
    import ctranslate2 as library
    net = library.Encoder(str(peer_models.ctranslate2_folder(setup.model)), device="cpu", compute_type={"fp32": "float32", "int8": "int8"}[precision],
                          inter_threads=1, intra_threads=setup.threads)
    batches = Batches(setup, pad=False)

    def run(texts):
        out = [None] * len(texts)
        for index in batches.indices(texts):
            ids = [encoding.ids for encoding in batches.encode(texts, index)]
            hidden = np.array(net.forward_batch(ids).last_hidden_state)
            for place, i in enumerate(index):
                out[i] = measure.unit(hidden[place, :len(ids[place])].mean(axis=0))
        return np.array(out, np.float32)
    return run


FAMILIES = {"st": sentence_transformers, "ort": onnx_runtime, "ov": openvino, "ct2": ctranslate2}


def make(name, setup):
    family, _, precision = name.partition("-")
    return FAMILIES[family](setup, precision)
