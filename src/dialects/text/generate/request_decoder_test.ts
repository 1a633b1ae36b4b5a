import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import { decodeRequest } from "./request_decoder.ts";

Deno.test("a request in camelCase and in snake_case is the same request", () => {
  const camel = finish(decodeRequest({
    model: "models/gemini-x",
    stream: true,
    systemInstruction: { parts: [{ text: "be kind" }, { text: "" }] },
    contents: [
      { parts: [{ text: "look" }, { inlineData: { mimeType: "image/jpg", data: "/9j/" } }] },
    ],
    generationConfig: { maxOutputTokens: 5, stopSequences: ["x"], topP: 0.5, topK: 3 },
  }));
  const snake = finish(decodeRequest({
    model: "gemini-x",
    stream: true,
    system_instruction: { parts: [{ text: "be kind" }] },
    contents: [
      {
        role: "user",
        parts: [{ text: "look" }, { inline_data: { mime_type: "image/jpeg", data: "_9j_" } }],
      },
    ],
    generation_config: { max_output_tokens: "5", stop_sequences: ["x"], top_p: 0.5, top_k: 3 },
  }));
  const { paths: camelPaths, ...left } = camel;
  const { paths: snakePaths, ...right } = snake;
  right.system[0]!.path = "systemInstruction.parts[0]";
  assert.deepEqual(left, right);
  assert.equal(camelPaths.maxOutputTokens, "generationConfig.maxOutputTokens");
  assert.equal(snakePaths.maxOutputTokens, "generation_config.max_output_tokens");
  assert.deepEqual(camel.turns[0]!.parts[1], {
    type: "media",
    kind: "image",
    source: { type: "base64", mimeType: "image/jpeg", data: "/9j/" },
    path: "contents[0].parts[1]",
  });
});

Deno.test("one object in place of a list is a list of one", () => {
  const single = decode({
    system_instruction: { parts: { text: "You are a cat." } },
    contents: { parts: { text: "Hello" } },
    tools: { functionDeclarations: { name: "f" } },
  });
  const listed = decode({
    system_instruction: { parts: [{ text: "You are a cat." }] },
    contents: [{ parts: [{ text: "Hello" }] }],
    tools: [{ functionDeclarations: [{ name: "f" }] }],
  });
  assert.deepEqual(single, listed);
});

Deno.test("an answer whose chunks come back as contents of their own is one turn, with its text", () => {
  const call = (id: string) => ({ functionCall: { id, name: "f" } });
  const model = (...parts: object[]) => ({ role: "model", parts });
  const result = (id: string) => ({
    functionResponse: { id, name: "f", response: { output: id } },
  });
  const signed = { text: "!", thoughtSignature: "c2ln" };
  const { turns } = finish(decodeRequest({
    ...{ model: "m", stream: false },
    contents: [
      { role: "user", parts: [{ text: "Go" }] },
      ...[model({ text: "I" }), model({ text: " " }), model({ text: "look" }), model(signed)],
      ...[model(call("a")), model(call("b"))],
      { role: "user", parts: [result("a"), result("b")] },
      model({ text: "Done" }, { text: "apart" }),
    ],
  }));
  const brief = turns.map(({ role, parts }) => [
    role,
    ...parts.map((part) => "text" in part ? part.text : part.type),
  ]);
  assert.deepEqual(brief, [
    ["user", "Go"],
    ["assistant", "I look", "!", "tool-call", "tool-call"],
    ["user", "tool-result", "tool-result"],
    ["assistant", "Done", "apart"],
  ]);
});

Deno.test("results find their calls by id, else by name in order", () => {
  const { turns } = decode({
    contents: [
      { role: "user", parts: [{ text: "go" }] },
      {
        role: "model",
        parts: [
          { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "sig" },
          { functionCall: { name: "f" } },
          { functionCall: { name: "g", id: "x" } },
        ],
      },
      {
        role: "function",
        parts: [
          { functionResponse: { name: "g", id: "x", response: { error: "no" } } },
          { functionResponse: { name: "f", response: { output: "one" } } },
          { functionResponse: { name: "f", response: { a: 2 } } },
        ],
      },
    ],
  });
  const calls = turns[1]!.parts.flatMap((part) => part.type === "tool-call" ? [part] : []);
  const results = turns[2]!.parts.flatMap((part) => part.type === "tool-result" ? [part] : []);
  assert.equal(new Set(calls.map(({ id }) => id)).size, 3);
  assert.deepEqual(calls.map((one) => one.arguments), ['{"a":1}', "{}", "{}"]);
  assert.deepEqual(calls[0]!.opaque, {
    dialect: "generate",
    kind: "thoughtSignature",
    value: "sig",
  });
  assert.deepEqual(results.map(({ callId }) => callId), [calls[2]!.id, calls[0]!.id, calls[1]!.id]);
  const text = (index: number) => results[index]!.parts.map((part) => "text" in part && part.text);
  assert.deepEqual([text(0), text(1), text(2)], [["no"], ["one"], ['{"a":2}']]);
  assert.deepEqual(results.map(({ isError }) => isError), [true, false, false]);
});

