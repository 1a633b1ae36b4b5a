from semantic_kernel import Kernel
from semantic_kernel.connectors.ai import FunctionChoiceBehavior
from semantic_kernel.contents import ChatHistory
from semantic_kernel.functions import kernel_function

import gateway
from report import LANE, Person, answer, get_time, get_weather, run


def service_of(model, **more):
    service = getattr(gateway, LANE)(model)
    return service, service.get_prompt_execution_settings_class()(**more)


def history(text):
    asked = ChatHistory()
    asked.add_user_message(text)
    return asked


def counted(metadata):
    usage = metadata.get("usage") or {}
    if isinstance(usage, dict):
        # Of streamed messages it keeps the input that is guessed at the start.
        return None, usage.get("output_tokens")
    if LANE == "messages":
        return usage.input_tokens, usage.output_tokens
    # Of Gemini's output it leaves out the thinking.
    return usage.prompt_tokens, None if LANE == "generate" else usage.completion_tokens


async def ask(model, text, **more):
    service, settings = service_of(model, **more)
    message = await service.get_chat_message_content(history(text), settings)
    return answer(message.content, *counted(message.metadata))


async def stream(model, text, kernel=None, **more):
    service, settings = service_of(model, **more)
    extra = {"kernel": kernel} if kernel else {}
    pieces, counts = [], (None, None)
    async for chunk in service.get_streaming_chat_message_content(
        history(text), settings, **extra
    ):
        if chunk is None:
            continue
        pieces += [chunk.content] if chunk.content else []
        latest = counted(chunk.metadata)
        counts = latest if any(latest) else counts
    return answer("".join(pieces), *counts, pieces=len(pieces))


def tools(model, text):
    kernel = Kernel()
    kernel.add_functions("guide", [kernel_function(get_weather), kernel_function(get_time)])
    return stream(model, text, kernel, function_choice_behavior=FunctionChoiceBehavior.Auto())


async def object(model, text):
    formats = {
        "chat": {"response_format": Person},
        "generate": {"response_mime_type": "application/json", "response_schema": Person},
    }
    found = await ask(model, text, **formats[LANE])
    person = Person.model_validate_json(found["text"])
    return {**found, "text": "", "object": person.model_dump()}


embeddings = {"chat": gateway.openai_embeddings, "generate": gateway.google_embeddings}.get(LANE)


async def embed(model, text):
    vectors = await embeddings(model).generate_embeddings([text, "a house"])
    return answer("", dimensions=len(vectors[1]))


# It has no settings for objects of Anthropic's models.
object = None if LANE == "messages" else object
run(ask=ask, stream=stream, tools=tools, object=object, embed=embed if embeddings else None)
