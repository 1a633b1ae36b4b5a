/**
 * The engine compares long strings of one length with one another where they are looked up (see
 * `maxNameUnits`). Reading vendors' answers takes linear time for these too.
 */
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

Deno.test("long ids of one length in an answer take linear time", () => {
  const rows = Object.entries(answers).map(([name, [vendor, make]], row): [string, Work] => [
    name,
    // A hundred times as many characters: there must be many ids. No other row has their length.
    (chars) => {
      const before = "i".repeat(16_390 + 100 * row + Math.log2(chars));
      const ids = copies(chars * 100, 16_400, (index) => before + (10_000 + index));
      const json: unknown = JSON.parse(JSON.stringify(make(ids)));
      return () => {
        const answer = foldEvents(dialects[vendor].decodeAnswer(json, {}));
        dialects.generate.encodeAnswer(answer);
      };
    },
  ]);
  assertLinear(rows, 131_072);
});
