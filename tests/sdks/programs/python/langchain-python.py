from langchain.agents import create_agent

import gateway
from report import LANE, Person, answer, get_time, get_weather, run

model_of = getattr(gateway, LANE)
embeddings = {"chat": gateway.openai_embeddings, "generate": gateway.google_embeddings}.get(LANE)


def text_of(message):
    return message.text if isinstance(message.text, str) else message.text()


def shown(message, **more):
    usage = message.usage_metadata or {}
    more = {"text": text_of(message), **more}
    return answer(input=usage.get("input_tokens"), output=usage.get("output_tokens"), **more)


def ask(model, text):
    return shown(model_of(model).invoke(text))


def stream(model, text):
    whole, pieces = None, 0
    for chunk in model_of(model).stream(text):
        whole = chunk if whole is None else whole + chunk
        pieces += text_of(chunk) != ""
    return shown(whole, pieces=pieces)


def tools(model, text):
    agent = create_agent(model_of(model), tools=[get_weather, get_time])
    messages = {"messages": [{"role": "user", "content": text}]}
    for mode, data in agent.stream(messages, stream_mode=["messages", "values"]):
        if mode == "values":
            last = data["messages"][-1]
    return shown(last)


def object(model, text):
    chain = model_of(model).with_structured_output(Person, include_raw=True)
    found = chain.invoke(text)
    if found["parsing_error"]:
        raise found["parsing_error"]
    return shown(found["raw"], text="", object=found["parsed"].model_dump())


def embed(model, text):
    vectors = embeddings(model).embed_documents([text, "a house"])
    return answer("", dimensions=len(vectors[1]))


run(ask=ask, stream=stream, tools=tools, object=object, embed=embed if embeddings else None)
