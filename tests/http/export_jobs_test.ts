import assert from "@std/assert";
import { contracts } from "../../contracts/mod.ts";
import { interactionColumns } from "../../contracts/data/export_tables.ts";
import { eachService } from "../support/each_service.ts";
import { checkError } from "../support/scenarios.ts";
import type { Row, TestService } from "../support/service.ts";

const path = "/api/v1/exports";
const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
const today = dayIn(0);
/** The calls may come after midnight. */
const tomorrow = dayIn(1);
const range = { start: "2026-01-01", end: "2099-12-31" };

interface Job {
  status: string;
  request_id: string;
  bytes_size: number;
  message: string;
}

async function call(service: TestService, content: string, key = service.key): Promise<void> {
  const answer = await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    user: "=cmd|' /C calc'!A0",
    messages: [{ role: "user", content }],
  }, { authorization: `Bearer ${key}` });
  assert.equal(answer.status, 200, await answer.text());
}

async function job(service: TestService, body: unknown): Promise<Job> {
  const answer = await service.post(path, body);
  const value = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(value));
  return value;
}

const file = (service: TestService, id: string, headers: Record<string, string> = {}) =>
  service.fetch(`${path}/${id}/stream`, { headers });

async function states(service: TestService): Promise<Record<string, string>> {
  const { data } = await (await service.fetch(path)).json() as { data: Record<string, string>[] };
  return Object.fromEntries(data.map((one) => [one.request_id!, one.state!]));
}

async function refused(answer: Response, status: number, code: string, message: RegExp) {
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  const type = status === 404 ? "not_found_error" : "invalid_request_error";
  checkError(
    { status, headers: answer.headers, text, json: JSON.parse(text) },
    { type, code, message, dialect: "service" },
  );
}

eachService("job form: written, streamed, resumed, listed, deleted", {}, async (service) => {
  await call(service, "one");
  await call(service, "two");
  const made = await job(service, { range: { start: today, end: tomorrow } });
  assert.deepEqual(Object.keys(made), ["status", "request_id", "bytes_size", "message"]);
  assert.equal(made.status, "success");
  assert.match(made.request_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const answer = await file(service, made.request_id);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-length"), String(made.bytes_size));
  assert.equal(answer.headers.get("accept-ranges"), "bytes");
  const etag = answer.headers.get("etag")!;
  const whole = new Uint8Array(await answer.arrayBuffer());
  assert.equal(whole.length, made.bytes_size);
  const rows: Row[] = JSON.parse(new TextDecoder().decode(whole));
  assert.equal(rows.length, 2);
  assert.deepEqual(Object.keys(rows[0]!), [...interactionColumns]);
  // The direct form says the same bytes.
  const direct = await service.post(path, { start_date: "2026-01-01T00:00:00Z" });
  assert.deepEqual(new Uint8Array(await direct.arrayBuffer()), whole);

  const part = await file(service, made.request_id, { range: "bytes=10-19" });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get("content-range"), `bytes 10-19/${whole.length}`);
  assert.deepEqual(new Uint8Array(await part.arrayBuffer()), whole.slice(10, 20));
  const resumed = await file(service, made.request_id, { range: "bytes=100-", "if-range": etag });
  assert.equal(resumed.status, 206);
  assert.deepEqual(new Uint8Array(await resumed.arrayBuffer()), whole.slice(100));
  const suffix = await file(service, made.request_id, { range: "bytes=-5" });
  assert.deepEqual(new Uint8Array(await suffix.arrayBuffer()), whole.slice(-5));
  const other = await file(service, made.request_id, { range: "bytes=5-", "if-range": '"x"' });
  assert.equal(other.status, 200);
  await other.body?.cancel();
  const beyond = await file(service, made.request_id, { range: `bytes=${whole.length}-` });
  assert.equal(beyond.headers.get("content-range"), `bytes */${whole.length}`);
  await refused(beyond, 416, "range_not_satisfiable", /beyond the end/);

  const head = await service.fetch(`${path}/${made.request_id}/stream`, { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), String(whole.length));

  const { data } = await (await service.fetch(path)).json();
  assert.deepEqual(Object.keys(data[0]), [
    "request_id",
    "state",
    "format",
    "bytes_size",
    "created_at",
    "expires_at",
  ]);
  assert.deepEqual([data.length, data[0].state, data[0].bytes_size], [1, "ready", whole.length]);
  const days = (Date.parse(data[0].expires_at) - Date.parse(data[0].created_at)) / 86_400_000;
  assert.equal(Math.round(days), 7);

  const remove = () => service.fetch(`${path}/${made.request_id}`, { method: "DELETE" });
  const removed = await (await remove()).json();
  assert.deepEqual([removed.status, removed.request_id], ["success", made.request_id]);
  await refused(await file(service, made.request_id), 404, "export_not_found", /^request_id: /);
  await refused(await remove(), 404, "export_not_found", /^request_id: /);
  assert.deepEqual(await states(service), {});
});

