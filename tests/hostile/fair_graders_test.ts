/**
 * Security review, finding 5: one tenant's schemas and patterns beside another's ordinary use. The
 * limits are those of the finding.
 */
import assert from "@std/assert";
import { shared, startSimulatedService, type TestService } from "../support/service.ts";
import { untilAdmitted } from "../support/until_admitted.ts";
import { within } from "../support/within.ts";

const path = "/api/v1/evals";
const model = "vendor-b/gpt-4.1";

/** As `src/evals/wire.ts` has it: one of an account is read, and these wait. */
const acceptedAtOnce = 1 + 16;

Deno.test("another's evaluation is taken in before most of one tenant's graders, and ends while these come", async () => {
  await using service = await startSimulatedService();
  const attacker = await tenant(service, "attacker");
  const other = await tenant(service, "other");
  await call(service, other, "Hello [say:fine]");
  await call(service, attacker, `Hello [say:${"a".repeat(40)}!]`);
  const hangUp = new AbortController();
  const ask = (key: string, graders: unknown[]) =>
    service.fetch(path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, filters: {}, graders }),
      ...key === attacker ? { signal: hangUp.signal } : {},
    });

  const refused: { code: string; after: string | null }[] = [];
  const full = Promise.withResolvers<void>();
  let read = 0;
  // One that was read comes again: until the other is done, the line is full.
  const flood = Array.from({ length: 80 }, async (_, at) => {
    for (;; read++) {
      const answer = await ask(attacker, [{ type: "json_schema", schema: largeSchema(at) }]);
      const body = await answer.json();
      if (answer.status < 429) continue;
      refused.push({ code: body.error.code, after: answer.headers.get("retry-after") });
      return refused.length === 40 ? full.resolve() : undefined;
    }
  });
  const crowd = Promise.allSettled(flood);
  await within(60_000, full.promise);

  const readBefore = read;
  const answer = await untilAdmitted(() => ask(other, [{ type: "regex", pattern: "fi+ne" }]));
  const readMeanwhile = read - readBefore;
  const { eval_run_id: id, total } = await answer.json();
  assert.deepEqual([answer.status, total], [202, 1]);
  // Each takes as long as the limit lets it, so that who waits behind all of them sees all answered.
  assert(readMeanwhile < acceptedAtOnce / 2, `${readMeanwhile} of ${acceptedAtOnce} came first`);
  const run = await ended(service, other, id);
  assert.deepEqual([run.state, run.results[0].passed], ["done", true]);
  for (const { code, after } of refused) {
    // A busy service sheds some of so many calls before it looks at them.
    assert.match(code, /^(rate_limit_exceeded|overloaded)$/);
    assert(Number(after) > 0);
  }
  assert(refused.some(({ code }) => code === "rate_limit_exceeded"));
  hangUp.abort();
  await service.stop();
  await crowd;
});

const service = shared(() => startSimulatedService());

for (
  const [name, schema, field] of [
    [
      "a schema of 136 KB",
      { enum: ["x".repeat(136 * 1024)] },
      /^graders\[1\]\.schema: a schema may have at most 65536/,
    ],
    [
      "a schema of 2,001 nodes",
      { allOf: Array(2000).fill({}) },
      /^graders\[1\]\.schema: a schema may have at most 2000/,
    ],
    [
      "a long pattern in a schema",
      { pattern: "a".repeat(2001) },
      /^graders\[1\]\.schema: a pattern in a schema may/,
    ],
    ["a long name of a pattern", {
      patternProperties: { ["a".repeat(2001)]: {} },
    }, /^graders\[1\]\.schema: a pattern in a schema may/],
  ] as const
) {
  Deno.test(`${name} is a 400 that names the field`, async () => {
    const answer = await service().post(path, {
      ...{ model, filters: {} },
      graders: [{ type: "exact" }, { type: "json_schema", schema }],
    });
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code], [400, "invalid_value"]);
    assert.match(error.message, field);
  });
}

/** Takes its time to compile: as large as schemas may be. */
function largeSchema(at: number): unknown {
  const names = Array.from({ length: 600 }, (_, index) => `field_${at}_${index}`);
  return {
    properties: Object.fromEntries(
      names.map((name) => [name, { anyOf: [{ type: "string", pattern: `^${name}` }, true] }]),
    ),
  };
}

async function tenant(service: TestService, name: string): Promise<string> {
  await service.admin("account", "create", "--name", name);
  await service.admin("account", "tier", name, "enterprise");
  await service.admin("credits", "grant", "--usd", "5", "--account", name);
  return (await service.createKey("--account", name)).key;
}

async function call(service: TestService, key: string, content: string): Promise<void> {
  const body = { model, messages: [{ role: "user", content }] };
  const headers = { authorization: `Bearer ${key}` };
  const answer = await service.post("/chat/v1/chat/completions", body, headers);
  assert.equal(answer.status, 200, await answer.text());
}

async function ended(service: TestService, key: string, id: string) {
  for (;;) {
    const answer = await service.fetch(`${path}/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const run = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(run));
    if (run.state !== "queued" && run.state !== "running") return run;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
