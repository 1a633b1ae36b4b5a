import assert from "@std/assert";
import { runAtOnce } from "../base/heavy_work.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { leftOutOf } from "./refused_additions.ts";

Deno.test("what isn't refused of a request that is passed on keeps its text", async () => {
  const thought = '{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}';
  const output = '{"type":"custom_tool_call_output","call_id":"c","output": "x","n":1e400}';
  const tools = '[{"type":"function","name":"f","parameters":{"maximum":18446744073709551615}}]';
  const asked = (input: string) => ({
    text: `{"model":"m","temperature":1.0,"input":${input},"a\\u0062":-0,"tools":${tools}}`,
    causes: [],
  });
  const refusal = "Could not decrypt the provided encrypted_content.";
  const ask = (text: string) =>
    leftOutOf({ text, causes: [] }, refusal, {
      ...{ upstream: responses, sameDialect: true, step: runAtOnce },
    });
  const answer = '{"role":"assistant","content":"x","id":"msg_1","n":1e0}';
  const plain = await ask(asked(`[ ${output}, ${thought}, ${answer}, ${output} ]`).text);
  const said = '{"role":"assistant","content":"x","n":1}';
  const expected = asked(`[${output},${said},${output}]`);
  assert.deepEqual(plain, { ...expected, text: expected.text.replace("a\\u0062", "ab") });
  assert.equal(await ask(plain!.text), undefined);
});
