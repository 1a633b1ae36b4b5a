import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import { readRequest, spliceRequest } from "./splice.ts";

const user = (content: unknown) => ({ role: "user", content });
const facts = (body: Record<string, unknown>) =>
  readRequest({ model: "m", messages: [user("hi")], ...body });

/** Splices as the gateway does: facts come from the parsed text. */
function spliced(text: string, model: string, askStreamUsage = false): string {
  return finish(spliceRequest(text, readRequest(JSON.parse(text)), { model, askStreamUsage }));
}

function refusal(act: () => unknown): Fault {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
  throw new Error("accepted");
}

Deno.test("a vendor that must store nothing is not asked to store", () => {
  const keepNothing = { sealReasoning: false };
  const text = (store: boolean) => `{"store":${store},"model":"m","messages":[]}`;
  const changes = { model: "m", askStreamUsage: false };
  const sent = (store: boolean, more = {}) =>
    finish(spliceRequest(text(store), facts({}), { ...changes, ...more }));
  assert.equal(sent(true, { keepNothing }), text(false));
  assert.equal(sent(false, { keepNothing }), text(false));
  assert.equal(sent(true), text(true));
});

Deno.test("a plain request has plain facts", () => {
  assert.deepEqual(facts({}), {
    model: "m",
    stream: false,
    wantsStreamUsage: false,
    endUser: undefined,
    maxOutputTokens: undefined,
    choices: 1,
    serviceTier: undefined,
    tags: {},
    tagBlocks: [],
  });
});

const bounds: [Record<string, unknown>, number | undefined][] = [
  [{ max_completion_tokens: 9 }, 9],
  [{ max_tokens: 5 }, 5],
  [{ max_tokens: 5, max_completion_tokens: 9 }, 9],
  [{ max_tokens: 9, max_completion_tokens: 5 }, 9],
  [{ max_tokens: null, max_completion_tokens: null }, undefined],
  [{ max_tokens: null, max_completion_tokens: 5 }, 5],
  [{ max_tokens: 5, n: 3 }, 15],
  [{ n: 3 }, undefined],
  [{ max_tokens: 5, n: null }, 5],
];
for (const [body, bound] of bounds) {
  Deno.test(`${JSON.stringify(body)} bounds the output of all answers at ${bound}`, () => {
    assert.equal(facts(body).maxOutputTokens, bound);
  });
}

Deno.test("an output limit gets its newer name where the model refuses the older, and nothing else changes", () => {
  const change = (text: string) =>
    finish(spliceRequest(text, readRequest(JSON.parse(text)), {
      ...{ model: "m", askStreamUsage: false, newerTokenLimit: true },
    }));
  const rest = '"messages":[{"role":"user","content":"max_tokens"}], "x" : 1.0';
  for (const name of ['"max_tokens"', '"max_\\u0074okens"']) {
    assert.equal(
      change(`{ "model":"m",${name} : 16e3,${rest} }`),
      `{ "model":"m","max_completion_tokens":16e3,${rest} }`,
    );
  }
  const both = `{"model":"m","max_tokens":5,"max_completion_tokens":9,${rest}}`;
  assert.equal(change(both), both);
  const older = `{"model":"m","max_tokens":5,${rest}}`;
  assert.equal(spliced(older, "m"), older);
});

const flags: [Record<string, unknown>, boolean, boolean][] = [
  [{ stream: true }, true, false],
  [{ stream: null }, false, false],
  [{ stream: true, stream_options: null }, true, false],
  [{ stream: true, stream_options: {} }, true, false],
  [{ stream: true, stream_options: { include_usage: false } }, true, false],
  [{ stream: true, stream_options: { include_usage: null } }, true, false],
  [{ stream: true, stream_options: { include_usage: true } }, true, true],
  [{ stream: true, usage: { include: false } }, true, false],
  [{ stream: true, usage: { include: true } }, true, true],
];
for (const [body, stream, usage] of flags) {
  Deno.test(`${JSON.stringify(body)}: stream ${stream}, usage shown ${usage}`, () => {
    assert.equal(facts(body).stream, stream);
    assert.equal(facts(body).wantsStreamUsage, usage);
  });
}

Deno.test("the end user is safety_identifier, else user", () => {
  assert.equal(facts({ user: "u" }).endUser, "u");
  assert.equal(facts({ user: "u", safety_identifier: "s" }).endUser, "s");
  assert.equal(facts({ user: "u", safety_identifier: null }).endUser, "u");
  assert.equal(facts({ user: "" }).endUser, undefined);
});

const tagged: [string, unknown[], Record<string, string>, string[]][] = [
  ["in a user string", [user("/// APP a\nhi")], { app: "a" }, ["messages.0.content"]],
  [
    "in system and user, the first value of each winning",
    [{ role: "system", content: "/// APP a\nx" }, user("/// APP b\n/// FLOW f\nhi")],
    { app: "a", flow: "f" },
    ["messages.0.content", "messages.1.content"],
  ],
  [
    "in a developer message, which is a system message",
    [{ role: "developer", content: "/// COHORT c\nx" }, {
      role: "system",
      content: "/// APP a\nx",
    }],
    { cohort: "c" },
    ["messages.0.content"],
  ],
  [
    "in the first text part, behind an image",
    [user([{ type: "image_url", image_url: {} }, { type: "text", text: "/// APP a\r\nhi" }])],
    { app: "a" },
    ["messages.0.content.1.text"],
  ],
  ["not in the second user message", [user("hi"), user("/// APP a\nx")], {}, []],
  ["not in the second text part", [user([text("hi"), text("/// APP a\nx")])], {}, []],
  ["not behind other text", [user("hi\n/// APP a")], {}, []],
  ["not in an assistant message", [{ role: "assistant", content: "/// APP a\nx" }], {}, []],
  ["not in other lines of that look", [user("/// Adds two numbers.\nhi")], {}, []],
  ["not where there is no text", [user(null), user([{ type: "file" }]), user(7)], {}, []],
];

