"""The verifier `large`: a language model with an adapter that reads a whole source once.

adapter, shape   the adapter file and the sizes of the base model
answer_prompt    the question to the model, as tokens
verifier         pairs to groups by passage, groups to probabilities
onnx_*           onnxruntime on a CPU; the base is converted on first use
torch_*          torch on CUDA, MPS or a CPU
load             the one function that the rest of the package calls
"""
