import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { decodeRequest } from "../request_decoder.ts";
import {
  continueFrom,
  inputItems,
  type Item,
  resolveReferences,
  storedOutput,
  withoutUnsealedReasoning,
} from "./state.ts";

const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "f", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "42" };

Deno.test("a tool's output alone continues a stored call (pitfall 94)", () => {
  const first = { model: "m", instructions: "Be brief", input: "what is f?", store: true };
  const turn = { input: inputItems(first), output: [call] };
  const body = continueFrom(itemsOf([turn]), {
    model: "m",
    input: [output],
    previous_response_id: "resp_1",
  });
  assert.ok(!("previous_response_id" in body));
  const request = finish(decodeRequest(body));
  assert.deepEqual(request.turns.map((one) => [one.role, one.parts.map((part) => part.type)]), [
    ["user", ["text"]],
    ["assistant", ["tool-call"]],
    ["user", ["tool-result"]],
  ]);
});

Deno.test("instructions of an earlier turn are not carried over (pitfall 102)", () => {
  const turn = { input: inputItems({ instructions: "OLD", input: "a" }), output: [] };
  const body = continueFrom(itemsOf([turn]), { model: "m", input: "b" });
  assert.ok(!JSON.stringify(body).includes("OLD"));
  assert.deepEqual(finish(decodeRequest(body)).system, []);
  const own = continueFrom(itemsOf([turn]), { model: "m", input: "b", instructions: "NEW" });
  assert.deepEqual(finish(decodeRequest(own)).system.map((one) => one.text), ["NEW"]);
});

Deno.test("input given as a list keeps its user messages on replay (pitfall 96)", () => {
  const message = (text: string) => ({ role: "user", content: text });
  const answer = (text: string) => ({
    type: "message",
    id: `msg_${text}`,
    role: "assistant",
    content: [{ type: "output_text", text }],
  });
  const turns = [
    { input: inputItems({ input: [message("q1")] }), output: [answer("a1")] },
    { input: inputItems({ input: "q2" }), output: [answer("a2")] },
  ];
  const request = finish(decodeRequest(
    continueFrom(itemsOf(turns), { model: "m", input: [message("q3")] }),
  ));
  assert.deepEqual(
    request.turns.map((turn) => turn.parts.map((part) => "text" in part ? part.text : "")),
    [["q1"], ["a1"], ["q2"], ["a2"], ["q3"]],
  );
});

Deno.test("a reference to an item that the conversation already has doesn't repeat it", () => {
  const turn = { input: inputItems({ input: "q" }), output: [call] };
  const body = continueFrom(itemsOf([turn]), {
    model: "m",
    input: [{ type: "item_reference", id: "fc_1" }, output],
  });
  assert.deepEqual((body.input as unknown[]).slice(1), [call, output]);
});

Deno.test("references are resolved where the store knows them, else left to be refused", () => {
  const items = resolveReferences(
    [{ id: "fc_1" }, { type: "item_reference", id: "nope" }, { role: "user", content: "x" }],
    (id) => id === "fc_1" ? call : undefined,
  );
  assert.deepEqual(items, [
    call,
    { type: "item_reference", id: "nope" },
    { role: "user", content: "x" },
  ]);
});

Deno.test("reasoning that was never sealed is left out, with the ids that hang on it", () => {
  const bare = { type: "reasoning", id: "rs_1", summary: [] };
  const sealed = { ...bare, id: "rs_2", encrypted_content: "gAAA" };
  const { id: _, ...callWithoutId } = call;
  const coding = ["apply_patch_call", "shell_call", "tool_search_call"]
    .map((type) => ({ type, call_id: "call_4" }));
  const turns = [
    { input: inputItems({ input: "q" }), output: [bare, call] },
    { input: [output], output: [sealed, { ...call, call_id: "call_2", id: "fc_2" }] },
    { input: [], output: [bare] },
    { input: inputItems({ input: "q2" }), output: [{ ...call, id: "fc_3" }] },
    { input: [], output: [bare, ...coding.map((item) => ({ ...item, id: "apc_1" })), call] },
  ];
  const body = continueFrom(itemsOf(turns), { model: "m", input: "x" });
  assert.deepEqual((body.input as unknown[]).slice(1, 5), [
    callWithoutId,
    output,
    sealed,
    { ...call, call_id: "call_2", id: "fc_2" },
  ]);
  // Only what follows in the same answer hangs on it.
  assert.deepEqual((body.input as unknown[])[6], { ...call, id: "fc_3" });
  assert.deepEqual((body.input as unknown[]).slice(7, 11), [...coding, callWithoutId]);
});

