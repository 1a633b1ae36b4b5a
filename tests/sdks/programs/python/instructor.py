import gateway
from report import LANE, Person, answer, run

client = getattr(gateway, LANE)()
more = {"max_tokens": 4000} if LANE == "messages" else {}


def params(model, text):
    messages = [{"role": "user", "content": text}]
    return {"model": model, "messages": messages, "response_model": Person, **more}


def object(model, text):
    person = client.create(**params(model, text))
    return answer("", object=person.model_dump())


run(object=object)
