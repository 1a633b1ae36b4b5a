/** Vendors whose numbers, words and objects are none that a record holds as they are. */
import assert from "@std/assert";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { dialectNames, nanosOf, startFourVendors } from "../support/four_vendors.ts";

const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
const usages: Readonly<Record<string, string>> = {
  "an object of 20,000 levels": `{"prompt_tokens":10,"completion_tokens":5,"x":${deep}}`,
  "an endless number": `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":1e999}`,
  "a number beyond belief": `{"prompt_tokens":10,"completion_tokens":1e300}`,
  "numbers as words": `{"prompt_tokens":"ten","completion_tokens":null}`,
  "a list": `[1,2,3]`,
  "half a character": `{"prompt_tokens":10,"completion_tokens":5,"x":"\\ud800 \\u0000"}`,
};
const words: Readonly<Record<string, string>> = {
  "plain words": `"content":"I am well."`,
  "half a character": `"content":"\\ud83d \\u0000 words"`,
  "a call without an object": `"tool_calls":[{"index":0,"id":"c\\u0000","type":"function",` +
    `"function":{"name":"\\udc00","arguments":"[1,"}}]`,
};

Deno.test("odd numbers, halves of characters and broken calls: one row and one charge each", async () => {
  await using service = await startFourVendors();
  const calls: { what: string; id: string | null }[] = [];
  for (const [said, usage] of Object.entries(usages)) {
    for (const [spoken, message] of Object.entries(words)) {
      for (const caller of dialectNames) {
        for (const stream of [true, false]) {
          const script = answering(message, usage, stream);
          const response = await service.call({ caller, vendor: "chat", stream, script });
          await response.text();
          const id = response.headers.get("x-transaction-id");
          calls.push({ what: `${said}, ${spoken}, ${caller}${stream ? ", streamed" : ""}`, id });
        }
      }
    }
  }
  const rows = await service.rows();
  const wrong: string[] = [];
  for (const { what, id } of calls) {
    const found = rows.filter((row) => row.transaction_id === id);
    if (found.length !== 1) wrong.push(`${found.length} rows: ${what}`);
    else if (nanosOf(found[0]!.charged_usd) === 0n) wrong.push(`charged nothing: ${what}`);
  }
  const sum = rows.reduce((all, row) => all + nanosOf(row.charged_usd), 0n);
  console.log(`${calls.length} calls, ${rows.length} rows, ${wrong.length} wrong`);
  assert.deepEqual(wrong, []);
  assert.equal(await service.spentNanos(), sum);
});

function answering(message: string, usage: string, stream: boolean) {
  return async (exchange: FakeExchange) => {
    const head = `"id":"c","object":"chat.completion","created":1,"model":"model"`;
    const said = `{"role":"assistant",${message}}`;
    if (!stream) {
      const choice = `{"index":0,"message":${said},"finish_reason":"stop"}`;
      return await exchange.answer(200, `{${head},"choices":[${choice}],"usage":${usage}}`, {
        "content-type": "application/json",
      });
    }
    const pieces = [
      `data: {${head},"choices":[{"index":0,"delta":${said}}]}\n\n`,
      `data: {${head},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
      `data: {${head},"choices":[],"usage":${usage}}\n\n`,
      "data: [DONE]\n\n",
    ];
    await exchange.stream(pieces, { "content-type": "text/event-stream" });
  };
}
