/** A run of ten turns towards vendor-c by callers without marks: what the vendor's cache saves. */
import assert from "@std/assert";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { shared } from "../support/service.ts";
import { costOf, startSearchWorld, type Usd } from "./world.ts";

const service = shared(() => startSearchWorld());
const model = "vendor-c/claude-sonnet-4-6";
const turns = 10;
const prices: Usd = { search: 0, input: 3, read: 0.3, write: 3.75, output: 15 };

/** What an agent sends with each call, about 2,500 tokens. */
const rules = (run: string) =>
  Array.from({ length: 260 }, (_, at) => `Rule ${at} of ${run}: be kind, exact and brief.`)
    .join("\n");
/** What a tool answers, about 300 tokens. */
const listing = (turn: number) =>
  Array.from({ length: 40 }, (_, at) => `file-${turn}-${at}.ts ${at} lines`).join("\n");

const parameters = { type: "object", properties: { path: { type: "string" } } };

/** Each turn is one call: a question, its call of a tool and the result go into the history. */
type Agent = (run: string, headers: Record<string, string>) => Promise<void>;

const agents: Readonly<Record<string, Agent>> = {
  "chat, openai": async (run, headers) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: rules(run) }];
    for (let turn = 0; turn < turns; turn++) {
      messages.push({ role: "user", content: `Turn ${turn}: [say:done ${turn}]` });
      const answer = await openai(headers).chat.completions.create({
        ...{ model, messages, max_completion_tokens: 300 },
        tools: [{ type: "function", function: { name: "list", parameters } }],
      });
      messages.push({ role: "assistant", content: answer.choices[0]!.message.content });
      const call = { name: "list", arguments: JSON.stringify({ path: `src/${turn}` }) };
      const id = `call_${turn}`;
      messages.push(
        { role: "user", content: "List it." },
        { role: "assistant", tool_calls: [{ id, type: "function", function: call }] },
        { role: "tool", tool_call_id: id, content: listing(turn) },
        { role: "assistant", content: "Listed." },
      );
    }
  },
  "responses, openai": async (run, headers) => {
    const input: OpenAI.Responses.ResponseInputItem[] = [];
    for (let turn = 0; turn < turns; turn++) {
      input.push({ role: "user", content: `Turn ${turn}: [say:done ${turn}]` });
      const answer = await openai(headers).responses.create({
        ...{ model, input, instructions: rules(run), max_output_tokens: 300, store: false },
        tools: [{ type: "function", name: "list", parameters, strict: false }],
      });
      input.push({ role: "assistant", content: answer.output_text });
      const call = { name: "list", arguments: JSON.stringify({ path: `src/${turn}` }) };
      const id = `call_${turn}`;
      input.push(
        { role: "user", content: "List it." },
        { type: "function_call", call_id: id, ...call },
        { type: "function_call_output", call_id: id, output: listing(turn) },
        { role: "assistant", content: "Listed." },
      );
    }
  },
  "generate, @google/genai": async (run, headers) => {
    const { address: { url, key } } = service();
    const { models } = new GoogleGenAI({
      apiKey: key,
      httpOptions: { baseUrl: `${url}/chat`, headers },
    });
    const contents: { role: string; parts: Record<string, unknown>[] }[] = [];
    for (let turn = 0; turn < turns; turn++) {
      contents.push({ role: "user", parts: [{ text: `Turn ${turn}: [say:done ${turn}]` }] });
      const answer = await models.generateContent({
        ...{ model, contents },
        config: {
          systemInstruction: rules(run),
          maxOutputTokens: 300,
          tools: [{ functionDeclarations: [{ name: "list", parametersJsonSchema: parameters }] }],
        },
      });
      const call = { name: "list", args: { path: `src/${turn}` } };
      const response = { name: "list", response: { output: listing(turn) } };
      contents.push(
        { role: "model", parts: [{ text: answer.text ?? "" }] },
        { role: "user", parts: [{ text: "List it." }] },
        { role: "model", parts: [{ functionCall: call }] },
        { role: "user", parts: [{ functionResponse: response }] },
        { role: "model", parts: [{ text: "Listed." }] },
      );
    }
  },
};

function openai(headers: Record<string, string>): OpenAI {
  const { address: { url, key } } = service();
  const options = { apiKey: key, maxRetries: 0, defaultHeaders: headers };
  return new OpenAI({ baseURL: `${url}/chat/v1`, ...options });
}

for (const [name, run] of Object.entries(agents)) {
  Deno.test(`${name}: from the third of ten turns more than 80 % of the input is cached, and the run costs less`, async () => {
    const rowsOf = async (cache: "on" | "off") => {
      const session = crypto.randomUUID();
      await run(session, { "x-session-id": session, "x-prompt-cache": cache });
      const rows = await service().rows({ session_id: session });
      assert.equal(rows.length, turns);
      return rows.toSorted((a, b) => String(a.created_at) < String(b.created_at) ? -1 : 1);
    };
    const [marked, plain] = [await rowsOf("on"), await rowsOf("off")];
    const shares = marked.map((row) => Number(row.cache_read_tokens) / Number(row.input_tokens));
    for (const [turn, share] of shares.entries()) {
      if (turn >= 2) assert.ok(share > 0.8, `turn ${turn + 1}: ${share} of ${shares}`);
    }
    assert.ok(plain.every((row) => Number(row.cache_read_tokens) === 0));
    for (const row of [...marked, ...plain]) {
      assert.ok(Math.abs(Number(row.cost_usd) - costOf(row, prices, 0)) < 1.1e-9);
    }
    const [with_, without] = [marked, plain].map((rows) =>
      rows.reduce((sum, row) => sum + Number(row.charged_usd), 0)
    );
    assert.ok(with_! < without! / 2, `$${with_} with marks, $${without} without`);
    console.log(
      `${name}: cached ${shares.map((share) => Math.round(share * 100)).join(" ")} %; $${
        with_!.toFixed(6)
      } instead of $${without!.toFixed(6)}`,
    );
  });
}
