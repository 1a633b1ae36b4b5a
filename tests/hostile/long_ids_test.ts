/**
 * The engine compares long strings of one length with one another where they are looked up (see
 * `maxNameUnits`). Reading vendors' answers takes linear time for these too, and so do the texts of
 * requests that aren't limited as ids and names are (`refuseLongIdentifiers`).
 */
import { finish } from "../../src/base/steps.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import { dialects, type Name } from "../dialects/translated.ts";
import { assertLinear, copies, type Work } from "./cpu.ts";

const answers: Readonly<Record<string, readonly [Name, (ids: readonly string[]) => unknown]>> = {
  "ids of calls": ["chat", (ids) => ({
    choices: [{
      message: { tool_calls: ids.map((id) => ({ id, function: { name: "f", arguments: "{}" } })) },
    }],
  })],
  "ids of items": ["responses", (ids) => ({
    output: ids.map((id) => ({ type: "function_call", id, call_id: id, name: "f" })),
  })],
  "types of items": ["responses", (ids) => ({ output: ids.map((type) => ({ type })) })],
  "ids of containers": ["responses", (ids) => ({
    output: ids.map((container_id) => ({ type: "code_interpreter_call", container_id })),
    usage: { input_tokens: 1, output_tokens: 1 },
  })],
  "addresses of sources": ["generate", (ids) => ({
    candidates: [{
      content: { parts: [{ text: "abc" }] },
      groundingMetadata: {
        groundingChunks: ids.map((id) => ({ web: { uri: `https://a.example/${id}` } })),
      },
    }],
  })],
};

const pixel = "data:image/png;base64,iVBORw0KGgo=";

const requests: Readonly<Record<string, readonly [Name, (texts: readonly string[]) => unknown]>> = {
  "levels of detail": ["chat", (texts) => ({
    model: "m",
    messages: [{
      role: "user",
      content: texts.map((detail) => ({ type: "image_url", image_url: { url: pixel, detail } })),
    }],
  })],
  "ids in signatures": ["generate", (texts) => ({
    model: "m",
    contents: [{
      role: "model",
      parts: texts.map((id) => ({
        functionCall: { name: "f" },
        thoughtSignature: btoa(`call-id:${id}`),
      })),
    }],
  })],
};

Deno.test("long texts of one length, in answers and requests, take linear time", () => {
  const reading = Object.entries(answers).map(([name, [vendor, make]]) => {
    const read = (json: unknown) =>
      dialects.generate.encodeAnswer(foldEvents(finish(dialects[vendor].decodeAnswer(json, {}))));
    return [name, make, read] as const;
  });
  const translating = Object.entries(requests).map(([name, [caller, make]]) => {
    const translate = (json: unknown) => {
      const decoded = finish(dialects[caller].decodeRequest(json as { model: string }));
      const target = { model: "m", quirks: {}, maxOutputTokens: 100 };
      return finish(dialects.generate.encodeRequest(decoded, target));
    };
    return [name, make, translate] as const;
  });
  const rows = [...reading, ...translating].map(([name, make, act], row): [string, Work] => [
    name,
    // A hundred times as many characters: there must be many ids. No other row has their length.
    (chars) => {
      const before = "i".repeat(16_390 + 100 * row + Math.log2(chars));
      const ids = copies(chars * 100, 16_400, (index) => before + (10_000 + index));
      const text = JSON.stringify(make(ids));
      // Parsed each time: a text that was looked up once is found at once.
      return () => act(JSON.parse(text));
    },
  ]);
  assertLinear(rows, 131_072);
});