eachService("respond-async: 202 at once, then the file", {}, async (service) => {
  await call(service, "one");
  const answer = await service.post(path, { range, format: "csv" }, {
    prefer: "wait=5, respond-async",
  });
  assert.equal(answer.status, 202);
  assert.equal(answer.headers.get("preference-applied"), "respond-async");
  const { request_id, bytes_size, status }: Job = await answer.json();
  assert.deepEqual([status, bytes_size], ["success", 0]);
  for (;;) {
    const ready = await file(service, request_id);
    const text = await ready.text();
    if (ready.status === 409) {
      assert.equal(JSON.parse(text).error.code, "export_not_ready");
      continue;
    }
    assert.equal(ready.status, 200, text);
    assert.match(ready.headers.get("content-type")!, /^text\/csv/);
    assert.equal(text.split("\r\n")[0], interactionColumns.join(","));
    // A spreadsheet must not run what a caller named its user.
    assert.ok(text.includes(",'=cmd|' /C calc'!A0,"), text);
    break;
  }
  const raw = await job(service, { range, format: "csv", raw_cells: true });
  const cells = await (await file(service, raw.request_id)).text();
  assert.ok(cells.includes(",=cmd|' /C calc'!A0,"), cells);
});

eachService(
  "a repeated request makes one job; the direct form only echoes",
  {},
  async (service) => {
    const repeat = { "x-request-id": "again" };
    const [first, second] = await Promise.all([
      service.post(path, { range }, repeat),
      service.post(path, { range }, repeat),
    ]);
    const made = await first.json();
    assert.deepEqual(await second.json(), made);
    assert.deepEqual(await states(service), { [made.request_id]: "ready" });
    const other = await service.post(path, { range, format: "csv" }, repeat);
    await refused(other, 409, "idempotency_conflict", /X-Request-ID/);
    assert.ok(contracts.createExport.codes.includes("idempotency_conflict"), "it is documented");
    const direct = { start_date: "2026-01-01T00:00:00Z" };
    for (const _ of [1, 2]) {
      const answer = await service.post(path, direct, { "x-request-id": "direct" });
      assert.equal(answer.headers.get("x-request-id"), "direct");
      assert.equal(answer.headers.get("x-idempotent-replay"), null);
      await answer.body?.cancel();
    }
  },
);

eachService("several tables are an object of arrays", {}, async (service) => {
  await call(service, "one");
  const tables = ["interactions", "eval_runs", "eval_results"];
  const answer = await service.post(path, { start_date: "2026-01-01T00:00:00Z", tables });
  const value = await answer.json();
  assert.deepEqual(Object.keys(value), tables);
  assert.deepEqual(tables.map((name) => value[name].length), [1, 0, 0]);
  for (const table of tables.slice(1)) {
    const alone = await service.post(path, { range, tables: [table], delivery: "stream" });
    assert.deepEqual(await alone.json(), []);
  }
});

eachService("another account sees, reads and removes nothing of ours", {}, async (service) => {
  assert.equal((await service.admin("account", "create", "--name", "others")).exitCode, 0);
  const granted = await service.admin("credits", "grant", "--usd", "5", "--account", "others");
  assert.equal(granted.exitCode, 0, granted.lines.join());
  const { key } = await service.createKey("--account", "others");
  await call(service, "ours");
  await call(service, "theirs", key);
  const made = await job(service, { range });
  const headers = { authorization: `Bearer ${key}` };
  const list = await (await service.fetch(path, { headers })).json();
  assert.deepEqual(list.data, []);
  await refused(await file(service, made.request_id, headers), 404, "export_not_found", /^request/);
  const method = "DELETE";
  await refused(
    await service.fetch(`${path}/${made.request_id}`, { method, headers }),
    404,
    "export_not_found",
    /^request_id: /,
  );
  const answer = await service.post(path, { range }, headers);
  const theirs = await answer.json();
  const text = await (await file(service, theirs.request_id, headers)).text();
  assert.ok(text.includes("theirs") && !text.includes('ours"'), "rows of the other account");
  assert.equal((JSON.parse(text) as Row[]).length, 1);
  assert.deepEqual(await states(service), { [made.request_id]: "ready" });
});

