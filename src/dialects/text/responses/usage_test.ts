import assert from "@std/assert";
import { readUsage, writeUsage } from "./usage.ts";

Deno.test("the input's details are numbers alone unless cache writes of both kinds were made", () => {
  const written = writeUsage({ input: 10, output: 5, cacheWrite: 4, cacheWriteLong: 0 });
  assert.deepEqual(written.input_tokens_details, { cached_tokens: 0, cache_write_tokens: 4 });
  assert.equal(readUsage({ usage: written }, {})?.cacheWrite, 4);
  const long = writeUsage({ input: 10, output: 5, cacheWrite: 4, cacheWriteLong: 3 });
  assert.equal(readUsage({ usage: long }, {})?.cacheWriteLong, 3);
});
