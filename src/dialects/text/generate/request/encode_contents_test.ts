/** Turns towards generate vendors: pitfalls B of protocols/pitfalls.md, by number. */
import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import {
  assistant,
  call,
  canonicalRequest,
  result,
  text,
  turn,
  user,
} from "../../../../../tests/support/canonical_request.ts";
import { Fault } from "../../../../shared/fault.ts";
import type { CanonicalRequest, Part, Turn } from "../../../kernel/canonical_request.ts";
import { signatureSentinel } from "../../../kernel/reasoning.ts";
import { encodeRequest } from "../request_encoder.ts";

Deno.test("results of parallel calls are one user turn in the order of the calls (32)", () => {
  const { body } = encode({
    turns: [
      user("go"),
      assistant(call("a", "one"), call("b", "two")),
      { ...turn("user", result("b", "second")), path: "m[2]" },
      { ...turn("user", result("a", "first")), path: "m[3]" },
      user("thx"),
    ],
  });
  assert.deepEqual(contentsOf(body)[2], {
    role: "user",
    parts: [
      { functionResponse: { id: "a", name: "one", response: { output: "first" } } },
      { functionResponse: { id: "b", name: "two", response: { output: "second" } } },
      { text: "thx" },
    ],
  });
});

Deno.test("a result takes the name of its call; without a call it is refused (33)", () => {
  const turns = [user("go"), assistant(call("a", "one")), turn("user", result("x", "?"))];
  refused(() => encode({ turns }), /no call before it has the id 'x'/);
});

Deno.test("calls without results are refused, naming their ids", () => {
  const turns = [
    user("go"),
    assistant(call("a", "f"), call("b", "f")),
    turn("user", result("a", "")),
  ];
  refused(() => encode({ turns }), /'b'/);
  refused(() => encode({ turns: [user("go"), assistant(call("a", "f"))] }), /'a'/);
});

Deno.test("a result is an object (34)", () => {
  const responseOf = (text: string, isError = false) => {
    const part: Part = { ...result("a", text), isError };
    const { body } = encode({ turns: [user("go"), assistant(call("a", "f")), turn("user", part)] });
    const first = contentsOf(body)[2]!.parts[0] as { functionResponse: { response: unknown } };
    return first.functionResponse.response;
  };
  assert.deepEqual(responseOf("42"), { output: "42" });
  assert.deepEqual(responseOf("[1,2]"), { output: "[1,2]" });
  assert.deepEqual(responseOf('{"a":1}'), { a: 1 });
  assert.deepEqual(responseOf(""), { output: "" });
  assert.deepEqual(responseOf("no such file", true), { error: "no such file" });
});

Deno.test("the first call of each step has a signature, its own or the sentinel (35, 36)", () => {
  const signed: Part = { ...call("a", "f"), opaque: thoughtSignature("sig") };
  const foreign: Part = {
    ...call("c", "f"),
    opaque: { dialect: "messages", kind: "signature", value: "x" },
  };
  const turns = [
    user("go"),
    assistant(signed, call("b", "f")),
    turn("user", result("a", ""), result("b", "")),
    assistant(foreign, call("d", "f")),
    turn("user", result("c", ""), result("d", "")),
  ];
  const signatures = (model: string) =>
    contentsOf(encode({ turns }, model).body).flatMap(({ parts }) =>
      parts.filter((part) => "functionCall" in part).map((part) => part.thoughtSignature)
    );
  assert.deepEqual(signatures("gemini-3-pro-preview"), [
    "sig",
    undefined,
    signatureSentinel,
    undefined,
  ]);
  assert.deepEqual(signatures("gemini-2.5-flash"), ["sig", undefined, undefined, undefined]);
});

Deno.test("ids of calls go to models that know them only", () => {
  const turns = [user("go"), assistant(call("a", "f")), turn("user", result("a", "x"))];
  const text = (model: string) => JSON.stringify(encode({ turns }, model).body);
  assert.match(text("gemini-3.1-pro-preview"), /"id":"a"/);
  assert.doesNotMatch(text("gemini-2.5-flash"), /"id"/);
});

