import assert from "@std/assert";
import { summaryQuestion, summaryText } from "../../kernel/summary.ts";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalRequest } from "../../kernel/canonical_request.ts";
import { messages } from "./mod.ts";

type Json = Record<string, unknown>;

function decode(changes: Json): CanonicalRequest {
  return finish(messages.decodeRequest({
    model: "m",
    max_tokens: 10,
    messages: [{ role: "user", content: "Hi" }],
    ...changes,
  }));
}

function fault(changes: Json): unknown[] {
  try {
    decode(changes);
  } catch (thrown) {
    if (thrown instanceof Fault) {
      assert.ok(thrown.message.startsWith(`${thrown.param}: `), thrown.message);
      return [thrown.code, thrown.param];
    }
    throw thrown;
  }
  return assert.fail("no fault was thrown");
}

const png = "iVBORw0KGgo=";

Deno.test("tools that the conversation adds and takes away are those of its end", () => {
  const define = (name: string, more = {}) => ({ name, input_schema: { type: "object" }, ...more });
  const change = (type: string, tool: object) => ({ type, tool });
  const add = (definition: object) =>
    change("tool_addition", { type: "tool_definition", definition });
  const named = (name: string) => ({ type: "tool_reference", name });
  const system = (...content: object[]) => ({ role: "system", content });
  const user = { role: "user", content: "Hi" };
  const request = decode({
    tools: [define("a"), define("b", { description: "old" })],
    messages: [
      user,
      system(change("tool_removal", named("a")), add(define("c", { eager_input_streaming: true }))),
      user,
      system(add(define("b", { description: "new" })), change("tool_removal", named("c"))),
      system(change("tool_addition", named("a"))),
      system(change("tool_removal", { type: "mcp_toolset_reference", server_name: "s" })),
    ],
  });
  assert.deepEqual(request.tools.map(({ name, description, path }) => [name, description, path]), [
    ["b", "new", "messages[3].content[0].tool.definition"],
    ["a", undefined, "tools[0]"],
  ]);
  assert.deepEqual(request.turns.map(({ role }) => role), ["user", "user"]);
  assert.deepEqual(request.unsupported.map(({ path, weight }) => [path, weight]), [
    ["messages[1].content[1].tool.definition.eager_input_streaming", "hint"],
    ["messages[5].content[0]", "meaning"],
  ]);
});

Deno.test("tools that a summary of the conversation carries are offered too", () => {
  const define = (name: string) => ({ name, input_schema: { type: "object" } });
  const added = { type: "tool_definition", definition: define("c") };
  const tool_changes = [
    { type: "tool_removal", tool: { type: "tool_reference", name: "a" } },
    { type: "tool_addition", tool: added },
    { type: "tool_addition", tool: { type: "mcp_toolset_reference", mcp_server_name: "s" } },
  ];
  const request = decode({
    tools: [define("a"), define("b")],
    messages: [
      { role: "assistant", content: [{ type: "compaction", content: "So far.", tool_changes }] },
      { role: "user", content: "Go on" },
    ],
  });
  const path = "messages[0].content[0].tool_changes";
  assert.deepEqual(request.tools.map((tool) => [tool.name, tool.path]), [
    ["b", "tools[1]"],
    ["c", `${path}[1].tool.definition`],
  ]);
  assert.deepEqual(request.unsupported.map((one) => [one.path, one.weight]), [
    [`${path}[2]`, "meaning"],
  ]);
});

Deno.test("a request to compact asks for a summary in plain text, without tools", () => {
  const request = decode({
    messages: [{ role: "user", content: "1" }],
    tools: [{ name: "f", input_schema: { type: "object" } }],
    tool_choice: { type: "any" },
    stop_sequences: ["END"],
    output_config: { format: { type: "json_schema", schema: {} } },
    compaction: { type: "summarize", instructions: " " },
  });
  const { turns, toolChoice, stop, format, unsupported } = request;
  const [asked] = turns.at(-1)!.parts;
  assert.deepEqual(asked, { type: "text", text: summaryQuestion, path: "compaction" });
  assert.deepEqual(toolChoice, { mode: "none" });
  assert.deepEqual([stop, format, unsupported], [undefined, undefined, []]);
  assert.equal(decode({ messages: [], compaction: null }).asksForSummary, undefined);
  assert.throws(() => decode({ messages: [], compaction: { type: 1 } }), /compaction\.type/);
});

