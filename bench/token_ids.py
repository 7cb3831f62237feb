"""Token ids by PyPI's `tokenizers`, for models whose tokenizer Inlay does not read."""
import subprocess

import measure


def reads_tokenizer(inlay, model):
    return subprocess.run([inlay, "tokenize", "--model", model, "text"], capture_output=True).returncode == 0


def encode(model, texts, max_length):
    """Ids of each text, special tokens included, cut at `max_length`."""
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.enable_truncation(max_length)
    tokenizer.no_padding()
    return [encoding.ids for encoding in tokenizer.encode_batch(texts)]


def inputs_for(inlay, model, texts, max_length):
    """The texts themselves where Inlay can read them, else their ids; either is what measure.embed takes."""
    return texts if reads_tokenizer(inlay, model) else encode(model, texts, max_length)


def embed(inlay, model, texts, max_length, *flags):
    """Vectors of the texts."""
    inputs = inputs_for(inlay, model, texts, max_length)
    return measure.embed(inlay, model, inputs, "--max-length", max_length, *flags)[0]
