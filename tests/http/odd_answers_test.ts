/** Answers of today's vendors that need a second look: odd counts, labels and names. */
import assert from "@std/assert";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { streamEvents, wholeAnswer } from "../support/service_scripted.ts";
import {
  answered,
  hello,
  messagesAnswer,
  responsesAnswer,
  startTodaysVendors,
} from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);
const rows = new RowChecks();

/** The same answer of each dialect's vendor, with `value` where one of its totals should be. */
const usages = (value: unknown) => [
  {
    model: "vendor-b/gpt-4.1",
    answer: { ...wholeAnswer, usage: { ...wholeAnswer.usage, prompt_tokens: value } },
  },
  {
    model: "vendor-b/gpt-4.1",
    answer: { ...wholeAnswer, usage: { ...wholeAnswer.usage, completion_tokens: value } },
  },
  {
    model: "vendor-c/claude-haiku-4-5",
    answer: { ...messagesAnswer, usage: { input_tokens: 10, output_tokens: value } },
  },
  {
    model: "vendor-c/claude-haiku-4-5",
    answer: { ...messagesAnswer, usage: { input_tokens: value, output_tokens: 5 } },
  },
];

for (const value of [-5, 2.5, "7", 1e300]) {
  Deno.test(`usage of ${JSON.stringify(value)} is none: the text is counted and charged`, async () => {
    for (const { model, answer } of usages(value)) {
      world().play((exchange) => exchange.answer(200, answer));
      const body = { model, messages: hello };
      const said = await world().post("/chat/v1/chat/completions", body);
      assert.equal(said.status, 200, await said.text());
      rows.expect(said, `usage of ${value} on ${model}`, (row) => {
        assert.equal(row.billing_basis, "estimated");
        assert.ok(Number(row.input_tokens) > 0 && Number(row.output_tokens) > 0);
        assert.ok(Number(row.charged_usd) > 0 && Number(row.charged_usd) < 0.001);
      });
    }
    world().play();
  });
}

Deno.test("usage in which an answer breaks off is none: the text that came is charged", async () => {
  const long = "These words were generated, sent and stored. ".repeat(20);
  const answer = JSON.stringify({
    ...messagesAnswer,
    content: [{ type: "text", text: long }],
    usage: { input_tokens: 10, output_tokens: 210 },
  });
  for (const end of ['"input_tokens":1', '"input_tokens":10', '"output_tokens":2']) {
    world().play(async (exchange) => {
      await exchange.head(200, { "content-type": "application/json" }, { length: 5000 });
      await exchange.write(answer.slice(0, answer.indexOf(end) + end.length));
      exchange.cut();
    });
    const body = { model: "vendor-c/claude-haiku-4-5", messages: hello };
    const refusal = await world().post("/chat/v1/chat/completions", body);
    assert.equal(refusal.status, 502, await refusal.text());
    rows.expect(refusal, `broken off after ${end}`, (row) => {
      assert.deepEqual([row.status, row.billing_basis], ["truncated", "estimated"]);
      assert.ok(Number(row.output_tokens) > 100, `${row.output_tokens} tokens`);
    });
  }
  world().play();
});

