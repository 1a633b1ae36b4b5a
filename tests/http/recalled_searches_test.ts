/** Searches of Anthropic's that a responses client sends back as items of its own dialect. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { messagesAnswer, startTodaysVendors } from "../support/todays_vendors.ts";

const world = shared(startTodaysVendors);

const path = "/chat/v1/responses";
const asked = {
  model: "anthropic/claude-haiku-4-5",
  tools: [{ type: "web_search" }, { type: "function", name: "f", parameters: {} }],
};
const question = { role: "user", content: "Search, then call f." };
const found = [{
  ...{ type: "web_search_result", title: "A", url: "https://a.example" },
  ...{ encrypted_content: "sealed", page_age: null },
}];
const search = (id: string) => [
  { type: "server_tool_use", id, name: "web_search", input: { query: id } },
  { type: "web_search_tool_result", tool_use_id: id, content: found },
];
const call = { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } };

/** The first answer's items, and the question that goes on with them. */
async function searched() {
  const content = [...search("srvtoolu_1"), ...search("srvtoolu_2"), call];
  world().play((exchange) =>
    exchange.answer(200, { ...messagesAnswer, content, stop_reason: "tool_use" })
  );
  const first = await world().post(path, { ...asked, input: [question] });
  const { output } = await first.json() as { output: { type: string; call_id?: string }[] };
  assert.deepEqual(output.map(({ type }) => type), [
    "web_search_call",
    "web_search_call",
    "function_call",
  ]);
  world().play();
  const { call_id } = output.at(-1)!;
  const result = { type: "function_call_output", call_id, output: "1" };
  return { content, output, input: [question, ...output, result] };
}

const strict = { "x-translation-mode": "strict" };

Deno.test("searches that are sent back from the store are no loss, also in strict mode", async () => {
  const { content, input } = await searched();
  for (const headers of [{}, strict]) {
    const second = await world().post(path, { ...asked, input }, headers);
    assert.equal(second.status, 200, await second.text());
    assert.equal(second.headers.get("x-translation-loss"), null);
    assert.deepEqual(JSON.parse(world().last().body).messages[1].content, content);
  }
});

Deno.test("searches that aren't in the store are a loss: another vendor's, another turn's, alone", async () => {
  const { input, output } = await searched();
  const ofOther = { ...output[0], id: "ws_other" };
  const unknown = output.map((item) =>
    item.type === "function_call" ? { ...item, call_id: "call_unknown" } : item
  );
  const result = { type: "function_call_output", call_id: "call_unknown", output: "1" };
  const rows: [string, object[]][] = [
    ["input[5]", [...input, ofOther, question]],
    ["input[1],input[2]", [question, ...unknown, result]],
    ["input[1]", [question, ofOther, question]],
  ];
  for (const [lost, input] of rows) {
    const answer = await world().post(path, { ...asked, input });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), lost);
    const refused = await world().post(path, { ...asked, input }, strict);
    const { error } = await refused.json();
    assert.deepEqual([refused.status, error.param], [400, lost.split(",")[0]]);
  }
});
