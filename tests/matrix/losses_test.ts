import assert from "@std/assert";
import type { DialectName } from "../../contracts/vendors.ts";
import { shared } from "../support/service.ts";
import { dialectNames, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors());

/** A field of one dialect that the vendors of others can't carry. */
interface Loss {
  caller: DialectName;
  more: Readonly<Record<string, unknown>>;
  /** The field in the caller's own words. */
  path: string;
  hint?: readonly DialectName[];
  /** Changes what was asked for: refused unless the caller is lenient. */
  meaning?: readonly DialectName[];
}

const question = { role: "user", content: "Hello" };
const tool = { name: "f", description: "A tool.", parameters: { type: "object", properties: {} } };
const chatTool = [{ type: "function", function: tool }];
const blocks = (block: unknown) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }, block] }],
});
const pdf = btoa("%PDF-1.4");
const pdfUrl = `data:application/pdf;base64,${pdf}`;
const audio = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } };
const text = { type: "text", text: "Hello" };

/** translation.md §12, row by row. */
const losses: readonly Loss[] = [
  { caller: "chat", more: { seed: 7 }, path: "seed", hint: ["responses", "messages"] },
  { caller: "chat", more: { seed: 5_000_000_000 }, path: "seed", hint: ["generate"] },
  {
    caller: "chat",
    more: { frequency_penalty: 0.5 },
    path: "frequency_penalty",
    hint: ["responses", "messages"],
  },
  {
    caller: "chat",
    more: { presence_penalty: 0.5 },
    path: "presence_penalty",
    hint: ["responses", "messages"],
  },
  {
    caller: "chat",
    more: { logit_bias: { "50256": -100 } },
    path: "logit_bias",
    meaning: ["responses", "messages", "generate"],
  },
  { caller: "chat", more: { logprobs: true }, path: "logprobs", meaning: ["messages"] },
  { caller: "chat", more: { n: 2 }, path: "n", meaning: ["responses", "messages"] },
  { caller: "chat", more: { stop: ["END"] }, path: "stop", meaning: ["responses"] },
  { caller: "chat", more: { stop: [..."abcdef"] }, path: "stop", meaning: ["generate"] },
  {
    caller: "chat",
    more: { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } },
    path: "modalities",
    meaning: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: { web_search_options: {} },
    path: "web_search_options",
    meaning: ["responses", "messages", "generate"],
  },
  {
    caller: "chat",
    more: { prediction: { type: "content", content: "x" } },
    path: "prediction",
    hint: ["responses", "messages", "generate"],
  },
  { caller: "chat", more: { metadata: { k: "v" } }, path: "metadata", hint: ["messages"] },
  { caller: "chat", more: { verbosity: "low" }, path: "verbosity", hint: ["messages", "generate"] },
  { caller: "chat", more: { user: "ada" }, path: "user", hint: ["generate"] },
  {
    caller: "chat",
    more: { parallel_tool_calls: false, tools: chatTool },
    path: "parallel_tool_calls",
    hint: ["generate"],
  },
  {
    caller: "chat",
    more: blocks(audio),
    path: "messages[0].content[1]",
    meaning: ["messages"],
  },
  {
    caller: "chat",
    more: blocks({ type: "file", file: { filename: "a.pdf", file_data: pdfUrl } }),
    path: "messages[0].content[1].file.filename",
    hint: ["generate"],
  },
  {
    caller: "chat",
    more: { x_unheard_of: 1 },
    path: "x_unheard_of",
    hint: ["responses", "messages", "generate"],
  },

  {
    caller: "responses",
    more: { truncation: "auto" },
    path: "truncation",
    hint: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { background: true },
    path: "background",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { conversation: "conv_1" },
    path: "conversation",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { prompt: { id: "pmpt_1" } },
    path: "prompt",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { max_tool_calls: 3 },
    path: "max_tool_calls",
    hint: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { tools: [{ type: "web_search" }] },
    path: "tools[0]",
    meaning: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { include: ["file_search_call.results"] },
    path: "include[0]",
    hint: ["chat", "messages", "generate"],
  },
  {
    caller: "responses",
    more: { include: ["message.output_text.logprobs"], top_logprobs: 2 },
    path: "include",
    meaning: ["messages"],
  },
  { caller: "responses", more: { metadata: { k: "v" } }, path: "metadata", hint: ["messages"] },

  {
    caller: "responses",
    more: {
      input: [{
        role: "user",
        content: [
          { type: "input_text", text: "Hello" },
          { type: "input_file", filename: "a.pdf", file_data: pdfUrl },
        ],
      }],
    },
    path: "input[0].content[1].filename",
    hint: ["generate"],
  },

  { caller: "messages", more: { top_k: 5 }, path: "top_k", hint: ["responses"] },
  {
    caller: "messages",
    more: { stop_sequences: ["END"] },
    path: "stop_sequences",
    meaning: ["responses"],
  },
  {
    caller: "messages",
    more: { system: [{ ...text, cache_control: { type: "ephemeral" } }] },
    path: "system[0].cache_control",
    hint: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: blocks({ ...text, cache_control: { type: "ephemeral" } }),
    path: "messages[0].content[1].cache_control",
    hint: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: blocks({
      type: "document",
      title: "A title",
      source: { type: "base64", media_type: "application/pdf", data: pdf },
    }),
    path: "messages[0].content[1].title",
    hint: ["generate"],
  },
  {
    caller: "messages",
    more: { container: "container_1" },
    path: "container",
    meaning: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: { mcp_servers: [{ type: "url", url: "https://example.com", name: "x" }] },
    path: "mcp_servers",
    meaning: ["chat", "responses", "generate"],
  },
  {
    caller: "messages",
    more: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
    path: "tools[0]",
    meaning: ["chat", "responses", "generate"],
  },

  {
    caller: "generate",
    more: { safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }] },
    path: "safetySettings",
    hint: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { cachedContent: "cachedContents/1" },
    path: "cachedContent",
    meaning: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { tools: [{ googleSearch: {} }] },
    path: "tools[0].googleSearch",
    meaning: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { generationConfig: { topK: 5 } },
    path: "generationConfig.topK",
    hint: ["responses"],
  },
  {
    caller: "generate",
    more: { generationConfig: { candidateCount: 2 } },
    path: "generationConfig.candidateCount",
    meaning: ["responses", "messages"],
  },
  {
    caller: "generate",
    more: { generationConfig: { responseModalities: ["IMAGE"] } },
    path: "generationConfig.responseModalities",
    meaning: ["chat", "responses", "messages"],
  },
  {
    caller: "generate",
    more: { generationConfig: { seed: 7 } },
    path: "generationConfig.seed",
    hint: ["responses", "messages"],
  },
];

