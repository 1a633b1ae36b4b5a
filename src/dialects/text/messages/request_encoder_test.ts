import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { acceptedByMessagesVendor } from "../../../../tests/support/messages_vendor.ts";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalRequest, Part, Turn } from "../../kernel/canonical_request.ts";
import type { EncodedRequest } from "../../kernel/dialect.ts";
import { messages } from "./mod.ts";

type Json = Record<string, unknown>;

const png = "iVBORw0KGgo=";

function text(value: string, more: Partial<Part> = {}): Part {
  return { type: "text", text: value, path: "messages[0].content", ...more } as Part;
}

function call(id: string, args: string, name = "f"): Part {
  return { type: "tool-call", id, name, arguments: args, custom: false, path: `call ${id}` };
}

function result(callId: string, value: string): Part {
  const part = { type: "text", text: value, path: "r" } as const;
  return { type: "tool-result", callId, parts: [part], isError: false, path: `result ${callId}` };
}

function user(...parts: Part[]): Turn {
  return { role: "user", parts, path: "messages[0]" };
}

function assistant(...parts: Part[]): Turn {
  return { role: "assistant", parts, path: "messages[1]" };
}

function request(changes: Partial<CanonicalRequest>): CanonicalRequest {
  return {
    model: "asked",
    stream: false,
    system: [],
    turns: [user(text("Hi"))],
    tools: [],
    unsupported: [],
    paths: {},
    ...changes,
  };
}

function encode(changes: Partial<CanonicalRequest>, model = "claude-haiku-4-5"): EncodedRequest {
  const encoded = finish(
    messages.encodeRequest(request(changes), { model, maxOutputTokens: undefined }),
  );
  acceptedByMessagesVendor(encoded.body);
  return encoded;
}

function sent(changes: Partial<CanonicalRequest>, model?: string): Json {
  return encode(changes, model).body;
}

function contents(changes: Partial<CanonicalRequest>, model?: string): unknown[] {
  const list = sent(changes, model).messages as { role: string; content: Json[] }[];
  return list.map(({ role, content }) => [
    role,
    ...content.map((block) => block.text ?? block.id ?? block.tool_use_id ?? block.type),
  ]);
}

function fault(act: () => unknown): Fault {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
  return assert.fail("no fault was thrown");
}

Deno.test("parallel results and the user's words are one user turn, results first", () => {
  const turns = [
    user(text("go")),
    assistant(call("a", "{}"), call("b", "{}")),
    user(result("a", "1")),
    user(text("thx"), result("b", "2")),
  ];
  assert.deepEqual(contents({ turns }), [
    ["user", "go"],
    ["assistant", "a", "b"],
    ["user", "a", "b", "thx"],
  ]);
});

Deno.test("arguments are objects, empty ones {}, key order kept", () => {
  const turns = [
    user(text("go")),
    assistant(call("a", ""), call("b", '{"z":1,"a":"x"}')),
    user(result("a", ""), result("b", "ok")),
  ];
  const list = sent({ turns }).messages as { content: Json[] }[];
  assert.equal(JSON.stringify(list[1]?.content.map((one) => one.input)), '[{},{"z":1,"a":"x"}]');
  // An empty result has no content: empty text is refused.
  assert.deepEqual(list[2]?.content, [
    { type: "tool_result", tool_use_id: "a" },
    { type: "tool_result", tool_use_id: "b", content: "ok" },
  ]);
});

Deno.test("arguments that are no JSON object are a 400 naming the call", () => {
  for (const args of ["{oops", "[1]", '"x"']) {
    const turns = [user(text("go")), assistant(call("a", args)), user(result("a", "1"))];
    const thrown = fault(() => encode({ turns }));
    assert.deepEqual([thrown.code, thrown.param], ["invalid_value", "call a"]);
  }
});