Deno.test("a summary of the conversation takes the place of all before it", () => {
  const user = (content: string) => ({ role: "user", content });
  const answer = (...content: object[]) => ({ role: "assistant", content });
  const text = (said: string) => ({ type: "text", text: said });
  const summary = (content: string | null) => ({ type: "compaction", content });
  const turnsOf = (...messages: object[]) =>
    decode({ messages }).turns.map(({ role, parts }) => [
      role,
      ...parts.map((part) => part.type === "text" && part.text),
    ]);
  const old = [user("1"), answer(summary("So far."), text("2")), user("3")];
  const turns = turnsOf(...old, answer(text("4"), summary("All."), text("5")), user("6"));
  assert.deepEqual(turns, [["user", summaryText("All.")], ["assistant", "5"], ["user", "6"]]);
  assert.deepEqual(turnsOf(...old, answer(summary(null), text("4"))), [
    ["user", summaryText("So far.")],
    ["assistant", "2"],
    ["user", "3"],
    ["assistant", "4"],
  ]);
  assert.deepEqual(turnsOf(user("1"), answer(summary("All.")), user("6")), [
    ["user", summaryText("All.")],
    ["user", "6"],
  ]);
});

Deno.test("settings are read with their paths in the caller's words", () => {
  const request = decode({
    stream: true,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 4,
    stop_sequences: ["END"],
    metadata: { user_id: "u", k: "v" },
    service_tier: "standard_only",
    tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
    thinking: { type: "enabled", budget_tokens: 2048 },
    output_config: { format: { type: "json_schema", schema: { type: "object" } } },
  });
  assert.deepEqual({ ...request, turns: [] }, {
    model: "m",
    stream: true,
    system: [],
    turns: [],
    tools: [],
    toolChoice: { mode: "required", names: ["f"] },
    parallelToolCalls: false,
    maxOutputTokens: 10,
    temperature: 0.5,
    topP: 0.9,
    topK: 4,
    stop: ["END"],
    format: { type: "json-schema", name: "output", schema: { type: "object" }, strict: true },
    reasoning: { budgetTokens: 2048, show: true },
    user: "u",
    serviceTier: "default",
    unsupported: [{ path: "metadata.k", value: "v", weight: "hint" }],
    paths: {
      toolChoice: "tool_choice",
      parallelToolCalls: "tool_choice.disable_parallel_tool_use",
      maxOutputTokens: "max_tokens",
      temperature: "temperature",
      topP: "top_p",
      topK: "top_k",
      stop: "stop_sequences",
      format: "output_config.format",
      reasoning: "thinking",
      user: "metadata.user_id",
      serviceTier: "service_tier",
    },
  });
});

Deno.test("null is not set, and a body for token counts needs no max_tokens", () => {
  const request = decode({
    max_tokens: undefined,
    temperature: null,
    tools: null,
    tool_choice: null,
    system: null,
    thinking: null,
    output_config: null,
    metadata: null,
    container: null,
  });
  assert.deepEqual(request.paths, {});
  assert.deepEqual(request.unsupported, []);
});

Deno.test("a null doesn't take the place of what the type of a tool stands for", () => {
  const tool = { type: "bash_20250124", name: "bash" };
  const nulls = { description: null, input_schema: null, cache_control: null };
  const [known, withNulls] = [tool, { ...tool, ...nulls }].map((one) =>
    finish(messages.decodeRequest({ model: "m", messages: [], tools: [one] })).tools
  );
  assert.ok(known?.[0]?.description && known[0].parameters);
  assert.deepEqual(withNulls, known);
});

