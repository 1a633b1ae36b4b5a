import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { loopTurns } from "../support/loop_turns.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import { answerText, dialectNames, endsWell, finalError, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "./scripted_vendors.ts";
import { spokenText, type VendorWords, vendorWords } from "./vendor_words.ts";

const service = shared(() => startScriptedVendors());
const rows = new RowChecks();

/** Only silence ends by the clock: on a busy machine, other endings may take longer to arrive. */
const impatient = shared(() =>
  startScriptedVendors({ IDLE_TIMEOUT_MS: "250", FIRST_BYTE_TIMEOUT_MS: "500" })
);
const lateRows = new RowChecks();

interface Ending {
  name: string;
  stream: boolean;
  act(exchange: FakeExchange, words: VendorWords): unknown;
  /** HTTP status: 200 when the answer had begun; `error`: that of the vendor's own error. */
  status: number | "error";
  /** Of our table; undefined where the vendor's own error decides. */
  code?: string;
  row: "failed" | "truncated";
}

const json = { "content-type": "application/json" };
const truncated = { code: "upstream_stream_truncated", row: "truncated" } as const;
const done = "data: [DONE]\n\n";
const sse = { "content-type": "text/event-stream" };

/** Answers that are none. */
const unusable: readonly Ending[] = [false, true].flatMap((stream) =>
  [
    { name: "an empty body", body: "", headers: stream ? sse : json },
    { name: "a page in place of JSON", body: "<html>busy</html>", headers: json },
    { name: "JSON that is no answer: {}", body: "{}", headers: json },
    { name: "JSON that is no answer: null", body: "null", headers: json },
    { name: "JSON that is no answer: []", body: "[]", headers: json },
  ].map(({ name, body, headers }): Ending => ({
    name,
    stream,
    act: (exchange) => exchange.answer(200, body, headers),
    status: 502,
    code: "upstream_invalid_response",
    row: "failed",
  }))
);

const others: readonly Ending[] = [
  {
    name: "an error in a 200",
    stream: false,
    act: (exchange, words) => exchange.answer(200, words.errorBody),
    status: "error",
    row: "failed",
  },
  {
    name: "an error as JSON in place of a stream",
    stream: true,
    act: (exchange, words) => exchange.answer(200, words.errorBody),
    status: "error",
    row: "failed",
  },
  {
    name: "an error as the first event",
    stream: true,
    act: (exchange, words) => exchange.stream([words.error]),
    status: "error",
    row: "failed",
  },
  ...[false, true].map((stream): Ending => ({
    name: "silence",
    stream,
    act: () => {},
    status: 504,
    code: "upstream_timeout",
    row: "failed",
  })),
  {
    name: "silence after the headers",
    stream: true,
    act: (exchange) => exchange.head(200, sse),
    status: 504,
    code: "upstream_timeout",
    row: "failed",
  },
  {
    name: "a whole answer cut in the middle",
    stream: false,
    act: async (exchange, words) => {
      const text = JSON.stringify(words.whole);
      await exchange.head(200, json, { length: text.length });
      await exchange.write(text.slice(0, -10));
      exchange.cut();
    },
    status: 502,
    ...truncated,
  },
];

/** What comes after a stream's beginning. */
const breaks: readonly Pick<Ending, "name" | "act" | "code" | "row">[] = [
  { name: "a cut", act: (exchange) => exchange.cut(), ...truncated },
  {
    name: "a reset",
    act: async (exchange) => {
      // A reset takes what the other side's system holds and nobody has read yet.
      await loopTurns();
      exchange.reset();
    },
    ...truncated,
  },
  { name: "an early end", act: (exchange) => exchange.end(), ...truncated },
  { name: "an end marker without an end", act: (exchange) => last(exchange, done), ...truncated },
  {
    name: "half an event",
    act: (exchange, words) => last(exchange, words.end[0]!.slice(0, -12)),
    ...truncated,
  },
  { name: "silence", act: () => {}, code: "upstream_timeout", row: "failed" },
  {
    name: "an error event",
    act: (exchange, words) => last(exchange, words.error),
    row: "failed",
  },
  {
    name: "an event that is not JSON",
    act: (exchange, words) => last(exchange, 'data: {"oops\n\n', ...words.end),
    code: "upstream_invalid_response",
    row: "failed",
  },
];

