import assert from "@std/assert";
import { type Content, FunctionCallingConfigMode, GoogleGenAI, Type } from "@google/genai";
import { startSimulators } from "./simulators.ts";

const WEATHER = {
  functionDeclarations: [{
    name: "get_weather",
    description: "Get the weather for a location",
    parameters: {
      type: Type.OBJECT,
      properties: { location: { type: Type.STRING } },
      required: ["location"],
    },
  }],
};

async function withClient(
  body: (client: GoogleGenAI, address: { baseUrl: string; apiKey: string }) => Promise<void>,
): Promise<void> {
  const simulators = await startSimulators();
  const address = simulators.vendors["vendor-d"];
  const baseUrl = address.baseUrl.replace(/\/v1beta$/, "");
  try {
    await body(new GoogleGenAI({ apiKey: address.apiKey, httpOptions: { baseUrl } }), address);
  } finally {
    await simulators.close();
  }
}

function post(address: { baseUrl: string; apiKey: string }, path: string, body: unknown) {
  return fetch(`${address.baseUrl}${path}`, {
    method: "POST",
    headers: { "x-goog-api-key": address.apiKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

Deno.test("SSE and array streams both join to the whole answer", async () => {
  await withClient(async (client, address) => {
    const ask = { model: "gemini-3.8-flash", contents: "What is a fjord?" };
    const whole = await client.models.generateContent(ask);
    let text = "";
    let last: number | undefined;
    for await (const chunk of await client.models.generateContentStream(ask)) {
      text += chunk.text ?? "";
      last = chunk.usageMetadata?.totalTokenCount;
    }
    assert.equal(text, whole.text);
    assert.match(text, /fjord/);
    assert.equal(last, whole.usageMetadata?.totalTokenCount);
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } =
      whole.usageMetadata ?? {};
    assert.equal(last, promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
    assert.ok(thoughtsTokenCount > 0);
    const response = await post(address, "/models/gemini-3.8-flash:streamGenerateContent", {
      contents: [{ role: "user", parts: [{ text: ask.contents }] }],
    });
    const elements: { candidates: { content: { parts: { text: string }[] } }[] }[] = await response
      .json();
    assert.equal(
      elements.map((element) => element.candidates[0]?.content.parts[0]?.text).join(""),
      text,
    );
  });
});

Deno.test("calls carry a signature on the first one, which must come back", async () => {
  await withClient(async (client) => {
    const model = "gemini-3.1-pro-preview";
    const question: Content = {
      role: "user",
      parts: [{ text: "What is the weather in Paris and Tokyo?" }],
    };
    const config = { tools: [WEATHER] };
    const parts: NonNullable<Content["parts"]> = [];
    for await (
      const chunk of await client.models.generateContentStream({
        model,
        contents: [question],
        config,
      })
    ) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []).filter((p) => p.functionCall));
    }
    assert.deepEqual(parts.map((part) => part.functionCall?.args), [
      { location: "Paris" },
      { location: "Tokyo" },
    ]);
    assert.deepEqual(parts.map((part) => part.thoughtSignature !== undefined), [true, false]);
    const answers: Content = {
      role: "user",
      parts: parts.map((part) => ({
        functionResponse: { name: part.functionCall?.name ?? "", response: { sky: "grey" } },
      })),
    };
    const go = (calls: Content["parts"], results: Content = answers) =>
      client.models.generateContent({
        model,
        contents: [question, { role: "model", parts: calls ?? [] }, results],
        config,
      });
    const second = await go(parts);
    assert.match(second.text ?? "", /get_weather: \{"sky":"grey"\}/);
    const chunks = parts.map((part) => ({ role: "model", parts: [part] }));
    await client.models.generateContent({
      model,
      contents: [question, ...chunks, answers],
      config,
    });
    const unsigned = parts.map(({ thoughtSignature: _, ...part }) => part);
    await assert.rejects(go(unsigned), /missing a thought_signature/);
    const escaped = unsigned.map((part, index) =>
      index === 0 ? { ...part, thoughtSignature: "skip_thought_signature_validator" } : part
    );
    await go(escaped);
    await assert.rejects(go([parts[1] ?? {}, parts[0] ?? {}]), /thought_signature/);
    await assert.rejects(
      go(parts, { role: "user", parts: answers.parts?.slice(1) ?? [] }),
      /number of function response parts/,
    );
  });
});

Deno.test("unknown names, schema keywords and wrong settings are refused", async () => {
  await withClient(async (_client, address) => {
    const contents = [{ parts: [{ text: "Hi" }] }];
    const tool = (parameters: object) => ({
      contents,
      tools: [{ function_declarations: [{ name: "f", parameters }] }],
    });
    const config = (generationConfig: object) => ({ contents, generationConfig });
    const cases: [string, object, RegExp][] = [
      ["gemini-3.8-flash", { contents, colour: 1 }, /Unknown name "colour": Cannot find field/],
      [
        "gemini-3.8-flash",
        tool({ type: "object", additionalProperties: false }),
        /Unknown name "additionalProperties" at 'tools\[0\].function_declarations\[0\].parameters'/,
      ],
      ["gemini-3.8-flash", tool({ type: "object", $schema: "x" }), /Unknown name "\$schema"/],
      ["gemini-2.5-flash", tool({ type: "object" }), /should be non-empty for OBJECT type/],
      [
        "gemini-3.8-flash",
        tool({ type: "object", required: ["a"], properties: { b: { type: "string" } } }),
        /property is not defined/,
      ],
      ["gemini-3.8-flash", { contents: [] }, /contents is not specified/],
      ["gemini-3.8-flash", { contents: [{ parts: [{}] }] }, /required oneof field 'data'/],
      ["gemini-2.5-pro", config({ thinkingConfig: { thinkingBudget: 0 } }), /thinking budget 0/],
      [
        "gemini-3.8-flash",
        config({ thinkingConfig: { thinkingBudget: 100, thinkingLevel: "LOW" } }),
        /only one of thinking budget/,
      ],
      ["gemini-4-argon", config({ thinkingConfig: { thinkingBudget: 100 } }), /not supported/],
      ["gemini-3.8-flash", config({ seed: 5_000_000_000 }), /seed/],
    ];
    for (const [model, body, message] of cases) {
      const response = await post(address, `/models/${model}:generateContent`, body);
      const { error } = await response.json();
      assert.equal(response.status, 400);
      assert.equal(error.status, "INVALID_ARGUMENT");
      assert.match(error.message, message);
    }
    const snake = await post(address, "/models/gemini-2.5-flash:generateContent", {
      contents,
      generation_config: { max_output_tokens: 4, thinking_config: { thinking_budget: 0 } },
    });
    const answer = await snake.json();
    assert.equal(answer.candidates[0].finishReason, "MAX_TOKENS");
    assert.equal(answer.usageMetadata.candidatesTokenCount, 4);
  });
});

Deno.test("schemas, candidates, logprobs, thoughts and safety blocks", async () => {
  await withClient(async (client) => {
    const go = (contents: string, config: object) =>
      client.models.generateContent({ model: "gemini-3.8-flash", contents, config });
    const shaped = await go("Hello there", {
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object", properties: { n: { type: "integer", minimum: 3 } } },
    });
    assert.ok(JSON.parse(shaped.text ?? "").n >= 3);
    const several = await go("Hello", { candidateCount: 2, responseLogprobs: true, logprobs: 1 });
    assert.equal(several.candidates?.length, 2);
    assert.ok((several.candidates?.[1]?.logprobsResult?.chosenCandidates?.length ?? 0) > 3);
    const thoughtful = await go("Hello", { thinkingConfig: { includeThoughts: true } });
    assert.equal(thoughtful.candidates?.[0]?.content?.parts?.[0]?.thought, true);
    const blocked = await go("[refuse:prompt]", {});
    assert.equal(blocked.promptFeedback?.blockReason, "SAFETY");
    assert.equal(blocked.candidates, undefined);
    const unsafe = await go("[refuse]", {});
    assert.equal(unsafe.candidates?.[0]?.finishReason, "SAFETY");
    const forced = await go("Nothing to do with it", {
      tools: [WEATHER],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
    });
    assert.equal(forced.functionCalls?.length, 1);
  });
});

Deno.test("bad keys are a 400 with API_KEY_INVALID, models are paged, tokens counted", async () => {
  await withClient(async (client, address) => {
    const bad = await fetch(`${address.baseUrl}/models`, {
      headers: { "x-goog-api-key": "wrong" },
    });
    assert.equal(bad.status, 400);
    assert.equal((await bad.json()).error.details[0].reason, "API_KEY_INVALID");
    const names: string[] = [];
    for await (const model of await client.models.list({ config: { pageSize: 4 } })) {
      names.push(model.name ?? "");
    }
    assert.equal(names.length, 16);
    assert.equal(new Set(names).size, 16, "no model on two pages");
    assert.ok(names.includes("models/gemini-4-argon"));
    const few = await client.models.countTokens({ model: "gemini-2.5-pro", contents: "Hi" });
    const many = await client.models.countTokens({
      model: "gemini-2.5-pro",
      contents: "Hi, ".repeat(100),
    });
    assert.ok((many.totalTokens ?? 0) > 10 * (few.totalTokens ?? 0));
    await assert.rejects(
      client.models.generateContent({ model: "gemini-1", contents: "x" }),
      /NOT_FOUND/,
    );
  });
});

Deno.test("bytes are taken in both alphabets of base64", async () => {
  await withClient(async (client) => {
    const picture = "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC";
    for (const data of [`${picture}+aJ/AAA`, `${picture}-aJ_AAA`]) {
      const parts = [{ inlineData: { mimeType: "image/png", data } }, { text: "What is it?" }];
      const answer = await client.models.generateContent({
        model: "gemini-2.5-pro",
        contents: [{ role: "user", parts }],
      });
      assert.match(answer.text ?? "", /I received image\/png of 36 bytes/);
    }
  });
});

Deno.test("a request is counted as it is billed: its prompt, not its model or settings", async () => {
  await withClient(async (_client, address) => {
    const model = "models/gemini-3.8-flash";
    const request = {
      contents: [{ role: "user", parts: [{ text: "What is a fjord?" }] }],
      systemInstruction: { parts: [{ text: "Answer briefly." }] },
      generationConfig: { temperature: 0.5, maxOutputTokens: 100 },
    };
    const answer = await post(address, `/${model}:generateContent`, request);
    const counted = await post(address, `/${model}:countTokens`, {
      generateContentRequest: { model, ...request },
    });
    const { usageMetadata } = await answer.json();
    assert.equal((await counted.json()).totalTokens, usageMetadata.promptTokenCount);
  });
});