Deno.test("every way of asking for thinking is an effort, a budget or none", () => {
  const reasoning = (thinking: Json | undefined, effort?: string) =>
    decode({ thinking, output_config: effort === undefined ? undefined : { effort } }).reasoning;
  assert.deepEqual(reasoning({ type: "adaptive" }), { show: true });
  assert.deepEqual(reasoning({ type: "adaptive", display: "omitted" }, "max"), {
    effort: "max",
    show: false,
  });
  assert.deepEqual(reasoning({ type: "disabled" }, "low"), { effort: "none" });
  assert.deepEqual(reasoning({ type: "between_tools" }), { effort: "none" });
  assert.deepEqual(reasoning(undefined, "high"), { effort: "high" });
  assert.equal(reasoning(undefined), undefined);
});

Deno.test("a system message within the conversation changes the effort, the last one counts", () => {
  const change = (effort: unknown) => ({ role: "system", output_config: { effort } });
  const user = { role: "user", content: "hi" };
  const read = (...more: unknown[]) =>
    decode({ output_config: { effort: "high" }, messages: [user, ...more] });
  const changed = read(change("max"), user, change("low"), change(null), user);
  assert.deepEqual(changed.reasoning, { effort: "low" });
  assert.equal(changed.paths.reasoning, "messages[3].output_config.effort");
  assert.deepEqual(changed.unsupported, []);
  assert.deepEqual(read(change(null), user).reasoning, { effort: "high" });
  assert.throws(() => read(change("tiny"), user), /messages\[1\].output_config.effort/);
  // Elsewhere it means nothing, and is named.
  const { reasoning, unsupported } = read({ ...user, ...change("low"), role: "user" });
  assert.deepEqual([reasoning, unsupported.length], [{ effort: "high" }, 1]);
});

Deno.test("what has no neutral form is unsupported: hints, and what changes the meaning", () => {
  const { unsupported, webSearch, turns } = decode({
    max_tokens: 0,
    speed: "fast",
    container: "c",
    mcp_servers: [],
    inference_geo: "eu",
    compaction: { type: "outline" },
    context_management: { edits: [] },
    cache_control: { type: "ephemeral" },
    tools: [
      { type: "web_search_20250305", name: "web_search" },
      { name: "f", input_schema: { type: "object" }, defer_loading: true, strict: true },
    ],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "a", citations: [] },
          {
            type: "document",
            source: { type: "text", data: "x" },
            context: "c",
            citations: { enabled: true },
          },
          { type: "search_result", source: "s", title: "t", citations: { enabled: true } },
          { type: "search_result", source: "s", title: "t", citations: { enabled: false } },
          { type: "container_upload", file_id: "f" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "server_tool_use", id: "s", name: "web_search", input: {} },
          { type: "web_search_tool_result", tool_use_id: "s", content: [] },
          { type: "text", text: "b" },
        ],
      },
    ],
  });
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["speed", "hint"],
    ["container", "meaning"],
    ["inference_geo", "meaning"],
    ["context_management", "hint"],
    ["messages[0].content[1].context", "hint"],
    ["messages[0].content[1].citations.enabled", "hint"],
    ["messages[0].content[2].citations.enabled", "hint"],
    ["tools[1].defer_loading", "hint"],
    ["messages[0].content[4]", "meaning"],
    ["messages[1].content[0]", "hint"],
    ["messages[1].content[1]", "hint"],
    ["compaction", "meaning"],
    ["max_tokens", "meaning"],
  ]);
  assert.deepEqual(webSearch, { demanded: false, path: "tools[0]", paths: {} });
  // Automatic caching marks the end of the prompt.
  assert.deepEqual(turns.at(-1)?.parts.map((part) => "cache" in part && part.cache), [
    { ttl: undefined, path: "cache_control" },
  ]);
});

Deno.test("the vendor's tool search is left out and reported: all tools are offered at once", () => {
  const names = ["regex_20251119", "bm25_20251119", "regex", "bm25"];
  const searches = names.map((name) => ({
    ...{ type: `tool_search_tool_${name}`, name: `tool_search_tool_${name.split("_")[0]}` },
  }));
  const deferred = { name: "f", input_schema: { type: "object" }, defer_loading: true };
  const { tools, unsupported } = decode({ tools: [...searches, deferred] });
  assert.deepEqual(tools.map(({ name }) => name), ["f"]);
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["tools[4].defer_loading", "hint"],
    ...names.map((_, index) => [`tools[${index}]`, "hint"]),
  ]);
});

