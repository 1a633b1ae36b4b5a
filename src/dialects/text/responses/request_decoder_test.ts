import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { decodeRequest } from "./request_decoder.ts";
import { writeEnvelope } from "./conversation/envelope.ts";

function decode(body: Record<string, unknown>) {
  return finish(decodeRequest({ model: "m", input: "hi", ...body }));
}

/** Turns without paths: role and parts in short. */
function turnsOf(input: unknown) {
  return decode({ input }).turns.map((turn) => [
    turn.role,
    turn.parts.map(({ path: _, ...part }) => part),
  ]);
}

const callA = { type: "function_call", call_id: "a", name: "f", arguments: '{"x":1}' };
const callB = { type: "function_call", call_id: "b", name: "g", arguments: "" };
const outA = { type: "function_call_output", call_id: "a", output: "1" };
const outB = { type: "function_call_output", call_id: "b", output: [] as unknown[] };

Deno.test("a string is one user message, instructions the first system text", () => {
  const request = decode({ input: "hello", instructions: "Be kind" });
  assert.deepEqual(request.system, [{ text: "Be kind", path: "instructions" }]);
  assert.deepEqual(request.turns, [{
    role: "user",
    parts: [{ type: "text", text: "hello", path: "input" }],
    path: "input",
  }]);
});

Deno.test("calls in a row are one assistant turn, their outputs one user turn (pitfall 93)", () => {
  const { turns } = decode({
    input: [
      { role: "user", content: "q" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "let me" }] },
      callA,
      callB,
      outA,
      { ...outB, output: "2" },
    ],
  });
  assert.deepEqual(turns.map((turn) => [turn.role, turn.parts.map((part) => part.type)]), [
    ["user", ["text"]],
    ["assistant", ["text", "tool-call", "tool-call"]],
    ["user", ["tool-result", "tool-result"]],
  ]);
  assert.equal(turns[1]!.parts[2]!.path, "input[3]");
});

Deno.test("system and developer messages: in front, and later in their place", () => {
  const request = decode({
    instructions: "I",
    input: [
      { role: "developer", content: "D" },
      { role: "system", content: [{ type: "input_text", text: "S" }] },
      { role: "user", content: "u" },
      { role: "developer", content: "later" },
    ],
  });
  assert.deepEqual(request.system.map((one) => one.text), ["I", "D", "S"]);
  assert.deepEqual(request.turns.map((turn) => turn.role), ["user", "system"]);
});

