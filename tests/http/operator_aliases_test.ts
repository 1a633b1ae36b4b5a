/** Names that an operator's file gives to vendors are names of theirs in filters, too. */
import assert from "@std/assert";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { startDashboard } from "../dashboard/world.ts";
import { vendorWords } from "../matrix/vendor_words.ts";

Deno.test("a vendor is found by its alias of VENDORS_FILE in lists, pages, exports and evaluations", async () => {
  const vendor = await startFakeVendor((exchange) => exchange.answer(200, vendorWords.chat.whole));
  const directory = await Deno.makeTempDir({ prefix: "aliases-" });
  const row = {
    ...{ label: "house", aliases: ["ours"], base_url: `${vendor.url}/v1` },
    ...{ api_key_env: "KEY_OF_HOUSE", dialects: ["chat"], auth: "bearer" },
  };
  const price = { input: "2", output: "8", max_output_tokens: 1000 };
  await Deno.writeTextFile(`${directory}/vendors.json`, JSON.stringify([row]));
  await Deno.writeTextFile(`${directory}/prices.json`, JSON.stringify({ "house/m-1": price }));
  const service = await startDashboard({
    env: {
      KEY_OF_HOUSE: "house-key-0123456789",
      VENDORS_FILE: `${directory}/vendors.json`,
      PRICES_FILE: `${directory}/prices.json`,
    },
  });
  try {
    const messages = [{ role: "user", content: "How are you?" }];
    const call = await service.post("/chat/v1/chat/completions", { model: "ours/m-1", messages });
    assert.equal(call.status, 200, await call.text());
    const listed = async (name: string) => {
      const answer = await fetch(`${service.baseUrl}/api/v1/interactions?vendor=${name}`, {
        headers: { authorization: `Bearer ${service.key}` },
      });
      return (await answer.json()).data.length;
    };
    assert.deepEqual([await listed("house"), await listed("ours"), await listed("other")], [
      1,
      1,
      0,
    ]);
    const owner = await service.owner();
    const shown = async (name: string) => {
      const { text } = await owner.get(`/dashboard/interactions?vendor=${name}`);
      return text.includes(call.headers.get("x-transaction-id")!);
    };
    assert.deepEqual([await shown("ours"), await shown("other")], [true, false], "a page");
    assert.equal((await service.rows({ vendor: "ours" })).length, 1, "an export");
    const run = await service.post("/api/v1/evals", {
      ...{ model: "ours/m-1", filters: { vendor: ["ours"] }, graders: [{ type: "exact" }] },
    });
    assert.equal((await run.json()).total, 1, "an evaluation");
  } finally {
    await service.stop();
    await vendor.close();
    await Deno.remove(directory, { recursive: true });
  }
});
