/** `apply_patch` and a local `shell`, as OpenAI's agents library offers them (Python, 0.24). */
import assert from "@std/assert";
import { checkCall } from "../../../../../tests/support/responses_fixtures.ts";
import type { Fault } from "../../../../shared/fault.ts";
import { finish } from "../../../../base/steps.ts";
import type { ToolCallPart, ToolResultPart } from "../../../kernel/canonical_request.ts";
import { decodeRequest } from "../request_decoder.ts";

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
  const { tools, turns, unsupported } = decode([hosted, ran], [{ type: "shell" }]);
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

Deno.test("arguments that a model left incomplete come back as it wrote them", () => {
  const cut = { ...patchCall, operation: '{"type":"upd' };
  const { turns } = decode([cut, patched], [patch]);
  assert.equal((turns[1]!.parts[0] as ToolCallPart).arguments, '{"type":"upd');
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
  const written: [unknown[], string, { status: string }, object][] = [
    [[patch], JSON.stringify(operation), patchCall, { operation: {} }],
    [[shell, taken], '{"commands":["ls","false"]}', shellCall, { action: { commands: [] } }],
    // Some models write nothing for a call without arguments.
    [[shell, taken], "", { ...shellCall, action: empty } as never, { action: { commands: [] } }],
    [[patch], "", { ...patchCall, operation: {} } as never, { operation: {} }],
  ];
  for (const [tools, input, call, opened] of written) {
    const request = decode([], tools);
    assert.notEqual(request.tools[0]!.name, "shell");
    checkCall(request, [input.slice(0, 9), input.slice(9)], { call, opened });
  }
});
