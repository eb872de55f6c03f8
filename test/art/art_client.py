"""The yes-no-maybe loop of the ART client, unchanged but for the address: register, roll out, train, read the step, tidy up.

    TRAINYARD_URL=http://127.0.0.1:8080 TRAINYARD_API_KEY=... python art_client.py

It writes a folder `.art` where it runs. The last line of its output is a JSON object with what it saw.
"""

import asyncio
import json
import os
import uuid

# The client's libraries would ask the network for a table of prices at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
if "WANDB_API_KEY" in os.environ:
    raise SystemExit("WANDB_API_KEY is set: the client would report this run to its vendor")

import art  # noqa: E402
from art.serverless.backend import ServerlessBackend  # noqa: E402

REWARDS = {"yes": 0.5, "no": 0.75, "maybe": 1.0}
STEPS = 3
ANSWERS_PER_PROMPT = 12
LEARNING_RATE = 1e-3
WORD_LISTS = [("yes", "no", "maybe"), ("maybe", "no", "yes"), ("no", "maybe", "yes"), ("yes", "maybe"), ("no", "maybe"), ("yes", "no")]
PROMPTS = [
    f"{verb} with {', '.join(words) if len(words) == 3 else ' or '.join(words)}"
    for verb in ("respond", "just respond")
    for words in WORD_LISTS
]


async def roll_out(model: art.TrainableModel, prompt: str) -> art.Trajectory:
    message: art.types.Message = {"role": "user", "content": prompt}
    completion = await model.openai_client().chat.completions.create(
        messages=[message], model=model.get_inference_name(), max_tokens=100
    )
    choice = completion.choices[0]
    return art.Trajectory(
        messages_and_choices=[message, choice], reward=REWARDS.get(choice.message.content or "", 0.0)
    )


async def gather(model: art.TrainableModel) -> list[art.TrajectoryGroup]:
    return await art.gather_trajectory_groups(
        art.TrajectoryGroup(roll_out(model, prompt) for _ in range(ANSWERS_PER_PROMPT)) for prompt in PROMPTS
    )


def mean_reward(groups: list[art.TrajectoryGroup]) -> float:
    rewards = [trajectory.reward for group in groups for trajectory in group]
    return sum(rewards) / len(rewards)


async def list_steps(backend: ServerlessBackend, model: art.TrainableModel) -> list[int]:
    return [checkpoint.step async for checkpoint in backend._client.models.checkpoints.list(model_id=model.id)]


async def main() -> None:
    backend = ServerlessBackend(
        api_key=os.environ["TRAINYARD_API_KEY"], base_url=os.environ["TRAINYARD_URL"].rstrip("/") + "/v1"
    )
    model = art.TrainableModel(name=f"art-{uuid.uuid4().hex[:8]}", project="yes-no-maybe", base_model="tiny-chat")
    await model.register(backend)
    seen: dict = {"entity": model.entity, "model": model.get_inference_name(), "first_step": await model.get_step()}
    seen["rewards"], seen["steps"], seen["metrics"] = [], [], []
    while await model.get_step() < STEPS:
        groups = await gather(model)
        seen["rewards"].append(mean_reward(groups))
        result = await backend.train(model, groups, learning_rate=LEARNING_RATE)
        await model.log(metrics=result.metrics, step=result.step, split="train")
        seen["steps"].append(result.step)
        seen["metrics"].append(result.metrics)
    seen["rewards"].append(mean_reward(await gather(model)))
    seen["checkpoints"] = await list_steps(backend, model)
    await model.delete_checkpoints("train/reward")
    seen["kept"] = await list_steps(backend, model)
    await backend.delete(model)
    await backend.close()
    print(json.dumps(seen))


asyncio.run(main())
