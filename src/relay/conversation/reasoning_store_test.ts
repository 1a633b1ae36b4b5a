import assert from "@std/assert";
import type { AnswerPart } from "../../dialects/kernel/canonical.ts";
import type { CanonicalRequest, Opaque, Part } from "../../dialects/kernel/canonical_request.ts";
import type { RetainedReasoning, StoredResponseStore } from "../../shared/stored_response.ts";
import { recallReasoning, retainedReasoning } from "./reasoning_store.ts";

const seal = (dialect: Opaque["dialect"], value: string): Opaque => ({ dialect, kind: "s", value });

function answerOf(parts: AnswerPart[]) {
  const choice = { index: 0, parts, logprobs: undefined, finish: undefined };
  return {
    id: undefined,
    model: undefined,
    created: undefined,
    choices: [choice],
    usage: undefined,
    truncated: false,
  };
}

function requestOf(parts: Part[]): CanonicalRequest {
  const turn = { role: "assistant" as const, parts, path: "messages[1]" };
  return {
    model: "m",
    stream: false,
    system: [],
    turns: [turn],
    tools: [],
    unsupported: [],
    paths: {},
  };
}

const call = (id: string): Part => ({
  type: "tool-call",
  id,
  name: "f",
  arguments: "{}",
  custom: false,
  path: "p",
});

/** A store that holds what an answer left. */
function storeOf(kept: readonly RetainedReasoning[]): StoredResponseStore & { asked: string[][] } {
  const asked: string[][] = [];
  return {
    asked,
    findResponse: () => Promise.resolve(undefined),
    findByItems: () => Promise.resolve([]),
    removeResponse: () => Promise.resolve(false),
    findReasoning(_account, ids) {
      asked.push([...ids]);
      return Promise.resolve(kept.filter((one) => ids.includes(one.callId)));
    },
  };
}

const signed = answerOf([
  { kind: "reasoning", text: "why", opaque: seal("messages", "sig") },
  { kind: "tool-call", id: "c1", name: "f", custom: false, text: "{}" },
]);

Deno.test("signed reasoning before a tool call comes back in front of it", async () => {
  const store = storeOf(retainedReasoning(signed));
  const { turns } = await recallReasoning(requestOf([call("c1")]), "messages", 1, store);
  assert.deepEqual(turns[0]!.parts, [
    { type: "reasoning", text: "why", opaque: seal("messages", "sig"), path: "p" },
    call("c1"),
  ]);
});

Deno.test("a call's own signature comes back on exactly that call", async () => {
  const kept = retainedReasoning(answerOf([
    {
      kind: "tool-call",
      id: "c1",
      name: "f",
      custom: false,
      text: "{}",
      opaque: seal("generate", "x"),
    },
    { kind: "tool-call", id: "c2", name: "f", custom: false, text: "{}" },
  ]));
  assert.deepEqual(kept.map(({ callId }) => callId), ["c1"]);
  const request = requestOf([call("c1"), call("c2")]);
  const { turns } = await recallReasoning(request, "generate", 1, storeOf(kept));
  assert.deepEqual(turns[0]!.parts, [{ ...call("c1"), opaque: seal("generate", "x") }, call("c2")]);
});

Deno.test("what belongs to another dialect stays away", async () => {
  const store = storeOf(retainedReasoning(signed));
  const { turns } = await recallReasoning(requestOf([call("c1")]), "generate", 1, store);
  assert.deepEqual(turns[0]!.parts, [call("c1")]);
});

Deno.test("what the client carried itself stands, unsealed reasoning gives way", async () => {
  const store = storeOf(retainedReasoning(signed));
  const own = { type: "reasoning", text: "own", opaque: seal("messages", "o"), path: "q" } as const;
  const carried = await recallReasoning(requestOf([own, call("c1")]), "messages", 1, store);
  assert.deepEqual(carried.turns[0]!.parts, [own, call("c1")]);
  const bare = { type: "reasoning", text: "why", path: "q" } as const;
  const recalled = await recallReasoning(requestOf([bare, call("c1")]), "messages", 1, store);
  assert.deepEqual(recalled.turns[0]!.parts.map((part) => part.path), ["p", "p"]);
});

Deno.test("what the client carried of another dialect is no reason to leave ours out", async () => {
  const store = storeOf(retainedReasoning(signed));
  const foreign = { ...call("c1"), opaque: seal("generate", "x") } as Part;
  const { turns } = await recallReasoning(requestOf([foreign]), "messages", 1, store);
  assert.deepEqual(turns[0]!.parts, [
    { type: "reasoning", text: "why", opaque: seal("messages", "sig"), path: "p" },
    foreign,
  ]);
});

Deno.test("an answer without tool calls keeps nothing, a history without them asks nobody", async () => {
  const parts: AnswerPart[] = [{ kind: "reasoning", text: "", opaque: seal("messages", "s") }];
  assert.deepEqual(retainedReasoning(answerOf(parts)), []);
  const store = storeOf([]);
  const request = requestOf([{ type: "text", text: "a", path: "p" }]);
  assert.equal(await recallReasoning(request, "messages", 1, store), request);
  assert.deepEqual(store.asked, []);
});
