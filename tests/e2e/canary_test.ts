import assert from "@std/assert";
import { type EchoVendor, startEchoVendor } from "../support/echo_vendor.ts";
import { filesWith } from "../support/files_with.ts";
import { createMigrated, databasesOfThisRun } from "../support/databases.ts";
import { dumpDatabase, postgresAvailability } from "../support/postgres.ts";
import { type Environment, startTestService, type TestService } from "../support/service.ts";

const { available, reason } = postgresAvailability();

Deno.test("erased text is nowhere, even if calls use it in the meantime (embedded)", () =>
  erased({}, allWays));

Deno.test({
  name: available
    ? "erased text is nowhere, whoever was saying it meanwhile (postgres)"
    : `erased text is nowhere, whoever was saying it meanwhile (postgres; skipped: ${reason})`,
  ignore: !available,
  async fn() {
    const database = await createMigrated();
    try {
      // The ways differ above the store; on the embedded one all are tried.
      const ways = isLong ? allWays : [allWays[0]!];
      await erased({ DATABASE_URL: database.url }, ways, async (texts) => {
        const dump = await dumpDatabase(database.url);
        assert.ok(dump.includes("what stays"), "the dump shows what is there");
        for (const text of texts) assert.ok(!dump.includes(text), "found in the dump");
      });
    } finally {
      await database.drop();
    }
  },
});

/** Ways to say what is to be erased, of calls made as `Who`. */
const ways: Readonly<Record<string, (said: Said) => Deletion>> = {
  user: ({ who }) => ({ method: "POST", body: { user_id: who.user, reason: "leaves" } }),
  session: ({ who }) => ({ method: "DELETE", body: { session_ids: [who.session] } }),
  transaction: ({ ids }) => ({ method: "DELETE", body: { transaction_ids: ids } }),
  date: ({ from, to }) => ({ method: "DELETE", body: { start_date: from, end_date: to } }),
};

const allWays = Object.keys(ways);
const isLong = databasesOfThisRun().embedded;

interface Who {
  user: string;
  session: string;
  canary: string;
}

/** Calls that say the canary. */
interface Said {
  who: Who;
  /** Those that ended before the deletion, and those that end after it. */
  ids: string[];
  ended: number;
  /** `X-Request-ID`s that they were sent with. */
  requestIds: string[];
  /** Stored responses with the canary in their conversation. */
  responses: string[];
  from: string;
  to: string;
  /** Ends the calls under way; gives what their callers received. */
  finish: () => Promise<string[]>;
}

interface Deletion {
  method: "POST" | "DELETE";
  body: Record<string, unknown>;
}

async function erased(
  env: Environment,
  tried: readonly string[],
  look: (texts: readonly string[]) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await using vendor = await startEchoVendor();
  await using service = await startTestService({
    env: { VENDOR_F_BASE_URL: `${vendor.url}/v1`, ...env },
    database: "embedded",
  });
  const canaries: string[] = [];
  for (const way of tried) {
    const canary = `canary-${way}-${crypto.randomUUID()}`;
    canaries.push(canary);
    const who = { user: `user-${crypto.randomUUID()}`, session: `s-${way}`, canary };
    const stays = { user: "stays", session: "stays", canary: `what stays ${way}` };
    await say({ service, vendor }, stays).then(({ finish }) => finish());
    const said = await say({ service, vendor }, who);
    await deleteAll(service, said, ways[way]!(said));
    assert.deepEqual(
      await filesWith(`${service.dataDir}/journal`, [canary]),
      [],
      "although calls are in flight",
    );
    for (const answer of await said.finish()) {
      assert.ok(answer.includes(canary) && answer.includes("[DONE]"), "callers get their answers");
    }
    await gone(service, said);
    if (way === "user") canaries.push(who.user);
  }
  assert.deepEqual(
    await filesWith(service.dataDir, ["what stays"]).then((found) =>
      found.length > 0 || env.DATABASE_URL !== undefined
    ),
    true,
  );
  const scrubbed = await service.admin("scrub");
  assert.equal(scrubbed.exitCode, 0, scrubbed.lines.join());
  assert.deepEqual(await filesWith(service.dataDir, canaries), []);
  for (const text of canaries) assert.ok(!service.log.join("\n").includes(text), "in the log");
  await look(canaries);
  const all = JSON.stringify(await service.rows());
  assert.ok(tried.every((way) => all.includes(`what stays ${way}`)));
  await service.stop();
}

