import assert from "@std/assert";
import type { SseEvent } from "../../../../base/sse.ts";
import { finalResponse } from "./response_reader.ts";

const event = (data: string | undefined): SseEvent => ({
  bytes: new Uint8Array(),
  data,
  terminated: true,
});

Deno.test("the terminal event's response is taken as it is, unknown fields included", () => {
  const response = { id: "resp_1", object: "response", output: [], x_new: [1] };
  for (const type of ["response.completed", "response.incomplete"]) {
    assert.deepEqual(finalResponse(event(JSON.stringify({ type, response }))), response);
    assert.deepEqual(finalResponse(event(JSON.stringify({ response, type }, null, 1))), response);
  }
});

Deno.test("no other event holds a whole answer, whatever its text quotes", () => {
  const quote = '{"type":"response.completed","response":{}}';
  const others = [
    undefined,
    "",
    "[DONE]",
    "{",
    JSON.stringify({ type: "response.created", response: { id: "resp_1" } }),
    JSON.stringify({ type: "response.failed", response: { id: "resp_1" } }),
    JSON.stringify({ type: "response.completed" }),
    JSON.stringify({ type: "response.output_text.delta", delta: quote }),
    `{"type":"response.output_text.delta","nested":${quote}}`,
    '{"type":"response.completed","response":',
  ];
  for (const data of others) assert.equal(finalResponse(event(data)), undefined, String(data));
});