Deno.test("missing, stray and repeated results are a 400 naming the ids", () => {
  const calls = assistant(call("a", "{}"), call("b", "{}"));
  const missing = fault(() => encode({ turns: [user(text("x")), calls, user(result("a", "1"))] }));
  assert.match(missing.message, /tool calls b\./);
  const last = fault(() => encode({ turns: [user(text("x")), calls] }));
  assert.match(last.message, /tool calls a, b\./);
  const stray = fault(() => encode({ turns: [user(result("zz", "1"))] }));
  assert.match(stray.message, /^result zz: .* zz/);
});

Deno.test("ids that the vendor refuses or that return are exchanged on both sides", () => {
  const turns = [
    user(text("go")),
    assistant(call("call:1/α", "{}"), call("call:1/β", "{}")),
    user(result("call:1/β", "2"), result("call:1/α", "1")),
    assistant(call("call:1/α", "{}"), call("plain", "{}")),
    user(result("call:1/α", "3"), result("plain", "4")),
    assistant(call("plain", "{}")),
    user(result("plain", "5")),
  ];
  const list = sent({ turns }).messages as { content: Json[] }[];
  const ids = list.map(({ content }) => content.map((one) => one.id ?? one.tool_use_id));
  assert.deepEqual(ids[2], [ids[1]?.[1], ids[1]?.[0]]);
  assert.deepEqual([ids[4], ids[6]], [ids[3], ids[5]]);
  assert.equal(ids[3]?.[1], "plain");
  assert.equal(new Set([ids[1], ids[3], ids[5]].flat()).size, 5);
  assert.deepEqual(sent({ turns }), sent({ turns }));
});

Deno.test("empty assistant text beside calls and empty assistant turns disappear", () => {
  const turns = [
    user(text("a")),
    assistant(text("")),
    user(text("b")),
    assistant(text(" \n"), call("a", "{}")),
    user(result("a", "1")),
  ];
  assert.deepEqual(contents({ turns }), [["user", "a", "b"], ["assistant", "a"], ["user", "a"]]);
  const empty = { ...user(text("")), path: "messages[3]" };
  assert.equal(fault(() => encode({ turns: [user(text("a")), empty] })).param, "messages[3]");
});

Deno.test("system texts in the middle are hoisted in order, each its own block", () => {
  const body = sent({
    system: [
      { text: "A", cache: { ttl: "1h" }, path: "messages[0]" },
      { text: "", path: "messages[1]" },
    ],
    turns: [
      user(text("u1")),
      assistant(text("a1")),
      { role: "system", parts: [text("B")], path: "messages[4]" },
      user(text("u2")),
    ],
  });
  assert.deepEqual(body.system, [
    { type: "text", text: "A", cache_control: { type: "ephemeral", ttl: "1h" } },
    { type: "text", text: "B" },
  ]);
  assert.equal((body.messages as unknown[]).length, 3);
});

Deno.test("system texts in the middle follow the user's turn beside them, where the model takes it", () => {
  const says = (value: string): Turn => ({ role: "system", parts: [text(value)], path: "s" });
  const sentTo = (model: string, ...turns: Turn[]) => {
    const { system, messages: list } = sent({ turns }, model) as Record<string, Json[]>;
    return [
      (system ?? []).map((block) => block.text),
      ...list!.map(({ role, content }) =>
        `${role}: ${(content as Json[]).map((block) => block.text ?? block.type).join()}`
      ),
    ];
  };
  const turns = [
    says("first"),
    user(text("u1")),
    says("A"),
    user(text("u2")),
    assistant(call("a", "{}")),
    says("B"),
    user(result("a", "1")),
    says(" "),
    says("C"),
    assistant(text("")),
    user(text("u3")),
  ];
  const inPlace = [
    ["first"],
    "user: u1,u2",
    "system: A",
    "assistant: tool_use",
    "user: tool_result,u3",
    "system: B,C",
  ];
  assert.deepEqual(sentTo("claude-opus-4-8", ...turns), inPlace);
  assert.deepEqual(sentTo("claude-haiku-5-5", ...turns), inPlace);
  assert.deepEqual(sentTo("claude-sonnet-5", ...turns)[0], ["first", "A", "B", "C"]);
  assert.deepEqual(
    sentTo("claude-opus-4-8", says("E"), assistant(text("Hello!")), user(text("u"))),
    [
      ["E"],
      "user: (continue)",
      "assistant: Hello!",
      "user: u",
    ],
  );
});

