/** `apply_patch` and a local `shell`, as OpenAI's agents library offers them (Python, 0.24). */
import { createOpenAI } from "@ai-sdk/openai";
import assert from "@std/assert";
import {
  callEvents,
  checkCall,
  contextOf,
  encodeStream,
} from "../../../../../tests/support/responses_fixtures.ts";
import { Fault } from "../../../../shared/fault.ts";
import { finish } from "../../../../base/steps.ts";
import type { TextPart, ToolCallPart, ToolResultPart } from "../../../kernel/canonical_request.ts";
import { decodeRequest } from "../request_decoder.ts";
import { createStreamEncoder } from "../stream_encoder.ts";
import { endCodingCall } from "./coding_tools.ts";

const patch = { type: "apply_patch" };
const shell = { type: "shell", environment: { type: "local" } };
const operation = { type: "update_file", path: "a.ts", diff: "@@\n-a\n+b" };
const patchCall = {
  ...{ id: "apc_1", type: "apply_patch_call", status: "completed", call_id: "call_1", operation },
};
const shellCall = {
  ...{ id: "sh_1", type: "shell_call", status: "completed", call_id: "call_1" },
  action: { timeout_ms: null, max_output_length: null, commands: ["ls", "false"] },
  environment: { type: "local" },
};
const patched = { type: "apply_patch_call_output", call_id: "call_1", status: "failed" };
const ran = {
  ...{ type: "shell_call_output", call_id: "call_1" },
  output: [
    { stdout: "a.ts", stderr: "", outcome: { type: "exit", exit_code: 0 } },
    { stdout: "", stderr: "no", outcome: { type: "timeout" } },
  ],
};

function decode(input: readonly unknown[], tools: readonly unknown[], more = {}) {
  const asked = [{ role: "user", content: "q" }, ...input];
  return finish(decodeRequest({ model: "m", input: asked, tools, ...more }));
}

Deno.test("tools for coding that the caller runs are functions, their calls and results too", () => {
  const { tools, turns, unsupported, toolChoice } = decode(
    [patchCall, patched, { ...shellCall, call_id: "call_2" }, { ...ran, call_id: "call_2" }],
    [patch, shell],
    { tool_choice: { type: "apply_patch" } },
  );
  assert.deepEqual(unsupported, []);
  assert.deepEqual(tools.map(({ name, type }) => [name, type]), [
    ["apply_patch", "function"],
    ["shell", "function"],
  ]);
  assert.deepEqual(toolChoice, { mode: "required", names: ["apply_patch"] });
  const call = { type: "tool-call", custom: false };
  const result = { type: "tool-result" };
  assert.deepEqual(turns.slice(1).map(({ parts }) => parts), [
    [{
      ...{ ...call, id: "call_1", name: "apply_patch", path: "input[1]" },
      arguments: JSON.stringify(operation),
    }],
    [{
      ...{ ...result, callId: "call_1", isError: true, path: "input[2]" },
      parts: [{ type: "text", text: "The patch failed.", path: "input[2]" }],
    }],
    [{
      ...{ ...call, id: "call_2", name: "shell", path: "input[3]" },
      arguments: '{"commands":["ls","false"]}',
    }],
    [{
      ...{ ...result, callId: "call_2", isError: false, path: "input[4]" },
      parts: [
        { type: "text", text: "a.ts\nExit code 0.", path: "input[4]" },
        { type: "text", text: "stderr:\nno\nTimed out.", path: "input[4]" },
      ],
    }],
  ]);
  const allowed = { type: "allowed_tools", mode: "auto", tools: [{ type: "shell" }] };
  assert.deepEqual(decode([], [patch, shell], { tool_choice: allowed }).toolChoice, {
    mode: "auto",
    names: ["shell"],
  });
  const skill = { name: "deploy", description: "How to deploy.", path: "/skills/deploy" };
  const skilled = decode([], [{ ...shell, environment: { type: "local", skills: [skill] } }]);
  assert.match(skilled.tools[0]!.description!, /deploy, in \/skills\/deploy: How to deploy\./);
});

Deno.test("a shell in the vendor's container can't be carried, nor can its calls", () => {
  const container = { type: "container_reference", container_id: "c" };
  const hosted = { ...shellCall, environment: container };
  const { tools, turns, unsupported } = decode([hosted, ran], [{
    ...shell,
    environment: { type: "container_auto" },
  }]);
  assert.deepEqual([tools.length, turns.length], [0, 1]);
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[1]", "meaning"],
    ["input[2]", "meaning"],
    ["tools[0]", "meaning"],
  ]);
});

