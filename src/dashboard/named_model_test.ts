import assert from "@std/assert";
import { namedModel } from "./named_model.ts";

Deno.test("a model's name is looked for in one page, however many calls there are", async () => {
  let pages = 0;
  const page = () => {
    pages++;
    assert.equal(pages, 1);
    const next = { createdAt: new Date(0), transactionId: "" };
    return Promise.resolve({ rows: [], next, searchedBackTo: new Date(0) });
  };
  const interactions = { flushRecords: () => Promise.resolve(), interactions: { page } };
  const ctx = { interactions, vendorNames: new Map([["vendor-b", "openai"]]) };
  const named = await namedModel(ctx as never, 1, { model: "openai/gpt-5-mini", vendor: "openai" });
  assert.deepEqual(named, { vendor: "vendor-b", model: "gpt-5-mini" });
});
