"""The verifier `large`: a language model with an adapter that reads a whole source once.

gguf, adapter, shape   the files: base model, adapter, sizes
prompt                 what the model is asked, as tokens
verifier, backend      pairs to groups by passage; what a runtime must offer
onnx_*, made_once      onnxruntime on a CPU (the default there), converted on first use
torch_*, packing       torch on CUDA, MPS or a CPU
llama                  llama.cpp, on whatever it supports
load                   the one function the rest of the package calls
"""

from halldetect.large.load import load_large
from halldetect.large.verifier import LargeVerifier

__all__ = ["LargeVerifier", "load_large"]