Deno.test("a result that can't be read is refused, and one without a call as a function's is", () => {
  const results: [object, object, RegExp][] = [
    [shellCall, { ...ran, output: "a.ts" }, /^input\[2\]\.output: expected an array/],
    [shellCall, { ...ran, output: ["a.ts"] }, /^input\[2\]\.output\[0\]: expected an object/],
    [
      patchCall,
      { ...patched, output: [{ type: "input_text", text: "no" }] },
      /^input\[2\]\.output/,
    ],
  ];
  const refusal = (input: readonly object[]) => {
    try {
      decode(input, [patch, shell]);
    } catch (thrown) {
      return (thrown as Fault).message;
    }
    return "";
  };
  for (const [call, result, expected] of results) assert.match(refusal([call, result]), expected);
  for (const result of [patched, ran]) {
    assert.match(refusal([result]), /^input\[1\]: .*no tool call found .* call_id 'call_1'\./);
  }
  // A command without any output is no error.
  assert.equal(refusal([shellCall, { ...ran, output: [] }]), "");
});

Deno.test("a call's content that is no object is refused, and named", () => {
  const list = { ...shellCall, action: ["ls"] };
  assert.throws(() => decode([list, ran], [shell]), /input\[1\]\.action: expected an object/);
});

Deno.test("their cache marks are carried, and what other vendors don't know is reported", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const { tools, turns } = decode(
    [patchCall, { ...patched, ...mark }],
    [{ ...patch, ...mark }],
  );
  assert.ok(tools[0]!.cache);
  assert.ok((turns.at(-1)!.parts[0] as ToolResultPart).cache);
  const caller = { type: "program", caller_id: "p" };
  const { unsupported } = decode(
    [{ ...patchCall, created_by: "u", caller }, patched],
    [{ ...shell, allowed_callers: ["programmatic"] }],
  );
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["input[1].caller", "hint"],
    ["tools[0].allowed_callers", "hint"],
  ]);
});

Deno.test("a model's calls of them are items of their kind, whole and streamed", () => {
  // A function of the caller has the name already.
  const taken = { type: "function", name: "shell", parameters: { type: "object" } };
  const empty = { timeout_ms: null, max_output_length: null, commands: [] };
  const created = { type: "create_file", path: "a/__init__.py" };
  // A deletion without a path might be one of the whole directory.
  const updated = { type: "update_file", path: "" };
  const deleted = { type: "delete_file", path: "a.ts" };
  const patchOf = (operation: object) => ({ ...patchCall, operation }) as never;
  const written: [unknown[], string, { status: string }, object][] = [
    [[patch], JSON.stringify(operation), patchCall, {}],
    // Some models write no empty text; clients require one.
    [[patch], JSON.stringify(created), patchOf({ ...created, diff: "" }), {}],
    [[patch], JSON.stringify(deleted), patchOf(deleted), {}],
    [[shell, taken], '{"commands":["ls","false"]}', shellCall, {}],
    // Some models write nothing for a call without arguments.
    [[shell, taken], "", { ...shellCall, action: empty } as never, {}],
    [[patch], "", patchOf({ ...updated, diff: "" }), {}],
    [[patch], '{"type":"de', patchOf({ ...updated, diff: '{"type":"de' }), {}],
    [
      [patch],
      '{"type":"delete_file"}',
      patchOf({ ...updated, diff: '{"type":"delete_file"}' }),
      {},
    ],
    [[shell, taken], '{"commands":["rm', { ...shellCall, action: empty } as never, {}],
  ];
  for (const [tools, input, call, opened] of written) {
    const request = decode([], tools);
    assert.notEqual(request.tools[0]!.name, "shell");
    checkCall(request, [input.slice(0, 9), input.slice(9)], { call, opened });
  }
});

Deno.test("what is added to a call's arguments comes after what the model wrote", () => {
  const action: Record<string, unknown> = { type: "local_shell_call" };
  endCodingCall(action, '{"command":["ls"]}');
  const patching: Record<string, unknown> = { type: "apply_patch_call" };
  endCodingCall(patching, '{"type":"create_file","path":"a"}');
  assert.deepEqual([action.action, patching.operation].map((one) => JSON.stringify(one)), [
    '{"command":["ls"],"type":"exec","env":{}}',
    '{"type":"create_file","path":"a","diff":""}',
  ]);
});

Deno.test("arguments of another type than the tool's become valid, are left out, or do nothing", () => {
  const stopped = { command: [], type: "exec", env: {} };
  const written: [string, string, object][] = [
    ["shell", '{"commands":"ls","timeout_ms":"5"}', {
      ...{ commands: ["ls"], timeout_ms: null, max_output_length: null },
    }],
    ["local_shell", '{"command":["ls"],"env":{"A":1},"timeout_ms":5,"type":"run"}', {
      ...{ command: ["ls"], timeout_ms: 5, type: "exec", env: { A: "1" } },
    }],
    // Without its directory or its variables, it would be another command.
    ["local_shell", '{"command":["rm","-r","."],"working_directory":["build"]}', stopped],
    ["local_shell", '{"command":["deploy"],"env":["DRY_RUN=1"]}', stopped],
    ["local_shell", '{"command":["deploy"],"env":{"A":"1","DRY_RUN":["1"]}}', stopped],
    ["local_shell", '{"command":["rm","-r",{"path":"build"}]}', stopped],
    // Without its lines, the file would be emptied.
    ["apply_patch", '{"type":"create_file","path":"a","diff":["+1"]}', {
      ...{ type: "update_file", path: "", diff: '{"type":"create_file","path":"a","diff":["+1"]}' },
    }],
    ["apply_patch", '{"type":"update_file","path":"a","diff":null}', {
      ...{ type: "update_file", path: "a", diff: "" },
    }],
    ["apply_patch", '{"type":"rename","path":"a"}', {
      ...{ type: "update_file", path: "", diff: '{"type":"rename","path":"a"}' },
    }],
  ];
  for (const [tool, input, content] of written) {
    const item: Record<string, unknown> = { type: `${tool}_call` };
    endCodingCall(item, input);
    assert.deepEqual(item.action ?? item.operation, content);
  }
});

