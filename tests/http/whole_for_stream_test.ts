/** Vendors that answer in one piece although a stream was asked for: every answer here is JSON. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import assert from "@std/assert";
import { ResponsesWS } from "openai/resources/responses/ws";
import { openSocket } from "../support/response_socket.ts";
import { shared } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import {
  answered,
  generateAnswer,
  hello,
  responsesAnswer,
  startTodaysVendors,
} from "../support/todays_vendors.ts";

/** Google is asked for a stream by another path. */
function inOnePiece(exchange: FakeExchange) {
  const isStream = exchange.request.path.includes(":streamGenerateContent");
  return isStream ? exchange.answer(200, generateAnswer) : answered(exchange);
}

const world = shared(async () => {
  const vendors = await startTodaysVendors();
  vendors.play(inOnePiece);
  return vendors;
});

/** The only row of an end user: a streamed call that ended and was charged. */
async function checkRow(user: string): Promise<void> {
  const rows = await world().rows({ user_id: user });
  assert.equal(rows.length, 1);
  const [{ status, stream, output_tokens, charged_usd }] = rows as [Record<string, unknown>];
  assert.deepEqual([status, stream, output_tokens], ["completed", true, 5]);
  assert.match(String(charged_usd), /[1-9]/);
}

const models = ["vendor-b/gpt-4.1", "vendor-c/claude-haiku-4-5", "vendor-d/gemini-2.5-flash"];

for (const model of models) {
  Deno.test(`the official socket on ${model}: a whole answer becomes the frames of a stream`, async () => {
    const user = crypto.randomUUID();
    const socket = new ResponsesWS(openai(world()));
    const ended = Promise.withResolvers<void>();
    const types: string[] = [];
    let text = "";
    socket.on("error", (error) => ended.reject(error));
    socket.on("event", (event) => {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type !== "response.completed") return;
      assert.equal(event.response.usage?.output_tokens, 5);
      ended.resolve();
    });
    try {
      socket.send({ type: "response.create", model, input: "Hi", safety_identifier: user });
      await ended.promise;
    } finally {
      socket.close();
    }
    assert.equal(text, "Fine.");
    assert.deepEqual(types, [
      ...["response.created", "response.in_progress", "response.output_item.added"],
      ...["response.content_part.added", "response.output_text.delta"],
      ...["response.output_text.done", "response.content_part.done"],
      ...["response.output_item.done", "response.completed"],
    ]);
    await checkRow(user);
  });

  Deno.test(`a socket on ${model} goes on from a whole answer that nobody stored`, async () => {
    await using socket = await openSocket(world());
    const input = [{ role: "user", content: "Remember quicksilver." }];
    const first = await socket.ask({ model, store: false, input, stream_id: "lane" });
    assert.ok(first.every(({ stream_id }) => stream_id === "lane"));
    const { id } = first.at(-1)!.response as { id: string };
    await socket.ask({
      ...{ model, store: false, previous_response_id: id },
      input: [{ role: "user", content: "What was it?" }],
    });
    const sent = world().last().body;
    for (const word of ["quicksilver", "Fine.", "What was it?"]) assert.ok(sent.includes(word));
  });
}

Deno.test("a socket's last frame holds the vendor's own answer, unknown members included", async () => {
  const odd = { ...responsesAnswer, of_tomorrow: { precise: 12 } };
  world().play(({ answer }) => answer(200, odd));
  try {
    await using socket = await openSocket(world(), "/vendor-b/v1");
    const events = await socket.ask({ model: "gpt-4.1", input: "Hi" });
    assert.deepEqual(events.at(-1)!.response, odd);
  } finally {
    world().play(inOnePiece);
  }
});

Deno.test("over HTTP the official clients get a stream from a vendor of another dialect", async () => {
  const { baseUrl, key } = world();
  const user = () => crypto.randomUUID();
  const [a, b, c, d] = [user(), user(), user(), user()];
  const chat = await openai(world()).chat.completions.create({
    ...{ model: "vendor-c/claude-haiku-4-5", messages: [{ role: "user", content: "Hi" }] },
    ...{ stream: true, user: a, stream_options: { include_usage: true } },
  });
  const chunks = await Array.fromAsync(chat);
  assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), "Fine.");
  assert.equal(chunks.at(-1)?.usage?.completion_tokens, 5);
  await checkRow(a);
  const responses = openai(world()).responses.stream({
    ...{ model: "vendor-d/gemini-2.5-flash", input: "Hi", safety_identifier: b },
  });
  const response = await responses.finalResponse();
  assert.deepEqual([response.status, response.output_text], ["completed", "Fine."]);
  await checkRow(b);
  const anthropic = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
  const message = await anthropic.messages.stream({
    ...{ model: "vendor-b/gpt-4.1", max_tokens: 99, metadata: { user_id: c } },
    messages: [{ role: "user", content: "Hi" }],
  }).finalMessage();
  assert.deepEqual(message.content.map((block) => block.type === "text" && block.text), ["Fine."]);
  assert.equal(message.stop_reason, "end_turn");
  await checkRow(c);
  const google = new GoogleGenAI({
    ...{ apiKey: key },
    httpOptions: { baseUrl: `${baseUrl}/chat`, headers: { "x-user-id": d } },
  });
  const generated = await Array.fromAsync(
    await google.models.generateContentStream({
      ...{ model: "vendor-c/claude-haiku-4-5", contents: "Hi" },
    }),
  );
  assert.equal(generated.map(({ text }) => text ?? "").join(""), "Fine.");
  await checkRow(d);
});

Deno.test("such a stream is repeated, and comes out of the response cache, as it was", async () => {
  const body = { model: "vendor-c/claude-haiku-4-5", stream: true, messages: hello };
  for (const header of ["x-request-id", "x-cache-ttl"]) {
    const headers = { [header]: header === "x-cache-ttl" ? "60" : crypto.randomUUID() };
    const ask = async () => {
      const answer = await world().post("/chat/v1/chat/completions", body, headers);
      assert.equal(answer.headers.get("content-type"), "text/event-stream");
      return await answer.text();
    };
    const first = await ask();
    assert.match(first, /^data: .*\n\ndata: \[DONE\]\n\n$/s);
    assert.equal(await ask(), first);
  }
});
