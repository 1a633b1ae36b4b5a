import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { sha256Hex } from "../../src/base/hash.ts";
import { mediaToolsAreThere, openSound } from "../support/media_tools.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));
const ignore = !mediaToolsAreThere();
const input = "Good morning. It is a fine day on the lake, and the boats go out.";
/** Both simulators speak fourteen or fifteen characters a second. */
const likely = [input.length / 15 - 0.1, input.length / 14 + 0.1] as const;

interface Spoken {
  provider: string;
  model: string;
  audio: { data: string; format: string; mime_type: string; sample_rate?: number };
  usage: { characters: number; input_tokens?: number; output_tokens?: number };
  cost_usd: string;
}

/** Provider, format, type of the answer, and the codec that a player finds. */
const formats: readonly [Record<string, unknown>, string, string, string][] = [
  [{ provider: "vendor-b" }, "mp3", "audio/mpeg", "mp3"],
  ...(["mp3", "opus", "aac", "flac", "wav"] as const).map((format) =>
    [
      { provider: "vendor-b", model: "tts-1", response_format: format },
      format,
      { mp3: "audio/mpeg", opus: "audio/ogg" }[format as string] ?? `audio/${format}`,
      format === "wav" ? "pcm_s16le" : format,
    ] as [Record<string, unknown>, string, string, string]
  ),
  [{ model: "openai/gpt-4o-mini-tts", response_format: "wav" }, "wav", "audio/wav", "pcm_s16le"],
  [{ provider: "vendor-d" }, "wav", "audio/wav", "pcm_s16le"],
  [{ provider: "vendor-f" }, "mp3", "audio/mpeg", "mp3"],
  [{ provider: "vendor-g" }, "mp3", "audio/mpeg", "mp3"],
  [{ provider: "xai", response_format: "wav" }, "wav", "audio/wav", "pcm_s16le"],
];

for (const [fields, format, type, codec] of formats) {
  Deno.test({
    name: `speech opens, whole, as a file and streamed: ${JSON.stringify(fields)}`,
    ignore,
    async fn() {
      const json = await service().post("/tts/v1/generate", { ...fields, input });
      const spoken = await json.json() as Spoken;
      assert.equal(json.status, 200, JSON.stringify(spoken));
      assert.deepEqual([spoken.audio.format, spoken.audio.mime_type], [format, type]);
      assert.equal(spoken.usage.characters, [...input].length);
      const file = await service().post(
        "/tts/v1/generate",
        { ...fields, input },
        { accept: "audio/*" },
      );
      const streamed = await service().post("/tts/v1/generate", { ...fields, input, stream: true });
      const files = [
        Buffer.from(spoken.audio.data, "base64"),
        await file.bytes(),
        await streamed.bytes(),
      ];
      for (const answer of [file, streamed]) {
        assert.equal(answer.headers.get("content-type"), type);
        assert.equal(answer.headers.get("x-model"), `${spoken.provider}/${spoken.model}`);
        assert.equal(answer.headers.get("x-audio-characters"), String([...input].length));
      }
      // What is the same in every byte is opened once.
      const different = new Map(files.map((bytes, index) => [sha256Hex(bytes), { index, bytes }]));
      for (const { index, bytes } of different.values()) {
        const report = await openSound(bytes);
        assert.equal(report.codec, codec);
        assert.equal(report.channels, 1);
        const [least, most] = likely;
        assert(report.seconds > least && report.seconds < most, `${index}: ${report.seconds} s`);
      }
      for (const answer of [json, file, streamed]) {
        const row = await service().row(answer.headers.get("x-transaction-id"));
        assert.deepEqual([row.dialect, row.status], ["speech", "completed"]);
        assert.equal(row.cost_usd, spoken.cost_usd);
        assert.equal(row.charged_usd, spoken.cost_usd);
        assert.equal((row.response as Spoken).audio.format, format);
      }
    },
  });
}

Deno.test("raw samples get a header: exact sizes when whole, 0xFFFFFFFF when streamed", async () => {
  const body = { provider: "vendor-d", input };
  const whole = await (await service().post("/tts/v1/generate", { ...body, encoding: "binary" }))
    .bytes();
  const streamed = await (await service().post("/tts/v1/generate", { ...body, stream: true }))
    .bytes();
  const samples = await (await service().post("/tts/v1/generate", {
    ...body,
    response_format: "pcm",
    encoding: "binary",
  })).bytes();
  const sizes = (bytes: Uint8Array) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return [view.getUint32(4, true), view.getUint32(40, true)];
  };
  assert.deepEqual(sizes(whole), [36 + samples.length, samples.length]);
  assert.deepEqual(sizes(streamed), [0xffff_ffff, 0xffff_ffff]);
  assert.deepEqual(whole.subarray(44), samples);
  assert.deepEqual(streamed.subarray(44), samples);
});

Deno.test("raw samples say what they are", async () => {
  for (const provider of ["vendor-b", "vendor-d", "vendor-f", "vendor-g"]) {
    const answer = await service().post("/tts/v1/generate", {
      provider,
      input,
      response_format: "pcm",
      encoding: "binary",
    });
    assert.equal(
      answer.headers.get("content-type"),
      "audio/L16;rate=24000;channels=1",
      provider,
    );
    await answer.bytes();
  }
});

Deno.test("a character is a code point, and a vendor paid by them is paid for each", async () => {
  const text = "Grüße, 東京 🎙️!";
  const answer = await service().post("/tts/v1/generate", { provider: "vendor-g", input: text });
  const spoken = await answer.json() as Spoken;
  const characters = [...text].length;
  assert.equal(spoken.usage.characters, characters);
  assert.equal(spoken.cost_usd, (characters * 15e-6).toFixed(9));
});

Deno.test("a stream that is cut breaks the connection and is charged for the audio that was sent", async () => {
  for (const provider of ["vendor-b", "vendor-d", "vendor-g"]) {
    const answer = await service().post("/tts/v1/generate", {
      provider,
      input: `${input} ${input} [cut]`,
      stream: true,
    });
    assert.equal(answer.status, 200);
    await assert.rejects(answer.bytes(), provider);
    const row = await service().row(answer.headers.get("x-transaction-id"));
    assert.equal(row.status, "truncated", provider);
    assert(Number(row.charged_usd) > 0);
  }
});

Deno.test("what goes wrong before the first sound is JSON, also where a file was asked for", async () => {
  const cases = [
    ["vendor-d", "[refuse]", 400, "content_policy_violation"],
    ["vendor-g", "[refuse]", 400, "content_policy_violation"],
    ["vendor-d", "[silent]", 502, "upstream_error"],
    ["vendor-b", "[error:429]", 429, "upstream_rate_limited"],
    ["vendor-f", "[error:500]", 502, "upstream_error"],
  ] as const;
  for (const [provider, words, status, code] of cases) {
    for (const stream of [false, true]) {
      const answer = await service().post(
        "/tts/v1/generate",
        { provider, input: `Hello ${words}`, stream },
        { accept: "audio/*" },
      );
      assert.equal(answer.headers.get("content-type"), "application/json");
      const { error } = await answer.json() as { error: { code: string } };
      assert.deepEqual([answer.status, error.code], [status, code], `${provider} ${words}`);
      const row = await service().row(answer.headers.get("x-transaction-id"));
      assert.equal(row.charged_usd, "0.000000000");
    }
  }
});
