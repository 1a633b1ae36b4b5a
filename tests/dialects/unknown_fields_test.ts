/** The decoder finds an unknown field anywhere in a request, and reports its path. */
import assert from "@std/assert";
import { decode } from "./crossing.ts";
import { callersOwn, fullRequests } from "./full_requests.ts";
import { names } from "./translated.ts";

type Json = Record<string, unknown>;

const field = "unheard_of";

for (const name of names) {
  fullRequests[name].forEach((body, number) => {
    Deno.test(`${name} request ${number + 1}: a field unknown to the decoder is named in every object`, () => {
      const before = decode(name, body).unsupported.map(({ path }) => path);
      const places = objectsIn(body, "");
      assert.ok(places.length > 1);
      for (const place of places) {
        const path = `${place}.${field}`;
        const found = decode(name, withField(body, place, "x")).unsupported;
        assert.deepEqual(found.map((one) => one.path).filter((one) => !before.includes(one)), [
          path,
        ]);
        assert.deepEqual(found.find((one) => one.path === path)?.value, "x");
      }
    });

    Deno.test(`${name} request ${number + 1}: an unknown field that says nothing is no loss, wherever it stands`, () => {
      const before = decode(name, body).unsupported;
      for (const place of objectsIn(body, "")) {
        for (const nothing of [null, false, []]) {
          const { unsupported: foreign } = decode(name, withField(body, place, nothing));
          const isWeighed = name === "generate" &&
            /^(tools\[\d\]|generation_?[cC]onfig)$/.test(place);
          if (nothing === null || !isWeighed) assert.deepEqual(foreign, before, place);
        }
      }
    });
  });

  Deno.test(`${name}: a request that uses all that its decoder knows has no loss within it`, () => {
    for (const body of fullRequests[name]) assert.deepEqual(decode(name, body).unsupported, []);
  });
}

Deno.test("names inside a caller's own schema or arguments are no fields of the dialect", () => {
  const parameters = { type: "object", properties: { unheard_of: { unheard_of: 1 } } };
  const { unsupported: foreign } = decode("chat", {
    messages: [{ role: "user", content: "x" }],
    tools: [{ type: "function", function: { name: "f", parameters } }],
    metadata: { unheard_of: "x" },
  });
  assert.deepEqual(foreign, []);
});

Deno.test("a field named like one of JavaScript's own is unknown like any other", () => {
  for (const own of ["constructor", "__proto__", "toString"]) {
    const message = JSON.parse(`{"role":"user","content":"x","${own}":{"a":1}}`);
    const { unsupported: foreign } = decode("chat", { messages: [message] });
    assert.deepEqual(foreign.map(({ path }) => path), [`messages[0].${own}`]);
  }
});

/** Paths of the objects in a value that are the dialect's, the root apart. */
function objectsIn(value: unknown, path: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((one: unknown, at) => objectsIn(one, `${path}[${at}]`));
  }
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.entries(value).flatMap(([key, one]) => {
    const isOwn = callersOwn.has(key) || (key === "input" && path !== "") ||
      (key === "format" && path.startsWith("tools"));
    return isOwn ? [] : objectsIn(one, path === "" ? key : `${path}.${key}`);
  });
  return path === "" ? inside : [path, ...inside];
}

function withField(body: Json, place: string, value: unknown): Json {
  const copy: Json = JSON.parse(JSON.stringify(body));
  let at: unknown = copy;
  for (const step of place.match(/[^.[\]]+/g) ?? []) at = (at as Json)[step];
  (at as Json)[field] = value;
  return copy;
}