async function say(
  { service, vendor }: { service: TestService; vendor: EchoVendor },
  who: Who,
): Promise<Said> {
  const ids: string[] = [];
  const requestIds = [crypto.randomUUID(), crypto.randomUUID()];
  const post = async (
    path: string,
    body: Record<string, unknown>,
    id?: string,
    headers: Record<string, string> = {},
  ) => {
    const answer = await service.post(path, {
      model: "vendor-f/m",
      user: who.user,
      ...body,
    }, {
      authorization: `Bearer ${service.key};sk-own`,
      "x-session-id": who.session,
      ...(id === undefined ? {} : { "x-request-id": id }),
      ...headers,
    });
    if (answer.status !== 200) assert.fail(await answer.text());
    ids.push(answer.headers.get("x-transaction-id")!);
    return answer;
  };
  const chat = { messages: [{ role: "user", content: `Remember ${who.canary} "\u00e9"` }] };
  await settle();
  const from = new Date().toISOString();
  await (await post("/chat/v1/chat/completions", chat)).text();
  await (await post("/chat/v1/chat/completions", chat, requestIds[0])).text();
  await (await post("/chat/v1/chat/completions", { ...chat, stream: true })).text();
  for (const found of ["MISS", "HIT"]) {
    const ttl = { "x-cache-ttl": "86400" };
    const kept = await post("/chat/v1/chat/completions", { ...chat, seed: 17 }, undefined, ttl);
    assert.equal(kept.headers.get("x-cache"), found);
    await kept.text();
  }
  const long = `${who.canary} ${"and on ".repeat(5000)}`;
  const first = await (await post("/chat/v1/responses", { input: long })).json();
  const second = await (await post("/chat/v1/responses", {
    input: "And now?",
    previous_response_id: first.id,
  })).json();
  const ended = ids.length;
  const release = vendor.hold(who.user);
  const streams = [
    await post("/chat/v1/chat/completions", { ...chat, stream: true }),
    await post("/chat/v1/chat/completions", { ...chat, stream: true }, requestIds[1]),
  ];
  const to = new Date(Date.now() + 1).toISOString();
  await settle();
  return {
    who,
    ids,
    ended,
    requestIds,
    responses: [first.id, second.id],
    from,
    to,
    async finish() {
      release();
      return await Promise.all(streams.map((stream) => stream.text()));
    },
  };
}

/** Times of calls are of milliseconds: those of one way don't share one with the next. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

async function deleteAll(
  service: TestService,
  said: Said,
  { method, body }: Deletion,
): Promise<void> {
  const ask = async (method: string, body: unknown, below = "") => {
    const answer = await service.fetch(`/api/v1/data${below}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(json));
    return json;
  };
  const receiptOf = async (id: string) => {
    for (;;) {
      const found = await ask("GET", undefined, `/requests/${id}`);
      if (found.state === "done") return found;
      await settle();
    }
  };
  if (method === "POST") {
    const { request_id } = await ask(method, body);
    assert.equal((await receiptOf(request_id)).deleted_count, said.ended);
    return;
  }
  const dry = await ask(method, { ...body, dry_run: true });
  const done = await ask(method, { ...body, confirm: true });
  const receipt = await receiptOf(done.deletion_id);
  assert.deepEqual(
    [dry.deleted_count, done.deleted_count, receipt.deleted_count],
    [said.ended, said.ended, said.ended],
  );
}

/** Nothing that callers can ask for says it. */
async function gone(service: TestService, said: Said): Promise<void> {
  const { canary } = said.who;
  assert.deepEqual(await service.rows({ transaction_id: said.ids }), []);
  assert.ok(!JSON.stringify(await service.rows()).includes(canary));
  for (const id of said.requestIds) {
    // While the answer to the other body were known, this would be a 409.
    const again = await service.post("/chat/v1/chat/completions", {
      model: "vendor-f/m",
      messages: [{ role: "user", content: "Something else." }],
    }, { authorization: `Bearer ${service.key};sk-own`, "x-request-id": id });
    assert.equal(again.status, 200, await again.text());
    assert.equal(again.headers.get("x-idempotent-replay"), null);
  }
  for (const id of said.responses) {
    const read = await service.fetch(`/chat/v1/responses/${id}`);
    assert.equal(read.status, 404, await read.text());
    const continued = await service.post("/chat/v1/responses", {
      model: "vendor-f/m",
      input: "Go on.",
      previous_response_id: id,
    }, { authorization: `Bearer ${service.key};sk-own` });
    assert.equal((await continued.json()).error.code, "previous_response_not_found");
  }
}
