import assert from "@std/assert";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import { judgeRequest, readVerdict } from "../../src/evals/eval_judge.ts";
import { instanceOf } from "../../demo/simulator/instance.ts";

Deno.test("what a simulated judge answers is a verdict", () => {
  const judge = { type: "judge" as const, model: "gpt-4.1", prompt: "Is {{answer}} true?" };
  const evidence = { input: "What is it?", answer: "A lemon.", expected: null };
  const { body } = judgeRequest(judge, evidence, chat);
  const { schema } = (body as { response_format: { json_schema: { schema: unknown } } })
    .response_format.json_schema;
  for (let variant = 0; variant < 100; variant++) {
    const answer = JSON.stringify(instanceOf(schema, "Is it true?", variant));
    assert.equal(readVerdict(answer).state, "judged", answer);
  }
});
