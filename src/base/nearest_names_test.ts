import assert from "@std/assert";
import { didYouMean, nearestNames, suggestedNames } from "./nearest_names.ts";

const models = [
  "gpt-5-mini",
  "gpt-5.4-mini",
  "gpt-4.1",
  "claude-sonnet-4-6",
  "claude-sonnet-5",
  "tts",
];

Deno.test("a slip finds the name, two finds none that is another", () => {
  const cases: [string, string[]][] = [
    ["gpt5-mini", ["gpt-5-mini"]],
    ["gpt-5-mimi", ["gpt-5-mini"]],
    ["gtp-5-mini", ["gpt-5-mini"]],
    ["GPT-5-Mini", ["gpt-5-mini", "gpt-5.4-mini"]],
    ["claude-sonet-4-6", ["claude-sonnet-4-6"]],
    ["claude-sonnet-4.6", ["claude-sonnet-4-6", "claude-sonnet-5"]],
    ["tst", ["tts"]],
    ["llama", []],
    ["", []],
    ["x".repeat(5000), []],
  ];
  for (const [name, expected] of cases) {
    assert.deepEqual(nearestNames(name, models), expected, name);
  }
});

Deno.test("no more than asked for, the nearest first, each once", () => {
  const names = ["abcdefgh1", "abcdefgh22", "abcdefgh", "abcdefgh", "abcdefghi"];
  assert.deepEqual(nearestNames("abcdefgh", names, 2), ["abcdefgh", "abcdefgh1"]);
});

Deno.test("a name without its last words finds those that have them, before one with a slip", () => {
  const cases: [string, string[]][] = [
    ["claude-sonnet", ["claude-sonnet-5", "claude-sonnet-4-6"]],
    ["claude-sonnet-4", ["claude-sonnet-4-6", "claude-sonnet-5"]],
    ["GPT-5", ["gpt-5-mini", "gpt-5.4-mini"]],
    ["gpt", ["gpt-4.1", "gpt-5-mini", "gpt-5.4-mini"]],
    ["tst", ["tts"]],
    ["cl", []],
    ["claude-son", []],
    ["gpt-5-mini", ["gpt-5-mini", "gpt-5.4-mini"]],
    ["", []],
  ];
  for (const [name, expected] of cases) {
    assert.deepEqual(suggestedNames(name, models), expected, name);
  }
  assert.equal(
    didYouMean("cap", ["map", "cap-month-usd", "cap-day-usd"], "--"),
    " Did you mean '--cap-day-usd'?",
  );
});
