import assert from "@std/assert";
import { priceNames } from "./price_names.ts";

Deno.test("a snapshot, a version and a routing suffix lead to the base name, nothing else does", () => {
  const cases: [string, string[]][] = [
    ["gpt-5-mini", ["gpt-5-mini"]],
    ["gpt-5-mini-2026-04-21", ["gpt-5-mini-2026-04-21", "gpt-5-mini"]],
    ["claude-haiku-4-5-20251001", ["claude-haiku-4-5-20251001", "claude-haiku-4-5"]],
    ["claude-haiku-4-5@20251001", ["claude-haiku-4-5@20251001", "claude-haiku-4-5"]],
    ["claude-opus-5@default", ["claude-opus-5@default", "claude-opus-5"]],
    ["meta/llama:free", ["meta/llama:free", "meta/llama"]],
    ["meta/llama-20260421:nitro", [
      "meta/llama-20260421:nitro",
      "meta/llama-20260421",
      "meta/llama",
    ]],
    // No rule: not a day, not a known suffix, or nothing before it.
    ["gpt-5-20269921", ["gpt-5-20269921"]],
    ["gpt-5-2026-04", ["gpt-5-2026-04"]],
    ["gpt-5-2026-0421", ["gpt-5-2026-0421"]],
    ["claude-opus-5-5", ["claude-opus-5-5"]],
    ["gpt-5.4", ["gpt-5.4"]],
    ["grok-4.7-fast", ["grok-4.7-fast"]],
    ["ft:gpt-4o-mini:org::id", ["ft:gpt-4o-mini:org::id"]],
    ["meta/llama:extended", ["meta/llama:extended"]],
    ["@cf/meta/llama", ["@cf/meta/llama"]],
    [":free", [":free"]],
    ["", [""]],
  ];
  for (const [model, names] of cases) assert.deepEqual(priceNames(model), names, model);
});
