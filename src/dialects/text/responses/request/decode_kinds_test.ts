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

Deno.test("an item without a type is a reference by its id, else a message that lacks its role", () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ content: "hi" }, /^input\[1\]\.role: /],
    [{ type: "item_reference" }, /^input\[1\]\.id: /],
    [{ id: "msg_1" }, /^input\[1\]\.id: no stored item has the id 'msg_1'\.$/],
  ];
  for (const [item, message] of cases) {
    assert.throws(() => decode({ input: [user, item] }), { message });
  }
});

Deno.test("of web searches that items offer again, the last one counts", () => {
  const search = { type: "web_search" };
  const again = { type: "additional_tools", role: "developer", tools: [search] };
  const cached = { ...search, external_web_access: false };
  const { webSearch, unsupported } = decode({ input: [again, user, again], tools: [cached] });
  assert.deepEqual([webSearch?.path, unsupported], ["input[2].tools[0]", []]);
});

Deno.test("xAI's record of its search of X is no call of the caller's", () => {
  const search = { type: "custom_tool_call", call_id: "xs_call_1", name: "x_keyword_search" };
  const { turns, unsupported } = decode({ input: [user, { ...search, input: "{}" }, user] });
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [["input[1]", "hint"]]);
  assert.deepEqual(turns.flatMap(({ parts }) => parts.map(({ type }) => type)), ["text", "text"]);
});
