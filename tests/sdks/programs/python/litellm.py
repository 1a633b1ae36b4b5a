import litellm

import gateway
from report import LANE, Person, answer, execute, functions, parameters, run

at = getattr(gateway, LANE)


def user(text):
    return [{"role": "user", "content": text}]


def shown(completion, **more):
    usage = completion.usage
    text = completion.choices[0].message.content
    return answer(**{"text": text, **more}, input=usage.prompt_tokens, output=usage.completion_tokens)


def ask(model, text):
    return shown(litellm.completion(**at(model), messages=user(text)))


def streamed(model, messages, **more):
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(litellm.completion(**at(model), messages=messages, **options, **more))
    pieces = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    return litellm.stream_chunk_builder(chunks), len(pieces)


def stream(model, text):
    completion, pieces = streamed(model, user(text))
    return shown(completion, pieces=pieces)


declarations = [
    {
        "name": name,
        "description": function.__doc__.split("\n")[0],
        "parameters": parameters,
    }
    for name, function in functions.items()
]


def tools(model, text):
    offered = [{"type": "function", "function": one} for one in declarations]
    messages = user(text)
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
    completion = litellm.completion(**at(model), messages=user(text), response_format=Person)
    person = Person.model_validate_json(completion.choices[0].message.content)
    return shown(completion, text="", object=person.model_dump())


def embed(model, text):
    made = litellm.embedding(**at(model), input=[text, "a house"])
    return answer("", made.usage.prompt_tokens, dimensions=len(made.data[1]["embedding"]))


def shown_response(response, **more):
    usage = response.usage
    more = {"text": response.output_text, **more}
    return answer(**more, input=usage.input_tokens, output=usage.output_tokens)


def ask_responses(model, text):
    return shown_response(litellm.responses(**at(model), input=text))


def streamed_response(model, items, **more):
    events = list(litellm.responses(**at(model), input=items, stream=True, **more))
    pieces = [event for event in events if event.type == "response.output_text.delta"]
    [response] = [event.response for event in events if event.type == "response.completed"]
    return response, len(pieces)


def stream_responses(model, text):
    response, pieces = streamed_response(model, text)
    return shown_response(response, pieces=pieces)


def tools_responses(model, text):
    offered = [{"type": "function", **one, "strict": True} for one in declarations]
    items = user(text)
    while True:
        response, _ = streamed_response(model, items, tools=offered)
        called = [item for item in response.output if item.type == "function_call"]
        if not called:
            return shown_response(response)
        items += response.output
        for call in called:
            output = execute(call.name, call.arguments)
            items.append(
                {"type": "function_call_output", "call_id": call.call_id, "output": output}
            )


def object_responses(model, text):
    response = litellm.responses(**at(model), input=text, text_format=Person)
    person = Person.model_validate_json(response.output_text)
    return shown_response(response, text="", object=person.model_dump())


if LANE == "responses":
    run(ask=ask_responses, stream=stream_responses, tools=tools_responses, object=object_responses)
else:
    embed = embed if LANE in ("chat", "generate") else None
    run(ask=ask, stream=stream, tools=tools, object=object, embed=embed)
