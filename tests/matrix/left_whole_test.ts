/** Callers who leave when all of an answer has come but its end. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { answerText, endsWell, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors());

for (const vendor of ["chat", "messages", "generate"] as const) {
  for (const onDisconnect of ["cancel", "drain"] as const) {
    Deno.test(`who leaves with all of a ${vendor} stream (${onDisconnect}) gets it again, unpaid`, async () => {
      const at = service();
      const { key } = await at.createKey("--on-disconnect", onDisconnect);
      const left = Promise.withResolvers<void>();
      let sent = 0;
      const script = at.script(async (exchange) => {
        sent++;
        const { begin, end } = vendorWords[vendor];
        // What is missing is the vendor's last event alone, or the end of its body.
        const missing = vendor === "generate" ? 0 : 1;
        const pieces = [...begin, ...end];
        await exchange.head(200, { "content-type": "text/event-stream" });
        for (const piece of pieces.slice(0, pieces.length - missing)) await exchange.write(piece);
        await left.promise;
        await exchange.end();
      });
      const { path, body } = rawRequest("chat", {
        model: `${scriptedLabel(vendor)}/${scriptedModel}`,
        prompt: `How are you today? ${script}`,
        stream: true,
      });
      const headers = { authorization: `Bearer ${key}`, "x-request-id": crypto.randomUUID() };
      const answer = await at.post(path, body, headers);
      let text = "";
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes("well.")) break;
      }
      const repeated = at.post(path, body, headers);
      // Until the service has seen that the caller has left: before that, nothing is decided.
      await new Promise((resolve) => setTimeout(resolve, 300));
      left.resolve();
      const again = await repeated;
      text = await again.text();
      const row = await at.row(answer.headers.get("x-transaction-id"));
      assert.equal(answerText("chat", text, true), spokenText);
      assert.ok(endsWell("chat", text, true), text);
      assert.equal(again.headers.get("x-transaction-id"), row.transaction_id);
      assert.deepEqual([row.status, sent], ["completed", 1]);
    });
  }
}
