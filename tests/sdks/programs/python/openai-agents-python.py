from agents import Agent, ModelSettings, Runner, function_tool

import gateway
from report import LANE, Person, answer, get_time, get_weather, run


def agent(model, **more):
    settings = ModelSettings(include_usage=True)
    return Agent(name="guide", model=getattr(gateway, LANE)(model), model_settings=settings, **more)


def shown(result, text, **more):
    usage = result.context_wrapper.usage
    return answer(text, usage.input_tokens, usage.output_tokens, **more)


async def ask(model, text):
    result = await Runner.run(agent(model), text)
    return shown(result, result.final_output)


async def stream(model, text, **more):
    result, pieces = Runner.run_streamed(agent(model, **more), text), 0
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            pieces += event.data.type == "response.output_text.delta"
    return shown(result, result.final_output, pieces=pieces)


def tools(model, text):
    return stream(model, text, tools=[function_tool(get_weather), function_tool(get_time)])


async def object(model, text):
    result = await Runner.run(agent(model, output_type=Person), text)
    return shown(result, "", object=result.final_output.model_dump())


run(ask=ask, stream=stream, tools=tools, object=object)