Deno.test("a patch that the output limit cut off is in progress: its type has no other status", () => {
  const events = callEvents("apply_patch", ["{"]).map((event) =>
    event.type === "finish" ? { ...event, reason: "length" as const } : event
  );
  const frames = encodeStream(events, contextOf({ tools: [patch] }));
  assert.match(frames, /item.done"[^\n]*"apply_patch_call","status":"in_progress"/);
  assert.match(frames, /"status":"incomplete"[^\n]*"apply_patch_call","status":"in_progress"/);
});

Deno.test("a call that a failure cuts short before it was announced isn't in the failed response", () => {
  for (const tool of [patch, shell]) {
    const context = contextOf({ tools: [tool] });
    const events = callEvents(tool.type, ['{"pa']).slice(0, 3);
    const encoder = createStreamEncoder(context);
    const frames = events.map((event) => encoder.encode(event)).join("") +
      encoder.fail(new Fault("upstream_stream_truncated"));
    assert.doesNotMatch(frames, /_call"/);
    assert.match(frames, /"status":"failed".*"output":\[\]/);
  }
});

Deno.test("the older local shell is a function, too, with either name of its result's id", () => {
  const called = { type: "local_shell_call", id: "lsh_1", call_id: "call_1", status: "completed" };
  const action = { type: "exec", command: ["ls"], env: {}, timeout_ms: null };
  for (const id of ["id", "call_id"]) {
    const result = { type: "local_shell_call_output", [id]: "call_1", output: '{"stdout":""}' };
    const { tools, turns, unsupported } = decode(
      [{ ...called, action }, result],
      [{ type: "local_shell" }],
    );
    assert.deepEqual([tools.map(({ name }) => name), unsupported], [["local_shell"], []]);
    const [call, output] = turns.slice(1).map(({ parts }) => parts[0]);
    assert.deepEqual(JSON.parse((call as ToolCallPart).arguments), {
      ...{ type: "exec", command: ["ls"], env: {} },
    });
    assert.deepEqual((output as ToolResultPart).parts.map((part) => (part as TextPart).text), [
      '{"stdout":""}',
    ]);
  }
});

/** The AI SDK's own provider, which checks each event strictly. */
async function partsOf(
  tool: { type: "apply_patch" | "shell" | "local_shell" },
  args: string,
): Promise<{ tools: unknown[]; parts: { type: string; input?: string }[] }> {
  let tools: unknown[] = [];
  const openai = createOpenAI({
    apiKey: "unused",
    fetch: (_url, init) => {
      ({ tools } = JSON.parse(String(init?.body)));
      const context = contextOf({ tools });
      const stream = encodeStream(callEvents(tool.type, [args]), context);
      const headers = { "content-type": "text/event-stream" };
      return Promise.resolve(new Response(stream, { headers }));
    },
  });
  const { stream } = await openai.responses("m").doStream({
    prompt: [{ role: "user", content: [{ type: "text", text: "q" }] }],
    tools: [{ type: "provider", id: `openai.${tool.type}`, name: tool.type, args: {} }],
  });
  return { tools, parts: await Array.fromAsync(stream as AsyncIterable<{ type: string }>) };
}

Deno.test("the AI SDK reads streamed calls, of a shell that it offers without an environment, too", async () => {
  const patching = await partsOf({ type: "apply_patch" }, JSON.stringify(operation));
  const shelling = await partsOf({ type: "shell" }, '{"commands":["ls"]}');
  const older = await partsOf({ type: "local_shell" }, '{"command":["ls"]}');
  const cut = await partsOf({ type: "apply_patch" }, "{");
  const nothing = await partsOf({ type: "shell" }, "{");
  assert.deepEqual([patching.tools, shelling.tools], [[patch], [{ type: "shell" }]]);
  const calls = [patching, shelling, older, cut, nothing].map(({ parts }) => {
    assert.ok(!parts.some(({ type }) => type === "error"), JSON.stringify(parts));
    const { input } = parts.find(({ type }) => type === "tool-call")!;
    return JSON.parse(input!);
  });
  assert.deepEqual(calls, [
    { callId: "call_1", operation },
    { action: { commands: ["ls"] } },
    { action: { type: "exec", command: ["ls"], env: {} } },
    { callId: "call_1", operation: { type: "update_file", path: "", diff: "{" } },
    { action: { commands: [] } },
  ]);
});
