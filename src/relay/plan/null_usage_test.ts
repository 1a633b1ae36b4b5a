import assert from "@std/assert";
import { nullUsageRemover } from "./null_usage.ts";

const withoutIt = (text: string) =>
  new TextDecoder().decode(nullUsageRemover()(new TextEncoder().encode(text)));

Deno.test("a chat stream whose caller did not ask for usage has no null usage", () => {
  const chunks = [
    'data: {"id":"1","choices":[],"usage":null,"obfuscation":"x"}\n\n',
    'data: {"id":"1","choices":[{"delta":{"content":"né 😀"}}], "usage": null}\n\n',
  ];
  assert.equal(
    withoutIt(chunks.join("")),
    'data: {"id":"1","choices":[],"obfuscation":"x"}\n\n' +
      'data: {"id":"1","choices":[{"delta":{"content":"né 😀"}}]}\n\n',
  );
});

Deno.test("nothing else of a chat stream is changed", () => {
  for (
    const payload of [
      { choices: [{ delta: { content: 'x,"usage":null' } }] },
      { choices: [{ delta: { content: '\\,"usage":null,\\"' } }] },
      { choices: [], usage: { prompt_tokens: 1 } },
      { choices: [], my_usage: null },
    ]
  ) {
    const text = `data: ${JSON.stringify(payload)}\n\n`;
    assert.equal(withoutIt(text), text);
  }
});

Deno.test("a stream without null usage is no longer searched after a few pieces", () => {
  const [plain, withNull] = ["data: {}\n\n", 'data: {"id":"1","usage":null}\n\n']
    .map((text) => new TextEncoder().encode(text)) as [Uint8Array, Uint8Array];
  const searched = nullUsageRemover();
  for (let piece = 0; piece < 7; piece++) searched(plain);
  assert.notStrictEqual(searched(withNull), withNull);
  for (let piece = 0; piece < 20; piece++) searched(plain);
  assert.notStrictEqual(searched(withNull), withNull);

  const waiting = nullUsageRemover();
  for (let piece = 0; piece < 20; piece++) waiting(new TextEncoder().encode(": keep-alive\n\n"));
  assert.notStrictEqual(waiting(withNull), withNull);

  const unsearched = nullUsageRemover();
  for (let piece = 0; piece < 8; piece++) unsearched(plain);
  assert.strictEqual(unsearched(withNull), withNull);
});
