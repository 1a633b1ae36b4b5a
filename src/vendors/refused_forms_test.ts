/** What OpenAI's and xAI's models are known to refuse of a request that was written for others. */
import assert from "@std/assert";
import type { DialectQuirks } from "../dialects/kernel/dialect.ts";
import { dialects } from "../dialects/text/mod.ts";
import { createRegistry } from "./registry.ts";

const registry = createRegistry({}, []);
const quirksOf = (label: string): DialectQuirks => registry.find(label)!.quirks;

const models = ["gpt-4.1", "gpt-5-mini", "gpt-5.4", "gpt-6-sol"] as const;
const rows: [dialect: "chat" | "responses", settings: object, refusing: readonly string[]][] = [
  ["chat", {}, []],
  ["chat", { temperature: 0.2 }, ["gpt-5-mini", "gpt-5.4", "gpt-6-sol"]],
  ["chat", { temperature: 0.2, reasoning_effort: "none" }, models.filter((m) => m !== "gpt-5.4")],
  // The default, which all models take.
  ["chat", { temperature: 1, top_p: 1, presence_penalty: 0, stop: [] }, []],
  ["chat", { temperature: null, logprobs: false }, []],
  ["chat", { stop: ["END"] }, ["gpt-5-mini", "gpt-5.4", "gpt-6-sol"]],
  ["chat", { reasoning_effort: "high" }, ["gpt-4.1"]],
  ["chat", { reasoning_effort: "minimal" }, ["gpt-4.1", "gpt-5.4"]],
  ["chat", { reasoning_effort: "xhigh" }, ["gpt-4.1", "gpt-5-mini"]],
  // What can't be read is the vendor's to refuse.
  ["chat", { reasoning_effort: "unheard-of", temperature: 0.2 }, []],
  ["responses", {}, []],
  ["responses", { temperature: 0.2 }, ["gpt-5-mini", "gpt-5.4", "gpt-6-sol"]],
  ["responses", { top_p: 1, temperature: 1 }, []],
  ["responses", { reasoning: { summary: "auto" } }, ["gpt-4.1"]],
  ["responses", { reasoning: { effort: "minimal" } }, ["gpt-4.1", "gpt-5.4"]],
  ["responses", { temperature: "warm" }, []],
];

for (const [name, settings, refusing] of rows) {
  Deno.test(`${name}: ${JSON.stringify(settings)} is refused by ${refusing.join() || "none"}`, () => {
    const body = { model: "free", messages: [], input: "Hi", ...settings };
    const quirks = quirksOf("vendor-b");
    assert.deepEqual(
      models.filter((model) => dialects[name].refusesForm!(body, model, quirks)),
      refusing,
    );
    // A vendor without rules.
    assert.equal(dialects[name].refusesForm!(body, "gpt-5-mini", quirksOf("vendor-a")), false);
  });
}

Deno.test("xAI's models refuse stop strings and no temperature", () => {
  const refuses = (body: object) =>
    dialects.chat.refusesForm!(body, "grok-4.7", quirksOf("vendor-g"));
  assert.deepEqual([{ stop: "END" }, { temperature: 0.2 }].map(refuses), [true, false]);
});
