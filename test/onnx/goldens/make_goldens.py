"""
Makes the fixtures of test/fixtures/onnx: tiny random Llama and Qwen2 models in Hugging Face layout, a random adapter
in PEFT layout for each, and what PyTorch, transformers and PEFT compute with them.

    python -m venv venv && venv/bin/pip install torch transformers peft safetensors numpy
    venv/bin/python test/onnx/goldens/make_goldens.py

The files differ from run to run only where torch's random numbers do. The policy loss is written here from its
formulas and not from the engine's code, so that each checks the other.
"""

import json
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "onnx"
VOCABULARY = 264  # 3 special tokens, 256 bytes, 3 merges, 2 ids without a token
LENGTH = 32  # tokens of a packed row
TARGET_MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
SHARED = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, max_position_embeddings=128)

MODELS = {
    # tied, grouped-query attention, Llama 3 rope scaling
    "tiny-llama": lambda: LlamaForCausalLM(
        LlamaConfig(
            **SHARED,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            tie_word_embeddings=True,
            rms_norm_eps=1e-5,
            bos_token_id=0,
            eos_token_id=2,
            rope_parameters={
                "rope_type": "llama3",
                "rope_theta": 500.0,
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            },
        )
    ),
    # untied, biases on query, key and value, one key head for all
    "tiny-qwen2": lambda: Qwen2ForCausalLM(
        Qwen2Config(
            **SHARED,
            num_attention_heads=2,
            num_key_value_heads=1,
            tie_word_embeddings=False,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
            bos_token_id=0,
            eos_token_id=2,
        )
    ),
}

# every importance-sampling level and every other key of the policy loss, each in both forms of the loss where it acts
DEFAULTS = dict(ppo=False, epsilon=1.0, epsilonHigh=4.0, cap=None, mask=False, tau=None, level="token", missing=False)
PPO = dict(ppo=True, epsilon=0.2, epsilonHigh=0.28)
VARIANTS = {
    "cispo": {},
    "cispo-narrow": dict(epsilon=0.2, epsilonHigh=0.28),
    "cispo-cap": dict(cap=1.1),
    "cispo-mask": dict(mask=True, epsilon=0.2, epsilonHigh=0.3),
    "cispo-tau": dict(tau=0.5),
    "cispo-missing": dict(missing=True),
    "cispo-sequence": dict(level="sequence"),
    "cispo-average": dict(level="average"),
    "cispo-geometric": dict(level="geometric_average"),
    "ppo": PPO,
    "ppo-symmetric": dict(ppo=True, epsilon=0.2, epsilonHigh=0.2),
    "ppo-cap": dict(PPO, cap=1.05),
    "ppo-mask": dict(PPO, mask=True),
    "ppo-tau": dict(PPO, tau=0.5),
    "ppo-missing": dict(PPO, missing=True),
    "ppo-sequence": dict(PPO, level="sequence"),
    "ppo-average": dict(PPO, level="average"),
    "ppo-geometric": dict(PPO, level="geometric_average"),
    "ppo-everything": dict(PPO, level="average", cap=1.2, mask=True, tau=0.3, missing=True),
}


