"""What the embedded engine's training is compared with: PyTorch, transformers and PEFT in eager mode.

Usage: torch_training.py MODEL_FOLDER ADAPTER_FOLDER|full THREADS ROWS LENGTH
Writes a line `ready`, then answers each line on stdin, a number of seconds, with the tokens per second trained in that time.
"""

import sys
import time

import torch
from transformers import AutoModelForCausalLM

folder, adapter = sys.argv[1:3]
threads, rows, length = (int(text) for text in sys.argv[3:])
torch.set_num_threads(threads)
torch.manual_seed(0)

model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
if adapter != "full":
    from peft import PeftModel

    model = PeftModel.from_pretrained(model, adapter, is_trainable=True)
model.train()
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, fused=True)
ids = torch.randint(0, model.config.vocab_size, (rows, length))


def step():
    logits = model(ids, use_cache=False).logits
    logprobs = torch.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None])
    loss = -logprobs.mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    # read, as every trainer does to report it
    return loss.item()


print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    steps = 0
    while steps == 0 or time.perf_counter() - start < float(line):
        step()
        steps += 1
    print(steps * rows * length / (time.perf_counter() - start), flush=True)
