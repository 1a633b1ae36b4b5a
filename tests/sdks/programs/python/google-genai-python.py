from google.genai import types

from gateway import client
from report import Person, answer, get_time, get_weather, run


def counted(usage):
    output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0), output


def ask(model, text):
    response = client.models.generate_content(model=model, contents=text)
    return answer(response.text, *counted(response.usage_metadata))


def streamed(model, text, config=None):
    pieces, usage = [], None
    for chunk in client.models.generate_content_stream(model=model, contents=text, config=config):
        parts = (chunk.candidates or [None])[0]
        parts = (parts.content.parts or []) if parts and parts.content else []
        pieces += [part.text for part in parts if part.text and not part.thought]
        usage = chunk.usage_metadata or usage
    return answer("".join(pieces), *counted(usage), pieces=len(pieces))


def tools(model, text):
    return streamed(model, text, types.GenerateContentConfig(tools=[get_weather, get_time]))


def object(model, text):
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_schema=Person
    )
    response = client.models.generate_content(model=model, contents=text, config=config)
    return answer("", *counted(response.usage_metadata), object=response.parsed.model_dump())


def embed(model, text):
    made = client.models.embed_content(model=model, contents=[text, "a house"])
    return answer("", dimensions=len(made.embeddings[1].values))


run(ask=ask, stream=streamed, tools=tools, object=object, embed=embed)
