import assert from "@std/assert";
import { isGatewayError } from "./errors.ts";
import { createGateway } from "./gateway.ts";
import {
  createChatCompletionVendorB,
  createImageVendorB,
  createSpeechVendorB,
  createTranscriptionVendorB,
} from "./generated/sdk.gen.ts";
import {
  streamChatCompletion,
  streamContent,
  streamEvents,
  streamImage,
  streamMessage,
  streamResponse,
} from "./streams.ts";

/** A service that answers everything with a stream, in pieces of so many bytes. */
function streaming(text: string, size = 1e9) {
  const asked: { url: string; body: unknown }[] = [];
  const bytes = new TextEncoder().encode(text);
  const client = createGateway({
    baseUrl: "http://service",
    apiKey: "dmt_x",
    fetch: async (request) => {
      asked.push({ url: request.url, body: await request.json() });
      const pieces = Array.from(
        { length: Math.ceil(bytes.length / size) },
        (_, at) => bytes.slice(at * size, (at + 1) * size),
      );
      return new Response(ReadableStream.from(pieces), {
        headers: { "content-type": "text/event-stream", "X-Transaction-ID": "t1" },
      });
    },
  });
  return { client, asked };
}

const chunk = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const body = { model: "vendor-b/x", messages: [{ role: "user" as const, content: "hi" }] };