function text(words: string) {
  return { type: "text", text: words };
}

for (const [name, messages, tags, paths] of tagged) {
  Deno.test(`tags are found ${name}`, () => {
    const found = facts({ messages });
    assert.deepEqual(found.tags, tags);
    assert.deepEqual(found.tagBlocks.map(({ path }) => path.join(".")), paths);
  });
}

Deno.test("a prompt of nothing but tag lines is 400 at its path, strings and parts alike", () => {
  const whole = refusal(() => facts({ messages: [user("/// APP a\n/// FLOW b\n")] }));
  assert.deepEqual([whole.code, whole.param], ["invalid_value", "messages[0].content"]);
  const part = refusal(() => facts({ messages: [user("x"), user([text("/// APP a")])].slice(1) }));
  assert.equal(part.param, "messages[0].content[0].text");
});

const untouched = `{ "model" : "gpt-5",
  "seed": 12345678901234567890, "temperature": 1.0, "x": {"y": [1e2, "\\u00e9"]},
  "messages": [{"role": "user", "content": "hi \\ud83c\\udf88"}], "last": -0 }`;

Deno.test("a request that needs no change is sent byte for byte as it came", () => {
  assert.equal(spliced(untouched, "gpt-5"), untouched);
});

Deno.test("only the model's value is exchanged, everything else stays as it was written", () => {
  assert.equal(
    spliced(untouched.replace("gpt-5", "openai/gpt-5"), "gpt-5"),
    untouched,
  );
  assert.equal(
    spliced('{"mod\\u0065l":"a\\/b","messages":[]}', 'x"y'),
    '{"mod\\u0065l":"x\\"y","messages":[]}',
  );
});

Deno.test("a model inside another object is left alone", () => {
  const body = '{"metadata":{"model":"a/b"},"model":"a/b","messages":[]}';
  assert.equal(
    spliced(body, "b"),
    '{"metadata":{"model":"a/b"},"model":"b","messages":[]}',
  );
});

const options: [string, string][] = [
  ["", ',"stream_options":{"include_usage":true}'],
  [',"stream_options":null', ',"stream_options":{"include_usage":true}'],
  [',"stream_options":{}', ',"stream_options":{"include_usage":true}'],
  [',"stream_options": { }', ',"stream_options": {"include_usage":true }'],
  [
    ',"stream_options":{"include_usage":false}',
    ',"stream_options":{"include_usage":true}',
  ],
  [
    ',"stream_options":{"include_usage": null, "x": 1.0}',
    ',"stream_options":{"include_usage": true, "x": 1.0}',
  ],
  [
    ',"stream_options":{"include_obfuscation":false}',
    ',"stream_options":{"include_obfuscation":false,"include_usage":true}',
  ],
  [
    ',"stream_options":{"include_usage":true}',
    ',"stream_options":{"include_usage":true}',
  ],
];
for (const [before, after] of options) {
  Deno.test(`usage is asked for where the request has '${before}'`, () => {
    const wrap = (middle: string) => `{"model":"m","messages":[],"stream":true${middle}}`;
    assert.equal(spliced(wrap(before), "m", true), wrap(after));
    assert.equal(spliced(wrap(before), "m", false), wrap(before));
  });
}

const cuts: [string, string][] = [
  ['"/// APP a\\nhi"', '"hi"'],
  ['"/// APP a\\r\\n/// FLOW \\u00e9\\nhi \\u00e9"', '"hi \\u00e9"'],
  ['"\\/\\/\\/ APP a\\n\\nhi"', '"\\nhi"'],
  ['"/// APP \\ud83c\\udf88\\nhi"', '"hi"'],
  ['"/// APP a\\n/// doc comment\\nhi"', '"/// doc comment\\nhi"'],
  ['[{"type":"text","text":"/// APP a\\nhi","x":1.0}]', '[{"type":"text","text":"hi","x":1.0}]'],
];
for (const [before, after] of cuts) {
  Deno.test(`the vendor sees no tag lines of ${before}`, () => {
    const wrap = (content: string) =>
      `{"messages":[{"role":"user","content":${content}}],"model":"p/m"}`;
    assert.equal(spliced(wrap(before), "m"), wrap(after).replace("p/m", "m"));
  });
}

Deno.test("model, usage flag and both tag blocks are exchanged together", () => {
  const body = '{"messages":[{"role":"system","content":"/// APP a\\ns"},' +
    '{"role":"user","content":"/// FLOW f\\nu"}],"model":"p/m","stream":true}';
  assert.equal(
    spliced(body, "m", true),
    '{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],' +
      '"model":"m","stream":true,"stream_options":{"include_usage":true}}',
  );
});
