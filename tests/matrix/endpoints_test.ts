import assert from "@std/assert";
import { RowChecks } from "../support/row_checks.ts";
import { inTurn } from "../support/sample.ts";
import { shared, startSimulatedService } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import { answerText, at, dialectNames, rawRequest } from "./raw_calls.ts";
import { vendors } from "./vendors.ts";

const service = shared(() => startSimulatedService({}, { database: "any" }));
const rows = new RowChecks();

const contents = [{ role: "user", parts: [{ text: "Tell me about rivers." }] }];
const gemini = "gemini-3.8-flash";
const deepseek = "vendor-a/deepseek-ai/DeepSeek-V4-Flash";

/** Every way to write the model of the generate dialect, and the model that is meant. */
const generatePaths: readonly [prefix: string, models: readonly string[], model: string][] = [
  ["/chat", [`models/vendor-d/${gemini}`, `vendor-d/${gemini}`, `models/google/${gemini}`], gemini],
  [
    "/chat",
    [
      `models/${deepseek}`,
      deepseek,
      `models/${encodeURIComponent(deepseek)}`,
      encodeURIComponent(deepseek),
      encodeURIComponent(`models/${deepseek}`),
    ],
    "deepseek-ai/DeepSeek-V4-Flash",
  ],
  [
    "/chat",
    ["models/vendor-f/openai/gpt-5-mini", "vendor-f/openai/gpt-5-mini"],
    "openai/gpt-5-mini",
  ],
  ...["/vendor-d", "/google"].map((prefix): typeof generatePaths[number] => [
    prefix,
    [`models/${gemini}`, gemini, `models/vendor-d/${gemini}`, `models/google%2F${gemini}`],
    gemini,
  ]),
];

/** The gate writes each model behind one of the two versions, in turn; `MATRIX=all` behind both. */
const all = Deno.env.get("MATRIX") === "all";

for (const [prefix, models, expected] of generatePaths) {
  const paths = models.flatMap((model, index) =>
    ["v1", "v1beta"].filter((_, version) => all || version === index % 2)
      .map((version) => `/${version}/${model}`)
  );
  for (const path of paths) {
    Deno.test(`generate answers at ${prefix}${path}, in each of its forms`, async () => {
      const whole = await post(`${prefix}${path}:generateContent`);
      const json = await whole.json();
      assert.equal(whole.status, 200, JSON.stringify(json));
      rows.expect(whole, `${prefix}${path}`, (row) => {
        assert.deepEqual([row.model, row.dialect, row.status], [expected, "generate", "completed"]);
      });
      const text = answerText("generate", JSON.stringify(json), false);
      assert.match(text, /rivers/);
      for (const query of ["?alt=sse", "?$alt=sse", "?%24alt=sse"]) {
        const stream = await post(`${prefix}${path}:streamGenerateContent${query}`);
        assert.match(stream.headers.get("content-type") ?? "", /^text\/event-stream/);
        const said = await stream.text();
        assert.equal(answerText("generate", said, true), text);
        assert.equal(checkGrammar("generate", said).ending, "finished");
      }
      const array = await post(`${prefix}${path}:streamGenerateContent`);
      assert.match(array.headers.get("content-type") ?? "", /^application\/json/);
      const elements = await array.text();
      assert.equal(checkGrammar("generate", elements).choices[0]!.text, text);
      const count = await post(`${prefix}${path}:countTokens`);
      assert.ok(Number((await count.json()).totalTokens) > 0);
    });
  }
}

Deno.test("a JSON array whose vendor fails is closed, with the error as its last element", async () => {
  for (const { label, model } of vendors) {
    for (const word of ["[cut]", "[cut:clean]", "[midstream-error]"]) {
      const answer = await post(`/chat/v1beta/models/${label}/${model}:streamGenerateContent`, {
        contents: [{ role: "user", parts: [{ text: `${word} Tell me more.` }] }],
      });
      const elements = JSON.parse(await answer.text()) as unknown[];
      assert.ok(at(elements.at(-1), "error", "message"), `${label} ${word}`);
      assert.ok(!elements.some((one) => at(one, "candidates", 0, "finishReason")));
      rows.expect(answer, `${label} ${word}`, (row) => {
        assert.equal(row.status, word === "[midstream-error]" ? "failed" : "truncated");
      });
    }
  }
});

Deno.test("a verb that there isn't is 404 in the generate dialect's words", async () => {
  const answer = await post(`/chat/v1beta/models/${deepseek}:embedAnything`);
  assert.equal(answer.status, 404);
  assert.equal(at(await answer.json(), "error", "code"), "endpoint_not_found");
});

