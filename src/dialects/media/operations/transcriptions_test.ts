import assert from "@std/assert";
import { sound } from "../../../../demo/simulator/samples/mod.ts";
import {
  boundOfRequest,
  eventOf,
  priceOf,
  readerOf,
} from "../../../../tests/support/operation_request.ts";
import type { FormPart } from "../../../base/multipart.ts";
import { Fault } from "../../../shared/fault.ts";
import type { AnswerReader } from "../../kernel/operation.ts";
import { readTranscriptUsage, transcriptions } from "./transcriptions.ts";

const whole = { isComplete: true, price: undefined };
const byMinute = priceOf({ perMinute: 6_000_000_000n } as never);

function request(content: Uint8Array) {
  const file: FormPart = {
    ...{ name: "file", filename: "a.wav", contentType: "audio/wav", content },
    ...{ start: 0, end: content.length },
  };
  return {
    sent: { form: { bytes: content, contentType: "multipart/form-data", parts: [file] } },
    ...{ fields: { model: "m" }, files: [file], model: "m", stream: false, endUser: undefined },
    ...{ tags: {}, tagUnits: 0 },
  };
}

const reader = (content = sound("wav", 6, "a test")): AnswerReader =>
  transcriptions.reader(request(content));

const tokens = {
  type: "tokens",
  ...{ input_tokens: 64, input_token_details: { text_tokens: 4, audio_tokens: 60 } },
  ...{ output_tokens: 12, total_tokens: 76 },
};

Deno.test("JSON with usage in tokens or in seconds is paid by it", () => {
  const inTokens = reader();
  inTokens.whole(JSON.stringify({ text: "Hello.", usage: tokens }), "application/json");
  assert.deepEqual(inTokens.outcome(whole), {
    basis: "reported",
    usage: { input: 64, audioInput: 60, output: 12, raw: tokens },
  });
  // A large transcript is parsed in steps, by others.
  const parsed = reader();
  parsed.json!({ text: "Hello.", usage: tokens });
  assert.deepEqual(parsed.outcome(whole), inTokens.outcome(whole));
  assert.throws(() => reader().json!(undefined), { code: "upstream_invalid_response" });
  const inSeconds = reader();
  const usage = { type: "duration", seconds: 7 };
  inSeconds.whole(JSON.stringify({ text: "Hello.", usage }), "application/json; charset=utf-8");
  assert.deepEqual(inSeconds.outcome({ isComplete: true, price: byMinute }), {
    basis: "reported",
    usage: { input: 0, output: 0, seconds: 7, raw: usage },
  });
});

Deno.test("verbose JSON without usage says how long the sound is, as number or as text", () => {
  for (const duration of [6.5, "6.5"]) {
    const verbose = reader();
    verbose.whole(JSON.stringify({ text: "Hello.", duration, usage: null }), "application/json");
    const { usage, basis } = verbose.outcome({ isComplete: true, price: byMinute })!;
    assert.deepEqual([usage.seconds, basis], [6.5, "reported"]);
  }
  const lengths = ['"duration":-1', '"duration":"long"', '"duration":null', '"duration":{}'];
  lengths.push('"duration":""', '"duration":" "', '"duration":1e400', '"usage":{"seconds":1e400}');
  // Zero seconds of a sound that lasts six.
  lengths.push('"duration":0', '"duration":"0.0"', '"usage":{"type":"duration","seconds":0}');
  for (const length of lengths) {
    const odd = reader();
    odd.whole(`{"text":"Hello.",${length}}`, "application/json");
    const { usage, basis } = odd.outcome({ isComplete: true, price: byMinute })!;
    assert.deepEqual([usage.seconds, basis], [6, "estimated"], length);
  }
});

const plain: readonly [string, string][] = [
  ["text/plain; charset=utf-8", "Hello.\n"],
  ["text/plain", "1\n00:00:00,000 --> 00:00:06,000\nHello.\n\n"],
  ["application/x-subrip", "1\n00:00:00,000 --> 00:00:06,000\nHello.\n\n"],
  ["text/vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:06.000\nHello.\n\n"],
  // A transcript may look like JSON and be none.
  ["text/plain", '{"usage":{"input_tokens":1}}'],
];

