import assert from "@std/assert";
import { modelFacts } from "./models.ts";

Deno.test("the longest name that fits says what a model takes", () => {
  const cases: [string, Partial<ReturnType<typeof modelFacts>>][] = [
    ["claude-opus-5-5", { budget: false, forcedTools: false, off: undefined }],
    ["claude-opus-5-20260701", { budget: true, forcedTools: true, off: "disabled" }],
    ["claude-sonnet-5-5", { off: "between_tools", forcedTools: false }],
    ["claude-fable-5-1", { forcedTools: false }],
    ["claude-fable-5", { forcedTools: true, off: undefined }],
    ["claude-fable-5-2", { forcedTools: false }],
    ["claude-fable-5-20260609", { forcedTools: true }],
    ["claude-mythos-5", {
      budget: false,
      off: undefined,
      systemTurns: true,
      minCacheableTokens: 512,
    }],
    ["claude-mythos-5-2", { budget: false, off: undefined, forcedTools: false }],
    ["anthropic/claude-sonnet-4.5", { maxOutputTokens: 64_000, structuredOutput: true }],
    ["claude-sonnet-4-20250514", { structuredOutput: false, bothSamplings: true }],
    ["claude-opus-4-1-20250805", { maxOutputTokens: 32_000, structuredOutput: true }],
    ["claude-3-7-sonnet-latest", { budget: true, maxOutputTokens: 8_192 }],
    ["claude-3-opus-20240229", { budget: false, maxOutputTokens: 4_096 }],
    ["claude-novel-9", { sampling: false, adaptive: true, maxOutputTokens: 128_000 }],
    ["other-model", { sampling: true, adaptive: false, maxOutputTokens: undefined }],
  ];
  for (const name of ["opus-4-8", "opus-5", "opus-5-5", "sonnet-5-5", "haiku-5-5", "fable-5-1"]) {
    cases.push([`claude-${name}`, { systemTurns: true }]);
  }
  for (const name of ["opus-4-7", "sonnet-4-6", "sonnet-5", "haiku-4-5", "novel-9"]) {
    cases.push([`claude-${name}`, { systemTurns: false }]);
  }
  for (const [name, expected] of cases) {
    const facts = modelFacts(name);
    for (const [key, value] of Object.entries(expected)) {
      assert.equal(facts[key as keyof typeof facts], value, `${name} ${key}`);
    }
  }
});
