import assert from "@std/assert";
import { answerMediaTokens, isSound, promptMediaTokens, wordsAndMedia } from "./media_estimate.ts";
import { finish } from "../base/steps.ts";

/** Base64 of a file that begins with these bytes and has so many. */
function file(start: string, bytes: number): string {
  const whole = start + "\0".repeat(bytes - start.length);
  return btoa(whole);
}

const png = "\x89PNG\r\n\x1a\n";
const prompts: [name: string, value: string, tokens: number][] = [
  ["a picture by address", `data:image/webp;base64,${file("RIFF", 90_000)}`, 1024],
  ["PNG", file(png, 90_000), 1024],
  ["JPEG", file("\xff\xd8\xff\xe0", 90_000), 1024],
  ["GIF", file("GIF89a", 90_000), 1024],
  ["WebP", file("RIFF\x01\x02\x03\x04WEBPVP8 ", 90_000), 1024],
  ["PDF, a page of 48 KB", file("%PDF-1.7", 48_000), 750],
  ["PDF by address", `data:application/pdf;base64,${file("x", 48_000)}`, 750],
  ["a text file by address", `data:text/markdown;base64,${file("x", 48_000)}`, 12_000],
  ["JSON by address", `data:application/json;base64,${file("{", 48_000)}`, 12_000],
  ["a document of another format", `data:application/msword;base64,${file("x", 48_000)}`, 750],
  ["a second of WAVE", file("RIFF\x01\x02\x03\x04WAVEfmt ", 48_000), 25],
  ["a second of MP3", file("ID3", 15_999), 25],
  ["a second of MP3 without a tag", file("\xff\xfb\x90", 15_999), 25],
  ["a second of MP3 of 24 kHz, as speech has", file("\xff\xf3\xc4", 15_999), 25],
  ["a second of sound by address", `data:audio/mpeg;base64,${file("x", 15_999)}`, 25],
  ["a second of video", file("\0\0\0\x18ftypmp42", 15_999), 25],
  ["sealed reasoning", file("gAAAAAB", 9_000), 0],
  ["an address of who knows what", "https://example.com/cat.png", 0],
  // Each of its ends was tried two hundred times: 16 MB stopped all callers for minutes.
  ["a type that is too long to be one", `data:image/${"a".repeat(16_000_000)},x`, 0],
];
for (const [name, value, tokens] of prompts) {
  Deno.test(`in a prompt: ${name}`, () => {
    assert.equal(promptMediaTokens(value), tokens);
    assert.equal(isSound(value), /WAVE|MP3|sound/.test(name));
  });
}

Deno.test("in an answer sound counts by its length, a picture as one", () => {
  const of = (media: "image" | "audio", mimeType: string) =>
    answerMediaTokens({ media, mimeType, chars: 64_000 });
  assert.equal(of("image", "image/png"), 1290);
  assert.equal(of("audio", "audio/L16;codec=pcm;rate=24000"), 25);
  assert.equal(of("audio", "audio/wav"), 25);
  assert.equal(of("audio", "audio/mpeg"), 75);
});

Deno.test("a cut answer's base64 is distinguished from its text, whatever quotes are in it", () => {
  const data = "A".repeat(5000);
  const words = '{"text":"He said \\"hi\\".","more":"' + "word ".repeat(400) + '","data":"';
  assert.deepEqual(finish(wordsAndMedia(`${words}${data}`)), { chars: words.length, pieces: 1 });
  assert.deepEqual(finish(wordsAndMedia(`${words}${data}"}`)), {
    chars: words.length + 2,
    pieces: 1,
  });
});

Deno.test("base64 counts as such from 1,001 characters on, wherever quotes are", () => {
  const run = (length: number) => "A".repeat(length);
  for (const [before, after] of [["", ""], ['"', '"'], ['a"'.repeat(600), `"${run(999)}`]]) {
    const others = before!.length + after!.length;
    assert.deepEqual(finish(wordsAndMedia(`${before}${run(1001)}${after}`)), {
      chars: others,
      pieces: 1,
    });
    const short = { chars: others + 1000, pieces: 0 };
    assert.deepEqual(finish(wordsAndMedia(`${before}${run(1000)}${after}`)), short);
  }
});