Deno.test("an assistant's text is read under either name, and so are refusals", () => {
  const turns = turnsOf([
    { role: "user", content: "q" },
    { role: "assistant", content: "plain" },
    { role: "assistant", content: [{ type: "input_text", text: "odd" }] },
    { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
  ]);
  assert.deepEqual(turns[1], ["assistant", [
    { type: "text", text: "plain" },
    { type: "text", text: "odd" },
    { type: "refusal", text: "no" },
  ]]);
});

Deno.test("images, files and sound", () => {
  const png = "iVBORw0KGgoAAAANSUhEUg==";
  const [turn] = turnsOf([{
    role: "user",
    content: [
      { type: "input_image", image_url: "https://x/i.png", detail: "high" },
      { type: "input_image", image_url: `data:image/jpg;base64,${png}`, file_id: null },
      { type: "input_image", file_id: "file-1", image_url: null },
      { type: "input_file", file_url: "https://x/a.pdf" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
      { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
    ],
  }]);
  assert.deepEqual(turn![1], [
    {
      type: "media",
      kind: "image",
      source: { type: "url", url: "https://x/i.png", mimeType: undefined },
      detail: "high",
    },
    {
      type: "media",
      kind: "image",
      source: { type: "base64", mimeType: "image/png", data: png },
    },
    {
      type: "media",
      kind: "image",
      source: { type: "vendor-file", id: "file-1", mimeType: undefined },
    },
    {
      type: "media",
      kind: "file",
      source: { type: "url", url: "https://x/a.pdf", mimeType: undefined },
    },
    {
      type: "media",
      kind: "file",
      source: { type: "base64", mimeType: "application/pdf", data: "JVBERi0=" },
      name: "a.pdf",
      fieldPaths: { name: "input[0].content[4].filename" },
    },
    {
      type: "media",
      kind: "audio",
      source: { type: "base64", mimeType: "audio/mp3", data: "AAAA" },
    },
  ]);
});

Deno.test("custom calls and outputs with images", () => {
  const turns = turnsOf([
    { role: "user", content: "q" },
    { type: "custom_tool_call", call_id: "c", name: "sh", input: "ls" },
    {
      type: "custom_tool_call_output",
      call_id: "c",
      output: [{ type: "input_text", text: "a" }, {
        type: "input_image",
        image_url: "https://x/i.png",
      }],
    },
  ]);
  assert.deepEqual(turns[1], ["assistant", [
    { type: "tool-call", id: "c", name: "sh", arguments: "ls", custom: true },
  ]]);
  const [result] = turns[2]![1] as { parts: { type: string }[] }[];
  assert.deepEqual(result!.parts.map((part) => part.type), ["text", "media"]);
});

Deno.test("sealed reasoning goes to the dialect of its origin", () => {
  const foreign = { dialect: "messages", kind: "signature", value: "SIG" } as const;
  const turns = turnsOf([
    { role: "user", content: "q" },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "A" }, { type: "summary_text", text: "B" }],
      encrypted_content: "gAAA",
    },
    { type: "reasoning", id: "rs_2", summary: [], encrypted_content: writeEnvelope(foreign) },
    { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "raw" }] },
    { role: "assistant", content: "x" },
  ]);
  assert.deepEqual(turns[1], ["assistant", [
    {
      type: "reasoning",
      text: "A\n\nB",
      opaque: { dialect: "responses", kind: "encrypted_content", value: "gAAA", itemId: "rs_1" },
    },
    { type: "reasoning", text: "", opaque: foreign },
    { type: "reasoning", text: "raw" },
    { type: "text", text: "x" },
  ]]);
});

Deno.test("vendor-side items and tools are listed, by what leaving them out does", () => {
  const request = decode({
    input: [
      { role: "user", content: "q" },
      { type: "web_search_call", id: "ws_1" },
      { type: "compaction", encrypted_content: "x" },
    ],
    tools: [{ type: "web_search" }, { type: "function", name: "f", defer_loading: true }],
    include: ["web_search_call.results", "reasoning.encrypted_content"],
    truncation: "auto",
    background: true,
    max_tool_calls: 3,
    reasoning: { effort: "low", mode: "pro", context: "auto" },
    store: false,
    prompt_cache_key: null,
  });
  assert.deepEqual(request.unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[1]", "hint"],
    ["input[2]", "meaning"],
    ["truncation", "hint"],
    ["background", "meaning"],
    ["include[0]", "hint"],
    ["reasoning.mode", "hint"],
    ["tools[1].defer_loading", "hint"],
  ]);
  assert.deepEqual(request.tools.map((tool) => tool.name), ["f"]);
  // Of vendor-side tools the web search alone is carried: the limit is its own.
  assert.deepEqual(request.webSearch, {
    demanded: false,
    maxUses: 3,
    path: "tools[0]",
    paths: { maxUses: "max_tool_calls" },
  });
});

