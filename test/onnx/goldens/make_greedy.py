"""
Makes test/fixtures/onnx/tiny-chat-greedy.json: what transformers generates greedily with generated/tiny-chat, in float32.

    venv/bin/python test/onnx/goldens/make_greedy.py

Needs the same packages as make_goldens.py. Made again when the model is.
"""

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = Path(__file__).resolve().parents[3]
MODEL = ROOT / "generated" / "tiny-chat"
OUTPUT = ROOT / "test" / "fixtures" / "onnx" / "tiny-chat-greedy.json"
MAX_TOKENS = 40
CONVERSATIONS = [
    [{"role": "user", "content": "Hello!"}],
    [{"role": "user", "content": "What is the capital of France?"}],
    [{"role": "system", "content": "Answer in one word."}, {"role": "user", "content": "Is water wet? Ünï 🙂"}],
    [
        {"role": "user", "content": "Count to five."},
        {"role": "assistant", "content": "1 2 3 4 5"},
        {"role": "user", "content": "And now backwards, please, as far as you can: 10 9 8 7 6 5"},
    ],
    [{"role": "user", "content": "Tell me a long story about a fox and a bear. " * 20}],
]

torch.set_num_threads(1)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()

goldens = []
for messages in CONVERSATIONS:
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    with torch.no_grad():
        ids = model.generate(**prompt, do_sample=False, max_new_tokens=MAX_TOKENS, pad_token_id=0)[0]
        logprobs = model(ids[None]).logits[0].log_softmax(-1)
    length = prompt["input_ids"].shape[1]
    generated = ids[length:].tolist()
    margins = [row.topk(2).values.diff().abs().item() for row in logprobs[length - 1 : -1]]
    # a choice this close may fall either way in other arithmetic: take another prompt
    assert min(margins) > 1e-3, (messages, min(margins))
    goldens.append(
        {
            "messages": messages,
            "prompt": ids[:length].tolist(),
            "generated": generated,
            "logprobs": [round(logprobs[length - 1 + place, token].item(), 6) for place, token in enumerate(generated)],
        }
    )
OUTPUT.write_text(json.dumps(goldens, ensure_ascii=False, separators=(",", ":")) + "\n")
print(f"{OUTPUT}: {[len(golden['generated']) for golden in goldens]}")
