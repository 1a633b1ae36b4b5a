from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types

from gateway import generate
from report import Person, answer, get_time, get_weather, run


async def asked(model, text, mode=StreamingMode.NONE, **more):
    agent = LlmAgent(name="guide", model=generate(model), **more)
    runner = InMemoryRunner(agent=agent, app_name="guide")
    session = await runner.session_service.create_session(app_name="guide", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text=text)])
    said, pieces, usage = "", 0, None
    async for event in runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(streaming_mode=mode),
    ):
        if event.error_code:
            raise RuntimeError(f"{event.error_code}: {event.error_message}")
        parts = (event.content.parts or []) if event.content else []
        piece = "".join(part.text for part in parts if part.text and not part.thought)
        pieces += bool(event.partial and piece)
        if piece and not event.partial:
            said = piece
        usage = event.usage_metadata or usage
    output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return answer(said, usage.prompt_token_count, output, pieces=pieces)


def stream(model, text, **more):
    return asked(model, text, StreamingMode.SSE, **more)


def tools(model, text):
    return stream(model, text, tools=[get_weather, get_time])


async def object(model, text):
    found = await asked(model, text, output_schema=Person)
    person = Person.model_validate_json(found["text"])
    return {**found, "text": "", "object": person.model_dump()}


run(ask=asked, stream=stream, tools=tools, object=object)
