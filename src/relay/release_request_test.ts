import assert from "@std/assert";
import { releaseRequest } from "./relay.ts";

Deno.test("of a request that is let go what answers are written by stays", () => {
  const tools = [{ type: "function" }];
  const messages = [{ role: "user" }];
  const body = { model: "m", tools, messages, other: { a: { b: 1 } }, user: "u", n: null };
  const copy = { ...body, stream: true };
  releaseRequest(body, ["model", "tools", "metadata"]);
  assert.deepEqual(body, { model: "m", tools, messages: [], other: {}, user: "u", n: null });
  // A route that adds members shares what the body holds.
  assert.deepEqual(copy.messages, []);
  assert.equal(tools.length, 1);
});

Deno.test("anything but an object is ignored", () => {
  for (const body of [undefined, null, "text", 1, []]) releaseRequest(body, []);
});
