"""
Loads an adapter with PEFT and prints, as JSON, the log-probability of each token but the first.

    python test/onnx/goldens/check_peft.py MODEL_FOLDER ADAPTER_FOLDER 1,2,3
"""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

model_folder, adapter_folder, listed = sys.argv[1:]
tokens = torch.tensor([[int(token) for token in listed.split(",")]])
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model_folder), adapter_folder).eval()
with torch.no_grad():
    distribution = torch.log_softmax(model(tokens).logits[0].float(), -1)
print(json.dumps(distribution[:-1].gather(-1, tokens[0, 1:, None])[:, 0].tolist()))