Deno.test("what agents write to each other is the user's text, unless only OpenAI can read it", () => {
  // As Codex 0.171.0 sends it to an agent that a model of another vendor started.
  const task = "Message Type: NEW_TASK\nTask name: /root/helper\nSender: /root\nPayload:\n";
  const message = (sealed: string) => ({
    ...{ type: "agent_message", id: "amsg_1", author: "/root", recipient: "/root/helper" },
    content: [
      { type: "input_text", text: task },
      { type: "encrypted_content", encrypted_content: sealed },
    ],
  });
  const environment = { role: "user", content: "env" };
  const plain = decode({ input: [environment, message("Look at a.ts")] });
  assert.deepEqual(plain.unsupported, []);
  assert.deepEqual(plain.turns[1], {
    role: "user",
    parts: [
      { type: "text", text: task, path: "input[1].content[0]" },
      { type: "text", text: "Look at a.ts", path: "input[1].content[1]" },
    ],
    path: "input[1]",
  });
  assert.equal(decode({ input: [message("Look at a.ts")] }).turns.length, 1);
  const { unsupported } = decode({
    input: [environment, message(`gAAAAAB${"pXq_-9".repeat(20)}==`)],
  });
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[1].content[1]", "meaning"],
  ]);
});

Deno.test("values that change nothing are no loss", () => {
  const { unsupported: foreign } = decode({
    background: false,
    truncation: "disabled",
    conversation: null,
    top_logprobs: 0,
    previous_response_id: "resp_1",
    stream_options: { include_obfuscation: false },
    reasoning: { effort: "low", mode: "standard" },
    generate: true,
  });
  assert.deepEqual(foreign, []);
});

Deno.test("a request for no output can't become one for an answer, which costs", () => {
  const weights = (body: Record<string, unknown>) =>
    decode(body).unsupported.map(({ path, weight }) => [path, weight]);
  const ofOptions = (options: Record<string, unknown>) =>
    weights({ prompt_cache_options: options });
  assert.deepEqual(weights({ generate: false }), [["generate", "meaning"]]);
  assert.deepEqual(ofOptions({ ttl: "12h", prewarm: true }), [["prompt_cache_options", "meaning"]]);
  assert.deepEqual(ofOptions({ ttl: "12h", prewarm: false }), [["prompt_cache_options", "hint"]]);
});

Deno.test("settings are read flat, with their paths", () => {
  const request = decode({
    max_output_tokens: 50,
    temperature: 0.5,
    top_p: 0.9,
    top_logprobs: 4,
    include: ["message.output_text.logprobs"],
    text: {
      format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: null },
      verbosity: "low",
    },
    reasoning: { effort: "high", summary: "auto" },
    tools: [
      { type: "function", name: "f", parameters: { type: "object" }, strict: null },
      {
        type: "custom",
        name: "c",
        format: { type: "grammar", syntax: "lark", definition: "x" },
      },
    ],
    tool_choice: {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "f" }],
    },
    parallel_tool_calls: false,
    safety_identifier: "s",
    metadata: { k: "v" },
    service_tier: "flex",
  });
  const { model: _, stream: __, system: ___, turns: ____, turnsPath, unsupported, ...settings } =
    request;
  assert.deepEqual([unsupported, turnsPath], [[], "input"]);
  assert.deepEqual(settings, {
    tools: [
      { type: "function", name: "f", parameters: { type: "object" }, path: "tools[0]" },
      {
        type: "custom",
        name: "c",
        format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
        path: "tools[1]",
      },
    ],
    parallelToolCalls: false,
    maxOutputTokens: 50,
    temperature: 0.5,
    topP: 0.9,
    logprobs: { top: 4 },
    format: { type: "json-schema", name: "n", schema: { type: "object" } },
    verbosity: "low",
    reasoning: { effort: "high", show: true },
    ...{ user: "s", serviceTier: "flex", metadata: { k: "v" }, repeatsMetadata: true },
    toolChoice: { mode: "required", names: ["f"] },
    paths: {
      toolChoice: "tool_choice",
      parallelToolCalls: "parallel_tool_calls",
      maxOutputTokens: "max_output_tokens",
      temperature: "temperature",
      topP: "top_p",
      logprobs: "include",
      format: "text.format",
      reasoning: "reasoning",
      verbosity: "text.verbosity",
      user: "safety_identifier",
      serviceTier: "service_tier",
      metadata: "metadata",
    },
  });
});

Deno.test("an end user is found in the field that names one, not in the empty one before it", () => {
  const { user, paths } = decode({ safety_identifier: "", user: "u" });
  assert.deepEqual([user, paths.user], ["u", "user"]);
});