Deno.test("system texts after the assistant's turn ask for a new one", () => {
  const says = (value: string): Turn => ({ role: "system", parts: [text(value)], path: "s" });
  const asked = [user(text("u1")), assistant(text("a1")), says("S")];
  const sentTo = (model: string, ...turns: Turn[]) => {
    const { system, messages } = sent({ turns }, model) as Record<string, Json[]>;
    return [...system ?? [], ...messages!].map(({ role, text, content }) =>
      [role ?? "front", text ?? (content as Json[]).map((block) => block.text ?? block.type)].join()
    );
  };
  const inPlace = ["user,u1", "assistant,a1", "user,(continue)", "system,S"];
  assert.deepEqual(sentTo("claude-opus-5-5", ...asked), inPlace);
  const inFront = ["front,S", "user,u1", "assistant,a1", "user,(continue)"];
  assert.deepEqual(sentTo("claude-sonnet-5", ...asked), inFront);
  const next = [...asked, assistant(text("a2")), user(text("u2"))];
  assert.deepEqual(sentTo("claude-opus-5-5", ...next), [...inPlace, "assistant,a2", "user,u2"]);
  // What is blank asks for nothing, and a call is followed by its result.
  const prefill = sentTo("claude-haiku-4-5", user(text("u")), assistant(text("a")), says(" "));
  assert.deepEqual(prefill, ["user,u", "assistant,a"]);
  const called = [user(text("u")), assistant(call("a", "{}")), says("S"), assistant(text("a"))];
  assert.deepEqual(sentTo("claude-opus-5-5", ...called, user(result("a", "1"))), [
    "user,u",
    "assistant,tool_use,a",
    "user,tool_result",
    "system,S",
  ]);
});

Deno.test("a long turn that a system text waits behind is not read again for each turn after it", () => {
  let reads = 0;
  const counted: Part = {
    ...{ text: "a", path: "p" },
    get type() {
      reads++;
      return "text" as const;
    },
  };
  const turns = (length: number): Turn[] => [
    user(text("u")),
    assistant(...Array<Part>(length).fill(counted), call("a", "{}")),
    { role: "system", parts: [text("S")], path: "s" },
    ...Array.from({ length }, () => assistant(text("b"))),
    user(result("a", "1")),
  ];
  const readsOf = (length: number) => {
    reads = 0;
    sent({ turns: turns(length) }, "claude-opus-5-5");
    return reads;
  };
  assert.ok(readsOf(200) < 3 * readsOf(100));
});

Deno.test("thinking that its vendor refuses goes, unless the answer needs it", () => {
  const thought = { type: "thinking", thinking: "Hm.", signature: "s" };
  const sealed = { type: "redacted_thinking", data: "s" };
  const [use, said] = [{ type: "tool_use", id: "t", name: "f", input: {} }, {
    type: "text",
    text: "A",
  }];
  const turns = (...contents: unknown[]) =>
    contents.map((content) => ({ role: "assistant", content }));
  const thinking = { type: "adaptive" };
  const body = {
    thinking,
    messages: turns([thought, said], "B", [sealed], [sealed, thought, use]),
  };
  const refusals = [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.5.content.0: Invalid `data` in `redacted_thinking` block",
    "The block is bound to a different conversation.",
    "messages.1.content.0.thinking.signature: Field required",
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
  ];
  for (const refusal of refusals) {
    const plain = messages.withoutRefused!(body, refusal)!;
    assert.deepEqual(plain, { request: { thinking, messages: turns([said], "B", [use]) } });
    assert.equal(messages.withoutRefused!(plain.request as Json, refusal), undefined);
    const enabled = { type: "enabled", budget_tokens: 1024 };
    assert.equal(messages.withoutRefused!({ ...body, thinking: enabled }, refusal), undefined);
  }
  for (const other of ["thinking.type: not supported", "thinking.budget_tokens: too small"]) {
    assert.equal(messages.withoutRefused!(body, other), undefined);
  }
});

