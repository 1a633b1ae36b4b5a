import assert from "@std/assert";
import {
  call,
  canonicalRequest,
  result,
  turn,
  user,
} from "../../../../../tests/support/canonical_request.ts";
import { finish } from "../../../../base/steps.ts";
import type { CanonicalRequest, Tool, WebSearch } from "../../../kernel/canonical_request.ts";
import { messages } from "../mod.ts";
import { setMarks } from "./cache_marks.ts";

const text = (words: number) => ({ type: "text", text: "word ".repeat(words) });

function marked(messages: Record<string, unknown>[], least: number): number[] {
  finish(setMarks({ messages }, least));
  return messages.flatMap(({ content }, at) =>
    (content as Record<string, unknown>[]).some((block) => "cache_control" in block) ? [at] : []
  );
}

Deno.test("the turn before is marked again once more blocks follow it than the vendor looks back", () => {
  const run = (results: number) => [
    { role: "user", content: [text(2_000)] },
    { role: "assistant", content: Array.from({ length: results }, () => text(3)) },
    { role: "user", content: Array.from({ length: results }, () => text(3)) },
  ];
  assert.deepEqual(marked(run(2), 1_000), [2]);
  assert.deepEqual(marked(run(15), 1_000), [0, 2]);
  assert.deepEqual(marked(run(15), 10_000), []);
});

const tool: Tool = { type: "function", name: "f", description: "word ".repeat(6_000), path: "t" };
const search: WebSearch = { demanded: false, contextSize: "low", path: "t", paths: {} };

function encode(changes: Partial<CanonicalRequest>) {
  const request = canonicalRequest({
    system: [{ text: "word ".repeat(6_000), path: "s" }],
    turns: [
      user("word ".repeat(6_000)),
      turn("assistant", call("a", "f")),
      turn("user", result("a", "1")),
    ],
    ...changes,
  });
  const target = { model: "claude-haiku-4-5", maxOutputTokens: undefined, autoCache: true };
  return finish(messages.encodeRequest(request, { ...target, webSearch: "tool" }));
}

/** Which parts of the prompt have a mark. */
function markedParts({ body }: ReturnType<typeof encode>): string[] {
  return ["tools", "system", "messages"].filter((name) =>
    JSON.stringify(body[name] ?? null).includes("cache_control")
  );
}

Deno.test("what can't be read from the cache again isn't marked: a summary's messages beside tools", () => {
  const summary = { asksForSummary: true, toolChoice: { mode: "none" } } as const;
  assert.deepEqual(markedParts(encode({ tools: [tool] })), ["tools", "system", "messages"]);
  assert.deepEqual(markedParts(encode({ tools: [tool], ...summary })), ["tools", "system"]);
  // Without tools it has no choice of them either, and is read from the cache as any other call.
  const turns = [user("word ".repeat(6_000))];
  assert.deepEqual(markedParts(encode({ turns, asksForSummary: true })), ["system", "messages"]);
});

Deno.test("a call without the tools that the conversation just used isn't marked: none begins like it", () => {
  const question = user("word ".repeat(6_000));
  const used = [question, turn("assistant", call("a", "f")), turn("user", result("a", "1"))];
  const says = turn("assistant", { type: "text", text: "Done.", path: "p" });
  // An agent that summarizes its session by itself, within its work or after it.
  assert.deepEqual(markedParts(encode({ turns: [...used, user("Summarize this.")] })), []);
  assert.deepEqual(markedParts(encode({ turns: [...used, says, user("Summarize this.")] })), []);
  // A chat that goes on without its tools: the calls before began like this one.
  const chat = [...used, says, user("And then?"), says, user("And then?")];
  assert.deepEqual(markedParts(encode({ turns: chat })), ["system", "messages"]);
  assert.deepEqual(markedParts(encode({ turns: used, tools: [tool] })).length, 3);
});

Deno.test("the tools of a summary are those of the calls before, with a search that is barred", () => {
  const before = encode({ tools: [tool], webSearch: search });
  const summary = encode({
    ...{ tools: [tool], webSearch: search },
    ...{ asksForSummary: true, toolChoice: { mode: "none" } } as const,
  });
  assert.deepEqual(summary.body.tools, before.body.tools);
  assert.deepEqual(summary.body.tool_choice, { type: "none" });
  assert.deepEqual([before.losses.length, summary.losses.length], [1, 0]);
});
