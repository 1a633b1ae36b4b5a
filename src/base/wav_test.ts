import assert from "@std/assert";
import { pcmFormatOf, wavHeader } from "./wav.ts";

const mono = { sampleRate: 24_000, channels: 1 };

Deno.test("a header's sizes are exact where the length is known", () => {
  const view = new DataView(wavHeader(mono, 48_000).buffer);
  assert.equal(view.byteLength, 44);
  assert.equal(view.getUint32(4, true), 48_036);
  assert.equal(view.getUint32(40, true), 48_000);
  assert.equal(view.getUint32(24, true), 24_000);
  assert.equal(view.getUint32(28, true), 48_000);
});

Deno.test("a stream's header says 0xFFFFFFFF in both sizes", () => {
  const view = new DataView(wavHeader(mono, undefined).buffer);
  assert.equal(view.getUint32(4, true), 0xffff_ffff);
  assert.equal(view.getUint32(40, true), 0xffff_ffff);
});

Deno.test("rate and channels come from the type's parameters where it has them", () => {
  const cases = [
    ["audio/L16;codec=pcm;rate=24000", { sampleRate: 24_000, channels: 1 }],
    ["audio/L16; rate=16000; channels=2", { sampleRate: 16_000, channels: 2 }],
    ["audio/l16;Rate=48000", { sampleRate: 48_000, channels: 1 }],
    ["audio/L16;bitrate=9", mono],
    ["audio/L16;rate=0", mono],
    ["", mono],
  ] as const;
  for (const [type, expected] of cases) assert.deepEqual(pcmFormatOf(type, mono), expected, type);
});