for (const { caller, more, path, hint = [], meaning = [] } of losses) {
  for (const vendor of [...hint, ...meaning]) {
    const isHint = hint.includes(vendor);
    const name = `${caller} ${path} ${JSON.stringify(more)} on ${vendor}`;
    Deno.test(`${isHint ? "reported" : "refused"}: ${name}`, async () => {
      await expectRefused(await send(caller, vendor, more, "strict"), path);
      const usual = await send(caller, vendor, more);
      if (isHint) await expectReported(usual, path);
      else await expectRefused(usual, path);
      await expectReported(await send(caller, vendor, more, "lenient"), path);
    });
  }
}

/** Values that change nothing are no loss, not even for a strict caller. */
const noLosses: readonly Pick<Loss, "caller" | "more">[] = [
  {
    caller: "chat",
    more: {
      n: 1,
      stop: null,
      logit_bias: {},
      logprobs: false,
      frequency_penalty: 0,
      presence_penalty: 0,
      modalities: ["text"],
      store: false,
      tools: [],
      response_format: { type: "text" },
    },
  },
  {
    caller: "responses",
    more: { truncation: "disabled", background: false, store: true, include: [], tools: [] },
  },
  { caller: "messages", more: { mcp_servers: [], stop_sequences: [], tools: [] } },
  {
    caller: "generate",
    more: { generationConfig: { candidateCount: 1, stopSequences: [] }, tools: [] },
  },
];

