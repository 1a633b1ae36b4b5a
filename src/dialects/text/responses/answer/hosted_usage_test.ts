import assert from "@std/assert";
import { SseSplitter } from "../../../../base/sse.ts";
import { countWork } from "../../messages/answer/search_blocks.ts";
import { createStreamDecoder } from "../stream_decoder.ts";
import { countItems } from "./hosted_usage.ts";

/** The items of the vendor's work in a stream that is cut after these events. */
function cutAfter(events: readonly Record<string, unknown>[]): unknown[] {
  const decoder = createStreamDecoder({});
  const splitter = new SseSplitter({ maxEventBytes: 1 << 20 });
  const text = events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  const decoded = splitter.push(new TextEncoder().encode(text))
    .flatMap((event) => decoder.decode(event).events);
  const { events: rest, complete } = decoder.end();
  assert.equal(complete, false);
  return [...decoded, ...rest].flatMap((one) =>
    one.type === "block-start" && one.content.kind === "vendor" ? [one.content.value] : []
  );
}

const added = (item: Record<string, unknown>) => ({
  ...{ type: "response.output_item.added", output_index: 0 },
  item: { id: "i-1", status: "in_progress", ...item },
});
const delta = (type: string, text: string) => ({
  ...{ type: `response.${type}.delta`, item_id: "i-1", output_index: 0, delta: text },
});

const cut = { id: "i-1", status: "incomplete" };
const rows: [item: Record<string, unknown>, event: string, Record<string, unknown>][] = [
  [
    { type: "apply_patch_call", operation: { type: "create_file", path: "a", diff: "" } },
    "apply_patch_call_operation_diff",
    { operation: { type: "create_file", path: "a", diff: "+one\n+two" } },
  ],
  [
    { type: "shell_call", action: { commands: [], timeout_ms: 9 } },
    "shell_call_command",
    { action: { commands: ["+one\n+two"], timeout_ms: 9 } },
  ],
  [{ type: "code_interpreter_call", code: "" }, "code_interpreter_call_code", {
    code: "+one\n+two",
  }],
  [{ type: "mcp_call", name: "f" }, "mcp_call_arguments", { arguments: "+one\n+two" }],
];

Deno.test("what the model had written for the vendor's or a coding tool is in a cut answer, and counts", () => {
  for (const [item, event, filled] of rows) {
    const work = cutAfter([added(item), delta(event, "+one\n"), delta(event, "+two")]);
    assert.deepEqual(work, [{ ...item, ...cut, ...filled }]);
    assert.deepEqual(countItems(work).writtenTokens, 3, event);
    const done = { ...item, ...filled, id: "i-1", status: "completed" };
    const whole = cutAfter([
      added(item),
      delta(event, "+one\n+two"),
      { type: "response.output_item.done", output_index: 0, item: done },
    ]);
    assert.deepEqual(whole, [done]);
  }
});

Deno.test("results of the vendor's work are not what the model wrote", () => {
  const output = [{ type: "logs", logs: "many words of a log ".repeat(100) }];
  const none = { type: "code_interpreter_call", code: "", outputs: output };
  assert.equal(countItems([none, { type: "web_search_call" }]).writtenTokens, undefined);
  const use = { type: "server_tool_use", name: "code_execution", input: { code: "print(1)" } };
  const result = { type: "code_execution_tool_result", content: { stdout: "1 ".repeat(100) } };
  assert.equal(countWork([use, result]).writtenTokens, countWork([use]).writtenTokens);
  assert.ok(countWork([use]).writtenTokens! > 2);
  assert.equal(countWork([{ ...use, input: {} }, result]).writtenTokens, undefined);
});
