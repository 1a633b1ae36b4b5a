"""Asks what every client is asked, and prints what came of it: one line of JSON for each."""

import asyncio
import inspect
import json
import os
from typing import Literal, Optional

from pydantic import BaseModel

MODEL, LANE, EMBEDDING = (os.environ.get(name, "") for name in ("MODEL", "LANE", "EMBEDDING"))
calls = []


def get_weather(city: str) -> str:
    """Tells the weather of a city.

    Args:
        city: Name of the city
    """
    calls.append(["get_weather", city])
    return "sunny, 21 °C"


def get_time(city: str) -> str:
    """Tells the time of a city.

    Args:
        city: Name of the city
    """
    calls.append(["get_time", city])
    return "12:30"


functions = {"get_weather": get_weather, "get_time": get_time}
parameters = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Home(BaseModel):
    city: str
    country: Optional[str]


class Person(BaseModel):
    name: str
    age: int
    mood: Literal["glad", "sad"]
    home: Home


def answer(text, input=None, output=None, **more):
    return {"text": text, "input": input, "output": output, **more}


def execute(name, arguments):
    return functions[name](**(json.loads(arguments) if isinstance(arguments, str) else arguments))


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def thrown(error):
    found = {"thrown": type(error).__name__, "message": f"{type(error).__module__}: {error}"[:400]}
    for one in chain(error):
        response = getattr(one, "response", None)
        headers = getattr(response, "headers", None) or getattr(one, "headers", None) or {}
        status = getattr(one, "status_code", None) or getattr(one, "code", None)
        found.setdefault("status", status if isinstance(status, int) else None)
        if found["status"] is None:
            del found["status"]
        request_id = getattr(one, "request_id", None) or headers.get("x-request-id")
        if request_id:
            found.setdefault("request_id", request_id)
    return found


def run(*, ask=None, stream=None, tools=None, object=None, embed=None):
    """Each function may be asynchronous; what it throws is printed too."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def feature(name, function, *args):
        if not function:
            return
        calls.clear()
        try:
            result = function(*args)
            if inspect.isawaitable(result):
                result = loop.run_until_complete(result)
        except Exception as error:
            result = thrown(error)
        print(json.dumps({"feature": name, "calls": list(calls), **result}), flush=True)

    asks = json.loads(os.environ["ASKS"])
    feature("whole", ask, MODEL, asks["whole"])
    feature("stream", stream, MODEL, asks["stream"])
    feature("tools", tools, MODEL, asks["tools"])
    feature("object", object, MODEL, asks["object"])
    feature("embed", embed if EMBEDDING else None, EMBEDDING, asks["embed"])
    feature("missing", ask or object, os.environ["MISSING"], asks["missing"])
    feature("limited", ask or object, MODEL, asks["limited"])
    feature("repeated", ask or object, MODEL, asks["repeated"])
    feature("broken", stream, MODEL, asks["broken"])