def make_row(generator):
    """Three sequences of 11, 9 and 7 tokens and 5 of padding; the later half of each sequence trains."""
    row = {
        "ids": torch.zeros(LENGTH, dtype=torch.int32),
        "target": torch.zeros(LENGTH, dtype=torch.int32),
        "sequence": torch.full((LENGTH,), -1, dtype=torch.int32),
        "position": torch.zeros(LENGTH, dtype=torch.int32),
        "weight": torch.zeros(LENGTH),
        "advantage": torch.zeros(LENGTH),
    }
    start = 0
    for number, size in enumerate([11, 9, 7]):
        span = slice(start, start + size)
        tokens = torch.randint(0, VOCABULARY, (size,), generator=generator, dtype=torch.int32)
        row["ids"][span] = tokens
        row["target"][start : start + size - 1] = tokens[1:]
        row["sequence"][span] = number
        row["position"][span] = torch.arange(size)
        trained = slice(start + size // 2, start + size - 1)
        row["weight"][trained] = 0.5 + number / 2
        row["advantage"][trained] = [1.5, -0.7, 0.4][number]
        start += size
    return row


def row_logits(model, row):
    """Each sequence on its own: what a packed row must equal."""
    logits = torch.zeros(LENGTH, VOCABULARY)
    parts = []
    for number in range(int(row["sequence"].max()) + 1):
        places = (row["sequence"] == number).nonzero()[:, 0]
        parts.append((places, model(row["ids"][places].long()[None]).logits[0]))
    for places, part in parts:
        logits = logits.index_copy(0, places, part)
    return logits


def row_logprobs(model, row):
    distribution = torch.log_softmax(row_logits(model, row).float(), -1)
    return distribution.gather(-1, row["target"].long()[:, None])[:, 0], distribution


def policy_loss(logprob, row, old, options):
    trained = row["weight"] > 0
    if options["missing"]:
        old = old.clone()
        old[row["sequence"] == 1] = float("nan")
    old = torch.where(torch.isnan(old), logprob.detach(), old)
    difference = logprob - old
    ratio = difference.exp()
    if options["level"] != "token":
        shared = torch.zeros_like(ratio)
        for number in range(int(row["sequence"].max()) + 1):
            inside = (row["sequence"] == number) & trained
            shared = torch.where(row["sequence"] == number, difference[inside].mean().exp(), shared)
        ratio = {
            "sequence": lambda: shared,
            "average": lambda: (ratio + shared) / 2,
            "geometric_average": lambda: (ratio[trained] * shared[trained]).sqrt(),
        }[options["level"]]()
        if options["level"] == "geometric_average":
            ratio = torch.ones_like(shared).masked_scatter(trained, ratio)
    if options["cap"] is not None:
        ratio = ratio.clamp(max=options["cap"])
    low, high = 1 - options["epsilon"], 1 + options["epsilonHigh"]
    if options["mask"]:
        ratio = torch.where((ratio > low) & (ratio < high), ratio, torch.zeros_like(ratio))
    advantage = row["advantage"]
    if options["tau"] is not None:
        advantage = advantage - options["tau"] * difference.detach()
    if options["ppo"]:
        objective = torch.minimum(ratio * advantage, ratio.clamp(low, high) * advantage)
    else:
        objective = ratio.detach().clamp(low, high) * advantage * logprob
    return -(row["weight"][trained] * objective[trained]).sum() / (trained.sum() + 1e-6)


def sft_loss(logprob, row):
    trained = row["weight"] > 0
    return -(row["weight"] * logprob)[trained].sum() / (trained.sum() + 1e-6)


def adamw(model, row, old):
    """The factors after three steps of the RL optimizer, and the gradient norm before each."""
    factors = {engine_name(n): p for n, p in model.named_parameters() if "lora_" in n}
    optimizer = torch.optim.AdamW(factors.values(), lr=0.01, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
    norms = []
    for _ in range(3):
        optimizer.zero_grad()
        policy_loss(row_logprobs(model, row)[0], row, old, DEFAULTS | PPO).backward()
        norms.append(torch.nn.utils.clip_grad_norm_(factors.values(), 0.1))
        optimizer.step()
    return {"adamw.norms": torch.stack(norms).detach()} | {f"adamw.gradient.{n}": p.detach().clone() for n, p in factors.items()}


def engine_name(name):
    return name.replace("base_model.model.", "").replace(".default", "")


def gradients(model, loss, prefix, wanted):
    model.zero_grad()
    loss.backward(retain_graph=True)
    return {f"{prefix}.{engine_name(n)}": p.grad.clone() for n, p in model.named_parameters() if wanted(n) and p.requires_grad}


def save_model(name, model, folder):
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def make(name, build):
    torch.manual_seed(7)
    folder = FIXTURES / name
    folder.mkdir(parents=True, exist_ok=True)
    model = build().eval()
    for parameter in model.parameters():  # far enough from a flat distribution that every token differs
        if parameter.dim() > 1:
            parameter.data.mul_(6)
        elif "bias" in _names(model, parameter):
            parameter.data.normal_(std=0.3)
    save_model(name, model, folder)
    save_tokenizer(folder)

    generator = torch.Generator().manual_seed(11)
    row = make_row(generator)
    golden = {f"row.{key}": value for key, value in row.items()}

    # logits of a prompt of 12 tokens and of 8 tokens decoded after it
    tokens = torch.randint(0, VOCABULARY, (20,), generator=generator, dtype=torch.int32)
    golden["tokens"] = tokens
    golden["logits"] = model(tokens.long()[None]).logits[0, 11:].detach().contiguous()

    logprob, _ = row_logprobs(model, row)
    golden["full.logprob"] = logprob.detach()
    loss = sft_loss(logprob, row)
    golden["full.loss"] = loss.detach().reshape(1)
    golden |= gradients(model, loss, "full.gradient", lambda _: True)

    tuned = get_peft_model(
        build().eval(), LoraConfig(r=4, lora_alpha=8, target_modules=TARGET_MODULES, task_type="CAUSAL_LM")
    )
    tuned.base_model.model.load_state_dict(
        {k.replace("_proj.weight", "_proj.base_layer.weight").replace("_proj.bias", "_proj.base_layer.bias"): v for k, v in model.state_dict().items()},
        strict=False,
    )
    for parameter_name, parameter in tuned.named_parameters():
        if "lora_B" in parameter_name:
            torch.nn.init.normal_(parameter, std=0.2)
    tuned.save_pretrained(folder / "adapter")
    (folder / "adapter" / "README.md").unlink(missing_ok=True)

    logprob, distribution = row_logprobs(tuned, row)
    golden["lora.logprob"] = logprob.detach()
    golden["lora.entropy"] = -(distribution.exp() * distribution).sum(-1).detach()
    golden["lora.logits"] = tuned(tokens.long()[None]).logits[0, 11:].detach().contiguous()
    loss = sft_loss(logprob, row)
    is_factor = lambda n: "lora_" in n
    golden["sft.loss"] = loss.detach().reshape(1)
    golden |= gradients(tuned, loss, "sft.gradient", is_factor)

    old = logprob.detach() + (torch.rand(LENGTH, generator=generator) - 0.5) * 0.8  # ratios 0.67 to 1.5: clipping acts
    golden["old"] = old
    for variant, changes in VARIANTS.items():
        options = DEFAULTS | changes
        loss = policy_loss(logprob, row, old, options)
        golden[f"{variant}.loss"] = loss.detach().reshape(1)
        golden |= gradients(tuned, loss, f"{variant}.gradient", is_factor)
    golden |= adamw(tuned, row, old)
    save_file({k: v.contiguous() for k, v in golden.items()}, folder / "golden.safetensors")


# ChatML; "reject" is a role that the template refuses, "loop" one that it never finishes rendering
CHAT_TEMPLATE = """{%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{%- for message in messages %}{%- if message.role == 'reject' %}{{ raise_exception('role reject is refused') }}{%- endif %}{%- if message.role == 'loop' %}{%- for i in range(100000) %}{%- for j in range(100000) %}{%- endfor %}{%- endfor %}{%- endif %}<|im_start|>{{ message.role }}
{{ message.content }}{%- for call in message.tool_calls or [] %}<call>{{ call.function.arguments.city }}</call>{%- endfor %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{{ greeting or '' }}{%- endif %}"""


def byte_letters():
    """GPT-2's visible letter for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


def save_tokenizer(folder):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    merges = [("l", "l"), ("h", "e"), ("he", "ll")]
    tokens = [*special, *byte_letters(), *("".join(pair) for pair in merges)]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            dict(id=i, content=t, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
            for i, t in enumerate(special)
        ],
        "normalizer": None,
        "pre_tokenizer": dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
        "post_processor": None,
        "decoder": dict(type="ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
        "model": dict(
            type="BPE",
            dropout=None,
            unk_token=None,
            continuing_subword_prefix=None,
            end_of_word_suffix=None,
            fuse_unk=False,
            byte_fallback=False,
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[" ".join(pair) for pair in merges],
        ),
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1) + "\n")
    config = dict(tokenizer_class="PreTrainedTokenizerFast", eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHAT_TEMPLATE)
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def _names(model, parameter):
    return next(n for n, p in model.named_parameters() if p is parameter)


if __name__ == "__main__":
    for model_name, build_model in MODELS.items():
        make(model_name, build_model)
    (FIXTURES / "variants.json").write_text(json.dumps({n: DEFAULTS | c for n, c in VARIANTS.items()}, indent=2) + "\n")
