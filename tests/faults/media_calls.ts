/** Calls with media, and a vendor that stops at the step that their text names. */
import { Buffer } from "node:buffer";
import { type FakeExchange, type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { wholeAnswer } from "../support/service_scripted.ts";

/** Where the vendor stops: before its answer, in its middle, or not at all. */
export const steps = ["asked", "middle", "whole"] as const;
export type Step = typeof steps[number];

/** One call, as the test knows it. */
export interface MediaCall {
  readonly kind: Kind;
  readonly step: Step;
  /** Stands in everything that is sent and answered, media included. */
  readonly canary: string;
}

interface Kind {
  readonly name: string;
  readonly path: string;
  /** The body of its request. */
  body(call: MediaCall): FormData | Record<string, unknown>;
  answer(canary: string): { type: string; bytes: Buffer };
  /** Media of its request, and of its answer. */
  readonly asks: boolean;
  readonly gets: boolean;
}

const mediaBytes = 300_000;

/** Media whose every piece has the canary, so that none can be left without being found. */
export function mediumOf(canary: string, whose: "asked" | "answered"): Buffer<ArrayBuffer> {
  const head = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([head, Buffer.alloc(mediaBytes, `${canary} ${whose} `)]);
}

const textOf = ({ step, canary }: MediaCall) => `[${step}] ${canary}`;
const pictureOf = (canary: string) => mediumOf(canary, "answered").toString("base64");
const json = (value: unknown) => ({
  type: "application/json",
  bytes: Buffer.from(JSON.stringify(value)),
});

function form(call: MediaCall, field: string, fields: Record<string, string>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  data.set("prompt", textOf(call));
  data.set(field, new Blob([mediumOf(call.canary, "asked")], { type: "image/png" }), "file.png");
  return data;
}

const usage = {
  input_tokens: 10,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
  output_tokens: 272,
  total_tokens: 282,
};
const picturesOf = (canary: string) =>
  json({ created: 1_789_000_000, data: [{ b64_json: pictureOf(canary) }], usage });

function pictureEvents(canary: string) {
  const events = [
    { type: "image_generation.partial_image", partial_image_index: 0 },
    { type: "image_generation.completed", usage },
  ].map((event) => ({ ...event, b64_json: pictureOf(canary), created_at: 1_789_000_000 }));
  const text = events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`);
  return { type: "text/event-stream", bytes: Buffer.from(text.join("")) };
}

const image = { model: "gpt-image-1", size: "1024x1024", quality: "low" };
const spoken = (canary: string) => ({ type: "audio/mpeg", bytes: mediumOf(canary, "answered") });

export const kinds: readonly Kind[] = [
  {
    ...{ name: "picture", path: "/imagen/v1/generate", asks: false, gets: true },
    body: (call) => ({ model: "vendor-b/gpt-image-1", prompt: textOf(call) }),
    answer: picturesOf,
  },
  {
    ...{ name: "streamed picture", path: "/vendor-b/v1/images/generations" },
    ...{ asks: false, gets: true },
    body: (call) => ({ ...image, prompt: textOf(call), stream: true, partial_images: 1 }),
    answer: pictureEvents,
  },
  {
    ...{ name: "edit", path: "/vendor-b/v1/images/edits", asks: true, gets: true },
    body: (call) => form(call, "image", image),
    answer: picturesOf,
  },
  {
    ...{ name: "speech", path: "/tts/v1/generate", asks: false, gets: true },
    body: (call) => ({ model: "vendor-b/tts-1", input: textOf(call) }),
    answer: spoken,
  },
  {
    ...{ name: "streamed speech", path: "/vendor-b/v1/audio/speech", asks: false, gets: true },
    body: (call) => ({ model: "tts-1", voice: "alloy", input: textOf(call) }),
    answer: spoken,
  },
  {
    ...{ name: "transcript", path: "/vendor-b/v1/audio/transcriptions", asks: true, gets: false },
    body: (call) => form(call, "file", { model: "gpt-4o-transcribe" }),
    answer: (canary) =>
      json({
        text: canary,
        usage: { type: "tokens", input_tokens: 20, output_tokens: 5, total_tokens: 25 },
      }),
  },
  {
    ...{ name: "embedding", path: "/vendor-b/v1/embeddings", asks: false, gets: false },
    body: (call) => ({ model: "text-embedding-3-small", input: textOf(call) }),
    answer: () =>
      json({
        ...{ object: "list", model: "text-embedding-3-small" },
        data: [{ object: "embedding", index: 0, embedding: Array(1536).fill(0.25) }],
        usage: { prompt_tokens: 8000, total_tokens: 8000 },
      }),
  },
  {
    ...{ name: "chat", path: "/vendor-b/v1/chat/completions", asks: true, gets: false },
    body: (call) => {
      const url = `data:image/png;base64,${mediumOf(call.canary, "asked").toString("base64")}`;
      const content = [
        { type: "text", text: textOf(call) },
        { type: "image_url", image_url: { url } },
      ];
      return { model: "gpt-4.1", messages: [{ role: "user", content }] };
    },
    answer: () => json(wholeAnswer),
  },
];

export interface MediaVendor extends FakeVendor {
  readonly env: Readonly<Record<string, string>>;
  /** Calls that it has stopped at so far. */
  readonly stopped: number;
  /** Lets those it has stopped at, and those to come, go on to their end. */
  release(): void;
}

export async function startMediaVendor(): Promise<MediaVendor> {
  const gate = Promise.withResolvers<void>();
  let stopped = 0;
  const stop = () => {
    stopped++;
    return gate.promise;
  };
  const vendor = await startFakeVendor(async (exchange) => {
    if (exchange.request.method === "GET") return await exchange.answer(200, { data: [] });
    await answer(exchange, stop);
  });
  return Object.defineProperties(vendor as MediaVendor, {
    env: {
      value: {
        VENDOR_B_BASE_URL: `${vendor.url}/v1`,
        VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
      },
    },
    stopped: { get: () => stopped },
    release: { value: gate.resolve },
  });
}

async function answer(exchange: FakeExchange, stop: () => Promise<void>): Promise<void> {
  const { path, body } = exchange.request;
  const [, step, canary] = /\[(asked|middle|whole)\] (canary-[0-9a-z-]+)/.exec(body)!;
  const asksForStream = body.includes('"stream":true');
  const kind =
    kinds.find(({ name, path: own }) =>
      own.endsWith(path) && name.startsWith("streamed") === (asksForStream || /speech/.test(path))
    ) ?? kinds.find(({ name }) => name === "picture")!;
  const { type, bytes } = kind.answer(canary!);
  if (step === "asked") await stop();
  await exchange.head(200, { "content-type": type });
  await exchange.write(bytes.subarray(0, bytes.length / 2));
  if (step === "middle") await stop();
  await exchange.write(bytes.subarray(bytes.length / 2));
  await exchange.end();
}