/** Who counts: vendors with an endpoint for it are asked, for the others we estimate. */
for (const { label, model } of vendors) {
  const isOwn = ["vendor-b", "vendor-c", "vendor-d", "vendor-e"].includes(label);
  Deno.test(`tokens for ${label} are ${isOwn ? "the vendor's own count" : "estimated"}`, async () => {
    const messages = [{ role: "user", content: "Tell me about rivers." }];
    const counts = [
      ["/chat/v1/messages/count_tokens", { model: `${label}/${model}`, messages }, "input_tokens"],
      [`/chat/v1beta/models/${label}/${model}:countTokens`, { contents }, "totalTokens"],
      [
        `/chat/v1beta/${label}/${model}:countTokens`,
        { generateContentRequest: { model: `models/${label}/${model}`, contents } },
        "totalTokens",
      ],
    ] as const;
    for (const [path, body, field] of counts) {
      const answer = await service().post(path, body);
      const json = await answer.json();
      assert.equal(answer.status, 200, JSON.stringify(json));
      assert.ok(Number.isInteger(json[field]) && json[field] > 0, JSON.stringify(json));
      assert.equal(answer.headers.get("x-token-count"), isOwn ? null : "estimated");
      assert.equal(answer.headers.get("x-transaction-id"), null, "a count is no interaction");
    }
  });
}

Deno.test("the messages family counts for itself, and what is counted is what is billed", async () => {
  const messages = [{ role: "user", content: "Tell me about rivers." }];
  const body = { model: "claude-haiku-5-5", messages };
  for (const family of ["vendor-c", "anthropic"]) {
    const counted = await service().post(`/${family}/v1/messages/count_tokens`, body);
    const { input_tokens } = await counted.json();
    const answer = await service().post(`/${family}/v1/messages`, { ...body, max_tokens: 100 });
    assert.equal(answer.status, 200, await answer.text());
    rows.expect(answer, family, (row) => assert.equal(input_tokens, row.input_tokens));
  }
});

Deno.test("vendor-e is a chat front for vendor-d's models", async () => {
  for (const family of ["vendor-e", "gemini"]) {
    for (const model of [gemini, `vendor-e/${gemini}`, `gemini/${gemini}`]) {
      const messages = [{ role: "user", content: "Tell me about rivers." }];
      const answer = await service().post(`/${family}/v1/chat/completions`, { model, messages });
      const json = await answer.json();
      assert.equal(answer.status, 200, JSON.stringify(json));
      assert.equal(json.object, "chat.completion");
      rows.expect(answer, `${family} ${model}`, (row) => {
        assert.deepEqual([row.vendor, row.model], ["vendor-e", gemini]);
        assert.match(String(row.cost_usd), /[1-9]/, "with the prices of vendor-d");
      });
    }
  }
});

/** Where each dialect's callers put their key. */
const carriers = ["authorization", "x-api-key", "x-goog-api-key"] as const;

for (const [index, dialect] of dialectNames.entries()) {
  for (const [place, carrier] of carriers.entries()) {
    const isTaken = carrier !== "x-goog-api-key" || dialect === "generate";
    Deno.test(`${dialect}: a key in ${carrier} ${isTaken ? "counts, alone and with a vendor's" : "does not count"}`, async () => {
      // A key is read the same way for all vendors.
      const tried = inTurn(vendors, index + dialectNames.length * place, all);
      for (const { label, model } of carrier === "authorization" ? vendors : tried) {
        const vendorKey = service().simulators.vendors[label].apiKey;
        for (const dual of [false, true]) {
          const key = dual ? `${service().key};${vendorKey}` : service().key;
          const { path, body } = rawRequest(dialect, {
            model: `${label}/${model}`,
            prompt: "Tell me about rivers.",
            stream: false,
          });
          const value = carrier === "authorization" ? `Bearer ${key}` : key;
          const answer = await service().post(path, body, { [carrier]: value });
          const text = await answer.text();
          if (!isTaken) {
            assert.equal(answer.status, 401, text);
            continue;
          }
          assert.equal(answer.status, 200, text);
          rows.expect(answer, `${dialect} on ${label}, dual: ${dual}`, (row) => {
            assert.equal(row.mode, dual ? "dual_key" : "managed");
            assert.equal(row.charged_usd === "0.000000000", dual);
          });
        }
        const wrong = `${service().key};not-the-vendors-key`;
        if (!isTaken) continue;
        const { path, body } = rawRequest(dialect, {
          model: `${label}/${model}`,
          prompt: "Hello",
          stream: true,
        });
        const value = carrier === "authorization" ? `Bearer ${wrong}` : wrong;
        const answer = await service().post(path, body, { [carrier]: value });
        assert.equal(answer.status, 401);
        assert.equal(at(await answer.json(), "error", "code"), "invalid_vendor_api_key");
      }
    });
  }
}

rows.register(service);

function post(path: string, body: unknown = { contents }): Promise<Response> {
  return service().post(path, body);
}
