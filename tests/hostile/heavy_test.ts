/**
 * Valid bodies that are as heavy as bodies may be. Others wait for a quarter of a second at most, on
 * a machine that does nothing else (interface.md §5), which the long form asks for where it finds
 * one; else they may wait longer, since machines that run tests are busy, but what they did wait is
 * printed. `steps_test.ts` judges the same by the processor's time.
 */
import assert from "@std/assert";
import { isQuietMachine } from "../support/quiet.ts";
import { startHostileWorld } from "./hostile_world.ts";

const isLong = Deno.env.get("HOSTILE") === "long";
/** Other processes take their part of it, where there are some. */
const maxOthersMs = isLong && isQuietMachine() ? 250 : 10_000;
const path = "/chat/v1/chat/completions";
const headers = { "x-translation-mode": "lenient" };

const chat = (model: string, messages: string, more = "") =>
  `{"model":"${model}","messages":[${messages}]${more}}`;
const say = (content: string) => `{"role":"user","content":${content}}`;
const parts = (count: number, text = "a") =>
  `[${Array(count).fill(`{"type":"text","text":"${text}"}`).join()}]`;

/** The gate sends the first of them, translated; `held_test.ts` sends such bodies on their own way. */
const bodies: Readonly<Record<string, (model: string) => string>> = {
  "a million values in parts": (model) =>
    chat(model, Array(66).fill(say(parts(5_000))).join(), ',"max_tokens":100'),
  "20,000 messages": (model) => chat(model, Array(20_000).fill(say(parts(12))).join()),
  "28 MB of escapes": (model) => chat(model, say(`"${'\\"'.repeat(14_000_000)}"`)),
  "28 MB of words": (model) => chat(model, say(`"${"word ".repeat(5_600_000)}"`)),
  "4,000 tools": (model) => {
    const fields = Array.from({ length: 30 }, (_, at) => `"p${at}":{"type":"string"}`).join();
    const schema = `{"type":"object","properties":{${fields}}}`;
    const tools = Array.from(
      { length: 4_000 },
      (_, at) => `{"type":"function","function":{"name":"t${at}","parameters":${schema}}}`,
    );
    return chat(model, say('"a"'), `,"tools":[${tools.join()}]`);
  },
};

const models = ["vendor-b/gpt-5-mini", "vendor-c/claude-haiku-5-5", "vendor-d/gemini-2.5-flash"];

Deno.test("while heavy bodies and answers are worked on others wait little", async () => {
  await using world = await startHostileWorld();
  const all = Object.entries(bodies);
  for (const [name, make] of isLong ? all : all.slice(0, 1)) {
    for (const model of isLong ? models : models.slice(2)) {
      const told = await world.send("post", path, make(model), headers);
      const what = `${name} for ${model}: ${JSON.stringify(told)}`;
      console.log(what);
      assert.ok(told.status < 500 || told.status === 502, what);
      assert.notEqual(told.code, "invalid_value", what);
      assert.ok(told.othersMs < maxOthersMs, what);
    }
  }
  const input = JSON.stringify(Array(2048).fill("a"));
  const body = `{"model":"text-embedding-3-small","input":${input}}`;
  const told = await world.send("post", "/vendor-b/v1/embeddings", body);
  const what = `an answer with 2,048 vectors: ${JSON.stringify(told)}`;
  console.log(what);
  assert.ok(told.status === 200 && told.othersMs < maxOthersMs, what);
});
