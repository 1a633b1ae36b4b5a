from pydantic_ai import Agent, Embedder

import gateway
from report import LANE, Person, answer, get_time, get_weather, run


def agent(model, **more):
    return Agent(getattr(gateway, LANE)(model), **more)


def counted(result):
    usage = result.usage() if callable(result.usage) else result.usage
    return usage.input_tokens, usage.output_tokens


async def ask(model, text):
    result = await agent(model).run(text)
    return answer(result.output, *counted(result))


async def stream(model, text):
    async with agent(model).run_stream(text) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return answer("".join(pieces), *counted(result), pieces=len(pieces))


async def tools(model, text):
    # `run_stream` would end with a text that comes before the calls.
    async def read(context, events):
        async for _ in events:
            pass

    offered = agent(model, tools=[get_weather, get_time])
    result = await offered.run(text, event_stream_handler=read)
    return answer(result.output, *counted(result))


async def object(model, text):
    result = await agent(model, output_type=Person).run(text)
    return answer("", *counted(result), object=result.output.model_dump())


embeddings = {"chat": gateway.openai_embeddings, "generate": gateway.google_embeddings}.get(LANE)


async def embed(model, text):
    made = await Embedder(embeddings(model)).embed_documents([text, "a house"])
    # It shows 0 where it reads no tokens, as in Google's answers.
    return answer("", made.usage.input_tokens or None, dimensions=len(made.embeddings[1]))


run(ask=ask, stream=stream, tools=tools, object=object, embed=embed if embeddings else None)
