/** A caller who leaves while the pictures that a vendor has drawn are fetched from their addresses. */
import { Buffer } from "node:buffer";
import assert from "@std/assert";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { onePicture } from "../support/picture_vendor.ts";
import { startTestService } from "../support/service.ts";

Deno.test("pictures are fetched although the caller has left, if its key drains, and are its repeat's", async () => {
  const picture = onePicture(2000);
  const fetching = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let drawn = 0;
  await using vendor = await startFakeVendor(async (exchange) => {
    const { method, path } = exchange.request;
    if (method === "POST") {
      drawn++;
      return exchange.answer(200, { created: 7, data: [{ url: `${vendor.url}/picture.png` }] });
    }
    if (!path.endsWith(".png")) return exchange.answer(200, { data: [] });
    fetching.resolve();
    await goOn.promise;
    await exchange.head(200, { "content-type": "image/png" });
    await exchange.write(picture);
    await exchange.end();
  });
  const env = { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-of-a-test" };
  await using service = await startTestService({ database: "any", env });
  const { key } = await service.createKey("--on-disconnect", "drain");
  const ask = (signal: AbortSignal | null) =>
    fetch(`${service.baseUrl}/imagen/v1/generate`, {
      method: "POST",
      headers: {
        "authorization": `Bearer ${key}`,
        "content-type": "application/json",
        "x-request-id": "boat",
      },
      body: JSON.stringify({ model: "vendor-b/gpt-image-2", prompt: "A boat" }),
      signal,
    });
  const connection = new AbortController();
  const first = ask(connection.signal).catch(() => {});
  await fetching.promise;
  connection.abort();
  await first;
  const repeated = ask(null);
  // Longer than a service takes to see that a caller has left.
  await new Promise((resolve) => setTimeout(resolve, 300));
  goOn.resolve();
  const answer = await repeated;
  const text = await answer.text();
  assert.equal(answer.status, 200, text.slice(0, 300));
  assert.ok(text.includes(Buffer.from(picture).toString("base64")));
  const row = await service.row(answer.headers.get("x-transaction-id"));
  assert.deepEqual([answer.headers.get("x-idempotent-replay"), row.status, drawn], [
    "true",
    "completed",
    1,
  ]);
});