Deno.test("a request with system texts alone is refused here (49)", () => {
  const system = [{ text: "be kind", path: "messages[0]" }];
  refused(() => encode({ system, turns: [] }), /^messages: at least one user message/);
  const responses = { system, turns: [], turnsPath: "input" };
  refused(() => encode(responses), /^input: at least one user message/);
});

Deno.test("Gemma gets the system text at the head of the first user turn (50)", () => {
  const { body } = encode(
    { system: [{ text: "be kind", path: "s" }], turns: [user("hello")] },
    "gemma-3-27b-it",
  );
  assert.deepEqual(body, {
    contents: [{ role: "user", parts: [{ text: "be kind" }, { text: "hello" }] }],
  });
});

Deno.test("system texts between turns are hoisted, roles alternate, the model never begins", () => {
  const { body } = encode({
    system: [{ text: "A", path: "s" }],
    turns: [assistant(text("hi")), user("one"), turn("system", text("B")), user("two")],
  });
  assert.deepEqual(body, {
    contents: [
      { role: "user", parts: [{ text: "(continue)" }] },
      { role: "model", parts: [{ text: "hi" }] },
      { role: "user", parts: [{ text: "one" }, { text: "two" }] },
    ],
    systemInstruction: { parts: [{ text: "A" }, { text: "B" }] },
  });
});

Deno.test("system texts after the assistant's turn ask for a new one", () => {
  const sent = (...turns: Turn[]) =>
    contentsOf(encode({ turns }).body).map((content) => {
      const { role, parts } = content as { role: string; parts: { text: string }[] };
      return [role, ...parts.map(({ text }) => text)].join();
    });
  const says = (value: string) => turn("system", text(value));
  const begun = ["user,u", "model,a"];
  const asked = [...begun, "user,(continue)"];
  assert.deepEqual(sent(user("u"), assistant(text("a")), says("S")), asked);
  assert.deepEqual(sent(assistant(text("a")), says("S")), ["user,(continue)", ...asked.slice(1)]);
  // What is blank asks for nothing, and what stands before the assistant's turn is answered.
  assert.deepEqual(sent(user("u"), assistant(text("a")), says(" ")), begun);
  assert.deepEqual(sent(user("u"), says("S"), assistant(text("a"))), begun);
});

Deno.test("empty turns: the assistant's are dropped and neighbours merged, a user's is refused", () => {
  const { body } = encode({ turns: [user("one"), assistant(text("")), user("two")] });
  assert.deepEqual(contentsOf(body), [{ role: "user", parts: [{ text: "one" }, { text: "two" }] }]);
  refused(
    () => encode({ turns: [user("one"), { ...user(""), path: "messages[1]" }] }),
    /^messages\[1\]/,
  );
});

Deno.test("arguments: missing ones are an empty object, anything but an object is refused", () => {
  const turns = (args: string) => [
    user("go"),
    assistant({ ...call("a", "f"), arguments: args }),
    turn("user", result("a", "")),
  ];
  assert.match(JSON.stringify(encode({ turns: turns("") }).body), /"args":\{\}/);
  for (const args of ["[1]", "3", "{"]) refused(() => encode({ turns: turns(args) }), /'a'/);
});

Deno.test("reasoning goes back only with this vendor's signature", () => {
  const reasoning: Part = { type: "reasoning", text: "hm", path: "r" };
  const parts = (part: Part) =>
    contentsOf(encode({ turns: [user("x"), assistant(part, text("y")), user("z")] }).body)[1]!
      .parts;
  assert.deepEqual(parts(reasoning), [{ text: "y" }]);
  const foreign: Part = {
    ...reasoning,
    opaque: { dialect: "messages", kind: "signature", value: "s" },
  };
  assert.deepEqual(parts(foreign), [{ text: "y" }]);
  assert.deepEqual(parts({ ...reasoning, opaque: thoughtSignature("s") })[0], {
    text: "hm",
    thought: true,
    thoughtSignature: "s",
  });
});