Deno.test("results without ids find their calls by name, whatever their order", () => {
  const { turns } = decode({
    contents: [
      { role: "model", parts: [{ functionCall: { name: "f" } }, { functionCall: { name: "g" } }] },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "g", response: {} } },
          { functionResponse: { name: "f", response: {} } },
        ],
      },
    ],
  });
  const ids = turns[0]!.parts.map((part) => part.type === "tool-call" && part.id);
  const answered = turns[1]!.parts.map((part) => part.type === "tool-result" && part.callId);
  assert.deepEqual(answered, ids.toReversed());
});

Deno.test("results without ids that name no call answer the calls that are left, in order", () => {
  const answered = (names: readonly string[], ...results: object[]) => {
    const asked = names.map((name) => ({ functionCall: { name } }));
    const { turns } = decode({
      contents: [
        { role: "model", parts: [{ functionCall: { name: "before" } }] },
        { role: "user", parts: [{ text: "Go on" }] },
        { role: "model", parts: asked },
        { role: "user", parts: results.map((one) => ({ functionResponse: one })) },
      ],
    });
    const ids = turns[2]!.parts.map((part) => part.type === "tool-call" && part.id);
    return turns[3]!.parts.map((part) =>
      part.type === "tool-result" && [ids.indexOf(part.callId), part.name]
    );
  };
  const left = answered(["a-f", "b", "a-g"], { name: "a__f" }, { name: "a__g" }, { name: "b" });
  assert.deepEqual(left, [[0, "a-f"], [2, "a-g"], [1, "b"]]);
  assert.deepEqual(answered(["b", "a-f"], { name: "a__f" }, { name: "b" }), [[1, "a-f"], [0, "b"]]);
  const param = "contents[3].parts[0].functionResponse";
  for (
    const [names, ...results] of [
      [["a-f", "a-g"], { name: "a__f" }],
      [["a-f"], { name: "a__f" }, { name: "a__g" }],
      [["a-f"], { name: "a__f", id: "unknown" }],
    ] as const
  ) {
    assert.throws(
      () => answered(names, ...results),
      (thrown: unknown) => thrown instanceof Fault && thrown.param === param,
    );
  }
});

Deno.test("a result that is sent again as it was is left out as a hint; another one is an error", () => {
  const result = (output: string) => ({ name: "f", id: "x", response: { output } });
  const read = (...contents: object[][]) =>
    decode({
      contents: [
        { role: "model", parts: [{ functionCall: { name: "f", id: "x" } }] },
        ...contents.map((results) => ({
          parts: results.map((one) => ({ functionResponse: one })),
        })),
      ],
    });
  const { turns, unsupported } = read([result("one"), result("one")], [result("one")]);
  const texts = turns.slice(1).flatMap(({ parts }) =>
    parts.map((part) =>
      part.type === "tool-result" && part.parts.map((one) => "text" in one && one.text)
    )
  );
  assert.deepEqual(texts, [["one"]]);
  assert.deepEqual(unsupported.map(({ path, weight }) => [path, weight]), [
    ["contents[1].parts[1].functionResponse", "hint"],
    ["contents[2].parts[0].functionResponse", "hint"],
  ]);
  assert.throws(
    () => read([result("one"), result("two")]),
    (thrown: unknown) =>
      thrown instanceof Fault && thrown.param === "contents[1].parts[1].functionResponse",
  );
});

