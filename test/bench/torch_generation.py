"""What the embedded engine's generation is compared with: PyTorch with transformers' generate, greedy, with its cache.

Usage: torch_generation.py MODEL_FOLDER THREADS ROWS TOKENS PROMPT
Writes a line `ready`, then answers each line on stdin, a number of seconds, with the tokens per second generated in that time.
"""

import sys
import time

import torch
from transformers import AutoModelForCausalLM

folder = sys.argv[1]
threads, rows, tokens, prompt = (int(text) for text in sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(0)

model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
model.eval()


@torch.inference_mode()
def generate():
    ids = torch.randint(4, model.config.vocab_size, (rows, prompt))
    mask = torch.ones_like(ids)
    output = model.generate(
        ids,
        attention_mask=mask,
        do_sample=False,
        min_new_tokens=tokens,
        max_new_tokens=tokens,
        pad_token_id=0,
    )
    assert output.shape[1] == prompt + tokens
    # read, as whoever shows the text does
    return output.tolist()


generate()
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    done = 0
    while done == 0 or time.perf_counter() - start < float(line):
        generate()
        done += rows * tokens
    print(done / (time.perf_counter() - start), flush=True)