Deno.test("a server that refuses system turns gets their texts in front", () => {
  const news: Turn = { role: "system", parts: [text("B")], path: "s" };
  const system = [{ text: "A", path: "system" }];
  const turns = [user(text("u1")), news, assistant(text("a1")), user(text("u2")), news];
  const body = {
    ...sent({ system, turns, maxOutputTokens: 9 }, "claude-opus-5"),
    model: "claude-haiku-4-5",
  };
  const refusal = "messages.1: role 'system' is not supported on this model";
  assert.throws(() => acceptedByMessagesVendor(body), { message: refusal });
  const { request: again, cause = "" } = messages.withoutRefused!(body, refusal)!;
  assert.deepEqual(messages.withoutRefused!(body, cause)!.request, again);
  acceptedByMessagesVendor(again);
  assert.deepEqual((again.system as Json[]).map((block) => block.text), ["A", "B", "B"]);
  assert.deepEqual((again.messages as Json[]).map(({ role }) => role), [
    "user",
    "assistant",
    "user",
  ]);
  assert.equal(messages.withoutRefused!(body, "max_tokens: too many"), undefined);
  assert.equal(messages.withoutRefused!(again, refusal), undefined);
});

Deno.test("a conversation without a user turn is refused, one that the assistant opens isn't", () => {
  const thrown = fault(() => encode({ turns: [] }));
  assert.equal(thrown.message, "messages: at least one user message is required.");
  const named = fault(() => encode({ turns: [], turnsPath: "input" }));
  assert.equal(named.message, "input: at least one user message is required.");
  assert.deepEqual(contents({ turns: [assistant(text("Hello!")), user(text("Hi"))] }), [
    ["user", "(continue)"],
    ["assistant", "Hello!"],
    ["user", "Hi"],
  ]);
});

Deno.test("an answer to be continued loses its trailing white space", () => {
  assert.deepEqual(contents({ turns: [user(text("q")), assistant(text("The answer is "))] }), [
    ["user", "q"],
    ["assistant", "The answer is"],
  ]);
});

Deno.test("max_tokens is always sent: the caller's, else the model's, never above it", () => {
  assert.equal(sent({}).max_tokens, 64_000);
  assert.equal(sent({}, "claude-opus-5-5").max_tokens, 128_000);
  assert.equal(sent({ maxOutputTokens: 9 }).max_tokens, 9);
  assert.equal(sent({ maxOutputTokens: 999_999 }).max_tokens, 64_000);
  const other = finish(
    messages.encodeRequest(request({}), { model: "other", maxOutputTokens: undefined }),
  );
  assert.equal(other.body.max_tokens, 4_096);
  const told = finish(
    messages.encodeRequest(request({}), { model: "other", maxOutputTokens: 8_000 }),
  );
  assert.equal(told.body.max_tokens, 8_000);
});

Deno.test("temperature is clamped to 1, and dropped with a report where there is no sampling", () => {
  const paths = { temperature: "temperature", topP: "top_p", topK: "top_k" };
  assert.equal(sent({ temperature: 1.7 }).temperature, 1);
  assert.equal(sent({ temperature: 0.3 }).temperature, 0.3);
  const newest = encode({ temperature: 1.7, topP: 0.5, topK: 3, paths }, "claude-opus-5-5");
  assert.deepEqual(["temperature", "top_p", "top_k"].filter((one) => one in newest.body), []);
  assert.deepEqual(newest.losses.map(({ path }) => path), ["temperature", "top_p", "top_k"]);
  assert.deepEqual(encode({ temperature: 1, topP: 1 }, "claude-opus-5-5").losses, []);
  const both = encode({ temperature: 0.5, topP: 0.9, paths });
  assert.deepEqual([both.body.temperature, both.body.top_p], [0.5, undefined]);
  assert.deepEqual(both.losses, [{ path: "top_p", weight: "hint" }]);
});

