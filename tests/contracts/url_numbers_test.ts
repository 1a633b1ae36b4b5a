/** A number in a URL is written in digits, and a refusal of anything else says what is expected. */
import assert from "@std/assert";
import { z } from "zod";
import { allContracts } from "../../contracts/mod.ts";

Deno.test("numbers in paths and queries are digits alone, and a refusal says so", () => {
  const answers = new Map<string, string[]>();
  for (const { params, query, operationId } of allContracts()) {
    for (const [name, schema] of Object.entries({ ...params?.shape, ...query?.shape })) {
      if (typeof z.safeParse(schema, "7").data !== "number") continue;
      const refusals = ["abc", "", " 7", "1.5", "1e1", "0x1"].map((text) =>
        z.safeParse(schema, text).error?.issues[0]?.message ?? `takes '${text}'`
      );
      answers.set(`${operationId}.${name}`, refusals);
    }
  }
  assert.ok(answers.size > 10, "numbers are found");
  for (const [field, refusals] of answers) {
    for (const refusal of refusals) assert.match(refusal, /^expected a whole number/, field);
  }
});
