from gateway import client
from report import LANE, Person, answer, execute, functions, parameters, run


def user(text):
    return [{"role": "user", "content": text}]


def counted(usage):
    if LANE == "chat":
        return usage.prompt_tokens, usage.completion_tokens
    return usage.input_tokens, usage.output_tokens


def ask_chat(model, text):
    completion = client.chat.completions.create(model=model, messages=user(text))
    return answer(completion.choices[0].message.content, *counted(completion.usage))


def stream_chat(model, text):
    pieces, usage = [], None
    for chunk in client.chat.completions.create(
        model=model, messages=user(text), stream=True, stream_options={"include_usage": True}
    ):
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        usage = chunk.usage or usage
    return answer("".join(pieces), *counted(usage), pieces=len(pieces))


def tools_chat(model, text):
    tools = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": function.__doc__.split("\n")[0],
                "parameters": parameters,
                "strict": True,
            },
        }
        for name, function in functions.items()
    ]
    messages = user(text)
    while True:
        with client.chat.completions.stream(
            model=model, messages=messages, tools=tools, stream_options={"include_usage": True}
        ) as stream:
            completion = stream.get_final_completion()
        message = completion.choices[0].message
        if not message.tool_calls:
            return answer(message.content, *counted(completion.usage))
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            content = execute(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def object_chat(model, text):
    completion = client.chat.completions.parse(
        model=model, messages=user(text), response_format=Person
    )
    return answer(
        "", *counted(completion.usage), object=completion.choices[0].message.parsed.model_dump()
    )


def ask_responses(model, text):
    response = client.responses.create(model=model, input=text)
    return answer(response.output_text, *counted(response.usage))


def stream_responses(model, text):
    pieces = []
    with client.responses.stream(model=model, input=text) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        response = stream.get_final_response()
    return answer("".join(pieces), *counted(response.usage), pieces=len(pieces))


def tools_responses(model, text):
    tools = [
        {
            "type": "function",
            "name": name,
            "description": function.__doc__.split("\n")[0],
            "parameters": parameters,
            "strict": True,
        }
        for name, function in functions.items()
    ]
    previous, items = None, text
    while True:
        more = {"previous_response_id": previous} if previous else {}
        with client.responses.stream(model=model, input=items, tools=tools, **more) as stream:
            response = stream.get_final_response()
        called = [item for item in response.output if item.type == "function_call"]
        if not called:
            return answer(response.output_text, *counted(response.usage))
        previous = response.id
        items = [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": execute(call.name, call.arguments),
            }
            for call in called
        ]


def object_responses(model, text):
    response = client.responses.parse(model=model, input=text, text_format=Person)
    return answer("", *counted(response.usage), object=response.output_parsed.model_dump())


def embed(model, text):
    made = client.embeddings.create(model=model, input=[text, "a house"])
    return answer("", made.usage.prompt_tokens, dimensions=len(made.data[1].embedding))


if LANE == "chat":
    run(ask=ask_chat, stream=stream_chat, tools=tools_chat, object=object_chat, embed=embed)
else:
    run(ask=ask_responses, stream=stream_responses, tools=tools_responses, object=object_responses)
