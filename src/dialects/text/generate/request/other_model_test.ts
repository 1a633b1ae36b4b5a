import assert from "@std/assert";
import { refusesLevel } from "./other_model.ts";

Deno.test("a level of thinking is refused by models that take budgets, a budget by none", () => {
  const asking = (thinkingConfig: unknown) => ({ generationConfig: { thinkingConfig } });
  const cases: [unknown, string, boolean][] = [
    [asking({ thinkingLevel: "high" }), "gemini-2.5-flash", true],
    [asking({ thinkingLevel: "HIGH" }), "gemini-2.0-flash", true],
    [asking({ thinkingLevel: "high" }), "gemini-3.8-flash", false],
    [asking({ thinkingLevel: "THINKING_LEVEL_UNSPECIFIED" }), "gemini-2.5-flash", false],
    [asking({ thinkingBudget: 0 }), "gemini-3.8-flash", false],
    [asking({ includeThoughts: true }), "gemini-2.5-flash", false],
    [asking(undefined), "gemini-2.5-flash", false],
    [{ generation_config: { thinking_config: { thinking_level: "low" } } }, "gemini-2.5-pro", true],
    ["no object", "gemini-2.5-flash", false],
  ];
  for (const [body, model, refused] of cases) {
    assert.equal(refusesLevel(body, model), refused, `${model} ${JSON.stringify(body)}`);
  }
});
