/** Agents mark the end of each round's prompt: the next round's prompt has to begin with it. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { dialects } from "../../src/dialects/text/mod.ts";

type Json = Record<string, unknown>;

const text = (text: string) => ({ type: "text", text });

/** Claude Code's calls of a session: each has one more round, and one mark, at its end. */
const results: readonly Json[][] = [
  [{ content: "plain" }],
  [{ content: [text("one"), text("two")] }],
  [{ content: "Exit code 1", is_error: true }],
  [{ content: "first of two" }, { content: [text("second")] }],
];

function callOf(rounds: number): Json {
  const turns = results.slice(0, rounds).flatMap((round, at) => {
    const ids = round.map((_, index) => `toolu_${at}_${index}`);
    return [
      {
        role: "assistant",
        content: ids.map((id) => ({ type: "tool_use", id, name: "Bash", input: {} })),
      },
      {
        role: "user",
        content: round.map((one, index) => ({
          ...{ type: "tool_result", tool_use_id: ids[index], ...one },
          ...(at === rounds - 1 && index === round.length - 1 ? marked : {}),
        })),
      },
    ];
  });
  const hello = { ...text("Go"), ...(rounds === 0 ? marked : {}) };
  return {
    ...{ model: "m", max_tokens: 9, system: [text("Be kind."), text("Be brief.")] },
    messages: [{ role: "user", content: [hello] }, ...turns],
    tools: [{ name: "Bash", input_schema: { type: "object", properties: {} } }],
  };
}

const marked = { cache_control: { type: "ephemeral" } };

for (
  const [dialect, cacheMarks] of [["responses", "breakpoints"], ["chat", "ephemeral"]] as const
) {
  Deno.test(`a round's prompt in ${dialect} begins with the last one's, whatever is marked`, () => {
    const promptOf = (rounds: number) => {
      const request = finish(dialects.messages.decodeRequest(callOf(rounds)));
      const target = { model: "m", maxOutputTokens: undefined, cacheMarks };
      const { body, losses } = finish(dialects[dialect].encodeRequest(request, target));
      assert.deepEqual(losses, []);
      const unmarked = JSON.stringify(body[dialect === "chat" ? "messages" : "input"])
        .replaceAll(/,"(?:cache_control|prompt_cache_breakpoint)":\{[^}]*\}/g, "");
      return JSON.parse(unmarked) as Json[];
    };
    for (let rounds = 0; rounds < results.length; rounds++) {
      const before = promptOf(rounds);
      assert.deepEqual(promptOf(rounds + 1).slice(0, before.length), before, `${rounds} rounds`);
    }
  });
}

Deno.test("in chat a result without text is no empty part, which Anthropic refuses, marked or not", () => {
  for (const mark of [{}, marked]) {
    const use = { type: "tool_use", id: "toolu_1", name: "Bash", input: {} };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "", ...mark };
    const hello = callOf(0);
    const messages = [
      ...hello.messages as Json[],
      { role: "assistant", content: [use] },
      { role: "user", content: [result] },
    ];
    const request = finish(dialects.messages.decodeRequest({ ...hello, messages }));
    const target = { model: "m", maxOutputTokens: undefined, cacheMarks: "ephemeral" } as const;
    const { body, losses } = finish(dialects.chat.encodeRequest(request, target));
    const tool = { role: "tool", tool_call_id: "toolu_1", content: "" };
    assert.deepEqual((body.messages as Json[]).at(-1), tool);
    assert.equal(losses.length, mark === marked ? 1 : 0);
  }
});

/** Codex and others add instructions after a round's results, or before the user's next words. */
Deno.test("a round's prompt to Claude begins with the last one's, with instructions in between", () => {
  const round = (at: number, results: string, form: (result: Json, news: Json) => Json[]) => [
    { role: "assistant", tool_calls: [{ ...called, id: `call_${at}` }] },
    ...form(
      { role: "tool", tool_call_id: `call_${at}`, content: results },
      { role: "developer", content: `Instruction ${at}` },
    ),
  ];
  const all: Json[][] = [
    [{ role: "system", content: "Be kind." }, { role: "user", content: "Go" }],
    round(0, "one", (result, news) => [result, news]),
    [
      { role: "assistant", content: "Done." },
      { role: "developer", content: "Plan mode is on." },
      { role: "user", content: "And now?" },
    ],
    round(1, "two", (result, news) => [news, result, { role: "developer", content: "More" }]),
    round(2, "three", (result) => [result]),
  ];
  const promptOf = (rounds: number) => {
    const body = { model: "m", messages: all.slice(0, rounds).flat() };
    const target = { model: "claude-opus-5-5", maxOutputTokens: undefined };
    const request = finish(dialects.chat.decodeRequest(body));
    const { body: sent, losses } = finish(dialects.messages.encodeRequest(request, target));
    assert.deepEqual(losses, []);
    return { system: sent.system, messages: sent.messages as Json[] };
  };
  for (let rounds = 1; rounds < all.length; rounds++) {
    const before = promptOf(rounds);
    const after = promptOf(rounds + 1);
    assert.deepEqual(after.system, before.system, `${rounds} rounds`);
    assert.deepEqual(after.messages.slice(0, before.messages.length), before.messages);
  }
  const places = promptOf(all.length).messages.map(({ role }) => role);
  assert.equal(places.filter((role) => role === "system").length, 3);
});

const called = { type: "function", function: { name: "shell", arguments: "{}" } };
