import assert from "@std/assert";
import { Random } from "../../../tests/support/random.ts";
import { base64Source, mediaSource, plainMime, standardBase64 } from "./media_source.ts";

const png = "iVBORw0KGgoAAAANSUhEUg==";

Deno.test("data addresses in every spelling give plain base64 and a plain type", () => {
  const cases: [string, string, string][] = [
    [`data:image/png;base64,${png}`, "image/png", png],
    [`data:IMAGE/PNG;charset=x;base64,${png}`, "image/png", png],
    [`data:image/jpg;base64,/9j/4AAQ`, "image/jpeg", "/9j/4AAQ"],
    [`data:;base64,${png}`, "image/png", png],
    [`data:application/octet-stream;base64,${png}`, "image/png", png],
    ["data:text/plain,a%20b", "text/plain", btoa("a b")],
    ["data:text/plain;base64,YWI", "text/plain", "YWI="],
    ["data:text/plain;base64,YW\nI=", "text/plain", "YWI="],
    ["data:text/plain;base64,-_8=", "text/plain", "+/8="],
  ];
  for (const [address, mimeType, data] of cases) {
    assert.deepEqual(mediaSource(address), { type: "base64", mimeType, data }, address);
  }
});

Deno.test("an image's bytes are believed before its type", () => {
  assert.equal(base64Source(png, "image/jpeg").mimeType, "image/png");
  assert.equal(base64Source(png, undefined).mimeType, "image/png");
  assert.equal(base64Source("AAAA", "image/webp").mimeType, "image/webp");
  assert.equal(base64Source("AAAA", undefined).mimeType, "application/octet-stream");
});

Deno.test("any other address stays one", () => {
  assert.deepEqual(mediaSource("https://a.example/x"), {
    type: "url",
    url: "https://a.example/x",
    mimeType: undefined,
  });
});

Deno.test("a text without a scheme is no address", () => {
  for (const text of [png, "/9j/4AAQ", "a.example/x.png", ""]) {
    assert.equal(mediaSource(text), undefined, text);
  }
});

Deno.test("what is no base64 is refused", () => {
  for (const text of ["a", "a*b=", "%zz"]) assert.equal(standardBase64(text), undefined, text);
  assert.equal(mediaSource("data:image/png;base64"), undefined);
  assert.equal(plainMime(" Text/HTML ; charset=utf-8"), "text/html");
  assert.equal(plainMime("text/" + "x".repeat(20_000)).length, 255);
});

Deno.test("the check by decoding agrees with the pattern of base64", () => {
  const random = new Random(4);
  const long = 64 * 1024;
  const marks = ["", "=", "==", "===", "A", "-", " ", "\n", "é", "%41"];
  const mark = () => marks[random.below(marks.length)]!;
  for (let round = 0; round < 400; round++) {
    const length = [0, 4, long, 2 * long][random.below(4)]! + random.below(9);
    const at = [0, random.below(length + 1), Math.min(long, length), length][random.below(4)]!;
    const whole = "Ab+/".repeat(long).slice(0, length);
    const text = whole.slice(0, at) + mark() + whole.slice(at) + mark();
    assert.equal(standardBase64(text), byPattern(text), `${text.length} at ${at}`);
  }
});

function byPattern(text: string): string | undefined {
  const plain = /%/.test(text) ? decodeURIComponent(text) : text;
  const standard = plain.replace(/\s+/g, "").replaceAll("-", "+");
  const bare = standard.replace(/={1,2}$/, "");
  if (!/^[A-Za-z0-9+/]*$/.test(bare) || bare.length % 4 === 1) return undefined;
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
}
