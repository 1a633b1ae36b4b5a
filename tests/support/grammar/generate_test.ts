import assert from "@std/assert";
import { type BrokenRow, changed, type Payloads, refuses, spliced } from "./broken.ts";
import { checkGenerateStream } from "./generate.ts";

const head = { modelVersion: "m", responseId: "r" };
const parts = (...parts: unknown[]) => ({
  ...head,
  candidates: [{ index: 0, content: { role: "model", parts } }],
  usageMetadata: {},
});
const call = (id: string) => parts({ functionCall: { id, name: "f", args: { x: 1 } } });

/** By index: 0 thought, 1 text, 2 and 3 calls, 4 the end. */
const whole: Payloads = [
  parts({ text: "hm", thought: true, thoughtSignature: "s" }),
  parts({ text: "Hello" }),
  call("a"),
  call("b"),
  {
    ...head,
    candidates: [{
      index: 0,
      content: { role: "model", parts: [] },
      finishReason: "STOP",
    }],
    usageMetadata: {
      promptTokenCount: 9,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 1,
      totalTokenCount: 12,
    },
  },
];

const error = {
  error: {
    code: 502,
    message: "It broke.",
    status: "UNAVAILABLE",
    type: "upstream_error",
    reason: "c",
  },
};

function sse(payloads: Payloads): string {
  return payloads.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join("");
}

function array(payloads: Payloads): string {
  return `[${payloads.map((one) => JSON.stringify(one)).join(",\r\n")}]`;
}

Deno.test("the generate grammar takes both forms, whole and failed, and reads what they say", () => {
  for (
    const said of [
      checkGenerateStream(sse(whole), "sse"),
      checkGenerateStream(array(whole), "array"),
    ]
  ) {
    assert.equal(said.ending, "finished");
    assert.deepEqual(said.usage, { input: 9, cacheRead: 4, output: 3 });
    assert.deepEqual(said.choices, [{
      text: "Hello",
      reasoning: "hm",
      refusal: "",
      calls: [
        { id: "a", name: "f", input: '{"x":1}', custom: false },
        { id: "b", name: "f", input: '{"x":1}', custom: false },
      ],
      finish: "tool_calls",
    }]);
  }
  for (let kept = 0; kept < whole.length; kept++) {
    const failed = [...whole.slice(0, kept), error];
    assert.equal(checkGenerateStream(array(failed), "array").error?.code, "c");
    assert.equal(checkGenerateStream(sse(failed), "sse").ending, "failed");
    assert.equal(checkGenerateStream(`${sse(failed)}: it failed`, "sse").ending, "failed");
  }
  const blocked = [{
    ...head,
    promptFeedback: { blockReason: "SAFETY" },
    usageMetadata: { promptTokenCount: 2, totalTokenCount: 2 },
  }];
  assert.equal(checkGenerateStream(sse(blocked), "sse").ending, "finished");
});

const candidate = ["candidates", 0];

const broken: BrokenRow[] = [
  ["an event: line", /event: line/, sse(whole).replace("data: ", "event: x\ndata: ")],
  ["an end marker", /\[DONE\]/, `${sse(whole)}data: [DONE]\n\n`],
  ["no blank line at the end", /blank line/, sse(whole).trimEnd()],
  ["an unfinished comment after a whole answer", /blank line/, `${sse(whole)}: x`],
  [
    "no finishReason",
    /without finishReason/,
    sse(spliced(whole, 4, 1, { ...parts({ text: "x" }), usageMetadata: whole[4]!.usageMetadata })),
  ],
  [
    "an unknown finishReason",
    /unknown finishReason/,
    sse(changed(whole, 4, [...candidate, "finishReason"], "TOOL_CALLS")),
  ],
  ["text after the finish", /follows the finish/, sse([...whole, whole[1]!])],
  [
    "finishReason on every element",
    /follows the finish/,
    sse(changed(whole, 1, [...candidate, "finishReason"], "STOP")),
  ],
  ["no usage at the end", /has no usage/, sse(changed(whole, 4, ["usageMetadata"], {}))],
  ["an element without usage", /usage/, sse(changed(whole, 1, ["usageMetadata"], undefined))],
  [
    "usage only before the end",
    /has no usage/,
    sse(
      changed(
        changed(whole, 3, ["usageMetadata"], whole[4]!.usageMetadata),
        4,
        ["usageMetadata"],
        {},
      ),
    ),
  ],
  [
    "usage that goes down",
    /goes down/,
    sse(changed(whole, 1, ["usageMetadata"], { candidatesTokenCount: 90, totalTokenCount: 90 })),
  ],
  [
    "usage that doesn't add up",
    /not the sum/,
    sse(changed(whole, 4, ["usageMetadata", "totalTokenCount"], 11)),
  ],
  [
    "more cached than prompt",
    /more cached/,
    sse(changed(whole, 4, ["usageMetadata", "cachedContentTokenCount"], 10)),
  ],
  ["another responseId", /changed/, sse(changed(whole, 2, ["responseId"], "q"))],
  ["no modelVersion", /modelVersion/, sse(changed(whole, 2, ["modelVersion"], undefined))],
  ["an unknown member", /not known/, sse(changed(whole, 1, ["choices"], []))],
  [
    "another role",
    /role is not model/,
    sse(changed(whole, 1, [...candidate, "content", "role"], "assistant")),
  ],
  ["an empty text part", /empty text/, sse(spliced(whole, 1, 1, parts({ text: "" })))],
  [
    "an empty text part at the end",
    /empty text/,
    sse(changed(whole, 4, [...candidate, "content", "parts"], [{ text: "" }])),
  ],
  [
    "a part with two members",
    /2 data members/,
    sse(spliced(whole, 1, 1, parts({ text: "x", functionCall: {} }))),
  ],
  ["a part with none", /0 data members/, sse(spliced(whole, 1, 1, parts({ thought: true })))],
  [
    "arguments as text",
    /args is no object/,
    sse(spliced(whole, 2, 1, parts({ functionCall: { name: "f", args: "{}" } }))),
  ],
  [
    "a call without name",
    /name is no string/,
    sse(spliced(whole, 2, 1, parts({ functionCall: { args: {} } }))),
  ],
  ["two calls with one id", /one id/, sse(spliced(whole, 3, 1, call("a")))],
  ["an element after the error", /follows the error/, sse([error, whole[0]!])],
  ["an error with digits", /no number/, sse(changed([error], 0, ["error", "code"], "502"))],
  [
    "an error with another number",
    /no status/,
    sse(changed([error], 0, ["error", "code"], 200)),
  ],
  [
    "an error with another status",
    /canonical/,
    sse(changed([error], 0, ["error", "status"], "bad gateway")),
  ],
  [
    "an error without our code",
    /reason is missing/,
    sse(changed([error], 0, ["error", "reason"], undefined)),
  ],
  ["nothing at all", /no candidate/, ""],
];

refuses("generate", (stream) => checkGenerateStream(stream, "sse"), broken);
refuses("generate array", (stream) => checkGenerateStream(stream, "array"), [
  ["an array that isn't closed", /not one JSON value/, array(whole).slice(0, -1)],
  ["an array without commas", /not one JSON value/, array(whole).replaceAll(",\r\n", "\r\n")],
  ["elements without an array", /no array/, JSON.stringify(whole[4])],
  ["text after the array", /not one JSON value/, `${array(whole)}[]`],
  ["no element", /no candidate/, "[]"],
  ["an element after the error", /follows the error/, array([error, whole[0]!])],
]);