/** The events of a chat stream and of a messages stream. */
const chatStream = streamEvents.join("");
const messagesStream = [
  { type: "message_start", message: { ...messagesAnswer, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Fine." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
].map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");

for (const type of ["text/plain; charset=utf-8", "application/octet-stream", undefined]) {
  Deno.test(`a stream labelled ${type} is an event stream to its caller, and metered`, async () => {
    const cases = [
      { model: "vendor-b/gpt-4.1", path: "/chat/v1/chat/completions", stream: chatStream },
      { model: "vendor-c/claude-haiku-4-5", path: "/chat/v1/messages", stream: messagesStream },
      {
        model: "vendor-c/claude-haiku-4-5",
        path: "/chat/v1/chat/completions",
        stream: messagesStream,
      },
    ];
    for (const { model, path, stream } of cases) {
      world().play(async (exchange) => {
        await exchange.head(200, type === undefined ? {} : { "content-type": type });
        await exchange.write(stream);
        await exchange.end();
      });
      const body = { model, max_tokens: 99, messages: hello, stream: true };
      const answer = await world().post(path, body);
      assert.match(answer.headers.get("content-type")!, /^text\/event-stream/);
      assert.match(await answer.text(), /well|Fine/);
      rows.expect(answer, `${type}, ${path}`, (row) => {
        assert.deepEqual([row.status, row.billing_basis], ["completed", "reported"]);
        assert.deepEqual([row.input_tokens, row.output_tokens], [10, 5]);
      });
    }
    world().play();
  });

  Deno.test(`a whole answer labelled ${type} is JSON to its caller`, async () => {
    world().play(async (exchange) => {
      await exchange.head(200, type === undefined ? {} : { "content-type": type });
      await exchange.write(JSON.stringify(messagesAnswer));
      await exchange.end();
    });
    const body = { model: "vendor-c/claude-haiku-4-5", max_tokens: 99, messages: hello };
    for (const path of ["/chat/v1/messages", "/chat/v1/chat/completions"]) {
      const answer = await world().post(path, body);
      assert.match(await answer.text(), /Fine/);
      assert.equal(answer.headers.get("content-type"), "application/json", path);
    }
    world().play();
  });
}

Deno.test("a messages stream that ends after its stop reason gets the last event that it lacks", async () => {
  const from = messagesStream.indexOf("event: message_delta");
  const lastEvent = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
  for (const missing of [0, 2, 12, 28, 40, lastEvent.length, lastEvent.length + 2]) {
    world().play((exchange) => exchange.stream([messagesStream.slice(0, -missing || undefined)]));
    const body = {
      model: "vendor-c/claude-haiku-4-5",
      max_tokens: 9,
      messages: hello,
      stream: true,
    };
    const said = await world().post("/chat/v1/messages", body);
    assert.ok((await said.text()).endsWith(messagesStream.slice(from)), `${missing} bytes less`);
    rows.expect(said, `${missing} bytes less`, (row) => {
      assert.deepEqual([row.status, row.output_tokens], ["completed", 5]);
    });
  }
  world().play();
});

Deno.test("on the unified family a messages answer names the model as it was asked", async () => {
  const names: Record<string, string[]> = {};
  const path = { unified: "/chat/v1/messages", family: "/anthropic/v1/messages" };
  const cases: [string, string, string][] = [
    ["native", path.unified, "vendor-c/claude-haiku-4-5"],
    ["translated", path.unified, "openai/gpt-4.1"],
    ["family", path.family, "claude-haiku-4-5"],
  ];
  for (const [name, path, model] of cases) {
    for (const stream of [false, true]) {
      world().play((exchange) =>
        !stream ? answered(exchange) : exchange.stream(
          exchange.request.path.endsWith("/messages")
            ? [messagesStream]
            : exchange.request.path.endsWith("/responses")
            ? responsesStream
            : streamEvents,
        )
      );
      const said = await world().post(path, { model, max_tokens: 9, messages: hello, stream });
      const text = await said.text();
      (names[name] ??= []).push(
        ...[...text.matchAll(/"model": ?"([^"]*)"/g)].map(([, one]) => one!),
      );
      const seen = names[name]!.at(-1);
      rows.expect(said, `${name}, stream: ${stream}`, (row) => {
        assert.equal((row.response as { model: string }).model, seen);
        assert.equal(row.requested_model, model);
      });
    }
  }
  const native = "vendor-c/claude-haiku-4-5";
  assert.deepEqual(names, {
    native: [native, native],
    translated: ["openai/gpt-4.1", "openai/gpt-4.1"],
    family: ["claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001"],
  });
  world().play();
});

rows.register(world);

/** The same answer as events of the responses dialect. */
const responsesStream = [
  { type: "response.created", response: { ...responsesAnswer, status: "in_progress", output: [] } },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { ...responsesAnswer.output[0], content: [] },
  },
  {
    type: "response.output_text.delta",
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    delta: "Fine.",
  },
  { type: "response.output_item.done", output_index: 0, item: responsesAnswer.output[0] },
  { type: "response.completed", response: responsesAnswer },
].map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`);
