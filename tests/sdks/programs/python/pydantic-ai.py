from pydantic_ai import Agent

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


async def stream(model, text, **more):
    async with agent(model, **more).run_stream(text) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return answer("".join(pieces), *counted(result), pieces=len(pieces))


def tools(model, text):
    return stream(model, text, tools=[get_weather, get_time])


async def object(model, text):
    result = await agent(model, output_type=Person).run(text)
    return answer("", *counted(result), object=result.output.model_dump())


run(ask=ask, stream=stream, tools=tools, object=object)
