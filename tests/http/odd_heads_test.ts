/** Whatever bytes come on one connection, in whatever state, reach nobody else's call. */
import assert from "@std/assert";
import { startEchoVendor } from "../support/echo_vendor.ts";
import { injected, startOddHeads } from "../support/odd_heads.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { Random } from "../support/random.ts";

/**
 * `ODD_HEADS_SECONDS=600 deno task test tests/http/odd_heads_test.ts` is the long form; from ten
 * minutes on it takes at least 20,000 calls, however long that is.
 */
const seconds = Number(Deno.env.get("ODD_HEADS_SECONDS") ?? 8);
const leastCalls = seconds >= 600 ? 20_000 : 50;

Deno.test(`odd heads of every kind for ${seconds} s: each call's answer is its own`, async () => {
  await using vendor = await startEchoVendor();
  const env = { VENDOR_F_BASE_URL: `${vendor.url}/v1`, JOURNAL_SYNC: "interval" };
  await using service = await startService({ env });
  const odd = startOddHeads(Number(new URL(service.baseUrl).port), 8, new Random(14));
  const wrong: string[] = [];
  const untilMs = Date.now() + seconds * 1000;
  let calls = 0;
  const caller = async (_: unknown, number: number) => {
    while (Date.now() < untilMs || calls < leastCalls) {
      const kind = kinds[(calls + number) % kinds.length]!;
      const fault = await markedCall(service, kind, `mark-${calls++}-${crypto.randomUUID()}`);
      if (fault !== undefined) wrong.push(fault);
    }
  };
  await Promise.race([
    Promise.all(Array.from({ length: 6 }, caller)),
    service.status.then(({ code }) => assert.fail(`the service ended with ${code}`)),
  ]);
  await odd.stop();
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} of ${calls} answers were not their own`);
  assert.doesNotMatch(service.output(), /Uncaught|TypeError|HPE_|internal_error/);
  assert.ok(odd.sent > 20, `only ${odd.sent} odd connections`);
  assert.equal(await service.stop(), 0);
});

interface Kind {
  readonly path: string;
  readonly stream: boolean;
  body(mark: string): Record<string, unknown>;
}

const model = "vendor-f/m";
const turns = (content: string) => [{ role: "user", content }];
const contents = (text: string) => [{ role: "user", parts: [{ text }] }];

/** All dialects, whole and streamed. */
const kinds: readonly Kind[] = [
  { path: "/chat/v1/chat/completions", body: (mark: string) => ({ model, messages: turns(mark) }) },
  { path: "/chat/v1/responses", body: (mark: string) => ({ model, input: mark }) },
  {
    path: "/chat/v1/messages",
    body: (mark: string) => ({ model, max_tokens: 100, messages: turns(mark) }),
  },
].flatMap(({ path, body }): Kind[] =>
  [false, true].map((stream) => ({ path, stream, body: (mark) => ({ ...body(mark), stream }) }))
).concat([
  {
    path: `/chat/v1/models/${model}:generateContent`,
    stream: false,
    body: (mark) => ({ contents: contents(mark) }),
  },
  {
    path: `/chat/v1/models/${model}:streamGenerateContent?alt=sse`,
    stream: true,
    body: (mark) => ({ contents: contents(mark) }),
  },
]);

/** What is wrong with the answer, if anything is. */
async function markedCall(
  service: ServiceProcess,
  kind: Kind,
  mark: string,
): Promise<string | undefined> {
  try {
    const answer = await fetch(service.baseUrl + kind.path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${service.firstKey};a-key-of-the-vendor`,
        "content-type": "application/json",
      },
      body: JSON.stringify(kind.body(mark)),
    });
    const text = await answer.text();
    const marks = text.match(/mark-\d+-[\da-f-]{36}/g) ?? [];
    const isOwn = answer.status === 200 && marks.length > 0 && marks.every((one) => one === mark);
    if (isOwn && !text.includes(injected)) return undefined;
    return `${kind.path} ${answer.status} ${text.slice(0, 200)}`;
  } catch (thrown) {
    return `${kind.path} ${thrown instanceof Error ? thrown.message : thrown}`;
  }
}
