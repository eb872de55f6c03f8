"""The official Python SDK against a running service: prints what it saw as one line of JSON.

TRAINYARD_URL is the inference address (it ends in /v1), TRAINYARD_API_KEY a key.
"""

import json
import os

import openai
from openai import OpenAI
from pydantic import BaseModel

client = OpenAI(base_url=os.environ["TRAINYARD_URL"], api_key=os.environ["TRAINYARD_API_KEY"], max_retries=0)
request = {
    "model": "tiny-chat",
    "messages": [{"role": "user", "content": "hello"}],
    "temperature": 0,
    "max_completion_tokens": 24,
}


class Answer(BaseModel):
    sure: bool
    count: int


def failure_of(call):
    try:
        call()
    except openai.OpenAIError as error:
        return error
    raise AssertionError("it should have failed")


def summary(error):
    return {
        "class": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "param": getattr(error, "param", None),
        "message": str(error),
    }


def chat():
    completion = client.chat.completions.create(**request, logprobs=True, top_logprobs=2)
    choice = completion.choices[0]
    return {
        "content": choice.message.content,
        "finish_reason": choice.finish_reason,
        "tokens": len(choice.logprobs.content),
        "completion_tokens": completion.usage.completion_tokens,
        "cached_tokens": completion.usage.prompt_tokens_details.cached_tokens,
        "request_id": completion._request_id,
    }


def extra_fields():
    body = {"return_token_ids": True, "structured_outputs": {"choice": ["left", "right"]}, "request_id": "python"}
    completion = client.chat.completions.create(**request, extra_body=body)
    choice = completion.choices[0]
    return {"id": completion.id, "content": choice.message.content, "token_ids": choice.token_ids}


def stream():
    with client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}) as events:
        chunks = list(events)
    return {
        "content": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "usage": chunks[-1].usage.completion_tokens,
        "chunks": len(chunks),
    }


def stream_helper():
    with client.chat.completions.stream(**request) as events:
        kinds = {event.type for event in events}
        final = events.get_final_completion()
    return {"content": final.choices[0].message.content, "kinds": sorted(kinds)}


def parse():
    asked = {**request, "max_completion_tokens": 60}
    message = client.chat.completions.parse(**asked, response_format=Answer).choices[0].message
    cut = failure_of(
        lambda: client.chat.completions.parse(**{**request, "max_completion_tokens": 2}, response_format=Answer)
    )
    return {"parsed": message.parsed.model_dump(), "cut": type(cut).__name__}


def errors():
    def create(**changes):
        return lambda: client.chat.completions.create(**{**request, **changes})

    stranger = client.with_options(api_key="not-a-key-of-this-server")
    return {
        "unknown model": summary(failure_of(create(model="nobody"))),
        "out of range": summary(failure_of(create(temperature=-1))),
        "between fields": summary(failure_of(create(n=2))),
        "streamed": summary(failure_of(create(top_logprobs=2, stream=True))),
        "wrong key": summary(failure_of(lambda: stranger.chat.completions.create(**request))),
    }


def cancellation():
    endless = {**request, "max_completion_tokens": 1900, "stream": True, "extra_body": {"ignore_eos": True}}
    seen = 0
    with client.chat.completions.create(**endless) as events:
        for _ in events:
            seen += 1
            if seen == 3:
                break
    hurried = client.with_options(timeout=0.02)
    late = failure_of(lambda: hurried.chat.completions.create(**{**endless, "stream": False}))
    return {"seen": seen, "late": type(late).__name__, "after": chat()["finish_reason"]}


def models():
    return [model.id for model in client.models.list()]


def retries():
    """Against a service that is busy twice, at the address of its own."""
    busy = OpenAI(base_url=os.environ["TRAINYARD_BUSY_URL"], api_key=os.environ["TRAINYARD_API_KEY"])
    return {"content": busy.chat.completions.create(**request).choices[0].message.content}


def main():
    steps = [chat, extra_fields, stream, stream_helper, parse, errors, cancellation, models, retries]
    print(json.dumps({"version": openai.__version__, **{step.__name__: step() for step in steps}}))


main()
