/** Vendors that report the tokens of the prompt or of the answer, but not of both. */
import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { estimateTokens } from "../../src/shared/token_estimate.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { dialectNames, nanosOf, startFourVendors } from "../support/four_vendors.ts";

const said = "The vendor has counted only half of this answer.";
const names: Readonly<Record<DialectName, readonly [input: string, output: string]>> = {
  chat: ["prompt_tokens", "completion_tokens"],
  responses: ["input_tokens", "output_tokens"],
  messages: ["input_tokens", "output_tokens"],
  generate: ["promptTokenCount", "candidatesTokenCount"],
};

const events = (list: readonly object[]) =>
  list.map((event) =>
    `event: ${"type" in event ? event.type : ""}\ndata: ${JSON.stringify(event)}\n\n`
  );
const data = (list: readonly object[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`);

/** What each vendor answers, whole and as a stream. */
const answers: Readonly<
  Record<DialectName, (usage: object) => { whole: object; stream: readonly string[] }>
> = {
  chat: (usage) => {
    const head = { id: "c", object: "chat.completion", created: 1, model: "model" };
    const message = { role: "assistant", content: said };
    const last = { index: 0, delta: {}, finish_reason: "stop" };
    return {
      whole: { ...head, choices: [{ index: 0, message, finish_reason: "stop" }], usage },
      stream: [
        ...data([
          { ...head, choices: [{ index: 0, delta: message }] },
          { ...head, choices: [last] },
          { ...head, choices: [], usage },
        ]),
        "data: [DONE]\n\n",
      ],
    };
  },
  responses: (usage) => {
    const part = { type: "output_text", text: said, annotations: [] };
    const item = { id: "m", type: "message", status: "completed", role: "assistant" };
    const output = [{ ...item, content: [part] }];
    const response = { id: "r", object: "response", created_at: 1, model: "model", output: [] };
    const whole = { ...response, status: "completed", output, usage };
    const at = { item_id: "m", output_index: 0, content_index: 0 };
    return {
      whole,
      stream: events([
        { type: "response.created", response: { ...response, status: "in_progress" } },
        { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
        { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
        { type: "response.output_text.delta", ...at, delta: said },
        { type: "response.output_text.done", ...at, text: said },
        { type: "response.content_part.done", ...at, part },
        { type: "response.output_item.done", output_index: 0, item: output[0]! },
        { type: "response.completed", response: whole },
      ]),
    };
  },
  messages: (usage) => {
    const head = { id: "m", type: "message", role: "assistant", model: "model" };
    const end = { stop_reason: "end_turn", stop_sequence: null };
    const { input_tokens = null } = usage as { input_tokens?: number | null };
    const message = { ...head, content: [], usage: { input_tokens, output_tokens: 1 } };
    return {
      whole: { ...head, content: [{ type: "text", text: said }], ...end, usage },
      stream: events([
        { type: "message_start", message },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: end, usage },
        { type: "message_stop" },
      ]),
    };
  },
  generate: (usageMetadata) => {
    const content = { role: "model", parts: [{ text: said }] };
    const candidate = { index: 0, content, finishReason: "STOP" };
    const whole = { candidates: [candidate], modelVersion: "model", usageMetadata };
    return { whole, stream: data([whole]) };
  },
};

Deno.test("the half that a vendor doesn't report is estimated, the other stays", async () => {
  await using service = await startFourVendors();
  const calls: { what: string; id: string; tokens: (number | undefined)[] }[] = [];
  for (const vendor of dialectNames) {
    const [input, output] = names[vendor];
    const usages: [object, (number | undefined)[]][] = [
      [{ [input]: 700, [output]: null }, [700, estimateTokens(said)]],
      [{ [input]: 700 }, [700, estimateTokens(said)]],
      [{ [input]: null, [output]: 900 }, [undefined, 900]],
      [{ [output]: 0 }, [undefined, 0]],
    ];
    for (const [usage, tokens] of usages) {
      for (const caller of dialectNames) {
        for (const stream of [false, true]) {
          const script = answering(answers[vendor](usage), stream);
          const response = await service.call({ caller, vendor, stream, script });
          await response.text();
          const id = response.headers.get("x-transaction-id")!;
          const what = `${caller} → ${vendor}, ${JSON.stringify(usage)}${
            stream ? ", streamed" : ""
          }`;
          calls.push({ what, id, tokens });
        }
      }
    }
  }
  const rows = new Map((await service.rows()).map((row) => [row.transaction_id, row]));
  const wrong = calls.filter(({ id, tokens: [input, output] }) => {
    const row = rows.get(id)!;
    const [read, written] = [Number(row.input_tokens), Number(row.output_tokens)];
    const isCounted = read > 0 && written === output && (input ?? read) === read;
    const cost = 2000n * BigInt(read) + 8000n * BigInt(written);
    return !isCounted || row.billing_basis !== "estimated" || nanosOf(row.charged_usd) !== cost;
  });
  assert.deepEqual(wrong.map(({ what, id }) => [what, rows.get(id)]), []);
  assert.equal(calls.length, 128);
});

function answering(
  { whole, stream }: { whole: object; stream: readonly string[] },
  streams: boolean,
) {
  return async (exchange: FakeExchange) => {
    if (streams) await exchange.stream([...stream], { "content-type": "text/event-stream" });
    else {
      await exchange.answer(200, JSON.stringify(whole), { "content-type": "application/json" });
    }
  };
}
