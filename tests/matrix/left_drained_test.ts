/** Callers whose key drains, who leave amid an answer and ask for it again while it is read on. */
import assert from "@std/assert";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import { answerText, endsWell, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors());

/** Begins an answer, and goes on with it when told to. */
function pausedVendor(vendor: "chat" | "messages" | "generate", stream: boolean) {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let asked = 0;
  const act = async (exchange: FakeExchange) => {
    asked++;
    const { begin, end, whole } = vendorWords[vendor];
    const text = JSON.stringify(whole);
    const pieces = stream ? [...begin, ...end] : [text.slice(0, 20), text.slice(20)];
    const half = stream ? begin.length : 1;
    const type = stream ? "text/event-stream" : "application/json";
    await exchange.head(200, { "content-type": type });
    for (const piece of pieces.slice(0, half)) await exchange.write(piece);
    begun.resolve();
    await goOn.promise;
    for (const piece of pieces.slice(half)) await exchange.write(piece);
    await exchange.end();
  };
  return { act, begun: begun.promise, goOn: goOn.resolve, asked: () => asked };
}

for (const vendor of ["chat", "messages", "generate"] as const) {
  for (const stream of [true, false]) {
    Deno.test(`who leaves amid ${stream ? "a stream" : "a whole answer"} of ${vendor} that is drained gets it with a repeat, for one charge`, async () => {
      const at = service();
      const { key } = await at.createKey("--on-disconnect", "drain");
      const vendors = pausedVendor(vendor, stream);
      const { path, body } = rawRequest("chat", {
        model: `${scriptedLabel(vendor)}/${scriptedModel}`,
        prompt: `How are you today? ${at.script(vendors.act)}`,
        stream,
      });
      const headers = { authorization: `Bearer ${key}`, "x-request-id": crypto.randomUUID() };
      const connection = new AbortController();
      const first = fetch(at.baseUrl + path, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: connection.signal,
      });
      first.catch(() => {});
      await vendors.begun;
      if (stream) await (await first).body!.getReader().read();
      connection.abort();
      const repeated = at.post(path, body, headers);
      // Longer than a service takes to see that a caller has left, and to ask the vendor again.
      assert.equal(await Promise.race([repeated.then(() => "answered"), still()]), "still there");
      vendors.goOn();
      const again = await repeated;
      const text = await again.text();
      assert.equal(answerText("chat", text, stream), spokenText);
      assert.ok(endsWell("chat", text, stream), text);
      assert.equal(again.headers.get("x-idempotent-replay"), "true");
      const row = await at.row(again.headers.get("x-transaction-id"));
      assert.deepEqual([row.status, row.http_status, row.billing_basis, vendors.asked()], [
        "completed",
        stream ? 200 : null,
        "reported",
        1,
      ]);
      const other = await at.post(path, { ...body, temperature: 0 }, headers);
      assert.equal((await other.json()).error?.code, "idempotency_conflict");
    });
  }
}

const still = () => new Promise<string>((resolve) => setTimeout(resolve, 300, "still there"));
