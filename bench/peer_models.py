"""A model folder in the forms that other engines read, each made once and kept in build/peers."""
import hashlib
import shutil

import numpy as np

import report


def export_folder(model):
    """Where the exports of this model are; another model of the same name gets another folder."""
    digest = hashlib.sha256((model / "config.json").read_bytes())
    digest.update((model / "model.safetensors").read_bytes())
    folder = report.ROOT / "build" / "peers" / f"{model.resolve().name}-{digest.hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def once(target, make):
    """The file or folder `target`, made by make(partial) unless it is there; an attempt that failed leaves none."""
    if not target.exists():
        partial = target.with_name("partial-" + target.name)
        shutil.rmtree(partial, ignore_errors=True)
        make(partial)
        partial.rename(target)
    return target


def export_onnx(model, target):
    import torch
    from transformers import AutoModel

    class LastHidden(torch.nn.Module):
        """The network without its pooler."""

        def __init__(self):
            super().__init__()
            self.net = AutoModel.from_pretrained(model, attn_implementation="eager", dtype=torch.float32).eval()

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.net(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state

    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    sample = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "texts", 1: "tokens"} for name in [*inputs, "hidden"]}
    torch.onnx.export(LastHidden(), (sample, sample, torch.zeros_like(sample)), str(target), input_names=inputs, output_names=["hidden"],
                      dynamic_axes=axes, opset_version=17, dynamo=False)


def onnx_fp32(model):
    return once(export_folder(model) / "model.onnx", lambda target: export_onnx(model, target))


def onnx_int8(model):
    """Dynamic quantisation: int8 weights by column, activations at run time, no calibration."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    def make(target):
        quantize_dynamic(str(onnx_fp32(model)), str(target), weight_type=QuantType.QInt8, per_channel=True)
    return once(export_folder(model) / "model_int8.onnx", make)


def openvino_int8(model, calibration):
    """NNCF's static quantisation; `calibration` gives lists of token ids that the measured texts are not among."""
    import nncf
    import openvino

    def feed(ids):
        row = np.array([ids], np.int64)
        return {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}

    def make(target):
        data = nncf.Dataset(calibration(), feed)
        net = nncf.quantize(openvino.Core().read_model(str(onnx_fp32(model))), data, model_type=nncf.ModelType.TRANSFORMER, subset_size=300,
                            preset=nncf.QuantizationPreset.MIXED)
        target.mkdir()
        openvino.save_model(net, str(target / "model.xml"))
    return once(export_folder(model) / "openvino_int8", make) / "model.xml"


def ctranslate2_folder(model):
    import ctranslate2

    def make(target):
        ctranslate2.converters.TransformersConverter(str(model)).convert(str(target))
    return once(export_folder(model) / "ctranslate2", make)