const broken = breaks.map((ending): Ending => ({
  ...ending,
  name: `a stream's beginning, then ${ending.name}`,
  stream: true,
  status: 200,
  async act(exchange, words) {
    await exchange.head(200, sse);
    for (const event of words.begin) await exchange.write(event);
    await ending.act(exchange, words);
  },
}));

for (const ending of [...unusable, ...others, ...broken]) {
  for (const vendor of dialectNames) {
    const name = `${ending.name}${ending.stream ? " (streamed)" : ""} from a vendor of ${vendor}`;
    Deno.test(`${name} is reported in every caller's dialect`, async () => {
      // What waits for a timeout waits together.
      const cells = dialectNames.map((caller) => checkEnding(ending, caller, vendor));
      for (const cell of await Promise.allSettled(cells)) {
        if (cell.status === "rejected") throw cell.reason;
      }
    });
  }
}

async function checkEnding(
  ending: Ending,
  caller: DialectName,
  vendor: DialectName,
): Promise<void> {
  const isLate = ending.code === "upstream_timeout";
  const [at, checks] = isLate ? [impatient(), lateRows] : [service(), rows];
  const script = at.script((exchange) => ending.act(exchange, vendorWords[vendor]));
  const request = rawRequest(caller, {
    model: `${scriptedLabel(vendor)}/${scriptedModel}`,
    prompt: `How are you today? ${script}`,
    stream: ending.stream,
  });
  const answer = await at.post(request.path, request.body);
  const text = await answer.text();
  const cell = `${caller} on ${vendor}: ${text}`;
  const status = ending.status === "error" ? vendorWords[vendor].errorStatus : ending.status;
  assert.equal(answer.status, status, cell);
  if (status === 200) {
    if (caller !== vendor) assert.equal(checkGrammar(caller, text).ending, "failed", cell);
    assert.equal(answerText(caller, text, true), "I am", cell);
    assert.ok(!endsWell(caller, text, true), cell);
    checkFinalError(caller, finalError(caller, text), ending, cell);
    if (caller === "responses") {
      checkSequence(text, cell);
      checkFailedResponse(text, cell);
    }
  } else {
    const { error } = JSON.parse(text) as { error: Record<string, unknown> };
    if (ending.code) assert.equal(error.code, ending.code, cell);
    for (const field of ["message", "type", "code"]) assert.equal(typeof error[field], "string");
  }
  checks.expect(answer, cell, (row) => {
    assert.deepEqual([row.status, row.finish_reason], [ending.row, null]);
    assert.equal(row.http_status, status);
    if (ending.code) assert.equal(row.error_code, ending.code);
  });
}

/** Clients that resume a stream count on numbers without gaps, the error's too. */
function checkSequence(text: string, cell: string): void {
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, one]) => Number(one));
  assert.ok(numbers.length > 1, cell);
  assert.deepEqual(numbers, numbers.map((_, index) => index), cell);
}

/** Codex reads the failure from the last event, and the response's id from that or the first. */
function checkFailedResponse(text: string, cell: string): void {
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, one]) => JSON.parse(one!));
  assert.deepEqual(events.slice(-2).map(({ type }) => type), ["error", "response.failed"], cell);
  const [first, error, failed] = [events[0].response, events.at(-2), events.at(-1).response];
  assert.deepEqual(
    [failed.status, failed.id, failed.model, failed.error.message],
    ["failed", first.id, first.model, error.message],
    cell,
  );
}

const askingForTwo: readonly (readonly [DialectName, Record<string, unknown>])[] = [
  ["chat", { n: 2 }],
  ["generate", { generationConfig: { candidateCount: 2 } }],
];

for (const [caller, more] of askingForTwo) {
  Deno.test(`${caller}: of two answers asked for, a stream of one that just ends is a cut`, async () => {
    const { begin, end } = vendorWords.chat;
    const script = service().script((exchange) => exchange.stream([...begin, ...end.slice(0, -1)]));
    const request = rawRequest(caller, {
      model: `${scriptedLabel("chat")}/${scriptedModel}`,
      prompt: `How are you today? ${script}`,
      stream: true,
      more,
    });
    const answer = await service().post(request.path, request.body);
    const text = await answer.text();
    assert.ok(finalError(caller, text), text);
    assert.ok(!text.includes("[DONE]"), text);
    rows.expect(answer, `one of two for ${caller}`, (row) => {
      assert.deepEqual([row.status, row.error_code], ["truncated", "upstream_stream_truncated"]);
    });
  });
}

