/** A tool search that the caller runs itself, as Codex and OpenAI's agents library do. */
import assert from "@std/assert";
import { callEvents, checkCall, contextOf } from "../../../../tests/support/responses_fixtures.ts";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import type { ToolCallPart, ToolResultPart } from "../../kernel/canonical_request.ts";
import { decodeRequest } from "./request_decoder.ts";
import { createStreamEncoder } from "./stream_encoder.ts";

const parameters = { type: "object", properties: { query: { type: "string" } } };
const offered = { type: "tool_search", execution: "client", description: "Finds.", parameters };
const lookup = { type: "function", name: "lookup", defer_loading: true, parameters };
const call = {
  ...{ type: "tool_search_call", id: "tsc_1", status: "completed" },
  ...{ call_id: "call_1", execution: "client", arguments: { query: "dict" } },
};
const found = {
  ...{ type: "tool_search_output", call_id: "call_1", execution: "client", status: "completed" },
  tools: [{ type: "namespace", name: "mcp__dict", tools: [lookup] }, { ...lookup, name: "other" }],
};

function decode(input: readonly unknown[], tools: readonly unknown[] = [offered]) {
  return finish(
    decodeRequest({ model: "m", input: [{ role: "user", content: "q" }, ...input], tools }),
  );
}

Deno.test("the caller's own tool search is a function, its calls and results are that function's", () => {
  const { tools, turns, unsupported } = decode([call, found]);
  assert.deepEqual(unsupported, []);
  assert.deepEqual(
    tools.map(({ name, description }) => [name, description]),
    [["tool_search", "Finds."], ["mcp__dict__lookup", undefined], ["other", undefined]],
  );
  assert.deepEqual(turns.slice(1).map(({ parts }) => parts), [
    [{
      ...{ type: "tool-call", id: "call_1", name: "tool_search", custom: false },
      ...{ arguments: '{"query":"dict"}', path: "input[1]" },
    }],
    [{
      ...{ type: "tool-result", callId: "call_1", isError: false, path: "input[2]" },
      parts: [
        { type: "text", text: "Tool mcp__dict__lookup is loaded.", path: "input[2]" },
        { type: "text", text: "Tool other is loaded.", path: "input[2]" },
      ],
    }],
  ]);
  const nothing = decode([call, { ...found, tools: [] }]).turns.at(-1);
  assert.match(JSON.stringify(nothing), /No tool was found/);
  const hosted = [{ type: "mcp", server_label: "x" }, { ...lookup, name: "other" }];
  const mixed = decode([call, { ...found, tools: hosted }]);
  assert.match(JSON.stringify(mixed.turns.at(-1)), /"text":"Tool other is loaded."/);
  assert.deepEqual(mixed.unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[2].tools[0]", "meaning"],
  ]);
});

Deno.test("its cache marks are carried, its arguments too where a model left them incomplete", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const cut = '{"query":';
  const { tools, turns, unsupported } = decode(
    [{ ...call, ...mark, arguments: cut, created_by: "u" }, { ...found, ...mark }],
    [{ ...offered, ...mark, scope: "all" }],
  );
  const [called, result] = turns.slice(1).map(({ parts }) => parts[0]);
  assert.equal((called as ToolCallPart).arguments, cut);
  for (const marked of [tools[0]!, called as ToolCallPart, result as ToolResultPart]) {
    assert.ok(marked.cache);
  }
  // Fields that other vendors don't know are reported.
  assert.deepEqual(unsupported.map(({ path }) => path), ["tools[0].scope"]);
});

Deno.test("a tool search by the vendor is left out, and so are its calls", () => {
  const { tools, turns, unsupported } = decode([
    { ...call, call_id: null, execution: "server" },
    { ...found, call_id: null, execution: "server" },
  ], [{ type: "tool_search" }, lookup]);
  assert.deepEqual(tools.map(({ name }) => name), ["lookup"]);
  assert.equal(turns.length, 1);
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[1]", "hint"],
    ["input[2]", "hint"],
    ["tools[0]", "hint"],
    ["tools[1].defer_loading", "hint"],
  ]);
});

Deno.test("a model's call of the tool search is an item of its kind, whole and streamed", () => {
  // A function of the caller has the name already.
  const taken = { type: "function", name: "tool_search", parameters };
  for (
    const [tools, search] of [[[offered], "tool_search"], [[offered, taken], undefined]] as const
  ) {
    const request = decode([], tools);
    const name = request.tools[0]!.name;
    if (search) assert.equal(name, search);
    else assert.notEqual(name, "tool_search");
    const frames = checkCall(request, ['{"query":', '"dict"}'], {
      call,
      opened: { arguments: {} },
    });
    assert.ok(!frames.includes("function_call"), frames);
  }
});

Deno.test("a tool choice may name a tool search, the caller's or the vendor's", () => {
  const search = { type: "tool_search" };
  const named = { type: "function", name: "lookup" };
  const allowed = { type: "allowed_tools", mode: "required", tools: [named, search] };
  const read = (tool: object, tool_choice: object) => {
    const { toolChoice, unsupported } = finish(
      decodeRequest({ model: "m", input: "q", tools: [tool, lookup], tool_choice }),
    );
    return [
      toolChoice?.names,
      unsupported.flatMap(({ path, weight }) => path.startsWith("tool_choice") ? [weight] : []),
    ];
  };
  assert.deepEqual(read(offered, search), [["tool_search"], []]);
  assert.deepEqual(read(offered, allowed), [["lookup", "tool_search"], []]);
  assert.deepEqual(read(search, allowed), [["lookup"], ["hint"]]);
});

Deno.test("the failed response has what there was of a tool search's arguments", () => {
  const encoder = createStreamEncoder({ ...contextOf(), request: decode([]) });
  const events = callEvents("tool_search", ['{"que']).slice(0, 3);
  const frames = events.map((event) => encoder.encode(event)).join("") +
    encoder.fail(new Fault("upstream_stream_truncated"));
  assert.match(frames, /"status":"failed".*"arguments":"{\\"que"/);
});