Deno.test("settings with a neutral form are read, with the caller's paths", () => {
  const request = decode({
    generationConfig: {
      temperature: 0,
      candidateCount: 2,
      seed: 7,
      frequencyPenalty: 0.5,
      presencePenalty: -1,
      responseLogprobs: true,
      logprobs: 3,
      responseMimeType: "application/json",
      responseSchema: { type: "OBJECT", properties: { a: { type: "STRING", nullable: true } } },
      thinkingConfig: { thinkingBudget: 0, includeThoughts: false },
    },
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    serviceTier: "STANDARD",
  });
  const { system: _s, turns: _t, tools: _o, model: _m, stream: _r, paths, ...rest } = request;
  assert.deepEqual(rest, {
    turnsPath: "contents",
    temperature: 0,
    choices: 2,
    seed: 7,
    frequencyPenalty: 0.5,
    presencePenalty: -1,
    logprobs: { top: 3 },
    format: {
      type: "json-schema",
      name: "response",
      schema: { type: "object", properties: { a: { type: ["string", "null"] } } },
      strict: false,
    },
    reasoning: { budgetTokens: 0, show: false },
    toolChoice: { mode: "required", names: ["f"] },
    serviceTier: "default",
    unsupported: [],
  });
  assert.equal(paths.format, "generationConfig.responseSchema");
  assert.equal(paths.toolChoice, "toolConfig.functionCallingConfig");
});

Deno.test("thinking: −1 is the model's own choice, levels are efforts", () => {
  const reasoning = (thinkingConfig: unknown) =>
    decode({ generationConfig: { thinkingConfig } }).reasoning;
  assert.equal(reasoning({ thinkingBudget: -1 }), undefined);
  assert.deepEqual(reasoning({ thinkingBudget: "2048" }), { budgetTokens: 2048 });
  assert.deepEqual(reasoning({ thinkingLevel: "low", includeThoughts: true }), {
    effort: "low",
    show: true,
  });
  assert.deepEqual(reasoning({ thinkingLevel: "XHIGH" }), { effort: "xhigh" });
});

Deno.test("fields that other dialects have no word for are listed with their weight", () => {
  const { unsupported } = decode({
    contents: [{ parts: [{ text: "x", partMetadata: { a: 1 } }, { toolCall: { toolType: "X" } }] }],
    tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: "f", behavior: "BLOCKING" }] }],
    generationConfig: {
      responseModalities: ["TEXT", "AUDIO"],
      speechConfig: {},
      enableEnhancedCivicAnswers: true,
    },
    safetySettings: [{ category: "X", threshold: "OFF" }],
    cachedContent: "cachedContents/1",
    labels: {},
    store: false,
    surprise: 1,
    nothing: null,
  });
  assert.deepEqual(unsupported.map(({ path, weight }) => `${path} ${weight}`).sort(), [
    "cachedContent meaning",
    "contents[0].parts[0].partMetadata hint",
    "contents[0].parts[1].toolCall hint",
    "generationConfig.enableEnhancedCivicAnswers hint",
    "generationConfig.responseModalities meaning",
    "safetySettings hint",
    "surprise meaning",
    "tools[1].functionDeclarations[0].behavior hint",
  ]);
});

