import litellm

import gateway
from report import LANE, Person, answer, execute, functions, parameters, run


def params(model, messages):
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    return {**getattr(gateway, LANE)(model), "messages": messages}


def shown(completion, **more):
    usage = completion.usage
    text = completion.choices[0].message.content
    return answer(**{"text": text, **more}, input=usage.prompt_tokens, output=usage.completion_tokens)


def ask(model, text):
    return shown(litellm.completion(**params(model, text)))


def streamed(model, messages, **more):
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(litellm.completion(**params(model, messages), **options, **more))
    pieces = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    return litellm.stream_chunk_builder(chunks), len(pieces)


def stream(model, text):
    completion, pieces = streamed(model, text)
    return shown(completion, pieces=pieces)


def tools(model, text):
    offered = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": function.__doc__.split("\n")[0],
                "parameters": parameters,
            },
        }
        for name, function in functions.items()
    ]
    messages = [{"role": "user", "content": text}]
    while True:
        completion, _ = streamed(model, messages, tools=offered)
        message = completion.choices[0].message
        if not message.tool_calls:
            return shown(completion)
        messages.append(message)
        for call in message.tool_calls:
            content = execute(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def object(model, text):
    completion = litellm.completion(**params(model, text), response_format=Person)
    person = Person.model_validate_json(completion.choices[0].message.content)
    return shown(completion, text="", object=person.model_dump())


def embed(model, text):
    at = params(model, text)
    made = litellm.embedding(
        model=at["model"], input=[text, "a house"], api_base=at["api_base"], api_key=at["api_key"]
    )
    return answer("", made.usage.prompt_tokens, dimensions=len(made.data[1]["embedding"]))


run(ask=ask, stream=stream, tools=tools, object=object, embed=embed if LANE == "chat" else None)