Deno.test("reasoning with which a cut answer ends is left out", () => {
  const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
  const turns = [
    { input: inputItems({ input: "q" }), output: [sealed] },
    { input: inputItems({ input: "q2" }), output: [sealed] },
    { input: [{ type: "agent_message", content: [] }], output: [sealed, call] },
    // The answer was cut after its call, whose output is no part of it.
    { input: [output], output: [sealed, call, sealed] },
    { input: [output], output: [sealed, sealed] },
  ];
  const { input } = continueFrom(itemsOf(turns), { model: "m", input: "x" });
  assert.deepEqual((input as Item[]).map(({ type, role }) => role ?? type), [
    ...["user", "user", "agent_message"],
    ...["reasoning", "function_call", "function_call_output"],
    ...["reasoning", "function_call", "function_call_output", "user"],
  ]);
});

Deno.test("the vendor's own work ends no answer whose reasoning is left out", () => {
  const bare = { type: "reasoning", id: "rs_1", summary: [] };
  const search = { type: "web_search_call", id: "ws_1", status: "completed" };
  const files = { type: "file_search_call", id: "fs_1", status: "completed" };
  const message = { type: "message", role: "assistant", content: [] };
  const items = [bare, search, files, { ...message, id: "msg_1" }];
  const { id: _, ...searchWithoutId } = search;
  assert.deepEqual(withoutUnsealedReasoning(items), [searchWithoutId, files, message]);
  assert.deepEqual(withoutUnsealedReasoning(items.slice(1)), items.slice(1));
});

Deno.test("what is kept of an answer is read from a whole one and from a terminal event", () => {
  const response = { id: "resp_1", status: "completed", output: [call] };
  const kept = { id: "resp_1", output: [call] };
  assert.deepEqual(storedOutput(response), kept);
  assert.deepEqual(storedOutput({ type: "response.completed", response }), kept);
  assert.equal(storedOutput({ error: {} }), undefined);
});

Deno.test("an item is referred to once: each reference is as long as what it names", () => {
  const reference = { type: "item_reference", id: "fc_1" };
  const question = { role: "user", content: "x" };
  assert.throws(
    () => resolveReferences([reference, question, { id: "fc_1" }], () => call),
    /input: the item 'fc_1' is referred to twice/,
  );
});

Deno.test("references in a row are one: the AI SDK sends one per text of a message", () => {
  const reference = (id: string) => ({ type: "item_reference", id });
  const items = resolveReferences(
    [reference("msg_1"), reference("msg_1"), reference("msg_1"), reference("fc_1")],
    (id) => ({ ...call, id }),
  );
  assert.deepEqual(items.map(({ id }) => id), ["msg_1", "fc_1"]);
});

Deno.test("what a summary was asked for stands for all before it", () => {
  const message = (text: string) => ({ role: "user", content: text });
  const trigger = { type: "compaction_trigger" };
  const summary = { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" };
  const reasoning = { type: "reasoning", encrypted_content: "gAAA" };
  const continued = (input: object[], output: object[]) =>
    continueFrom([...input, ...output] as Item[], {
      ...{ model: "m", input: [message("new")] },
    }).input;
  assert.deepEqual(continued([message("old"), trigger], [reasoning, summary]), [
    reasoning,
    summary,
    message("new"),
  ]);
  const later = [message("old"), trigger, summary, message("q")];
  assert.deepEqual(continued(later, [call]), [summary, message("q"), call, message("new")]);
  // None came of it.
  assert.deepEqual(continued([message("old"), trigger], []), [message("old"), message("new")]);
  // One without a request follows messages that are stored.
  assert.deepEqual(continued([message("old"), summary], [call]), [
    message("old"),
    summary,
    call,
    message("new"),
  ]);
  const tools = { type: "additional_tools", role: "developer", tools: [] };
  assert.deepEqual(continued([tools, message("old"), trigger], [summary]), [
    ...[tools, summary, message("new")],
  ]);
});

Deno.test("calls of every kind lose their ids with the unsealed reasoning before them", () => {
  for (const kind of ["function", "custom_tool", "apply_patch", "shell", "local_shell"]) {
    const item = { type: `${kind}_call`, id: "c_1", call_id: "call_1" };
    const left = withoutUnsealedReasoning([{ type: "reasoning", id: "rs_1", summary: [] }, item]);
    assert.deepEqual(left, [{ type: `${kind}_call`, call_id: "call_1" }]);
  }
});

function itemsOf(turns: readonly { input: readonly Item[]; output: readonly Item[] }[]): Item[] {
  return turns.flatMap(({ input, output }) => [...input, ...output]);
}