const element = (index: number, text: string, tokens: number, finishReason?: string) =>
  `data: ${
    JSON.stringify({
      candidates: [{ index, content: { role: "model", parts: [{ text }] }, finishReason }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: tokens },
    })
  }\r\n\r\n`;

const afterAnEnd: Readonly<Record<string, { count: number; elements: readonly string[] }>> = {
  "of two candidates one ends before the other begins": {
    count: 2,
    elements: [element(0, "Yes", 2, "STOP"), element(1, "No,", 40), element(1, " no", 90, "STOP")],
  },
  "each element has a finish reason": {
    count: 1,
    elements: [
      element(0, "Yes", 2, "STOP"),
      element(0, "No,", 40, "STOP"),
      element(0, " no", 90, "STOP"),
    ],
  },
  "fewer candidates than asked for": {
    count: 2,
    elements: [element(0, "YesNo,", 40), element(0, " no", 90, "STOP")],
  },
};

for (const [name, { count, elements }] of Object.entries(afterAnEnd)) {
  for (const caller of ["generate", "chat"] as const) {
    Deno.test(`a generate stream is read to its body's end for ${caller}: ${name}`, async () => {
      const hasBegun = Promise.withResolvers<void>();
      const script = service().script(async (exchange) => {
        await exchange.head(200, sse);
        await exchange.write(elements[0]!);
        // An answer that was taken for whole ends before the rest.
        await hasBegun.promise;
        for (const one of elements.slice(1)) await exchange.write(one);
        await exchange.end();
      });
      const request = rawRequest(caller, {
        model: `${scriptedLabel("generate")}/${scriptedModel}`,
        prompt: `How are you today? ${script}`,
        stream: true,
        more: caller === "chat" ? { n: count } : { generationConfig: { candidateCount: count } },
      });
      const answer = await service().post(request.path, request.body);
      let text = "";
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes("Yes")) hasBegun.resolve();
      }
      const texts = [...text.matchAll(/"(?:text|content)":"([^"]*)"/g)].map(([, one]) => one);
      assert.equal(texts.join(""), "YesNo, no", text);
      rows.expect(answer, `${name} for ${caller}`, (row) => {
        assert.deepEqual([row.status, row.output_tokens], ["completed", 90]);
      });
    });
  }
}

const unclosed: Readonly<Record<string, (exchange: FakeExchange) => void>> = {
  "is reset": (exchange) => exchange.reset(),
  "stays open": () => {},
};

for (const [name, act] of Object.entries(unclosed)) {
  for (const caller of ["generate", "chat"] as const) {
    Deno.test(`a generate stream is whole for ${caller} if its connection ${name} behind it`, async () => {
      const { begin, end } = vendorWords.generate;
      const hasCome = Promise.withResolvers<void>();
      const at = name === "stays open" ? impatient() : service();
      const script = at.script(async (exchange) => {
        await exchange.head(200, sse);
        for (const piece of [...begin, ...end]) await exchange.write(piece);
        await hasCome.promise;
        act(exchange);
      });
      const request = rawRequest(caller, {
        model: `${scriptedLabel("generate")}/${scriptedModel}`,
        prompt: `How are you today? ${script}`,
        stream: true,
      });
      const answer = await at.post(request.path, request.body);
      let text = "";
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (text.includes("well.")) hasCome.resolve();
      }
      assert.equal(answerText(caller, text, true), spokenText);
      assert.ok(endsWell(caller, text, true), text);
      assert.equal(finalError(caller, text), undefined);
      const row = await at.row(answer.headers.get("x-transaction-id"));
      assert.deepEqual([row.status, row.billing_basis], ["completed", "reported"]);
    });
  }
}

rows.register(service);
lateRows.register(impatient, "the calls whose vendors fall silent");

/** The last pieces of a stream that ends in order. */
async function last(exchange: FakeExchange, ...pieces: string[]): Promise<void> {
  for (const piece of pieces) await exchange.write(piece);
  await exchange.end();
}

function checkFinalError(
  caller: DialectName,
  error: Readonly<Record<string, unknown>> | undefined,
  ending: Ending,
  cell: string,
): void {
  if (!error) throw new Error(`no error ends the stream: ${cell}`);
  assert.equal(typeof error.message, "string", cell);
  if (!ending.code) return;
  const told = caller === "generate" ? error.reason : error.code;
  // The messages dialect has a list of types, and no codes, in its events.
  if (caller !== "messages") assert.equal(told, ending.code, cell);
}