for (const { caller, more } of noLosses) {
  for (const vendor of dialectNames) {
    Deno.test(`no loss: ${caller} fields without effect on ${vendor}`, async () => {
      const answer = await send(caller, vendor, more, "strict");
      assert.equal(answer.status, 200, await answer.text());
      assert.equal(answer.headers.get("x-translation-loss"), null);
      const row = await service().row(answer.headers.get("x-transaction-id"));
      assert.deepEqual(row.translation_loss, []);
    });
  }
}

for (const { caller, more } of losses) {
  Deno.test(`nothing is lost where both sides speak ${caller}: ${JSON.stringify(more)}`, async () => {
    const answer = await send(caller, caller, more, "strict");
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-translation-loss"), null);
  });
}

Deno.test("several losses are all named, in a stream's header too", async () => {
  const more = { seed: 7, prediction: { type: "content", content: "x" }, metadata: { k: "v" } };
  const answer = await send("chat", "messages", { ...more, stream: true });
  assert.equal(answer.status, 200);
  const named = (answer.headers.get("x-translation-loss") ?? "").split(",").sort();
  assert.deepEqual(named, ["metadata", "prediction", "seed"]);
  await answer.text();
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.deepEqual((row.translation_loss as string[]).toSorted(), named);
});

Deno.test("a key's own mode holds where the request names none", async () => {
  for (const mode of ["strict", "lenient"]) {
    const { key } = await service().createKey("--translation-mode", mode);
    const authorization = { authorization: `Bearer ${key}` };
    const hint = await send("chat", "messages", { seed: 7 }, undefined, authorization);
    const meaning = await send("chat", "messages", { n: 2 }, undefined, authorization);
    if (mode === "strict") {
      await expectRefused(hint, "seed");
      await expectRefused(meaning, "n");
      await expectReported(await send("chat", "messages", { n: 2 }, "lenient", authorization), "n");
    } else {
      for (const [answer, path] of [[hint, "seed"], [meaning, "n"]] as const) {
        assert.equal(answer.status, 200, await answer.clone().text());
        assert.equal(answer.headers.get("x-translation-loss"), path);
      }
      await expectRefused(await send("chat", "messages", { n: 2 }, "strict", authorization), "n");
    }
  }
});

Deno.test("a mode that there isn't is refused", async () => {
  const answer = await send("chat", "messages", {}, "sloppy");
  assert.equal(answer.status, 400);
  const { error } = await answer.json();
  assert.deepEqual([error.code, error.param], ["invalid_value", "X-Translation-Mode"]);
});

async function send(
  caller: DialectName,
  vendor: DialectName,
  more: Readonly<Record<string, unknown>>,
  mode?: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const stream = more.stream === true;
  const script = service().script((exchange) => {
    const { whole, begin, end } = vendorWords[vendor];
    return stream ? exchange.stream([...begin, ...end]) : exchange.answer(200, whole);
  });
  const { path, body } = rawRequest(caller, {
    model: `${scriptedLabel(vendor)}/${scriptedModel}`,
    prompt: question.content,
    stream,
    more,
  });
  const named = JSON.stringify(body).replace("Hello", `Hello ${script}`);
  return await service().post(path, named, {
    ...(mode === undefined ? {} : { "x-translation-mode": mode }),
    ...headers,
  });
}

async function expectReported(answer: Response, path: string): Promise<void> {
  const body = await answer.text();
  assert.equal(answer.status, 200, body);
  const named = (answer.headers.get("x-translation-loss") ?? "").split(",");
  assert.ok(named.includes(path), `${path} is not in ${named}`);
  const row = await service().row(answer.headers.get("x-transaction-id"));
  assert.deepEqual(row.translation_loss, named);
}

async function expectRefused(answer: Response, path: string): Promise<void> {
  const text = await answer.text();
  assert.equal(answer.status, 400, text);
  const { error } = JSON.parse(text);
  assert.equal(error.code, "unsupported_parameter", text);
  assert.ok(error.message.startsWith(`${path}:`), `${path} does not begin ${error.message}`);
  assert.equal(answer.headers.get("x-transaction-id"), null, "no vendor was called");
}
