from semantic_kernel import Kernel
from semantic_kernel.connectors.ai import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatPromptExecutionSettings
from semantic_kernel.contents import ChatHistory
from semantic_kernel.functions import kernel_function

from gateway import chat
from report import Person, answer, execute, run


class Guide:
    @kernel_function(name="get_weather", description="Tells the weather of a city.")
    def get_weather(self, city: str) -> str:
        return execute("get_weather", {"city": city})

    @kernel_function(name="get_time", description="Tells the time of a city.")
    def get_time(self, city: str) -> str:
        return execute("get_time", {"city": city})


def history(text):
    asked = ChatHistory()
    asked.add_user_message(text)
    return asked


def counted(usage):
    return (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)


async def ask(model, text, **more):
    settings = OpenAIChatPromptExecutionSettings(**more)
    message = await chat(model).get_chat_message_content(history(text), settings)
    return answer(message.content, *counted(message.metadata.get("usage")))


async def stream(model, text, kernel=None, **more):
    settings = OpenAIChatPromptExecutionSettings(**more)
    extra = {"kernel": kernel} if kernel else {}
    pieces, usage = [], None
    async for chunk in chat(model).get_streaming_chat_message_content(
        history(text), settings, **extra
    ):
        pieces += [chunk.content] if chunk and chunk.content else []
        usage = (chunk and chunk.metadata.get("usage")) or usage
    return answer("".join(pieces), *counted(usage), pieces=len(pieces))


def tools(model, text):
    kernel = Kernel()
    kernel.add_plugin(Guide(), "guide")
    return stream(model, text, kernel, function_choice_behavior=FunctionChoiceBehavior.Auto())


async def object(model, text):
    found = await ask(model, text, response_format=Person)
    person = Person.model_validate_json(found["text"])
    return {**found, "text": "", "object": person.model_dump()}


run(ask=ask, stream=stream, tools=tools, object=object)