Deno.test("what the vendor's interpreter did is kept as words", () => {
  const { turns } = decode({
    contents: [{
      role: "model",
      parts: [
        { executableCode: { language: "PYTHON", code: "1+1" } },
        { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2" } },
        { codeExecutionResult: { outcome: "OUTCOME_DEADLINE_EXCEEDED" } },
      ],
    }],
  });
  assert.deepEqual(turns[0]!.parts.map((part) => "text" in part && part.text), [
    "```python\n1+1\n```",
    "```\n2\n```",
    "```\n\n```\nOUTCOME_DEADLINE_EXCEEDED",
  ]);
});

Deno.test("files: the vendor's own, videos and plain addresses", () => {
  const uris = [
    "https://generativelanguage.googleapis.com/v1beta/files/a",
    "gs://b/c",
    "https://youtu.be/x",
    "https://example.com/a.png",
  ];
  const { turns } = decode({
    contents: [{ parts: uris.map((fileUri) => ({ fileData: { fileUri } })) }],
  });
  const media = turns[0]!.parts.flatMap((part) => part.type === "media" ? [part] : []);
  assert.deepEqual(media.map(({ kind, source }) => `${kind} ${source.type}`), [
    "file vendor-file",
    "file vendor-file",
    "video url",
    "file url",
  ]);
});

Deno.test("a list of words is asked of others as an object with one member", () => {
  const { format } = decode({
    generationConfig: {
      responseMimeType: "text/x.enum",
      responseSchema: { type: "STRING", enum: ["a", "b"] },
    },
  });
  assert.deepEqual(format?.type === "json-schema" && format.schema, {
    type: "object",
    properties: { value: { type: "string", enum: ["a", "b"] } },
    required: ["value"],
    additionalProperties: false,
  });
});

Deno.test("parts that say nothing are ignored, wherever client libraries left them", () => {
  const call = { functionCall: { name: "f", args: {} } };
  const result = { functionResponse: { name: "f", response: { output: "1" } } };
  const empty = [{}, { text: "" }, { text: "", thought: true }, { thought: true }, { text: null }];
  const { turns, system } = decode({
    systemInstruction: { parts: [{}, { text: "" }, { text: "be kind" }] },
    contents: [
      { role: "user", parts: [...empty, { text: "x" }, ...empty] },
      { role: "model", parts: [{ text: "y" }, ...empty, call, ...empty] },
      { role: "model", parts: empty },
      { role: "model" },
      { role: "user", parts: [...empty, result, ...empty] },
    ],
  });
  assert.deepEqual(turns.map(({ role, parts }) => [role, ...parts.map(({ type }) => type)]), [
    ["user", "text"],
    ["assistant", "text", "tool-call"],
    ["user", "tool-result"],
  ]);
  assert.deepEqual(system.map(({ text }) => text), ["be kind"]);
});

Deno.test("neither sentinel is a signature, as text or as bytes; a signature is one", () => {
  const words = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];
  const carried = (thoughtSignature: string) =>
    decode({
      contents: [
        { parts: [{ text: "x" }] },
        { role: "model", parts: [{ functionCall: { name: "f" }, thoughtSignature }] },
      ],
    }).turns[1]!.parts.map((part) => "opaque" in part && part.opaque?.value);
  for (const word of words) {
    assert.deepEqual([carried(word), carried(btoa(word))], [[false], [false]]);
  }
  assert.deepEqual(carried("c2lnbmF0dXJl"), ["c2lnbmF0dXJl"]);
});

Deno.test("wrong shapes are refused with the path of the field", () => {
  const part = (value: unknown) => ({ contents: [{ parts: [value] }] });
  const cases: [Record<string, unknown>, string][] = [
    [{ contents: undefined }, "contents"],
    [{ contents: [] }, "contents"],
    [{ contents: "x" }, "contents"],
    [{ contents: [1] }, "contents[0]"],
    [{ contents: [{ role: "robot", parts: [] }] }, "contents[0].role"],
    [part({ text: "x", functionCall: { name: "f" } }), "contents[0].parts[0]"],
    [part({ text: 5 }), "contents[0].parts[0].text"],
    [part({ inlineData: { data: "?" } }), "contents[0].parts[0].inlineData.data"],
    [part({ functionCall: { args: {} } }), "contents[0].parts[0].functionCall.name"],
    [part({ functionResponse: { name: "f" } }), "contents[0].parts[0].functionResponse"],
    [
      part({ functionResponse: { name: "f", parts: Array(10_000).fill({ inlineData: {} }) } }),
      "contents[0].parts",
    ],
    [{ system_instruction: { parts: [{ inlineData: {} }] } }, "system_instruction.parts[0]"],
    [{ tools: [{ functionDeclarations: [{}] }] }, "tools[0].functionDeclarations[0].name"],
    [
      {
        tools: [1, 4096].map((length) => ({
          functionDeclarations: Array(length).fill({ name: "f" }),
        })),
      },
      "tools[1].functionDeclarations",
    ],
    [
      { generationConfig: { thinkingConfig: { thinkingLevel: "MORE" } } },
      "generationConfig.thinkingConfig.thinkingLevel",
    ],
    [{ generationConfig: { temperature: "warm" } }, "generationConfig.temperature"],
  ];
  for (const [body, param] of cases) {
    assert.throws(() => decode(body), (thrown: unknown) => {
      if (!(thrown instanceof Fault)) throw thrown;
      assert.equal(thrown.param, param);
      assert.ok(thrown.message.startsWith(`${param}:`), thrown.message);
      return true;
    });
  }
});

function decode(body: Record<string, unknown>) {
  const contents = [{ role: "user", parts: [{ text: "x" }] }];
  return finish(decodeRequest({ model: "gemini-x", stream: false, contents, ...body }));
}
