/** What Google's parts have beside their content, as Google's library and others read it. */
import { GoogleGenAI } from "@google/genai";
import assert from "@std/assert";
import OpenAI from "openai";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { generateAnswer, startTodaysVendors } from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);
const rows = new RowChecks();

const spoken = {
  partMetadata: { section: "a" },
  speechMetadata: { speaker: "Kore", style: "calm" },
  audioTranscription: { text: "Hey", languageCode: "en" },
};
const draft = { inlineData: { mimeType: "image/png", data: "ZHJhZnQ=" }, thought: true };
const image = { inlineData: { mimeType: "image/png", data: "aGk=", displayName: "sea.png" } };
const call = { functionCall: { name: "f", args: { a: 1 } }, partMetadata: { section: "b" } };

const elements = [
  [{ text: "He", ...spoken }],
  [{ text: "y", ...spoken }],
  [draft, { ...image, mediaResolution: { level: "MEDIA_RESOLUTION_HIGH" } }],
  [call],
].map((parts, at) => ({
  ...generateAnswer,
  candidates: [{
    index: 0,
    content: { role: "model", parts },
    ...(at === 3 ? { finishReason: "STOP" } : {}),
  }],
}));

function play(): void {
  const events = elements.map((one) => `data: ${JSON.stringify(one)}\n\n`);
  world().play(({ stream }) => stream(events, { "content-type": "text/event-stream" }));
}

Deno.test("a stream's record has what the library reads beside the content of parts", async () => {
  play();
  const answers: Response[] = [];
  const client = new GoogleGenAI({
    apiKey: world().key,
    httpOptions: { baseUrl: `${world().baseUrl}/vendor-d` },
  });
  const stream = await client.models.generateContentStream({
    model: "gemini-2.5-flash",
    contents: "Draw the sea.",
  });
  const parts = [];
  for await (const chunk of stream) {
    parts.push(...chunk.candidates?.[0]?.content?.parts ?? []);
    const headers = new Headers(chunk.sdkHttpResponse?.headers);
    answers.push(new Response(null, { headers }));
  }
  assert.deepEqual(parts[0]?.speechMetadata, spoken.speechMetadata);
  assert.equal(parts.length, 5);
  rows.expect(answers[0]!, "the library's stream", ({ response }) => {
    const [candidate] = (response as typeof generateAnswer).candidates;
    assert.deepEqual(candidate!.content.parts, [
      { text: "Hey", ...spoken },
      draft,
      { ...image, mediaResolution: { level: "MEDIA_RESOLUTION_HIGH" } },
      call,
    ]);
  });
});

Deno.test("a caller of chat gets the image, and not the drafts that are marked as thoughts", async () => {
  play();
  const client = new OpenAI({ apiKey: world().key, baseURL: `${world().baseUrl}/chat/v1` });
  const { data: stream, response } = await client.chat.completions.create({
    model: "vendor-d/gemini-2.5-flash",
    messages: [{ role: "user", content: "Draw the sea." }],
    stream: true,
  }).withResponse();
  const images: unknown[] = [];
  for await (const { choices } of stream) {
    images.push(...(choices[0]?.delta as { images?: unknown[] } | undefined)?.images ?? []);
  }
  assert.equal(images.length, 1, JSON.stringify(images));
  assert.match(JSON.stringify(images), /base64,aGk=/);
  rows.expect(response, "the stream of chat", ({ response: recorded }) => {
    assert.ok(!JSON.stringify(recorded).includes("ZHJhZnQ="));
  });
});

rows.register(world);