Deno.test("stop sequences of white space only are left out and reported", () => {
  const encoded = encode({ stop: ["\n", "END", ""], paths: { stop: "stop" } });
  assert.deepEqual(encoded.body.stop_sequences, ["END"]);
  assert.deepEqual(encoded.losses, [{ path: "stop", weight: "hint" }]);
  assert.equal("stop_sequences" in sent({ stop: [" "] }), false);
});

Deno.test("fields without a counterpart never reach the vendor and are losses by their weight", () => {
  const encoded = encode({
    choices: 2,
    seed: 1,
    logitBias: { "5": 1 },
    logprobs: { top: 2 },
    frequencyPenalty: 0.5,
    presencePenalty: 0,
    verbosity: "low",
    user: "u",
    metadata: { k: "v" },
    serviceTier: "flex",
    unsupported: [{ path: "store", value: true, weight: "hint" }],
    paths: { choices: "n", logitBias: "logit_bias", metadata: "metadata" },
  });
  assert.deepEqual(Object.keys(encoded.body), ["model", "max_tokens", "messages", "metadata"]);
  assert.deepEqual(encoded.body.metadata, { user_id: "u" });
  assert.deepEqual(encoded.losses, [
    { path: "store", weight: "hint" },
    { path: "n", weight: "meaning" },
    { path: "logprobs", weight: "meaning" },
    { path: "logit_bias", weight: "meaning" },
    { path: "seed", weight: "hint" },
    { path: "frequencyPenalty", weight: "hint" },
    { path: "verbosity", weight: "hint" },
    { path: "metadata", weight: "hint" },
    { path: "serviceTier", weight: "hint" },
  ]);
  assert.deepEqual(encode({ choices: 1, serviceTier: "default" }).losses, []);
  assert.equal(sent({ serviceTier: "default" }).service_tier, "standard_only");
});

Deno.test("media become the blocks that exist; others are a loss that leaves a note", () => {
  const media = (kind: "image" | "audio" | "file" | "video", source: unknown, name?: string) =>
    ({ type: "media", kind, source, ...(name ? { name } : {}), path: `p ${kind}` }) as Part;
  const data = (mimeType: string, value: string) => ({ type: "base64", mimeType, data: value });
  const encoded = finish(messages.encodeRequest(
    request({
      turns: [user(
        media("image", data("image/png", png)),
        media("image", { type: "url", url: "https://a.example/x.png", mimeType: undefined }),
        media("image", data("application/pdf", "JVBERi0=")),
        media("file", data("text/plain", btoa("plain words")), "a.txt"),
        media("file", { type: "url", url: "https://a.example/x.pdf", mimeType: undefined }),
        media("audio", data("audio/wav", "UklGRg==")),
        media("image", { type: "vendor-file", id: "file-1", mimeType: undefined }),
      )],
    }),
    { model: "claude-haiku-4-5", maxOutputTokens: undefined },
  ));
  const [{ content }] = encoded.body.messages as [{ content: Json[] }];
  assert.deepEqual(content, [
    { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
    { type: "image", source: { type: "url", url: "https://a.example/x.png" } },
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
    },
    {
      type: "document",
      source: { type: "text", media_type: "text/plain", data: "plain words" },
      title: "a.txt",
    },
    { type: "document", source: { type: "url", url: "https://a.example/x.pdf" } },
    { type: "text", text: "[audio left out]" },
    { type: "text", text: "[image left out]" },
  ]);
  assert.deepEqual(encoded.losses, [
    { path: "p audio", weight: "meaning" },
    { path: "p image", weight: "meaning" },
  ]);
});