const user = { role: "user", content: "q" };
const wrongs: readonly [string, Record<string, unknown>, string, string][] = [
  ["no input", { input: null }, "input", "missing_required_field"],
  ["input a number", { input: 3 }, "input", "invalid_value"],
  ["an item that is a string", { input: ["x"] }, "input[0]", "invalid_value"],
  [
    "an unresolved reference",
    { input: [user, { type: "item_reference", id: "msg_9" }] },
    "input[1].id",
    "invalid_value",
  ],
  [
    "an unresolved reference without type",
    { input: [user, { id: "msg_9" }] },
    "input[1].id",
    "invalid_value",
  ],
  ["an item of no type", { input: [{ type: 5 }] }, "input[0].type", "invalid_value"],
  [
    "an unknown role",
    { input: [{ role: "tool", content: "x" }] },
    "input[0].role",
    "invalid_value",
  ],
  [
    "a part of no type",
    { input: [{ role: "user", content: [{ text: "x" }] }] },
    "input[0].content[0].type",
    "invalid_value",
  ],
  [
    "an unreadable image",
    {
      input: [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png" }] }],
    },
    "input[0].content[0].image_url",
    "invalid_value",
  ],
  [
    "an image without source",
    { input: [{ role: "user", content: [{ type: "input_image" }] }] },
    "input[0].content[0].image_url",
    "missing_required_field",
  ],
  [
    "an image in a developer message",
    {
      input: [{
        role: "developer",
        content: [{ type: "input_image", image_url: "https://x" }],
      }, user],
    },
    "input[0].content[0]",
    "invalid_value",
  ],
  ["an output without its call", { input: [user, outA] }, "input[1]", "invalid_value"],
  ["a call without its output", { input: [user, callA, callB, outA] }, "input[2]", "invalid_value"],
  [
    "a call without id",
    { input: [{ ...callA, call_id: null }] },
    "input[0].call_id",
    "missing_required_field",
  ],
  [
    "an item of a type that nobody knows, alone",
    { input: [{ type: "nope", role: "user", content: "Hi" }] },
    "input[0].type",
    "invalid_value",
  ],
  ["a wrong temperature", { temperature: "hot" }, "temperature", "invalid_value"],
  ["an unknown effort", { reasoning: { effort: "huge" } }, "reasoning.effort", "invalid_value"],
  [
    "a schema without name",
    { text: { format: { type: "json_schema", schema: {} } } },
    "text.format.name",
    "missing_required_field",
  ],
  [
    "a tool without name",
    { tools: [{ type: "function" }] },
    "tools[0].name",
    "missing_required_field",
  ],
  ["a tool choice of no kind", { tool_choice: "any" }, "tool_choice", "invalid_value"],
];

for (const [name, body, param, code] of wrongs) {
  Deno.test(`refused by its path: ${name}`, () => {
    assert.throws(() => decode(body), (fault: unknown) => {
      const { message, ...rest } = fault as { message: string; param: string; code: string };
      assert.equal(rest.param, param);
      assert.equal(rest.code, code);
      assert.ok(message.startsWith(`${param}: `), message);
      return true;
    });
  });
}

Deno.test("an unknown item beside a message is left to the vendor's dialect, one alone says what is known", () => {
  assert.throws(() => decode({ input: [{ type: "nope" }] }), {
    message: /^input\[0\]\.type: expected 'message' or 'function_call' or /,
  });
  const { unsupported, turns } = decode({ input: [user, { type: "nope" }] });
  assert.deepEqual([turns.length, unsupported[0]?.path], [1, "input[1]"]);
});

Deno.test("calls and outputs that miss each other are named by their ids", () => {
  const input = [user, callA, callB, outA];
  assert.throws(() => decode({ input }), {
    message: /no tool output found for the tool calls 'b'/,
  });
  assert.throws(() => decode({ input: [user, outA] }), {
    message: /no tool call found for the output with call_id 'a'/,
  });
});