for (const [type, text] of plain) {
  Deno.test(`a transcript as ${type} is recorded as its text and paid by the file: ${JSON.stringify(text)}`, () => {
    const one = reader();
    one.whole(text, type);
    const byLength = one.outcome({ isComplete: true, price: byMinute })!;
    assert.deepEqual([byLength.usage.seconds, byLength.basis], [6, "estimated"]);
    assert.equal(JSON.parse(byLength.recordText!), text);
    const { usage } = one.outcome(whole)!;
    // Ten tokens a second.
    assert.deepEqual([usage.input, usage.audioInput], [60, 60]);
    assert.ok(usage.output > 0);
  });
}

Deno.test("a file of no known kind is as long as it is large", () => {
  const odd = reader(new Uint8Array(40_000));
  odd.whole("Hello.", "text/plain");
  assert.equal(odd.outcome({ isComplete: true, price: byMinute })!.usage.seconds, 10);
  // What is set aside is more careful.
  assert.equal(boundOfRequest(transcriptions, request(new Uint8Array(40_000))).seconds, 40);
});

/** The same bytes each time, of which some look like frames of MP3. */
function noise(length: number): Uint8Array<ArrayBuffer> {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = Math.imul(state, 1_103_515_245) + 12_345 | 0;
    return state >>> 16;
  });
}

const secondsOf = (file: Uint8Array<ArrayBuffer>) => {
  const subtitles = reader(file);
  subtitles.whole("1\n00:00 --> 00:02\nHello.", "text/plain");
  return subtitles.outcome({ isComplete: true, price: byMinute })!.usage.seconds!;
};

Deno.test("a browser's WebM recording is as long as it is large, whatever in it looks like MP3", () => {
  const recording = noise(2_000_000);
  recording.set([0x1a, 0x45, 0xdf, 0xa3]);
  assert.equal(secondsOf(recording), 500);
});

Deno.test("MP3 files that were joined last as long as both, with a picture between them", () => {
  const tag = new Uint8Array(200_010);
  tag.set([...new TextEncoder().encode("ID3"), 3, 0, 0, 0, 12, 26, 64]);
  const joined = [...sound("mp3", 10, "a test"), ...tag, ...sound("mp3", 100, "a test")];
  assert.equal(Math.round(secondsOf(Uint8Array.from(joined))), 110);
});

Deno.test("a WAV file's samples count, not the bytes a second that its head states", () => {
  const file = sound("wav", 6, "a test");
  new DataView(file.buffer, file.byteOffset).setUint32(28, 0xffff_ffff, true);
  assert.equal(secondsOf(file), 6);
});

Deno.test("a WAV file lasts as long as all its chunks, and compressed sound isn't packed at will", () => {
  const file = sound("wav", 6, "a test");
  const sizes = new DataView(file.buffer, file.byteOffset);
  const data = new TextDecoder("latin1").decode(file.subarray(0, 200)).indexOf("data");
  const length = sizes.getUint32(data + 4, true);
  const first = [...file.subarray(0, data + 4), 2, 0, 0, 0, 0, 0];
  assert.equal(Math.round(secondsOf(Uint8Array.from([...first, ...file.subarray(data)]))), 6);
  // MP3 in the head of a WAV file.
  sizes.setUint16(20, 0x55, true);
  sizes.setUint32(28, 0xffff_ffff, true);
  assert.equal(secondsOf(file), length / 48_000);
});

Deno.test("by the minute the file's length costs where the vendor reports tokens alone", () => {
  const inTokens = reader();
  inTokens.whole(JSON.stringify({ text: "Hello.", usage: tokens }), "application/json");
  const { usage, basis } = inTokens.outcome({ isComplete: true, price: byMinute })!;
  assert.deepEqual([usage.seconds, usage.input, basis], [6, 64, "estimated"]);
});

const letters = (text: string) => [...text].map((letter) => letter.charCodeAt(0));
const words = (...numbers: number[]) =>
  numbers.flatMap((one) => [one >>> 24, one >>> 16 & 255, one >>> 8 & 255, one & 255]);
const box = (type: string, ...contents: number[][]): number[] => {
  const content = contents.flat();
  return [...words(content.length + 8), ...letters(type), ...content];
};

