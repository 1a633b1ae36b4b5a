import assert from "@std/assert";
import { systemClock } from "../../src/base/clock.ts";
import { shared, type TestService } from "../support/service.ts";
import {
  type ScriptedService,
  startScriptedService,
  wholeAnswer,
} from "../support/service_scripted.ts";

const service = shared(() => startScriptedService());
const path = "/api/v1/data";

/** A call that is answered; gives its transaction id. */
async function call(
  { call }: ScriptedService,
  who: { user?: string; session?: string; key?: string } = {},
): Promise<string> {
  const { response } = await call((exchange) => exchange.answer(200, wholeAnswer), {
    body: who.user === undefined ? {} : { user: who.user },
    headers: {
      ...(who.session === undefined ? {} : { "x-session-id": who.session }),
      ...(who.key === undefined ? {} : { authorization: `Bearer ${who.key}` }),
    },
  });
  assert.equal(response.status, 200, await response.text());
  return response.headers.get("x-transaction-id")!;
}

/** A deletion's answer. */
async function ask(
  at: Pick<TestService, "fetch">,
  method: "DELETE" | "POST" | "GET",
  body: unknown,
  { below = "", key }: { below?: string; key?: string } = {},
) {
  const response = await at.fetch(path + below, {
    method,
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

/** Asks for the request until it is done. */
async function doneOf(at: Pick<TestService, "api">, id: string) {
  for (;;) {
    const { body } = await at.api().getDeletion({ params: { request_id: id } });
    if (body.state === "done" && body.receipt !== null) return { ...body, receipt: body.receipt };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const start = "2020-01-01T00:00:00Z";

/** Requests that are wrong, and the field that the answer names. */
const wrong: readonly { method: "DELETE" | "POST"; body: unknown; names: string }[] = [
  { method: "DELETE", body: {}, names: "start_date" },
  { method: "DELETE", body: { confirm: true }, names: "start_date" },
  { method: "DELETE", body: { confirm: true, tables: ["interactions"] }, names: "start_date" },
  { method: "DELETE", body: { confirm: true, transaction_ids: [] }, names: "start_date" },
  {
    method: "DELETE",
    body: { confirm: true, session_ids: [], transaction_ids: [] },
    names: "start_date",
  },
  { method: "DELETE", body: { dry_run: true }, names: "start_date" },
  { method: "DELETE", body: { start_date: start }, names: "confirm" },
  { method: "DELETE", body: { start_date: start, confirm: false }, names: "confirm" },
  { method: "DELETE", body: { start_date: start, confirm: "true" }, names: "confirm" },
  { method: "DELETE", body: { start_date: start, confirm: null }, names: "confirm" },
  { method: "DELETE", body: { start_date: start, dry_run: false }, names: "confirm" },
  { method: "DELETE", body: { start_date: start, confirm: true, dry_run: 1 }, names: "dry_run" },
  { method: "DELETE", body: { start_date: "yesterday", confirm: true }, names: "start_date" },
  { method: "DELETE", body: { start_date: "2026-11-21", confirm: true }, names: "start_date" },
  {
    method: "DELETE",
    body: { start_date: "2026-02-30T00:00:00Z", confirm: true },
    names: "start_date",
  },
  { method: "DELETE", body: { end_date: 7, confirm: true }, names: "end_date" },
  {
    method: "DELETE",
    body: { start_date: start, end_date: start, confirm: true },
    names: "end_date",
  },
  {
    method: "DELETE",
    body: { tables: ["users"], end_date: start, confirm: true },
    names: "tables[0]",
  },
  { method: "DELETE", body: { tables: [], end_date: start, confirm: true }, names: "tables" },
  { method: "DELETE", body: { transaction_ids: "t", confirm: true }, names: "transaction_ids" },
  { method: "DELETE", body: { transaction_ids: [7], confirm: true }, names: "transaction_ids[0]" },
  { method: "DELETE", body: { transaction_ids: [""], confirm: true }, names: "transaction_ids[0]" },
  { method: "DELETE", body: { session_ids: { a: 1 }, confirm: true }, names: "session_ids" },
  { method: "DELETE", body: { user_id: "u", confirm: true }, names: "user_id" },
  { method: "DELETE", body: { sesion_ids: ["s"], confirm: true }, names: "sesion_ids" },
  { method: "DELETE", body: "[]", names: "" },
  { method: "DELETE", body: "{", names: "" },
  { method: "DELETE", body: "", names: "" },
  { method: "POST", body: {}, names: "reason" },
  { method: "POST", body: { user_id: "u" }, names: "reason" },
  { method: "POST", body: { user_id: "u", reason: "" }, names: "reason" },
  { method: "POST", body: { user_id: "u", reason: "  " }, names: "reason" },
  { method: "POST", body: { user_id: "u", reason: 1 }, names: "reason" },
  { method: "POST", body: { reason: "asked" }, names: "user_id" },
  { method: "POST", body: { reason: "asked", transaction_ids: [] }, names: "user_id" },
  { method: "POST", body: { reason: "asked", user_id: "" }, names: "user_id" },
  { method: "POST", body: { reason: "asked", user_id: ["u"] }, names: "user_id" },
  { method: "POST", body: { reason: "asked", session_ids: ["s"] }, names: "session_ids" },
];

Deno.test("a deletion that is not quite right is a 400 that names the field, and changes nothing", async () => {
  const at = service();
  await call(at, { user: "u", session: "s" });
  const before = await at.rows();
  for (const { method, body, names } of wrong) {
    const answer = await ask(at, method, body);
    const what = `${method} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`;
    assert.equal(answer.status, 400, what);
    assert.equal(answer.body.error.type, "invalid_request_error", what);
    if (names !== "") assert.ok(answer.body.error.message.startsWith(`${names}:`), what);
  }
  assert.deepEqual(await at.rows(), before);
});

Deno.test("ids that no row can hold match nothing, in a dry run as in an erasure", async () => {
  const at = service();
  for (const way of [{ dry_run: true }, { confirm: true }]) {
    for (const id of ["a\u0000b", "\ud800"]) {
      const transaction_ids = [id];
      const answer = await ask(at, "DELETE", { transaction_ids, session_ids: [id], ...way });
      assert.deepEqual([answer.status, answer.body.deleted_count], [200, 0], JSON.stringify(way));
    }
  }
});

Deno.test("dry run, answer and receipt agree, and selectors narrow each other", async () => {
  const at = service();
  const ids = [
    await call(at, { session: "n1" }),
    await call(at, { session: "n1" }),
    await call(at, { session: "n2" }),
  ];
  const selectors = { session_ids: ["n1", "n9"], transaction_ids: [ids[0]!.toUpperCase(), ids[2]] };
  const dry = await ask(at, "DELETE", { ...selectors, dry_run: true });
  assert.deepEqual([dry.status, dry.body.status, dry.body.deleted_count], [200, "success", 1]);
  assert.ok(!("deletion_id" in dry.body));
  assert.equal((await at.rows({ session_id: ["n1", "n2"] })).length, 3, "nothing is gone");

  const { status, body } = await ask(at, "DELETE", { ...selectors, confirm: true });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body).sort(), ["deleted_count", "deletion_id", "message", "status"]);
  assert.deepEqual([body.status, body.deleted_count], ["success", 1]);
  const left = (await at.rows({ session_id: ["n1", "n2"] })).map((row) => row.transaction_id);
  assert.deepEqual(left, ids.slice(1));

  const receipt = await doneOf(at, body.deletion_id);
  assert.equal(receipt.request_id, body.deletion_id);
  assert.equal(receipt.deleted_count, 1);
  assert.equal(receipt.expected_count, 1);
  const counts = { interactions: 1, eval_runs: 0, eval_results: 0 };
  assert.deepEqual(receipt.receipt.counts, counts);
  assert.match(receipt.receipt.selectors_hash, /^[0-9a-f]{64}$/);
  assert.equal(receipt.receipt.reason, null);
  assert.ok(Date.parse(receipt.receipt.completed_at) >= Date.parse(receipt.requested_at));
  const again = await ask(at, "DELETE", { ...selectors, confirm: true });
  assert.equal(again.body.deleted_count, 0, "it is gone already");
});

Deno.test("a date range is half-open and means what was recorded before the request", async () => {
  const at = service();
  const ids = [await call(at), await call(at), await call(at)];
  const times = (await at.rows({ transaction_id: ids })).map((row) => String(row.created_at));
  const range = { start_date: times[0], end_date: times[2] };
  const { body } = await ask(at, "DELETE", { ...range, confirm: true });
  assert.equal(body.deleted_count, 2);
  assert.deepEqual((await at.rows({ transaction_id: ids })).length, 1);
  const future = await ask(at, "DELETE", {
    start_date: times[0],
    end_date: "2099-01-01T00:00:00Z",
    confirm: true,
  });
  assert.equal(future.body.deleted_count, 1);
  const later = await call(at);
  assert.equal((await at.rows({ transaction_id: later })).length, 1, "later calls are others");
});

Deno.test("a call after a deletion is recorded, and can be erased, also where the clock went back", async () => {
  const session = "back";
  const deletion = { session_ids: [session], confirm: true };
  const erased = async () => (await ask(service(), "DELETE", deletion)).body.deleted_count;
  await call(service(), { session });
  assert.equal(await erased(), 1);
  const { now } = systemClock;
  systemClock.now = () => new Date(Date.now() - 60_000);
  try {
    const later = await call(service(), { session });
    assert.equal((await service().row(later)).session_id, session);
    assert.equal(await erased(), 1);
  } finally {
    systemClock.now = now;
  }
});

Deno.test("a user's data goes in the background, and leaves a receipt with the reason", async () => {
  const at = service();
  await call(at, { user: "leaving" });
  await call(at, { user: "leaving" });
  await call(at, { user: "staying" });
  const asked = await ask(at, "POST", { user_id: "leaving", reason: "  ticket 17 " });
  assert.equal(asked.status, 200);
  assert.deepEqual(Object.keys(asked.body), ["status", "message", "request_id"]);
  assert.equal(asked.body.status, "ok");
  assert.match(asked.body.message, /queued/);
  const done = await doneOf(at, asked.body.request_id);
  assert.equal(done.deleted_count, 2);
  assert.equal(done.receipt.reason, "ticket 17");
  assert.deepEqual(await at.rows({ user_id: "leaving" }), []);
  assert.equal((await at.rows({ user_id: "staying" })).length, 1);
});

Deno.test("another account's rows and receipts are out of reach", async () => {
  const at = service();
  assert.equal((await at.admin("account", "create", "--name", "other")).exitCode, 0);
  const { key } = await at.createKey("--account", "other");
  const id = await call(at, { user: "shared", session: "shared" });
  for (
    const selectors of [
      { transaction_ids: [id] },
      { session_ids: ["shared"] },
      { start_date: start, end_date: "2099-01-01T00:00:00Z" },
    ]
  ) {
    const { status, body } = await ask(at, "DELETE", { ...selectors, confirm: true }, { key });
    assert.deepEqual([status, body.deleted_count], [200, 0]);
  }
  const { body } = await ask(at, "POST", { user_id: "shared", reason: "mischief" }, { key });
  for (let left = 1_200; left > 0; left--) {
    const below = `/requests/${body.request_id}`;
    const seen = await ask(at, "GET", undefined, { below, key });
    if (seen.body.state === "done") break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((await at.rows({ transaction_id: id })).length, 1);
  for (
    const unknown of [body.request_id, "0197e0c2-0000-7000-8000-000000000000", "no uuid", "%00"]
  ) {
    const below = `/requests/${unknown}`;
    const hidden = await ask(at, "GET", undefined, { below });
    assert.deepEqual([hidden.status, hidden.body.error.code], [404, "deletion_not_found"]);
  }
});

Deno.test("it takes the scope data:delete", async () => {
  const at = service();
  const without = await at.createKey("--scope", "exports", "--scope", "chat");
  const having = await at.createKey("--scope", "data:delete");
  const asked = [
    ["DELETE", { end_date: start, confirm: true }, ""],
    ["POST", { user_id: "nobody", reason: "test" }, ""],
    ["GET", undefined, "/requests/unknown"],
  ] as const;
  for (const [method, body, below] of asked) {
    const refused = await ask(at, method, body, { below, key: without.key });
    assert.deepEqual([refused.status, refused.body.error.code], [403, "permission_denied"]);
    const { status } = await ask(at, method, body, { below, key: having.key });
    assert.equal(status, method === "GET" ? 404 : 200);
  }
});
