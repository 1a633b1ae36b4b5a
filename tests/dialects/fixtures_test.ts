/** Answers of our own making, one theme in each dialect, for callers of every dialect. */
import assert from "@std/assert";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { type Facts, factsOf } from "./facts.ts";
import { decodeStream, dialects, type Name, names } from "./translated.ts";
import { answersOf, framesOf, recordingsIn } from "./recordings.ts";
import { registerMatrix } from "./register.ts";
import { finish } from "../../src/base/steps.ts";

const folder = new URL("../fixtures/answers/", import.meta.url);

for (const vendor of names) registerMatrix(folder, vendor);

const water = { name: "water", input: { bed: "north", litres: 4.5 } };
const measure = { name: "measure_soil", input: { bed: "south" } };
const silent = { text: "", reasoning: "", refusal: "", calls: [] };

/** What the fixtures of a theme say, whatever the dialect. */
const themes: Readonly<Record<string, Facts>> = {
  text: one({ text: "Good morning, 庭 garden 🌱.", finish: "stop" }, 12, 6),
  "parallel-tools": one({ calls: [water, measure], finish: "tool_calls" }, 88, 31),
  reasoning: one(
    {
      text: "Plant it in May.",
      reasoning: "Frost ends in May, so later is safer.",
      finish: "stop",
    },
    20,
    24,
  ),
  refusal: one({ refusal: "I can’t help with that plant.", finish: "stop" }, 15, 8),
  length: one({ text: "Roses need", finish: "length" }, 9, 2),
  "cut-call": one(
    { calls: [{ name: "water", input: { cut: '{"bed":"nor' } }], finish: "length" },
    88,
    16,
  ),
  "safety-block": one({ finish: "content_filter" }, 30, 0),
  "cached-usage": one({ text: "Yes.", finish: "stop" }, 2050, 2, 1920),
  "server-tool": one({ text: "No frost tonight.", finish: "stop" }, 60, 20),
  "two-answers": {
    choices: [
      { ...silent, text: "Basil.", finish: "stop" },
      { ...silent, text: "Thyme", finish: "length" },
    ],
    usage: { input: 11, cacheRead: 0, output: 4 },
  },
};

function one(
  said: Partial<Facts["choices"][number]>,
  input: number,
  output: number,
  cacheRead = 0,
): Facts {
  return {
    choices: [{ ...silent, finish: undefined, ...said }],
    usage: { input, cacheRead, output },
  };
}

/** A refusal is how an answer of the messages dialect ends. */
function expected(vendor: Name, theme: string): Facts {
  const facts = themes[theme];
  if (!facts) throw new Error(`no facts for ${theme}`);
  if (vendor !== "messages" || theme !== "refusal") return facts;
  return {
    ...facts,
    choices: facts.choices.map((choice) => ({ ...choice, finish: "content_filter" })),
  };
}

for (const vendor of names) {
  Deno.test(`${vendor} fixtures say the same streamed, whole and in every other dialect`, () => {
    const streams = recordingsIn(folder, vendor, ".chunks.txt");
    assert.ok(streams.length >= 7, "the fixtures are there");
    for (const { name, text } of streams) {
      const theme = name.replace(".chunks.txt", "");
      const [payloads] = answersOf(text);
      const { events, complete } = decodeStream(vendor, framesOf(vendor, payloads!));
      assert.ok(complete, name);
      assert.deepEqual(factsOf(foldEvents(events)), expected(vendor, theme), name);
    }
    for (const { name, text } of recordingsIn(folder, vendor, ".json")) {
      const events = finish(dialects[vendor].decodeAnswer(JSON.parse(text), {}));
      const facts = factsOf(foldEvents(events));
      assert.deepEqual(facts, expected(vendor, name.replace(".json", "")), name);
    }
  });
}