/** An MP4 file of 40 kB with 7 s of AAC at 16 kHz, or what it states of them, in milliseconds. */
function mp4({ codec = "mp4a", seconds = 7, head = 7000, track, ticks = 64, more = [] }: {
  codec?: string;
  seconds?: number;
  head?: number;
  track?: number;
  ticks?: number;
  more?: number[];
}): Uint8Array<ArrayBuffer> {
  const times = (duration: number) => words(0, 0, 0, 1000, duration, 0);
  const esds = [3, 25, 0, 0, 0, 4, 17, 0x40, ...Array(12).fill(0), 5, 2, 0x14, 0x08];
  const entry = box(codec, Array(28).fill(0), box("esds", words(0), esds));
  const samples = Math.ceil(seconds * 16_000 / 1024);
  const tables = [
    box("stsd", words(0, 1), entry),
    box("stts", words(0, 1, samples, ticks)),
    box("stsz", words(0, 0, samples), words(...Array(samples).fill(4096))),
  ];
  const sound = box(
    "mdia",
    box("mdhd", times(track ?? head)),
    box("hdlr", words(0, 0), letters("soun")),
    box("minf", box("stbl", ...tables)),
  );
  const moov = box("moov", box("mvhd", times(head)), more, box("trak", sound));
  const start = [...box("ftyp", letters("iso5")), ...box("free", letters("mvhd")), ...moov];
  return Uint8Array.from([...start, ...box("mdat", Array(40_000 - start.length - 8).fill(0))]);
}

Deno.test("a head that states less than an MP4 file's samples doesn't make it shorter", () => {
  for (const forged of [{ head: 10 }, { head: 10, track: 7000 }, { head: 10, ticks: 1 }]) {
    const seconds = secondsOf(mp4(forged));
    assert.ok(Math.abs(seconds - 7) < 0.5, `${JSON.stringify(forged)}: ${seconds}`);
  }
});

Deno.test("a FLAC file lasts as long as its frames say, whatever samples and rate its head states", () => {
  const file = sound("flac", 6, "a test");
  const head = new DataView(file.buffer, file.byteOffset);
  // 655,350 Hz, and one sample.
  head.setUint32(18, head.getUint32(18) & 0xfff | 655_350 << 12);
  head.setUint32(22, 1);
  assert.equal(Math.round(secondsOf(file)), 6);
});

Deno.test("a frame of AAC lasts as long as all its blocks of sound", () => {
  // 16 kHz, and four blocks in 512 bytes.
  const frame = [0xff, 0xf1, 0x60, 0x40, 512 >> 3, 0x1f, 0xff, ...Array(505).fill(0)];
  const seconds = secondsOf(Uint8Array.from(Array(1000).fill(frame).flat()));
  assert.equal(Math.round(seconds), 1000 * 4 * 1024 / 16_000);
});

Deno.test("sound behind more boxes than an MP4 file has makes the file as long as it is large", () => {
  const short = mp4({ seconds: 1, head: 10 });
  const at = (type: string) => new TextDecoder("latin1").decode(short).indexOf(type) - 4;
  const track = [...short.subarray(at("trak"), at("mdat"))];
  const behind = (count: number) =>
    mp4({ head: 10, more: [...track, ...Array(count).fill(box("free", words(0, 0))).flat()] });
  assert.equal(secondsOf(behind(100)), 10);
  assert.equal(Math.round(secondsOf(behind(90))), 7);
});

Deno.test("a track of another codec lasts at least as long as its bytes need", () => {
  // 110 packets of 4 kB.
  for (const [codec, seconds] of [["Opus", 110 * 4096 / 64_000], ["alac", 110 * 4096 / 300_000]]) {
    const forged = mp4({ codec: String(codec), head: 10, track: 10, ticks: 0 });
    assert.ok(Math.abs(secondsOf(forged) - Number(seconds)) < 0.5, `${codec}`);
  }
});

Deno.test("streams of Ogg one after the other last as long as all of them", () => {
  const page = (flags: number, granule: number, content: number[]) => {
    const count = [granule & 255, granule >>> 8 & 255, granule >>> 16 & 255, 0, 0, 0, 0, 0];
    const head = [...letters("OggS"), 0, flags, ...count, ...words(7, 0, 0), 1, content.length];
    return [...head, ...content];
  };
  const link = (seconds: number) => [
    ...page(2, 0, [...letters("OpusHead"), 1, 1, ...Array(9).fill(0)]),
    ...page(4, seconds * 48_000, Array(200).fill(0)),
  ];
  assert.equal(secondsOf(Uint8Array.from([...link(60), ...link(30), ...link(1)])), 91);
});

