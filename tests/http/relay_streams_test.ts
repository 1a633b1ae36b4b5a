import assert from "@std/assert";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { securityHeaders } from "../support/scenarios.ts";
import { shared } from "../support/service.ts";
import {
  event,
  type Script,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

const service = shared(() =>
  startScriptedService({ FIRST_BYTE_TIMEOUT_MS: "1500", IDLE_TIMEOUT_MS: "600" })
);

/** Only silence ends by the clock: on a busy machine, other endings may take longer to arrive. */
const patient = shared(() => startScriptedService());

/** A stream that begins well and ends badly, and what the caller sees behind its beginning. */
interface BadEnding {
  name: string;
  script: Script;
  /** Events that come through before the end. */
  seen: readonly string[];
  error: { type: string; code: string } | undefined;
  status: "failed" | "truncated" | "completed";
  finish: string | null;
  basis: "estimated" | "reported";
}

const words = streamEvents.slice(0, 3);
const truncated = { type: "upstream_error", code: "upstream_stream_truncated" };

/** The caller has read what came before the reset, which discards bytes that are on their way. */
const passedOn = Promise.withResolvers<void>();

const endings: readonly BadEnding[] = [
  {
    name: "cut after some events",
    script: begun(words, (exchange) => exchange.cut()),
    seen: words,
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "reset after some events",
    script: begun(words, async (exchange) => {
      await exchange.write(": until here\n\n");
      await passedOn.promise;
      exchange.reset();
    }),
    seen: [...words, ": until here\n\n"],
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "cut in the middle of an event, which is not passed on",
    script: begun(words, async (exchange) => {
      await exchange.write(streamEvents[3]!.slice(0, 30));
      exchange.cut();
    }),
    seen: words,
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "ended in order, but without a finish reason",
    script: begun(words, (exchange) => exchange.end()),
    seen: words,
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "ended before the blank line of an event",
    script: begun([], async (exchange) => {
      await exchange.write(words.join("").trimEnd());
      await exchange.end();
    }),
    seen: words,
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "ended between the last CR and LF of an event",
    script: begun([], async (exchange) => {
      await exchange.write(words.join("").replaceAll("\n", "\r\n").slice(0, -1));
      await exchange.end();
    }),
    seen: [words.join("").replaceAll("\n", "\r\n"), "\n"],
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "ended in the first bytes of an event, which are not passed on",
    script: begun(words, async (exchange) => {
      await exchange.write("dat");
      await exchange.end();
    }),
    seen: words,
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "an end marker in place of a finish reason, which is not passed on",
    script: begun(words, async (exchange) => {
      await exchange.write("data: [DONE]\n\n");
      await exchange.end();
    }),
    seen: words,
    error: truncated,
    status: "truncated",
    finish: null,
    basis: "estimated",
  },
  {
    name: "an error in place of an event",
    script: begun(words, async (exchange) => {
      await exchange.write('data: {"error":{"message":"inner words","code":503}}\n\n');
      await exchange.write(streamEvents[3]!);
      await exchange.end();
    }),
    seen: words,
    error: { type: "overloaded_error", code: "upstream_overloaded" },
    status: "failed",
    finish: null,
    basis: "estimated",
  },
  {
    name: "an error in one piece with all that came before it",
    script: begun([], async (exchange) => {
      const error = 'data: {"error":{"message":"inner words","code":503}}\n\n';
      await exchange.write(words.join("") + error + streamEvents[3]!);
      await exchange.end();
    }),
    seen: words,
    error: { type: "overloaded_error", code: "upstream_overloaded" },
    status: "failed",
    finish: null,
    basis: "estimated",
  },
  {
    name: "an event that is not JSON",
    script: begun(words, async (exchange) => {
      await exchange.write("data: <html>inner words</html>\n\n");
      await exchange.end();
    }),
    seen: words,
    error: { type: "upstream_error", code: "upstream_invalid_response" },
    status: "failed",
    finish: null,
    basis: "estimated",
  },
  {
    name: "an event that holds more than an answer may",
    script: begun(words, async (exchange) => {
      const filler = `"filler":"${"x".repeat(64 * 1024)}","deep":${"[".repeat(128)}${
        "]".repeat(128)
      }`;
      await exchange.write(`data: {"choices":[],${filler}}\n\ndata: [DONE]\n\n`);
      await exchange.end();
    }),
    seen: words,
    error: { type: "upstream_error", code: "upstream_invalid_response" },
    status: "failed",
    finish: null,
    basis: "estimated",
  },
  {
    name: "silence, for as long as IDLE_TIMEOUT_MS",
    script: begun(words, () => {}),
    seen: words,
    error: { type: "timeout_error", code: "upstream_timeout" },
    status: "failed",
    finish: null,
    basis: "estimated",
  },
  {
    name: "cut after the finish reason and before the usage",
    script: begun(streamEvents.slice(0, 4), (exchange) => exchange.cut()),
    seen: streamEvents.slice(0, 4),
    error: truncated,
    status: "truncated",
    finish: "stop",
    basis: "estimated",
  },
  {
    name: "ended in order after the finish reason, without usage and end marker",
    script: begun(streamEvents.slice(0, 4), (exchange) => exchange.end()),
    seen: streamEvents.slice(0, 4),
    error: undefined,
    status: "completed",
    finish: "stop",
    basis: "estimated",
  },
  {
    name: "ended in order after the finish reason, without its blank line",
    script: begun([], async (exchange) => {
      await exchange.write(streamEvents.slice(0, 4).join("").trimEnd());
      await exchange.end();
    }),
    seen: streamEvents.slice(0, 4),
    error: undefined,
    status: "completed",
    finish: "stop",
    basis: "estimated",
  },
  {
    name: "cut after the end marker, when nothing is missing",
    script: begun(streamEvents, (exchange) => exchange.cut()),
    seen: streamEvents.filter((one) => !one.includes("usage")),
    error: undefined,
    status: "completed",
    finish: "stop",
    basis: "reported",
  },
];

Deno.test("a stream that ends badly ends with an error event, is tried once, and is billed for what came", async (t) => {
  await Promise.all(endings.map((ending) =>
    t.step({
      name: ending.name,
      fn: () => play(ending),
      sanitizeOps: false,
      sanitizeResources: false,
      sanitizeExit: false,
    })
  ));
});

async function play(ending: BadEnding): Promise<void> {
  const { call, row: rowOf } = ending.error?.type === "timeout_error" ? service() : patient();
  const { response, tries } = await call(ending.script, { stream: true });
  assert.equal(response.status, 200);
  for (const [name, value] of Object.entries(securityHeaders)) {
    assert.equal(response.headers.get(name), value);
  }
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes(": until here")) passedOn.resolve();
  }
  const seen = ending.seen.join("");
  assert.equal(text.slice(0, seen.length), seen);
  const rest = text.slice(seen.length);
  if (ending.error) {
    assert.match(rest, /^data: \{"error":.*\}\n\n$/, "one error event, and no [DONE] behind it");
    const { error } = JSON.parse(rest.slice(6));
    const { message, ...fields } = error;
    assert.equal(typeof message, "string");
    assert.doesNotMatch(message, /inner words/);
    assert.deepEqual(fields, { ...ending.error, param: null });
  } else {
    assert.equal(rest, "");
  }
  assert.equal(tries.length, 1, "never again after a byte went out");
  const row = await rowOf(response.headers.get("x-transaction-id"));
  const { status, http_status, error_code, finish_reason, billing_basis } = row;
  assert.deepEqual({ status, http_status, error_code, finish_reason, billing_basis }, {
    status: ending.status,
    http_status: 200,
    error_code: ending.error?.code ?? null,
    finish_reason: ending.finish,
    billing_basis: ending.basis,
  });
  assert.ok(Number(row.input_tokens) > 0 && Number(row.output_tokens) > 0);
  assert.match(String(row.cost_usd), /[1-9]/);
  assert.equal(row.charged_usd, row.cost_usd);
  const kept = row.response as { choices: { message: { content: string } }[] };
  assert.equal(kept.choices[0]!.message.content, "I am well.");
}

