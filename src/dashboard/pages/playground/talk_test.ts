import assert from "@std/assert";
import { Form } from "../../form.ts";
import { hasNoPrompt, readTalk } from "./talk.ts";

function read(fields: readonly (readonly [string, string])[]) {
  return readTalk(new Form(new URLSearchParams(fields.map(([name, value]) => [name, value]))));
}

Deno.test("a form becomes the conversation that it shows", () => {
  const talk = read([
    ...[["model", "vendor-b/gpt-4.1"], ["system", "Be brief."], ["temperature", "0.7"]] as const,
    ...[["token_limit", "100"], ["effort", "low"], ["role", "user"], ["content", "Hi"]] as const,
    ...[["role", "assistant"], ["content", " Hello.\n"], ["prompt", "    who()"]] as const,
  ]);
  assert.deepEqual(talk.fieldErrors, {});
  assert.deepEqual(talk.request, {
    ...{ model: "vendor-b/gpt-4.1", system: "Be brief.", temperature: 0.7 },
    ...{ maxOutputTokens: 100, effort: "low" },
    turns: [
      { role: "user", text: "Hi" },
      { role: "assistant", text: " Hello.\n" },
      { role: "user", text: "    who()" },
    ],
  });
});

Deno.test("each wrong field is named in words", () => {
  const talk = read([
    ...[["temperature", "2.5"], ["token_limit", "0"], ["effort", "huge"]] as const,
    ...[["role", "user"], ["prompt", "x".repeat(200_001)]] as const,
  ]);
  const fields = ["effort", "model", "prompt", "temperature", "token_limit", "turns"];
  assert.deepEqual(Object.keys(talk.fieldErrors).sort(), fields);
  assert.ok(hasNoPrompt(read([["prompt", "  "], ["model", "m"]])));
});
