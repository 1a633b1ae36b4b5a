import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { dialects, type Name, names } from "./translated.ts";

const least: Record<Name, Record<string, unknown>> = {
  chat: { messages: [{ role: "user", content: "hi" }] },
  responses: { input: "hi" },
  messages: { max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
  generate: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
};

const empty = { aa_null: null, aa_text: "", aa_list: [] };

for (const name of names) {
  const unsupported = (more: Record<string, unknown>) =>
    finish(dialects[name].decodeRequest({ model: "m", ...least[name], ...more })).unsupported
      .map(({ path, value, weight }) => {
        if (value === false) assert.equal(weight, "hint");
        return path;
      });

  Deno.test(`${name}: an unknown field that is empty is no loss`, () => {
    assert.deepEqual(unsupported(empty), []);
    assert.deepEqual(unsupported({ ...empty, aa_set: 1 }), ["aa_set"]);
    if (name === "generate") assert.deepEqual(unsupported({ generationConfig: empty }), []);
  });

  Deno.test(`${name}: an unknown switch that is off is a hint, a known one is no loss`, () => {
    const known = name === "messages" ? {} : { store: false };
    assert.deepEqual(unsupported({ ...known, enable_thinking: false }), ["enable_thinking"]);
  });
}