async function failure(stream: Promise<AsyncIterable<unknown>>): Promise<unknown> {
  try {
    for await (const _ of await stream) continue;
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

Deno.test("chunks come as they were sent, wherever the bytes are cut", async () => {
  const text = `: hello\r\n\r\n${chunk("Grüße ")}${
    chunk("👋").replaceAll("\n", "\r\n")
  }data: [DONE]\n\n`;
  for (const size of [1, 2, 3, 7, 1e9]) {
    const { client, asked } = streaming(text, size);
    const stream = await streamChatCompletion({ client, body });
    let said = "";
    for await (const { choices } of stream) said += choices[0]?.delta.content ?? "";
    assert.equal(said, "Grüße 👋");
    assert.equal(stream.info.transactionId, "t1");
    assert.deepEqual(asked[0]!.body, { ...body, stream: true });
  }
});

Deno.test("each dialect's stream ends with its own last event, and is cut without", async () => {
  const messages = [{ role: "user" as const, content: "hi" }];
  const cases = [
    [(client) => streamChatCompletion({ client, body }), "data: [DONE]\n\n"],
    [
      (client) => streamResponse({ client, body: { model: "m", input: "hi" } }),
      'data: {"type":"response.completed","sequence_number":1,"response":{}}\n\n',
    ],
    [
      (client) => streamMessage({ client, body: { model: "m", max_tokens: 1, messages } }),
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
    [
      (client) =>
        streamContent({ client, path: { model: "m" }, body: { contents: [{ parts: [] }] } }),
      'data: {"candidates":[{"finishReason":"STOP"}]}\n\n',
    ],
  ] satisfies [
    (client: ReturnType<typeof createGateway>) => Promise<AsyncIterable<unknown>>,
    string,
  ][];
  for (const [open, end] of cases) {
    assert.equal(await failure(open(streaming('data: {"a":1}\n\n' + end).client)), undefined);
    const cut = await failure(open(streaming('data: {"a":1}\n\n').client));
    assert.ok(isGatewayError(cut, "stream_cut"), String(cut));
  }
});

Deno.test("an error within a stream is thrown with its code, in every dialect", async () => {
  const errors = [
    { error: { message: "m", type: "overloaded_error", code: "upstream_overloaded", param: null } },
    { type: "error", sequence_number: 3, code: "upstream_overloaded", message: "m", param: null },
    {
      type: "error",
      error: { type: "overloaded_error", message: "m", code: "upstream_overloaded" },
    },
    { error: { code: "503", message: "m", status: "UNAVAILABLE", reason: "upstream_overloaded" } },
  ];
  for (const error of errors) {
    // The generate dialect's last event has no blank line behind it.
    const { client } = streaming(`data: ${JSON.stringify(error)}\n`);
    const thrown = await failure(streamChatCompletion({ client, body }));
    if (!isGatewayError(thrown, "upstream_overloaded")) throw thrown;
    const { status, type, transactionId } = thrown;
    assert.deepEqual([status, type, transactionId], [503, "overloaded_error", "t1"]);
  }
});

Deno.test("an incomplete event is dropped", async () => {
  const { client } = streaming(chunk("a") + 'data: {"choi');
  assert.ok(isGatewayError(await failure(streamChatCompletion({ client, body })), "stream_cut"));
});

Deno.test("a chat stream without its last line is whole once its choice has ended", async () => {
  const end = `data: ${
    JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })
  }\n\n`;
  const { client } = streaming(chunk("a") + end);
  assert.equal(await failure(streamChatCompletion({ client, body })), undefined);
});

Deno.test("an answer that is not a stream is an error that names its type", async () => {
  const client = createGateway({
    baseUrl: "http://service",
    apiKey: "dmt_x",
    fetch: () => Promise.resolve(Response.json({ choices: [] })),
  });
  const thrown = await failure(streamChatCompletion({ client, body }));
  if (!isGatewayError(thrown, "unreadable_answer")) throw thrown;
  assert.match(thrown.message, /application\/json/);
});

Deno.test("leaving the loop, or never entering it, closes the answer", async () => {
  for (const way of ["break", "cancel"]) {
    let closed = false;
    const client = createGateway({
      baseUrl: "http://service",
      apiKey: "dmt_x",
      fetch: () =>
        Promise.resolve(
          new Response(
            new ReadableStream({
              pull: (controller) => controller.enqueue(new TextEncoder().encode(chunk("a"))),
              cancel: () => void (closed = true),
            }),
          ),
        ),
    });
    const stream = await streamChatCompletion({ client, body });
    if (way === "cancel") await stream.cancel();
    else for await (const _ of stream) break;
    assert.ok(closed, way);
  }
});

Deno.test("a vendor's own family streams too, and says in its address that it does", async () => {
  const chat = streaming("data: [DONE]\n\n");
  await streamEvents(createChatCompletionVendorB, { client: chat.client, body });
  assert.equal(chat.asked[0]!.url, "http://service/vendor-b/v1/chat/completions");
  const generate = streaming("");
  await streamContent({
    client: generate.client,
    path: { model: "vendor-d/m" },
    body: { contents: [] },
  });
  assert.match(generate.asked[0]!.url, /:streamGenerateContent\?alt=sse$/);
  assert.deepEqual(generate.asked[0]!.body, { contents: [] });
});

Deno.test("pictures, sound and transcripts stream as events of their own types", async () => {
  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
  const partial = {
    type: "image_generation.partial_image",
    b64_json: "AA",
    partial_image_index: 0,
  };
  const done = { type: "image_generation.completed", b64_json: "AB", usage: { output_tokens: 9 } };
  const images = [
    ["http://service/imagen/v1/generate", streamImage],
    [
      "http://service/vendor-b/v1/images/generations",
      (options: Parameters<typeof streamImage>[0]) =>
        streamEvents(createImageVendorB, { ...options, body: { ...options.body, model: "m" } }),
    ],
  ] as const;
  for (const [url, open] of images) {
    const { client, asked } = streaming(event(partial) + event(done));
    const seen: (string | number | null | undefined)[] = [];
    for await (const one of await open({ client, body: { model: "m", prompt: "A door." } })) {
      // The type tells the fields.
      if (one.type === "image_generation.partial_image") seen.push(one.partial_image_index);
      if (one.type === "image_generation.completed") seen.push(one.usage?.output_tokens);
    }
    assert.deepEqual(seen, [0, 9]);
    assert.deepEqual(asked[0], { url, body: { model: "m", prompt: "A door.", stream: true } });
    const cut = await failure(
      open({ client: streaming(event(partial)).client, body: { model: "m", prompt: "A door." } }),
    );
    assert.ok(isGatewayError(cut, "stream_cut"), String(cut));
  }

  const sound = streaming(
    event({ type: "speech.audio.delta", audio: "//uQ" }) + event({ type: "speech.audio.done" }),
  );
  const said = { model: "m", input: "Hi.", stream_format: "sse" as const };
  let audio = "";
  for await (
    const one of await streamEvents(createSpeechVendorB, { client: sound.client, body: said })
  ) {
    if (one.type === "speech.audio.delta") audio += one.audio;
  }
  assert.equal(audio, "//uQ");
  assert.deepEqual(sound.asked[0]!.body, said);
});

Deno.test("a form says that it streams in a word", async () => {
  let form = new FormData();
  const client = createGateway({
    baseUrl: "http://service",
    apiKey: "dmt_x",
    fetch: async (request) => {
      form = await request.formData();
      const events = [
        { type: "transcript.text.delta", delta: "Hi." },
        { type: "transcript.text.done", text: "Hi." },
      ];
      return new Response(events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
    },
  });
  const body = { model: "m", file: new File(["RIFF"], "words.wav") };
  const heard: unknown[] = [];
  for await (const one of await streamEvents(createTranscriptionVendorB, { client, body })) {
    heard.push(one.type === "transcript.text.delta" ? one.delta : one.text);
  }
  assert.deepEqual(heard, ["Hi.", "Hi."]);
  assert.equal(form.get("stream"), "true");
  assert.ok(form.get("file") instanceof File);
});

Deno.test("a stream of pictures that fails throws the service's error", async () => {
  const error = { message: "m", type: "upstream_error", code: "upstream_stream_truncated" };
  const { client } = streaming(
    `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`,
  );
  const thrown = await failure(streamImage({ client, body: { model: "m", prompt: "A door." } }));
  assert.ok(isGatewayError(thrown, "upstream_stream_truncated"), String(thrown));
});
