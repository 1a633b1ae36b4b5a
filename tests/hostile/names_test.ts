/** Names that one caller writes never change what is read of another's call (decision 0926). */
import assert from "@std/assert";
import { parseExactly } from "../../src/base/exact_json.ts";
import { dialectNames, startFourVendors } from "../support/four_vendors.ts";

/** A tool call's arguments, as vendors write them in Python. */
const written = String.raw`{"city_to_find":"Bern","gr\u00f6\u00dfe":5}`;
const read = { city_to_find: "Bern", größe: 5 };
/** The runtime's parser takes the name above for the one here, once it has seen it. */
const confusing = String.raw`{"city_to_find":"x","gr\\u0":1}`;

const answers = {
  messages: `{"id":"m","type":"message","role":"assistant","model":"model","stop_reason":"tool_use",
    "content":[{"type":"tool_use","id":"t1","name":"find","input":${written}}],
    "usage":{"input_tokens":10,"output_tokens":5}}`,
  generate: `{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model",
    "parts":[{"functionCall":{"name":"find","args":${written}}}]}}],
    "usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}`,
};

Deno.test("a tool call's arguments have the vendor's names, whatever others have sent", async () => {
  await using service = await startFourVendors();
  const sent = String.raw`{"model":"up-chat/model","messages":[],"metadata":${confusing}}`;
  for (const vendor of ["messages", "generate"] as const) {
    for (const caller of dialectNames) {
      await (await service.post("/chat/v1/chat/completions", sent)).text();
      const response = await service.call({
        ...{ caller, vendor, stream: false },
        script: (exchange) => exchange.answer(200, answers[vendor]),
      });
      const found = argumentsIn(parseExactly(await response.text()));
      assert.deepEqual(found, [read], `${caller} from ${vendor}`);
    }
  }
});

/** The arguments of all tool calls in an answer of any dialect. */
function argumentsIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (!/^(arguments|input|args)$/.test(name)) return argumentsIn(member);
    return typeof member === "string" ? [parseExactly(member)] : [member];
  });
}
