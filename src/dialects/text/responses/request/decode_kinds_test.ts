import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { decodeRequest } from "../request_decoder.ts";

const user = { role: "user", content: "hi" };
const decode = (body: Record<string, unknown>) => finish(decodeRequest({ model: "m", ...body }));

Deno.test("kinds that came after this was written are named, not refused", () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ input: [user, { type: "zebra" }] }, "input[1]"],
    [{ input: [user, { type: "configuration_update", tools: [] }] }, "input[1]"],
    [{ input: [{ role: "user", content: [{ type: "input_smell" }] }] }, "input[0].content[0]"],
    [{ input: [user], text: { format: { type: "xml" } } }, "text.format"],
    [{ input: [user], tools: [{ type: "nose" }] }, "tools[0]"],
    [{ input: [user], tool_choice: { type: "nose" } }, "tool_choice"],
  ];
  for (const [body, path] of cases) {
    const { unsupported: foreign } = decode(body);
    assert.deepEqual(foreign.map((one) => [one.path, one.weight]), [[path, "meaning"]], path);
  }
});