Deno.test("media blocks become parts with their path, system blocks system texts", () => {
  const content = [
    { type: "image", source: { type: "base64", media_type: "image/jpg", data: png } },
    { type: "image", source: { type: "url", url: "https://a.example/i" } },
    { type: "image", source: { type: "file", file_id: "file_1" } },
    {
      type: "document",
      title: "T",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    },
    { type: "document", source: { type: "url", url: "https://a.example/d" } },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "é" } },
    { type: "document", source: { type: "content", content: [{ type: "text", text: "c" }] } },
    {
      type: "search_result",
      title: "R",
      source: "https://a.example",
      content: [{ type: "text", text: "found" }],
    },
  ];
  const { turns, system } = decode({
    system: [{ type: "text", text: "S", cache_control: { type: "ephemeral", ttl: "1h" } }],
    messages: [{ role: "user", content }],
  });
  assert.deepEqual(system, [{ text: "S", cache: { ttl: "1h" }, path: "system[0]" }]);
  const at = (index: number) => `messages[0].content[${index}]`;
  const media = (kind: string, source: Json, index: number, more: Json = {}) => (
    { type: "media", kind, source, ...more, path: at(index) }
  );
  assert.deepEqual(turns[0]?.parts, [
    media("image", { type: "base64", mimeType: "image/png", data: png }, 0),
    media("image", { type: "url", url: "https://a.example/i", mimeType: undefined }, 1),
    media("image", { type: "vendor-file", id: "file_1", mimeType: undefined }, 2),
    media("file", { type: "base64", mimeType: "application/pdf", data: "JVBERi0=" }, 3, {
      name: "T",
      fieldPaths: { name: "messages[0].content[3].title" },
    }),
    media("file", { type: "url", url: "https://a.example/d", mimeType: "application/pdf" }, 4),
    media("file", { type: "base64", mimeType: "text/plain", data: "w6k=" }, 5),
    { type: "text", text: "c", path: `${at(6)}.source.content[0]` },
    { type: "text", text: "R\nhttps://a.example\n\nfound", path: at(7) },
  ]);
});

Deno.test("answers given back keep thinking, its seals, calls and their order", () => {
  const { turns } = decode({
    messages: [{
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "sig" },
        { type: "thinking", thinking: "theirs", signature: "" },
        { type: "redacted_thinking", data: "xyz" },
        { type: "tool_use", id: "t1", name: "f", input: { b: 1, a: 2 } },
      ],
    }, { role: "system", content: "later" }],
  });
  const opaque = (kind: string, value: string) => ({ dialect: "messages", kind, value });
  const at = (index: number) => `messages[0].content[${index}]`;
  assert.deepEqual(turns[0]?.parts, [
    { type: "reasoning", text: "hm", opaque: opaque("signature", "sig"), path: at(0) },
    { type: "reasoning", text: "theirs", path: at(1) },
    { type: "reasoning", text: "", opaque: opaque("redacted", "xyz"), path: at(2) },
    {
      type: "tool-call",
      id: "t1",
      name: "f",
      arguments: '{"b":1,"a":2}',
      custom: false,
      path: at(3),
    },
  ]);
  assert.deepEqual(turns[1], {
    role: "system",
    parts: [{ type: "text", text: "later", path: "messages[1].content" }],
    path: "messages[1]",
  });
});

Deno.test("results of tools keep texts, images, errors and cache marks", () => {
  const url = "https://a.example/r";
  const { turns } = decode({
    messages: [{
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "t1",
        is_error: true,
        cache_control: { type: "ephemeral" },
        content: [
          { type: "text", text: "no" },
          { type: "image", source: { type: "url", url } },
        ],
      }, { type: "tool_result", tool_use_id: "t2" }],
    }],
  });
  const at = "messages[0].content";
  const source = { type: "url", url, mimeType: undefined };
  assert.deepEqual(turns[0]?.parts, [
    {
      type: "tool-result",
      callId: "t1",
      parts: [
        { type: "text", text: "no", path: `${at}[0].content[0]` },
        { type: "media", kind: "image", source, path: `${at}[0].content[1]` },
      ],
      isError: true,
      cache: { ttl: undefined },
      path: `${at}[0]`,
    },
    { type: "tool-result", callId: "t2", parts: [], isError: false, path: `${at}[1]` },
  ]);
});

