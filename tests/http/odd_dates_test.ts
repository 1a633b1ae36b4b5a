import assert from "@std/assert";
import { eachService } from "../support/each_service.ts";
import type { TestService } from "../support/service.ts";

/** RFC 3339 allows all of them; databases don't know year 0, nor the year 10000 of the last. */
const dates = [
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00+14:00",
  "9999-12-31T23:59:59Z",
  "9999-12-31T23:59:59-12:00",
];

eachService("dates at the ends of the calendar select like any other", {}, async (service) => {
  for (const date of dates) {
    const wanted = date.startsWith("9") ? { end_date: date } : { start_date: date };
    await accepted(service, "DELETE", "/api/v1/data", { ...wanted, dry_run: true });
    await accepted(service, "DELETE", "/api/v1/data", { ...wanted, confirm: true });
    await accepted(service, "POST", "/api/v1/exports", wanted);
    const filters = { created_at: date };
    await accepted(service, "POST", "/api/v1/exports", { start_date: "2026-01-01", filters });
    await accepted(service, "GET", `/api/v1/interactions?created_at=${encodeURIComponent(date)}`);
    await accepted(service, "POST", "/api/v1/evals", {
      model: "vendor-c/claude-sonnet-4-6",
      filters: {},
      graders: [{ type: "exact" }],
      ...wanted,
    });
  }
});

eachService("a page of evals that begins in year 0 is none of ours", {}, async (service) => {
  const answer = await service.fetch("/api/v1/evals?after=0000-01-01T00:00:00.000Z_abc");
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /after: expected/);
});

async function accepted(
  service: TestService,
  method: string,
  path: string,
  body?: unknown,
): Promise<void> {
  const answer = await service.fetch(path, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${text}`);
}