Deno.test("results carry errors and images", () => {
  const image = {
    type: "media",
    kind: "image",
    source: { type: "base64", mimeType: "image/png", data: png },
    path: "i",
  } as const;
  const base = { type: "tool-result" as const, isError: false, path: "r", parts: [] };
  const words = (said: string) => ({ type: "text" as const, text: said, path: "t" });
  const turns = [
    user(text("go")),
    assistant(call("a", "{}"), call("b", "{}"), call("c", "{}")),
    user(
      { ...base, callId: "a", isError: true, parts: [words("no")] },
      { ...base, callId: "b", parts: [words('{"x":1}'), image] },
      { ...base, callId: "c", parts: [words("plain")], cache: { ttl: undefined } },
    ),
  ];
  const list = sent({ turns }).messages as { content: Json[] }[];
  assert.deepEqual(list[2]?.content, [
    { type: "tool_result", tool_use_id: "a", content: "no", is_error: true },
    {
      type: "tool_result",
      tool_use_id: "b",
      content: [
        { type: "text", text: '{"x":1}' },
        { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
      ],
    },
    {
      type: "tool_result",
      tool_use_id: "c",
      content: "plain",
      cache_control: { type: "ephemeral" },
    },
  ]);
});

Deno.test("reasoning goes back only with this dialect's own seal", () => {
  const reasoning = (dialect: "messages" | "generate", kind: string): Part => ({
    type: "reasoning",
    text: "hm",
    opaque: { dialect, kind, value: "seal" },
    path: "x",
  });
  const turns = [
    user(text("q")),
    assistant(
      reasoning("messages", "signature"),
      reasoning("messages", "redacted"),
      reasoning("generate", "thoughtSignature"),
      { type: "reasoning", text: "unsigned", path: "x" },
      text("a"),
      // The answer was cut here; the vendor refuses thinking as the last block.
      reasoning("messages", "signature"),
      reasoning("messages", "redacted"),
    ),
    user(text("more")),
  ];
  const encoded = encode({ turns });
  const list = encoded.body.messages as { content: Json[] }[];
  assert.deepEqual(list[1]?.content, [
    { type: "thinking", thinking: "hm", signature: "seal" },
    { type: "redacted_thinking", data: "seal" },
    { type: "text", text: "a" },
  ]);
  assert.deepEqual(encoded.losses, []);
});

Deno.test("of more than four cache marks the last four stay", () => {
  const marked = (index: number) =>
    text(`t${index}`, { cache: { ttl: undefined }, path: `p${index}` });
  const encoded = encode({
    system: [{ text: "s", cache: { ttl: "5m" }, path: "system" }],
    turns: [user(...[1, 2, 3, 4].map(marked))],
  });
  assert.deepEqual(encoded.losses, [{ path: "system.cache_control", weight: "hint" }]);
  assert.equal(JSON.stringify(encoded.body).match(/cache_control/g)?.length, 4);
});

Deno.test("names of speakers and detail of images are reported, refusals are ordinary text", () => {
  const turns: Turn[] = [
    { ...user(text("q")), name: "Ann" },
    assistant({ type: "refusal", text: "no", path: "x" }),
    user(text("why")),
  ];
  const encoded = encode({ turns });
  assert.deepEqual(encoded.losses, [{ path: "messages[0].name", weight: "hint" }]);
  assert.deepEqual(contents({ turns })[1], ["assistant", "no"]);
});

Deno.test("a token count is asked with the fields that its endpoint knows", () => {
  const target = { model: "claude-haiku-4-5", maxOutputTokens: undefined };
  const full = request({ temperature: 0.5, stream: true, user: "u", stop: ["x"] });
  const { body } = finish(messages.encodeRequest(full, target));
  const asked = messages.counting!.requestBody(body, target.model) as object;
  assert.deepEqual(Object.keys(asked), ["model", "messages"]);
});