eachService("erased data goes from the files of exports too", {}, async (service) => {
  const headers = { "x-session-id": "s-erased" };
  const answer = await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "canary-7f3a" }],
  }, headers);
  assert.equal(answer.status, 200, await answer.text());
  const holds = await job(service, { range });
  const past = await job(service, { range: { start: "2020-01-01", end: "2020-12-31" } });
  const evals = await job(service, { range, tables: ["eval_runs"] });
  const text = await (await file(service, holds.request_id)).text();
  assert.ok(text.includes("canary-7f3a"));
  const deletion = await service.fetch("/api/v1/data", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_ids: ["s-erased"], tables: ["interactions"], confirm: true }),
  });
  const { deleted_count } = await deletion.json();
  assert.deepEqual([deletion.status, deleted_count], [200, 1]);
  const gone = await file(service, holds.request_id);
  await refused(gone, 404, "export_not_found", /^request_id: .*held data that was erased/);
  assert.deepEqual(await states(service), {
    [holds.request_id]: "deleted",
    [past.request_id]: "ready",
    [evals.request_id]: "ready",
  });
});

eachService("an unknown id names the field, in every form of it", {}, async (service) => {
  for (const id of ["x", "1", "' or 1=1 --", "0".repeat(36), "..%2f..%2fetc%2fpasswd"]) {
    const at = `${path}/${encodeURIComponent(id)}`;
    const unknown = [404, "export_not_found", /^request_id: no export has the id/] as const;
    await refused(await service.fetch(`${at}/stream`), ...unknown);
    await refused(await service.fetch(at, { method: "DELETE" }), ...unknown);
  }
  await refused(await service.fetch(`${path}/%00/stream`), 400, "invalid_value", /^request_id: /);
  for (const id of [crypto.randomUUID(), crypto.randomUUID().toUpperCase()]) {
    await refused(await file(service, id), 404, "export_not_found", /^request_id: no export/);
  }
});

eachService("a key without the scope may do none of it", {}, async (service) => {
  const { key } = await service.createKey("--scope", "status");
  const headers = { authorization: `Bearer ${key}` };
  const id = crypto.randomUUID();
  const answers = [
    await service.post(path, { range }, headers),
    await service.fetch(path, { headers }),
    await file(service, id, headers),
    await service.fetch(`${path}/${id}`, { method: "DELETE", headers }),
  ];
  for (const answer of answers) {
    assert.equal(answer.status, 403);
    await answer.body?.cancel();
  }
});

eachService(
  "job form: lines of JSON, of chosen columns, under their own type",
  {},
  async (service) => {
    await call(service, "one");
    await call(service, "two");
    const made = await job(service, {
      ...{ range, format: "jsonl", columns: ["transaction_id", "charged_usd"] },
    });
    const answer = await file(service, made.request_id);
    assert.equal(answer.headers.get("content-type"), "application/x-ndjson");
    assert.match(answer.headers.get("content-disposition") ?? "", /\.jsonl"$/);
    const text = await answer.text();
    assert.equal(new TextEncoder().encode(text).length, made.bytes_size);
    const rows = await service.rows();
    assert.equal(
      text,
      rows.map(({ transaction_id, charged_usd }) =>
        JSON.stringify({ transaction_id, charged_usd }) + "\n"
      ).join(""),
    );
    const { data } = await (await service.fetch(path)).json();
    assert.equal(data[0].format, "jsonl");
  },
);

eachService(
  "who took data out stands in the audit log, without whose it was",
  {},
  async (service) => {
    const { key } = await service.createKey("--name", "Reader", "--scope", "admin");
    await call(service, "Hello.");
    const direct = await service.post(path, { start_date: today, filters: { user_id: "ann" } });
    await direct.body?.cancel();
    const { request_id: id } = await job(service, { range, filters: { user_id: ["ann"] } });
    await (await file(service, id, { range: "bytes=0-1" })).body?.cancel();
    const deleted = await service.fetch(`${path}/${id}`, { method: "DELETE" });
    assert.equal(deleted.status, 200, await deleted.text());
    const answer = await service.fetch("/api/v1/admin/audit?limit=4", {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data } = await answer.json() as { data: Record<string, string>[] };
    const span = `from ${range.start}T00:00:00.000Z, to 2100-01-01T00:00:00.000Z`;
    assert.deepEqual(data.map(({ action, subject, detail }) => [action, subject, detail]), [
      ["export.deleted", id, ""],
      ["export.downloaded", `interactions as JSON, ${span}`, id],
      ["export.created", `interactions as JSON, ${span}, by user_id`, ""],
      ["export.downloaded", `interactions as JSON, from ${today}T00:00:00.000Z, by user_id`, ""],
    ]);
    for (const { actor } of data) assert.match(actor!, /^API key '.+' \(dmt_\w+…\)$/);
  },
);
