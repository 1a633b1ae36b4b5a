from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate

import gateway
from report import LANE, Person, answer, get_time, get_weather, run

model_of = getattr(gateway, LANE)
embeddings = {"chat": gateway.openai_embeddings, "generate": gateway.google_embeddings}.get(LANE)


def ask(model, text):
    return answer(model_of(model).chat([ChatMessage(content=text)]).message.content)


def stream(model, text):
    pieces = [one.delta for one in model_of(model).stream_chat([ChatMessage(content=text)]) if one.delta]
    return answer("".join(pieces), pieces=len(pieces))


async def tools(model, text):
    agent = FunctionAgent(llm=model_of(model), tools=[get_weather, get_time])
    handler, pieces = agent.run(text), []
    async for event in handler.stream_events():
        if isinstance(event, AgentStream):
            pieces.append(event.delta)
    await handler
    return answer("".join(pieces))


def object(model, text):
    person = model_of(model).structured_predict(Person, PromptTemplate(text))
    return answer("", object=person.model_dump())


def embed(model, text):
    vectors = embeddings(model).get_text_embedding_batch([text, "a house"])
    return answer("", dimensions=len(vectors[1]))


run(ask=ask, stream=stream, tools=tools, object=object, embed=embed)
