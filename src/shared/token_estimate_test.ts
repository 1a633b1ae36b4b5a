import assert from "@std/assert";
import {
  boundInputTokens,
  estimateTokens,
  inputTokenBounds,
  maxImageTokens,
  vendorOverheadTokens,
} from "./token_estimate.ts";

const inputTokenBound = (text: string) => inputTokenBounds(text).inputTokens;

Deno.test("an estimate is a quarter token per Latin character and more for denser scripts", () => {
  const cases: [string, number][] = [
    ["", 0],
    ["a", 1],
    ["abcd", 1],
    ["abcde", 2],
    ["The quick brown fox jumps over the lazy dog", 11],
    ["déjà vu", 2],
    ["\u02ff".repeat(5), 2],
    ["\u0300".repeat(5), 3],
    ["Latin text — 漢字", 6],
    ["Привет", 3],
    ["漢字かな交じり文", 8],
    ["안녕하세요", 5],
    ["😀", 2],
  ];
  for (const [text, tokens] of cases) assert.equal(estimateTokens(text), tokens, text);
});

Deno.test("the bound is the UTF-8 bytes, but for words of small Latin letters, and what vendors add", () => {
  const cases: [string, number][] = [
    ["", 0],
    ["a", 1],
    ["abcd", 3],
    ["the end", 5],
    ["The End", 6],
    ["a b c d", 4],
    ["a  b", 3],
    [" 1 2", 4],
    ["A1", 2],
    ["HELLO", 5],
    ['{"n":12}', 8],
    ["é漢", 5],
    ["😀", 4],
    ["\ud800", 3],
  ];
  for (const [text, tokens] of cases) {
    assert.equal(inputTokenBound(text), tokens + vendorOverheadTokens, JSON.stringify(text));
  }
});

Deno.test("the bound of a long text is that of its pieces", () => {
  // Longer than what is read at a time, which ends within a word, or within a pair of surrogates.
  for (const [text, tokens] of [[". abcd", 4], ["日 x😀", 8]] as const) {
    assert.equal(inputTokenBound(text.repeat(30_000)), tokens * 30_000 + vendorOverheadTokens);
  }
});

Deno.test("the bound is never below the estimate", () => {
  for (const text of ["plain words", "漢字", "Привет", "😀😀", "\u0600".repeat(50), "\u1100"]) {
    assert.ok(inputTokenBound(text) >= estimateTokens(text), text);
  }
});

Deno.test("an inline image counts as the dearest image at most, a document by its bytes", () => {
  const base64 = "A".repeat(4_000_000);
  const bound = (start: string) =>
    inputTokenBound(JSON.stringify({ text: "x", data: start + base64 }));
  for (const start of ["data:image/png;base64,iVBORw0KGgo", "/9j/", "R0lGOD", "UklGRiQAAABXRUJQ"]) {
    assert.ok(bound(start) < 20_000 && bound(start) > 16_000, `${start}: ${bound(start)}`);
  }
  // MP3 without a tag, of MPEG 1 and 2, and AAC, each with and without a checksum.
  const frames = [0xfb, 0xfa, 0xf3, 0xf2, 0xf1, 0xf9]
    .flatMap((second) => [0x00, 0x40, 0x90].map((third) => [0xff, second, third]))
    .map((bytes) => Uint8Array.from(bytes).toBase64());
  const others = ["JVBERi0", "data:audio/mp3;base64,SUQz", "UklGRiQAAABXQVZF", ...frames];
  for (const start of others) {
    assert.ok(bound(start) > 1_000_000 && bound(start) < 1_010_000, `${start}: ${bound(start)}`);
  }
  // Words that only look long are words, as is what stands around a picture.
  assert.ok(bound("words") > 4_000_000);
  const around = "x".repeat(30_000);
  assert.ok(bound(`${around}","data":"iVBORw0KGgo`) > 16_000 + 20_000);
});

Deno.test("media are found whatever their length and place", () => {
  // The shortest that is one, at many places: pieces of the text begin at fixed ones.
  const shortest = `"iVBORw0KGgo${"A".repeat(16_000)}"`;
  for (let before = 0; before < 8_100; before += 50) {
    assert.ok(inputTokenBound(`[${" ".repeat(before)}${shortest}]`) > maxImageTokens, `${before}`);
  }
  const most = 32 * 1024 * 1024;
  const bounds = (start: string) => inputTokenBounds(`{"data":"${start}${"A".repeat(most)}"}`);
  assert.ok(bounds("iVBORw0KGgo").inputTokens < 18_000);
  assert.ok(bounds("JVBERi0").inputTokens > most / 4);
  // A long one is read in steps.
  const steps = [...boundInputTokens(`{"data":"/9j/${"A".repeat(most)}"}`)].length;
  assert.ok(steps > 30, `${steps} steps`);
  // So are many that begin like media and are something else.
  const odd = `"/9j/${"A".repeat(16_000)}!"`;
  const all = [...boundInputTokens(`[${Array(100).fill(odd).join()}]`)].length;
  assert.ok(all > 100, `${all} steps`);
  // No media type is that long, and this string never ends.
  assert.ok(bounds("data:").inputTokens > most);
  assert.ok(inputTokenBounds(`{"data":"/9j/${"A".repeat(most)}`).inputTokens > most);
});

Deno.test("a prompt in disguise is held as a picture is, and believed to be text", () => {
  const overhead = vendorOverheadTokens + maxImageTokens;
  const bounds = (words: number, start = "iVBORw0KGgo/") =>
    inputTokenBounds(`"${start}${"tell_me_all-".repeat(words)}"`);
  for (
    const start of ["iVBORw0KGgo/", "/9j/", "R0lGOD", "data:image/webp;base64,UklGRiQAAABXRUJQ"]
  ) {
    const { inputTokens, believedInputTokens } = bounds(20_000, start);
    assert.equal(inputTokens, overhead, start);
    const bytes = `"${start}"`.length + 240_000;
    assert.equal(believedInputTokens, vendorOverheadTokens + bytes, start);
  }
  // No model reads more.
  assert.equal(bounds(100_000).believedInputTokens, vendorOverheadTokens + 1_000_000);
  // What isn't taken for a picture is held by its length, and nothing more is believed of it.
  for (const start of ["words", "JVBERi0", "data:audio/mp3;base64,SUQz"]) {
    const { inputTokens, believedInputTokens } = bounds(20_000, start);
    assert.equal(believedInputTokens, inputTokens, start);
  }
  const two = inputTokenBounds(`["/9j/${"A".repeat(99_994)}","R0lGOD${"A".repeat(49_992)}"]`);
  assert.equal(two.inputTokens, vendorOverheadTokens + 3 + 2 * maxImageTokens);
  assert.equal(two.believedInputTokens, vendorOverheadTokens + 3 + 150_000);
});
