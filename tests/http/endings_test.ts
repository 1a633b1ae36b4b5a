import assert from "@std/assert";
import { isQuietMachine } from "../support/quiet.ts";
import { databasesFor } from "../support/each_service.ts";
import type { Row } from "../support/service.ts";
import {
  type Script,
  type ScriptedRequest,
  type ScriptedService,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

/** One way in which a call can end, and what its row says. */
interface Ending {
  name: string;
  script: Script;
  request?: ScriptedRequest;
  /** The caller leaves: before an answer, or once it has seen this. */
  leave?: "before" | RegExp;
  row: {
    status: string;
    http_status: number | null;
    error_code: string | null;
    finish_reason: string | null;
    billing_basis: string;
    /** Null: some. */
    input_tokens?: number | null;
    output_tokens?: number | null;
    cost_usd?: string;
    mode?: string;
  };
}

const stream = { stream: true };
const nothing = { billing_basis: "none", input_tokens: null, cost_usd: "0.000000000" };
const done = {
  status: "completed",
  http_status: 200,
  error_code: null,
  finish_reason: "stop",
  billing_basis: "reported",
  input_tokens: 10,
  output_tokens: 5,
  cost_usd: "0.000060000",
};

const endings: readonly Ending[] = [
  { name: "done", script: (to) => to.answer(200, wholeAnswer), row: done },
  { name: "done, streamed", script: (to) => to.stream(streamEvents), request: stream, row: done },
  {
    name: "done without a report of usage",
    script: (to) => to.answer(200, { ...wholeAnswer, usage: undefined }),
    row: { ...counted(done), billing_basis: "estimated" },
  },
  {
    name: "refused by the vendor",
    script: (to) => to.answer(400, { error: { message: "no" } }),
    row: { ...failed(400, "invalid_request"), ...nothing },
  },
  {
    name: "a vendor that fails",
    script: (to) => to.answer(503, "", { "retry-after": "60" }),
    request: stream,
    row: { ...failed(503, "upstream_overloaded"), ...nothing },
  },
  {
    name: "a vendor that never answers",
    script: () => {},
    row: { ...failed(504, "upstream_timeout"), ...nothing },
  },
  {
    name: "a stream that falls silent",
    script: begun,
    request: stream,
    row: {
      ...failed(200, "upstream_timeout"),
      billing_basis: "estimated",
    },
  },
  {
    name: "a stream that is cut",
    script: async (to) => {
      await begun(to);
      to.cut();
    },
    request: stream,
    row: {
      ...failed(200, "upstream_stream_truncated"),
      status: "truncated",
      billing_basis: "estimated",
    },
  },
  {
    name: "a stream with an error in it",
    script: async (to) => {
      await begun(to);
      await to.write('data: {"error":{"message":"no","code":500}}\n\n');
    },
    request: stream,
    row: { ...failed(200, "upstream_error"), billing_basis: "estimated" },
  },
  {
    name: "a caller who leaves in the middle of a stream",
    script: begun,
    request: stream,
    leave: /I am/,
    row: {
      ...failed(200, null),
      status: "cancelled",
      billing_basis: "estimated",
    },
  },
  {
    name: "a caller who leaves before an answer",
    script: () => {},
    leave: "before",
    row: { ...failed(null, null), status: "cancelled", ...nothing },
  },
  {
    name: "done with the caller's own vendor key",
    script: (to) => to.answer(200, wholeAnswer),
    request: { headers: { authorization: "dual" } },
    row: { ...done, mode: "dual_key" },
  },
];

for (
  const { title, ignore, start } of databasesFor(
    "every call, however it ended, is one row with tokens and cost",
  )
) {
  Deno.test({
    name: title,
    ignore,
    async fn(t) {
      const database = await start();
      const service = await startScriptedService(
        {
          FIRST_BYTE_TIMEOUT_MS: "1000",
          IDLE_TIMEOUT_MS: "800",
          VENDOR_G_BASE_URL: "http://127.0.0.1:9/v1",
          VENDOR_G_API_KEY: "xai-of-a-test",
          ...(database.url === undefined ? {} : { DATABASE_URL: database.url }),
        },
        { database: "embedded" },
      );
      try {
        for (const ending of endings) {
          await t.step({
            name: ending.name,
            fn: () => play(service, ending),
            sanitizeOps: false,
            sanitizeResources: false,
            sanitizeExit: false,
          });
        }
        await t.step("a vendor that is dead", () => callTheDead(service));
        assert.equal((await service.rows()).length, endings.length + 1, "one row a call, no more");
        assert.equal((await service.fetch("/readyz")).status, 200, "the service lives on");
      } finally {
        await service.stop();
        await database.drop();
      }
    },
  });
}

async function play(service: ScriptedService, ending: Ending): Promise<void> {
  const user = `user-${crypto.randomUUID()}`;
  const controller = new AbortController();
  const request: ScriptedRequest = {
    ...ending.request,
    ...(ending.request?.headers
      ? { headers: { authorization: `Bearer ${service.key};sk-own` } }
      : {}),
    body: { user },
    signal: controller.signal,
  };
  const began = Promise.withResolvers<void>();
  const calling = service.call((exchange, attempt) => {
    began.resolve();
    return ending.script(exchange, attempt);
  }, request);
  let rows: Row[];
  if (ending.leave === undefined) {
    await (await calling).response.text();
    // At once: the record is there when the answer is.
    rows = await service.rows({ user_id: user });
  } else {
    calling.catch(() => {});
    await began.promise;
    if (ending.leave !== "before") await seen((await calling).response, ending.leave);
    controller.abort();
    rows = await untilThere(service, user);
  }
  assert.equal(rows.length, 1);
  const row = rows[0]!;
  for (const [column, value] of Object.entries(ending.row)) {
    assert.equal(row[column], value, column);
  }
  if (ending.row.input_tokens === undefined) {
    assert.ok(Number(row.input_tokens) > 0 && Number(row.output_tokens) > 0, "tokens");
    assert.match(String(row.cost_usd), /^0\.0*[1-9]\d*$/, "cost");
  }
  const charged = row.mode === "managed" ? row.cost_usd : "0.000000000";
  assert.equal(row.charged_usd, charged, "charged");
}

async function callTheDead(service: ScriptedService): Promise<void> {
  const wasQuiet = isQuietMachine();
  const started = performance.now();
  const answer = await service.post("/chat/v1/chat/completions", {
    model: "xai/grok-4.3",
    messages: [{ role: "user", content: "Are you there?" }],
  });
  const tookMs = performance.now() - started;
  const { error } = await answer.json();
  assert.deepEqual([answer.status, error.type, error.code], [
    502,
    "upstream_error",
    "upstream_unreachable",
  ]);
  // Two repetitions within two seconds; connecting to nobody fails at once, and is not waited for.
  assert.ok(tookMs < (wasQuiet ? 4_000 : 20_000), `the answer took ${tookMs} ms`);
  const row = await service.row(answer.headers.get("x-transaction-id"));
  const { status, http_status, error_code, cost_usd, billing_basis } = row;
  assert.deepEqual({ status, http_status, error_code, cost_usd, billing_basis }, {
    status: "failed",
    http_status: 502,
    error_code: "upstream_unreachable",
    cost_usd: "0.000000000",
    billing_basis: "none",
  });
}

/** Reads until the pattern was seen. */
async function seen(response: Response, pattern: RegExp): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !pattern.test(text);) text += (await reader.read()).value ?? "";
}

/** What a caller who left can't wait for: the service has to notice first. */
async function untilThere(service: ScriptedService, user: string): Promise<Row[]> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const rows = await service.rows({ user_id: user });
    if (rows.length > 0) return rows;
    if (performance.now() > deadline) throw new Error("No row of the call");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function begun(to: Parameters<Script>[0]): Promise<void> {
  await to.head(200, { "content-type": "text/event-stream" });
  for (const one of streamEvents.slice(0, 3)) await to.write(one);
}

function failed(http_status: number | null, error_code: string | null) {
  return { status: "failed", http_status, error_code, finish_reason: null };
}

/** The same without the numbers: they are estimates. */
function counted({ input_tokens: _, output_tokens: __, cost_usd: ___, ...rest }: typeof done) {
  return rest;
}
