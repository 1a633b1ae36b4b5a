/**
 * RFC 3339 times that lie beyond the years 1 to 9999 of UTC, which the database can't read, and those
 * with small letters.
 */
import assert from "@std/assert";
import { shared, startTestService } from "../support/service.ts";

const world = shared(async () => {
  const service = await startTestService();
  const { key } = await service.createKey("--scope", "admin");
  return { service, key, stop: () => service.stop() };
});

const first = "0001-01-01T00:00:00+23:59";
const last = "9999-12-31T23:59:59-23:59";
const lastOfUtc = "9999-12-31T23:59:59.999Z";
const raised = { on: "app:x", per: "day", usd: "5", raised_usd: "7", raise_until: last };

for (
  const [path, body, answered] of [
    ["prices/check", { since: first }, {}],
    ["prices/check", { since: last }, {}],
    ["prices/reprice", { since: first, until: last, dry_run: true }, {}],
    ["keys", { name: "until the end", expires: last }, { expires_at: lastOfUtc }],
    ["budgets", raised, {
      raise_until: lastOfUtc,
      ...{ limit_usd: "5.000000000", raised_limit_usd: "7.000000000" },
    }],
    ["budgets", { ...raised, raise_until: "2999-01-01t00:00:00z" }, {
      raise_until: "2999-01-01T00:00:00.000Z",
    }],
  ] as [string, object, Record<string, string>][]
) {
  Deno.test(`${path} takes ${JSON.stringify(body)}`, async () => {
    const { service, key } = world();
    const authorization = `Bearer ${key}`;
    const answer = await service.post(`/api/v1/admin/${path}`, body, { authorization });
    const said: Record<string, unknown> = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(said));
    for (const [field, time] of Object.entries(answered)) assert.equal(said[field], time);
  });
}

Deno.test("an export's dates may be written with small letters", async () => {
  const { service } = world();
  const span = { start_date: "2026-11-27t10:00:00z", end_date: "2026-11-27t12:00:00+01:00" };
  const answer = await service.post("/api/v1/exports", { format: "jsonl", filters: {}, ...span });
  assert.equal(answer.status, 200, await answer.text());
});

Deno.test("the command line takes such a time", async () => {
  const { exitCode, lines } = await world().service.admin("reprice", "--dry-run", "--since", first);
  assert.equal(exitCode, 0, lines.join("\n"));
});
