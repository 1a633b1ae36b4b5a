import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { hostedWork } from "./hosted.ts";
import { readUsage, writeUsage } from "./usage.ts";

Deno.test("the input's details are numbers alone unless cache writes of both kinds were made", () => {
  const written = writeUsage({ input: 10, output: 5, cacheWrite: 4, cacheWriteLong: 0 });
  assert.deepEqual(written.input_tokens_details, { cached_tokens: 0, cache_write_tokens: 4 });
  assert.equal(readUsage({ usage: written }, {})?.cacheWrite, 4);
  const long = writeUsage({ input: 10, output: 5, cacheWrite: 4, cacheWriteLong: 3 });
  assert.equal(readUsage({ usage: long }, {})?.cacheWriteLong, 3);
});

Deno.test("only a shell in a container of the vendor is a code session", () => {
  const call = { type: "shell_call", action: { commands: ["ls"] } };
  const sessions = (...environments: unknown[]) => {
    const output = environments.map((environment) => ({ ...call, environment }));
    const usage = { input_tokens: 1, output_tokens: 1 };
    return readUsage({ usage, output }, {})?.codeSessions;
  };
  // A recorded answer of OpenAI with a local shell names no environment.
  assert.equal(sessions(undefined, null, { type: "local" }), undefined);
  const container = (container_id: string) => ({ type: "container_reference", container_id });
  assert.equal(sessions(container("a"), container("b"), container("a"), undefined), 2);
});

Deno.test("the hold for a shell agrees with its charge: nothing unless the vendor runs it", () => {
  const cost = (environment: unknown) =>
    finish(hostedWork({ tools: [{ type: "shell", environment }] })).tools[0]!.cost.type;
  assert.deepEqual([undefined, null, { type: "local" }].map(cost), ["none", "none", "none"]);
  const container = { type: "container_auto" };
  const reference = { type: "container_reference", container_id: "c" };
  assert.deepEqual([container, reference, {}].map(cost), ["per-use", "per-use", "per-use"]);
  assert.equal(cost({ ...container, memory_limit: "4g" }), "unknown");
});
