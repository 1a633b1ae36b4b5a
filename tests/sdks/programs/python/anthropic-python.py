from anthropic import beta_tool

from gateway import client
from report import Person, answer, get_time, get_weather, run


def params(model, text):
    return {"model": model, "max_tokens": 4000, "messages": [{"role": "user", "content": text}]}


def shown(message, **more):
    text = "".join(block.text for block in message.content if block.type == "text")
    return answer(text, message.usage.input_tokens, message.usage.output_tokens, **more)


def ask(model, text):
    return shown(client.messages.create(**params(model, text)))


def stream(model, text):
    with client.messages.stream(**params(model, text)) as stream:
        pieces = list(stream.text_stream)
        return shown(stream.get_final_message(), pieces=len(pieces))


def tools(model, text):
    runner = client.beta.messages.tool_runner(
        **params(model, text), tools=[beta_tool(get_weather), beta_tool(get_time)], stream=True
    )
    for one in runner:
        message = one.get_final_message()
    return shown(message)


def object(model, text):
    message = client.messages.parse(**params(model, text), output_format=Person)
    return shown(message, object=message.parsed_output.model_dump())


run(ask=ask, stream=stream, tools=tools, object=object)
