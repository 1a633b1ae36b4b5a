import assert from "@std/assert";
import { finish } from "../../base/steps.ts";
import { encodeRequest as encodeChat } from "../text/chat/request_encoder.ts";
import { decodeRequest } from "../text/responses/request_decoder.ts";
import { encodeRequest as encodeResponses } from "../text/responses/request_encoder.ts";
import type { DialectQuirks } from "./dialect.ts";

const format = { type: "grammar", syntax: "lark", definition: 'start: "a"' };
const decoded = finish(decodeRequest({
  model: "m",
  input: [
    { role: "user", content: "Go" },
    { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: '*** "a"' },
    { type: "custom_tool_call_output", call_id: "c1", output: "Done." },
    { type: "custom_tool_call", call_id: "c2", name: "no longer offered", input: "" },
    { type: "custom_tool_call_output", call_id: "c2", output: "" },
  ],
  tools: [{ type: "custom", name: "apply_patch", description: "Patches.", format }],
  tool_choice: { type: "custom", name: "apply_patch" },
}));
const description = 'Patches.\nThe input must have this format: {"type":"grammar","grammar":' +
  '{"syntax":"lark","definition":"start: \\"a\\""}}';
const patch = JSON.stringify({ input: '*** "a"' });

function target(quirks?: DialectQuirks) {
  return { model: "m", maxOutputTokens: undefined, ...(quirks ? { quirks } : {}) };
}

Deno.test("at a chat vendor, custom tools and their calls are functions", () => {
  const { body, losses, emulations } = finish(encodeChat(decoded, target()));
  const { messages, tools, tool_choice } = body as {
    messages: { role: string; tool_calls?: { type: string; function: unknown }[] }[];
    tools: { type: string; function: { parameters: { required: string[] } } }[];
    tool_choice: unknown;
  };
  const { parameters, ...named } = tools[0]!.function;
  assert.deepEqual([tools[0]!.type, named], ["function", { name: "apply_patch", description }]);
  assert.deepEqual(parameters.required, ["input"]);
  assert.deepEqual(tool_choice, { type: "function", function: { name: "apply_patch" } });
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls);
  assert.deepEqual(calls[0]!.function, { name: "apply_patch", arguments: patch });
  assert.deepEqual(calls.map(({ type }) => type), ["function", "function"]);
  assert.deepEqual([losses, emulations.customTools], [[], ["apply_patch"]]);
});

Deno.test("a function's call beside a custom tool's stays as it is", () => {
  const { body } = finish(encodeChat(
    finish(decodeRequest({
      model: "m",
      input: [
        { role: "user", content: "Go" },
        { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: '*** "a"' },
        { type: "function_call", call_id: "f1", name: "look", arguments: '{"at":1}' },
        { type: "custom_tool_call_output", call_id: "c1", output: "Done." },
        { type: "function_call_output", call_id: "f1", output: "Seen." },
      ],
    })),
    target(),
  ));
  const { messages } = body as { messages: { tool_calls?: { function: unknown }[] }[] };
  assert.deepEqual(messages[1]!.tool_calls!.map((one) => one.function), [
    { name: "apply_patch", arguments: patch },
    { name: "look", arguments: '{"at":1}' },
  ]);
});

Deno.test("at a responses vendor without custom tools they are functions, too", () => {
  const { body, losses, emulations } = finish(encodeResponses(decoded, target({})));
  const { input, tools, tool_choice } = body as Record<string, Record<string, unknown>[]>;
  const { parameters: _, ...tool } = tools![0]!;
  assert.deepEqual(tool, { type: "function", name: "apply_patch", description, strict: false });
  assert.deepEqual(tool_choice, { type: "function", name: "apply_patch" });
  assert.deepEqual(input!.map(({ type }) => type), [
    ...["message", "function_call", "function_call_output"],
    ...["function_call", "function_call_output"],
  ]);
  assert.deepEqual([input![1]!.arguments, input![3]!.arguments], [patch, '{"input":""}']);
  assert.deepEqual([losses, emulations.customTools], [[], ["apply_patch"]]);
});

Deno.test("OpenAI's endpoints get custom tools as they are", () => {
  const knows = target({ customTools: true });
  const chat = finish(encodeChat(decoded, knows));
  assert.match(JSON.stringify(chat.body), /"custom":{"name":"apply_patch","input"/);
  const responses = finish(encodeResponses(decoded, knows));
  assert.match(JSON.stringify(responses.body), /"type":"custom_tool_call_output"/);
  assert.deepEqual([chat.emulations.customTools, responses.emulations.customTools], [[], []]);
});