Deno.test("Ogg files last as long as their packets, whatever their pages count", () => {
  const file = sound("opus", 6, "a test");
  const pages = new DataView(file.buffer, file.byteOffset);
  const text = new TextDecoder("latin1").decode(file);
  for (let at = 0; at >= 0; at = text.indexOf("OggS", at + 1)) {
    if (pages.getBigInt64(at + 6, true) > 0n) pages.setBigInt64(at + 6, 1n, true);
  }
  const seconds = secondsOf(file);
  assert.ok(Math.abs(seconds - 6) < 0.5, `${seconds}`);
});

Deno.test("an Ogg file of more pages than any recording has is measured by its bytes", () => {
  const opusHead = [...letters("OpusHead"), 1, 1, ...Array(9).fill(0)];
  const first = [
    ...letters("OggS"),
    0,
    2,
    ...words(0, 0, 7, 0, 0),
    1,
    opusHead.length,
    ...opusHead,
  ];
  // Each begins a stream of an unknown kind.
  const page = [...letters("OggS"), 0, 2, ...Array(21).fill(0)];
  const file = new Uint8Array(first.length + page.length * 1_000_000);
  file.set([...first, ...page]);
  for (let end = first.length + page.length; end < file.length; end += end - first.length) {
    file.copyWithin(end, first.length, end);
  }
  assert.equal(secondsOf(file), file.length / 4000);
});

Deno.test("a recording whose head doesn't state its length is neither free nor endless", () => {
  const seconds = (file: Uint8Array<ArrayBuffer>) => {
    const one = reader(file);
    one.whole("Hello.", "text/plain");
    return [
      one.outcome({ isComplete: true, price: byMinute })!.usage.seconds,
      boundOfRequest(transcriptions, request(file)).seconds,
    ];
  };
  assert.deepEqual(seconds(mp4({})), [7, 7]);
  // As Safari records, where only the fragments say how many samples there are.
  assert.deepEqual(seconds(mp4({ head: 0, more: box("mvex", words(0, 0)) })), [10, 40]);
  for (const unknown of [0, 0xffff_ffff]) {
    assert.deepEqual(secondsOf(mp4({ head: unknown })), 7.04);
  }
  const streamed = Uint8Array.from(sound("wav", 6, "a test"));
  const data = new TextDecoder("latin1").decode(streamed.subarray(0, 200)).indexOf("data");
  streamed.fill(0, data + 4, data + 8);
  assert.deepEqual(seconds(streamed), [6, 6]);
});

Deno.test("a stream's last event has the whole text and the usage; what came before it adds up", () => {
  const streamed = reader();
  assert.equal(streamed.outcome(whole), undefined);
  for (const word of ["Hel", "lo."]) {
    assert.deepEqual(streamed.event(eventOf({ type: "transcript.text.delta", delta: word })), {});
  }
  const cut = streamed.outcome({ isComplete: false, price: undefined })!;
  assert.deepEqual(JSON.parse(cut.recordText!), { text: "Hello." });
  assert.equal(cut.basis, "estimated");
  const done = { type: "transcript.text.done", text: "Hello.", usage: tokens };
  assert.deepEqual(streamed.event(eventOf(done)), { isLast: true });
  const { recordText, basis, usage } = streamed.outcome(whole)!;
  assert.deepEqual(JSON.parse(recordText!), { text: "Hello.", usage: tokens });
  assert.deepEqual([basis, usage.input, usage.output], ["reported", 64, 12]);
});

Deno.test("an error among events is reported, garbage is skipped", () => {
  const streamed = reader();
  const { error } = streamed.event(eventOf({ error: { message: "Overloaded.", code: "429" } }));
  assert.deepEqual([error!.message, error!.status], ["Overloaded.", 429]);
  for (const data of ["", "{", "[]", "7"]) assert.deepEqual(streamed.event(eventOf(data)), {});
  assert.equal(streamed.outcome(whole), undefined);
});