/** A stream that fails before its first event: an ordinary error answer. */
const failures: readonly { name: string; script: Script; status: number; code: string }[] = [
  {
    name: "cut before the first event",
    script: begun([], (exchange) => exchange.cut()),
    status: 502,
    code: "upstream_stream_truncated",
  },
  {
    name: "cut behind nothing but a comment",
    script: begun([": PROCESSING\n\n"], (exchange) => exchange.cut()),
    status: 502,
    code: "upstream_stream_truncated",
  },
  {
    name: "ended before the first event",
    script: begun([], (exchange) => exchange.end()),
    status: 502,
    code: "upstream_invalid_response",
  },
  {
    name: "an error as the first event",
    script: begun([
      'data: {"error":{"message":"slow down","type":"rate_limit_error","code":429}}\n\n',
    ], (exchange) => exchange.end()),
    status: 429,
    code: "upstream_rate_limited",
  },
  {
    name: "silence before the first event",
    script: begun([], () => {}),
    status: 504,
    code: "upstream_timeout",
  },
];

Deno.test("a stream that fails before its first event is an ordinary error answer, and a row", async (t) => {
  await Promise.all(failures.map(({ name, script, status, code }) =>
    t.step({
      name,
      async fn() {
        const { response, tries } = await service().call(script, { stream: true });
        assert.equal(response.headers.get("content-type"), "application/json");
        const { error } = await response.json();
        assert.deepEqual([response.status, error.code], [status, code]);
        assert.equal(tries.length, 1);
        const row = await service().row(response.headers.get("x-transaction-id"));
        assert.deepEqual(
          [row.http_status, row.error_code, row.cost_usd, row.billing_basis, row.response],
          [status, code, "0.000000000", "none", null],
        );
      },
      sanitizeOps: false,
      sanitizeResources: false,
      sanitizeExit: false,
    })
  ));
});