Deno.test("an image's detail is its resolution for 3 and later; a word that is none is listed", () => {
  const seen = (detail: string, model?: string) => {
    const source = { type: "base64", mimeType: "image/png", data: "AAAA" } as const;
    const image: Part = { type: "media", kind: "image", source, detail, path: "p" };
    const { body, losses } = encode({ turns: [turn("user", image)] }, model);
    return [contentsOf(body)[0]!.parts[0]!.mediaResolution, losses.map(({ path }) => path)];
  };
  assert.deepEqual(seen("low"), [{ level: "MEDIA_RESOLUTION_LOW" }, []]);
  assert.deepEqual(seen("auto"), [undefined, []]);
  assert.deepEqual(seen("constructor"), [undefined, ["p.detail"]]);
  assert.deepEqual(seen("low", "gemini-2.5-flash"), [undefined, ["p.detail"]]);
});

Deno.test("media in results: inside for 3 and later, behind the results before", () => {
  const image: Part = {
    type: "media",
    kind: "image",
    source: { type: "base64", mimeType: "image/png", data: "AAAA" },
    path: "p",
  };
  const media: Part = { ...result("a", "see"), parts: [text("see"), image] };
  const turns = [user("go"), assistant(call("a", "f")), turn("user", media)];
  const inline = { inlineData: { mimeType: "image/png", data: "AAAA" } };
  const inside = { id: "a", name: "f", response: { output: "see" }, parts: [inline] };
  assert.deepEqual(contentsOf(encode({ turns }).body)[2]!.parts, [{ functionResponse: inside }]);
  assert.deepEqual(contentsOf(encode({ turns }, "gemini-2.5-flash").body)[2]!.parts, [
    { functionResponse: { name: "f", response: { output: "see" } } },
    { text: "Returned by the tool call a of f:" },
    inline,
  ]);
  // In there an image has no resolution.
  image.detail = "high";
  const detailed = encode({ turns });
  assert.deepEqual(contentsOf(detailed.body)[2]!.parts, [{ functionResponse: inside }]);
  assert.deepEqual(detailed.losses.map(({ path }) => path), ["p.detail"]);
});

Deno.test("addresses: the vendor's own and videos stay, others and other vendors' files are a loss (51)", () => {
  const parts = (source: Extract<Part, { type: "media" }>["source"]) => {
    const media: Part = { type: "media", kind: "file", source, path: "messages[0].content[1]" };
    const { body, losses } = encode({ turns: [turn("user", text("x"), media)] });
    return { part: contentsOf(body)[0]!.parts[1], losses };
  };
  const video = parts({
    type: "url",
    url: "https://www.youtube.com/watch?v=1",
    mimeType: undefined,
  });
  assert.deepEqual(video.part, { fileData: { fileUri: "https://www.youtube.com/watch?v=1" } });
  const own = "https://generativelanguage.googleapis.com/v1beta/files/x";
  assert.deepEqual(parts({ type: "vendor-file", id: own, mimeType: "a/b" }).part, {
    fileData: { mimeType: "a/b", fileUri: own },
  });
  const loss = [{ path: "messages[0].content[1]", weight: "meaning" }];
  const remote = parts({ type: "url", url: "http://10.0.0.1/x.png", mimeType: undefined });
  const note = { text: "[file left out]" };
  assert.deepEqual([remote.part, remote.losses], [note, loss]);
  const foreign = parts({ type: "vendor-file", id: "file-abc", mimeType: undefined });
  assert.deepEqual([foreign.part, foreign.losses], [note, loss]);
});

type Body = Record<string, unknown>;

function encode(request: Partial<CanonicalRequest>, model = "gemini-3.1-pro-preview") {
  return finish(encodeRequest(canonicalRequest({ model, ...request }), {
    model,
    maxOutputTokens: 65_536,
  }));
}

function contentsOf(body: Body): { role: string; parts: Body[] }[] {
  return body.contents as { role: string; parts: Body[] }[];
}

function thoughtSignature(value: string) {
  return { dialect: "generate" as const, kind: "thoughtSignature", value };
}

function refused(act: () => unknown, message: RegExp): void {
  assert.throws(act, (thrown: unknown) => {
    if (!(thrown instanceof Fault)) throw thrown;
    assert.equal(thrown.code, "invalid_value");
    assert.match(thrown.message, message);
    return true;
  });
}