for (const text of ["", "{", "null", "[]"]) {
  Deno.test(`JSON of '${text}' is no answer, and bytes are none`, () => {
    const isNone = (thrown: unknown) =>
      thrown instanceof Fault && thrown.code === "upstream_invalid_response";
    const none = reader();
    assert.throws(() => none.whole(text, "application/json"), isNone);
    assert.equal(none.outcome({ ...whole, isComplete: false }), undefined, "it costs nothing");
    assert.throws(() => reader().bytes(new Uint8Array(1), "audio/wav"), isNone);
  });
}

Deno.test("a usage without numbers tells nothing", () => {
  for (const raw of [null, [], "x", {}, { seconds: -1 }, { seconds: "7" }]) {
    assert.equal(readTranscriptUsage(raw), undefined, JSON.stringify(raw));
  }
});

Deno.test("by the token a report that names none is an estimate of the sound, and not free", () => {
  const byToken = priceOf({ input: 2_500_000n, output: 10_000_000n } as never);
  for (
    const usage of [
      { type: "duration", seconds: 6 },
      { type: "duration", seconds: 1e308 },
      { type: "tokens", input_tokens: 0, output_tokens: 0 },
      { type: "duration", seconds: 6, cost: 0.01 },
    ]
  ) {
    const one = reader();
    one.whole(JSON.stringify({ text: "Hello.", usage }), "application/json");
    const { usage: { input, output }, basis } = one.outcome({
      ...{ isComplete: true, price: byToken },
      ignoresCost: true,
    })!;
    assert.equal(basis, "estimated");
    assert.ok(input >= 60 && Number.isSafeInteger(input) && output > 0, `${input}, ${output}`);
  }
});

Deno.test("by the minute a cost that isn't believed reports nothing", () => {
  const basis = (ignoresCost: boolean) => {
    const answered = reader();
    const usage = { input_tokens: 64, cost: 0.01 };
    answered.whole(JSON.stringify({ text: "Hello.", usage }), "application/json");
    return answered.outcome({ isComplete: true, price: byMinute, ignoresCost })!.basis;
  };
  assert.deepEqual([basis(false), basis(true)], ["reported", "estimated"]);
});

Deno.test("of a half report of a transcript, the other half is estimated", () => {
  const price = priceOf({ input: 5_000_000n, output: 40_000_000n } as never);
  const billed = (usage: unknown, text = "Good morning to everybody") => {
    const reader = readerOf(transcriptions, { model: "m" });
    reader.whole(JSON.stringify({ text, usage, duration: 60 }), "application/json");
    const { usage: { input, output }, basis } = reader.outcome({ isComplete: true, price })!;
    return { input, output, basis };
  };
  const silent = billed(undefined);
  assert.deepEqual([silent.input > 100, silent.output > 3], [true, true]);
  for (const missing of [undefined, null]) {
    const noInput = { input_tokens: missing, output_tokens: 9 };
    assert.deepEqual(billed(noInput), { ...silent, output: 9 });
    const noOutput = { input_tokens: 70, output_tokens: missing };
    assert.deepEqual(billed(noOutput), { ...silent, input: 70 });
    assert.deepEqual(billed(noOutput, ""), { input: 70, output: 0, basis: "reported" });
    assert.deepEqual(billed({ ...noInput, total_tokens: 90 }), {
      ...{ input: 81, output: 9, basis: "reported" },
    });
  }
});

Deno.test("a streamed transcript whose text comes only with its last event isn't free", () => {
  const price = priceOf({ input: 5_000_000n, output: 40_000_000n } as never);
  const billed = (deltas: readonly string[], usage?: unknown) => {
    const reader = readerOf(transcriptions, { model: "m" });
    for (const delta of deltas) reader.event(eventOf({ type: "transcript.text.delta", delta }));
    const text = "Good morning to everybody";
    reader.event(eventOf({ type: "transcript.text.done", text, usage }));
    return reader.outcome({ isComplete: true, price })!.usage.output;
  };
  for (const usage of [undefined, { input_tokens: 70 }]) {
    const said = billed(["Good morning", " to everybody"], usage);
    assert.ok(said > 3);
    assert.equal(billed([], usage), said);
  }
});