Deno.test("wrong shapes are refused with the path of the field", () => {
  const block = (content: unknown) => ({ messages: [{ role: "user", content: [content] }] });
  const at = "messages[0].content[0]";
  const cases: [Json, string, string][] = [
    [{ messages: "x" }, "invalid_value", "messages"],
    [{ messages: [{ role: "tool", content: "" }] }, "invalid_value", "messages[0].role"],
    [{ messages: [{ role: "user" }] }, "missing_required_field", "messages[0].content"],
    [{ messages: [{ role: "user", content: 5 }] }, "invalid_value", "messages[0].content"],
    [block("x"), "invalid_value", at],
    [block({ type: "text" }), "missing_required_field", `${at}.text`],
    [block({ type: "image" }), "invalid_value", `${at}.source`],
    [
      block({ type: "image", source: { type: "base64", data: "§" } }),
      "invalid_value",
      `${at}.source.data`,
    ],
    [block({ type: "image", source: { type: "odd" } }), "invalid_value", `${at}.source.type`],
    [
      block({ type: "tool_use", id: "a", name: "f", input: "{}" }),
      "invalid_value",
      `${at}.input`,
    ],
    [block({ type: "tool_result" }), "missing_required_field", `${at}.tool_use_id`],
    [block({}), "invalid_value", `${at}.type`],
    [
      block({ type: "tool_result", content: Array(10_000).fill({ type: "text", text: "" }) }),
      "invalid_value",
      "messages[0].content",
    ],
    [{ system: [{ type: "image" }] }, "invalid_value", "system[0].source"],
    [{ temperature: "hot" }, "invalid_value", "temperature"],
    [{ stop_sequences: "END" }, "invalid_value", "stop_sequences"],
    [{ tools: [{ input_schema: {} }] }, "missing_required_field", "tools[0].name"],
    [{ tool_choice: "auto" }, "invalid_value", "tool_choice"],
    [{ tool_choice: { type: 5 } }, "invalid_value", "tool_choice.type"],
    [{ thinking: { type: 5 } }, "invalid_value", "thinking.type"],
    [{ output_config: { effort: "huge" } }, "invalid_value", "output_config.effort"],
    [{ output_format: { type: 5 } }, "invalid_value", "output_format.type"],
  ];
  for (const [changes, code, param] of cases) assert.deepEqual(fault(changes), [code, param]);
});

Deno.test("kinds that came after this was written are named, not refused", () => {
  const user = { role: "user", content: "hi" };
  const cases: [Json, string, string][] = [
    [{ tool_choice: { type: "some" } }, "tool_choice", "meaning"],
    [{ thinking: { type: "hard" } }, "thinking", "hint"],
    [{ output_format: { type: "xml" } }, "output_format", "meaning"],
    [
      { messages: [user, { role: "user", content: [{ type: "smell" }] }] },
      "messages[1].content[0]",
      "meaning",
    ],
    [{ tools: [{ type: "nose_20270101", name: "nose" }] }, "tools[0]", "meaning"],
  ];
  for (const [changes, path, weight] of cases) {
    const { unsupported } = decode(changes);
    assert.deepEqual(unsupported.map((one) => [one.path, one.weight]), [[path, weight]], path);
  }
});

Deno.test("a conversation adds no more tools than a list of them may have", () => {
  const content = Array.from({ length: 5_000 }, (_, n) => ({
    type: "tool_addition",
    tool: { type: "tool_definition", definition: { name: `t${n}`, input_schema: {} } },
  }));
  const messages = [{ role: "system", content }, { role: "user", content: "Hi." }];
  assert.deepEqual(fault({ messages }), ["invalid_value", "messages"]);
});