Deno.test("reports of usage in the middle of a stream are never added up: the last one counts", async () => {
  const report = (prompt: number, completion: number) =>
    event({
      choices: [{ index: 0, delta: { content: "x" } }],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
      },
    });
  const events = [report(10, 1), report(10, 2), report(10, 3), ...streamEvents.slice(3)];
  const { response } = await service().call((exchange) => exchange.stream(events), {
    stream: true,
  });
  await response.text();
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.input_tokens, row.output_tokens], [10, 5]);
});

Deno.test("a caller who reads slowly slows the vendor down, and loses nothing", async () => {
  const piece = event({ choices: [{ index: 0, delta: { content: "y".repeat(50_000) } }] });
  const count = 800;
  let written = 0;
  const { response } = await service().call(async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    for (; written < count; written++) await exchange.write(piece);
    for (const one of streamEvents.slice(3)) await exchange.write(one);
    await exchange.end();
  }, { stream: true });
  const reader = response.body!.getReader();
  let bytes = 0;
  // Longer than the idle time: a caller who makes us wait is no silence of the vendor. Who takes
  // nothing at all for so long is another matter.
  for (let pauses = 0; pauses < 8; pauses++) {
    // By bytes: on a busy machine one read brings many pieces.
    const until = bytes + 500_000;
    while (bytes < until) bytes += (await reader.read()).value?.length ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const behind = written;
  assert.ok(behind < count, `the vendor could write all ${count} events to nobody`);
  for (let one = await reader.read(); !one.done; one = await reader.read()) {
    bytes += one.value.length;
  }
  assert.ok(bytes > piece.length * (count - 50));
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.billing_basis], ["completed", "reported"]);
  assert.equal(row.total_tokens, wholeAnswer.usage.total_tokens);
});

Deno.test("a caller who takes nothing for the idle time counts as gone: its vendor is let go and what came is charged", async () => {
  const piece = event({ choices: [{ index: 0, delta: { content: "y".repeat(50_000) } }] });
  const closed = Promise.withResolvers<void>();
  const { response } = await service().call(async (exchange) => {
    exchange.closed.then(closed.resolve);
    await exchange.head(200, { "content-type": "text/event-stream" });
    for (let written = 0; written < 800; written++) await exchange.write(piece);
  }, { stream: true });
  await closed.promise;
  const row = await service().row(response.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.billing_basis, row.http_status], [
    ...["cancelled", "estimated", 200],
  ]);
  assert.ok(Number(row.charged_usd) > 0);
  await response.body?.cancel();
});

function begun(
  events: readonly string[],
  then: (exchange: FakeExchange) => unknown,
): Script {
  return async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    for (const one of events) await exchange.write(one);
    await then(exchange);
  };
}
