/** Each operation of administration, by the generated client, and what the audit log says of it. */
import assert from "@std/assert";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { errors as contractErrors } from "../../contracts/kernel/errors.ts";
import { allContracts, contracts } from "../../contracts/mod.ts";
import * as sdk from "../../openapi/client/mod.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { operatorLimits, tierLimits } from "../../src/keys/account.ts";
import { mintKey } from "../../src/keys/credential.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createMigrated } from "../support/databases.ts";
import { copyMigrated } from "../support/new_database.ts";
import type { Row } from "./administration_row.ts";
import { rows } from "./administration_rows.ts";
import { isPostgresPreferred, shared, startSimulatedService } from "../support/service.ts";
import { within } from "../support/within.ts";

/** Two accounts with a key each that names `admin`, as no command would make the second. */
const world = shared(async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "administration-" });
  const postgres = isPostgresPreferred() ? await createMigrated() : undefined;
  if (!postgres) await copyMigrated(`${dataDir}/database`);
  const database = postgres
    ? await openPostgres(postgres.url)
    : await openEmbedded(`${dataDir}/database`);
  const accounts = createAccounts(database);
  const operator = await accounts.create({
    name: "default",
    tier: "enterprise",
    ...operatorLimits,
  });
  const team = await accounts.create({ name: "team", tier: "free", ...tierLimits.free });
  const keyOf = async (accountId: number, ...scopes: string[]) => {
    const { value, ...made } = mintKey(systemClock);
    const name = `${scopes.join("+") || "all"} of ${accountId}`;
    const settings = { onDisconnect: "cancel", translationMode: "default", models: [] } as const;
    const caps = { capDayNanos: null, capMonthNanos: null, expiresAt: null };
    await createApiKeys(database).insert({
      ...made,
      ...settings,
      ...caps,
      accountId,
      name,
      scopes,
    });
    return { key: value.reveal(), prefix: made.prefix, name, id: made.id };
  };
  const keys = {
    admin: await keyOf(operator.id, "admin", "status"),
    all: await keyOf(operator.id),
    other: await keyOf(operator.id, "status", "data:delete"),
    theirs: await keyOf(team.id, "admin"),
  };
  await database.close();
  const service = await startSimulatedService({
    ...{ DATA_DIR: dataDir, CALLER_BODY_TIMEOUT_MS: "120000" },
    FETCH_ALLOW_HOSTS: "127.0.0.1",
    ...(postgres ? { DATABASE_URL: postgres.url } : {}),
  });
  const stop = async () => {
    await service.stop();
    await postgres?.drop();
    await Deno.remove(dataDir, { recursive: true });
  };
  const clientOf = ({ key }: { key: string }) =>
    sdk.createGateway({ baseUrl: service.baseUrl, apiKey: key });
  return { service, keys, clientOf, admin: clientOf(keys.admin), stop };
});

async function audited(): Promise<sdk.AuditEntry[]> {
  const { data } = await sdk.listAuditEntries({ client: world().admin, query: { limit: 1000 } });
  return data.data;
}

/** The error of a call that has to fail. */
async function failure(run: () => Promise<unknown>): Promise<sdk.GatewayError> {
  const thrown = await run().then(() => undefined, (reason: unknown) => reason);
  if (thrown instanceof sdk.GatewayError) return thrown;
  throw new Error(`expected a refusal, got ${thrown}`);
}

for (const [name, { call, answer, notes = [], wrong = [] }] of Object.entries<Row>(rows)) {
  Deno.test(`${name}: refused without the scope and to another account, done with it, and noted`, async (t) => {
    const { keys, clientOf, admin } = world();
    const before = await audited();
    await t.step("a key that doesn't name the scope, and another account's key", async () => {
      for (
        const [key, why] of [
          [keys.all, /don't name 'admin'.*key create --scope admin/],
          [keys.other, /does not have the scope 'admin'/],
          [keys.theirs, /Only keys of the first account/],
        ] as const
      ) {
        const { status, code, message } = await failure(() => call({ client: clientOf(key) }));
        assert.deepEqual([status, code], [403, "permission_denied"], key.name);
        assert.match(message, why);
      }
      assert.deepEqual(await audited(), before);
    });
    await t.step("a key of the first account that names it", async () => {
      answer(await call({ client: admin }) as never);
      const entries = await audited();
      const added = entries.slice(0, entries.length - before.length);
      assert.deepEqual(
        added.map(({ action, account_id }) => [action, account_id]),
        notes.map(([action, , accountId = 1]) => [action, accountId]),
      );
      for (const [index, [, subject]] of notes.entries()) {
        const text = added[index]!.subject;
        if (typeof subject === "string") assert.equal(text, subject);
        else assert.match(text, subject);
      }
      const { name, prefix } = keys.admin;
      for (const { actor, at } of added) {
        assert.equal(actor, `API key '${name}' (${prefix}…)`);
        assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000);
      }
    });
    const after = await audited();
    for (const [code, names, wrongCall] of wrong) {
      await t.step(`wrong: ${code} ${names}`, async () => {
        const thrown = await failure(() => wrongCall({ client: admin }));
        assert.equal(thrown.code, code, thrown.message);
        assert.match(thrown.message, names);
        const { status } = contractErrors[code as keyof typeof contractErrors];
        assert.equal(thrown.status, status);
        assert.deepEqual(await audited(), after, "nothing was changed, nothing is noted");
      });
    }
  });
}

Deno.test("every operation below /api/v1/admin asks for the scope, and has a row here", () => {
  const all = allContracts().filter(({ path }) => path.startsWith("/api/v1/admin/"));
  assert.deepEqual(
    all.map(({ operationId }) => operationId).sort(),
    Object.values(contracts.admin).map(({ operationId }) => operationId).sort(),
  );
  assert.deepEqual(all.filter(({ scope }) => scope !== "admin"), []);
});

Deno.test("calls go by a virtual model of the API as by one of the command line", async () => {
  const { service, keys, admin } = world();
  await sdk.createVirtualModel({
    client: admin,
    body: { name: "for-team", targets: ["gpt-4.1"], account_id: 2 },
  });
  const listed = await service.admin("model", "list", "--account", "team");
  const { data } = await sdk.getVirtualModel({
    client: admin,
    path: { name: "for-team" },
    query: { account_id: 2 },
  });
  assert.deepEqual(listed.json, [data]);
  const messages = [{ role: "user", content: "rivers" }];
  const headers = { authorization: `Bearer ${keys.all.key}` };
  const ask = async (name: string) =>
    (await service.post("/chat/v1/chat/completions", { model: name, messages }, headers)).status;
  assert.equal(await ask("for-team"), 404, "another account's");
  await sdk.createVirtualModel({ client: admin, body: { name: "mine", targets: ["gpt-4.1"] } });
  await service.admin("credits", "grant", "--usd", "5");
  assert.equal(await ask("mine"), 200);
});

Deno.test("the audit log comes in pages that join, and by account", async () => {
  const { admin } = world();
  const whole = await audited();
  assert.ok(whole.length > 3 && whole.some(({ account_id }) => account_id === 2));
  const joined: sdk.AuditEntry[] = [];
  let cursor: string | null = null;
  do {
    const query: { limit: number; cursor?: string } = { limit: 2, ...(cursor ? { cursor } : {}) };
    const { data } = await sdk.listAuditEntries({ client: admin, query });
    assert.ok(data.data.length <= 2);
    joined.push(...data.data);
    cursor = data.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(joined, whole);
  const { data } = await sdk.listAuditEntries({ client: admin, query: { account_id: 2 } });
  assert.deepEqual(data.data, whole.filter(({ account_id }) => account_id === 2));
});

Deno.test("a repeated grant is granted once, and noted once", async () => {
  const { service, keys } = world();
  const grant = (usd: string) =>
    service.post("/api/v1/admin/credits/grants", { usd, account_id: 2 }, {
      authorization: `Bearer ${keys.admin.key}`,
      "x-request-id": "invoice-18",
    });
  const before = (await audited()).length;
  const [first, second] = [await grant("3"), await grant("3")];
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.equal(second.headers.get("x-idempotent-replay"), "true");
  const text = await first.text();
  assert.equal(await second.text(), text);
  assert.equal(JSON.parse(text).balance_usd, "3.000000000");
  assert.equal((await grant("4")).status, 409);
  assert.equal((await audited()).length, before + 1);
  const shown = await service.admin("credits", "show", "--account", "team");
  assert.deepEqual(shown.json, { balance_usd: "3.000000000", reserved_usd: "0.000000000" });
});

Deno.test("a grant or deduction beyond what a balance can hold is refused by its field", async () => {
  const { service, keys, admin } = world();
  await service.admin("account", "create", "--name", "rich");
  const { data: accounts } = await sdk.listAccounts({ client: admin });
  const { id } = accounts!.data.find(({ name }) => name === "rich")!;
  for (const what of ["grants", "deductions"]) {
    let answer: Response;
    let times = 0;
    do {
      assert.ok(times++ < 25, "a balance holds any amount");
      answer = await service.post(`/api/v1/admin/credits/${what}`, {
        usd: "1000000000",
        account_id: id,
      }, {
        authorization: `Bearer ${keys.admin.key}`,
      });
    } while (answer.status === 200);
    const { error } = await answer.json();
    assert.equal(answer.status, 400);
    assert.match(error.message, /^usd: .*beyond what an account can hold/);
  }
});

Deno.test("a grant made by mistake is taken back once, below zero if it was spent", async () => {
  const { service, keys, admin } = world();
  await service.admin("account", "create", "--name", "mistaken");
  const { data: accounts } = await sdk.listAccounts({ client: admin });
  const { id } = accounts!.data.find(({ name }) => name === "mistaken")!;
  const change = async (what: string, usd: string) => {
    const path = `/api/v1/admin/credits/${what}`;
    const answer = await service.post(path, { usd, account_id: id }, {
      authorization: `Bearer ${keys.admin.key}`,
      "x-request-id": `mistake-${what}-${usd}`,
    });
    return (await answer.json()).balance_usd;
  };
  assert.equal(await change("grants", "500"), "500.000000000");
  for (const _ of [1, 2]) assert.equal(await change("deductions", "450"), "50.000000000");
  const below = await service.admin("credits", "deduct", "--usd", "75.5", "--account", "mistaken");
  assert.deepEqual(below.json, {
    ...{ account_id: id, deducted_usd: "75.500000000" },
    ...{ balance_usd: "-25.500000000", reserved_usd: "0.000000000" },
  });
  const { data } = await sdk.listCreditGrants({ client: admin, query: { account_id: id } });
  assert.deepEqual(data!.data.map(({ kind, usd }) => [kind, usd]), [
    ["adjust", "-75.500000000"],
    ["adjust", "-450.000000000"],
    ["grant", "500.000000000"],
  ]);
  const made = await service.admin("key", "create", "--name", "spent", "--account", "mistaken");
  const { key } = made.json as { key: string };
  const call = async () =>
    (await service.post("/chat/v1/chat/completions", {
      model: "openai/gpt-5-mini",
      messages: [{ role: "user", content: "Say hello." }],
    }, { authorization: `Bearer ${key}` })).status;
  await change("grants", "100");
  assert.equal(await call(), 200);
  // What was leased ahead for that call pays for no other.
  await change("deductions", "100");
  assert.equal(await call(), 402);
});

Deno.test("a key that the API made, capped and revoked is one to every endpoint at once", async () => {
  const { service, admin } = world();
  await service.admin("credits", "grant", "--usd", "5");
  const { data: made } = await sdk.createApiKey({ client: admin, body: { name: "short-lived" } });
  const ask = async () => {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: "rivers" }],
    }, { authorization: `Bearer ${made.key}` });
    return [answer.status, (await answer.json()).error?.code];
  };
  const path = { id: made.id };
  assert.deepEqual(await ask(), [200, undefined]);
  await sdk.updateApiKey({ client: admin, path, body: { cap_month_usd: "0.000001" } });
  assert.deepEqual(await ask(), [402, "spend_cap_exceeded"]);
  await sdk.updateApiKey({ client: admin, path, body: { cap_month_usd: null } });
  assert.deepEqual(await ask(), [200, undefined]);
  await sdk.revokeApiKey({ client: admin, path });
  assert.deepEqual(await ask(), [401, "invalid_api_key"]);
  // Again, which changes nothing, and isn't noted.
  const before = await audited();
  await sdk.revokeApiKey({ client: admin, path });
  assert.deepEqual(await audited(), before);
  assert.deepEqual(before.slice(0, 4).map(({ action, detail }) => [action, detail]).reverse(), [
    [
      "api_key.created",
      `${made.prefix}…; scopes: all but admin; models: all; cap a day: none; cap a month: none; ends: never`,
    ],
    ["api_key.changed", `${made.prefix}…; cap a month: 0.000001000 USD, was none`],
    ["api_key.changed", `${made.prefix}…; cap a month: none, was 0.000001000 USD`],
    ["api_key.revoked", `${made.prefix}…`],
  ]);
});

Deno.test("a key that administers can create another, which the audit log shows with its creator", async () => {
  const { keys, admin } = world();
  const body = { name: "second", scopes: ["admin"] };
  const { data: made } = await sdk.createApiKey({ client: admin, body });
  const [entry] = await audited();
  const { action, actor, subject, detail } = entry!;
  assert.deepEqual([action, actor, subject], [
    "api_key.created",
    `API key '${keys.admin.name}' (${keys.admin.prefix}…)`,
    "second",
  ]);
  assert.ok(detail.startsWith(`${made.prefix}…; scopes: admin; models: all; `), detail);
});

Deno.test("keys and accounts come in pages that join", async () => {
  const { admin } = world();
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const query: { limit: number; cursor?: string } = { limit: 2, ...(cursor ? { cursor } : {}) };
    const { data } = await sdk.listApiKeys({ client: admin, query });
    ids.push(...data.data.map(({ id }) => id));
    cursor = data.next_cursor;
  } while (cursor !== null);
  const { data } = await sdk.listApiKeys({ client: admin, query: { limit: 1000 } });
  assert.deepEqual(ids, data.data.map(({ id }) => id));
  assert.ok(ids.length >= 6 && new Set(ids).size === ids.length);
});

Deno.test("budgets come in pages, of which a program that removes what it lists misses none", async () => {
  const { admin } = world();
  const account_id = 2;
  for (let n = 0; n < 5; n++) {
    const body = { on: `user:page ${n}`, per: "day" as const, usd: "1", account_id };
    await sdk.setBudget({ client: admin, body });
  }
  const list = async (query: { limit?: number; cursor?: string } = {}) =>
    (await sdk.listBudgets({ client: admin, query: { account_id, ...query } })).data;
  const whole = await list();
  assert.equal(whole.next_cursor, null);
  const names = whole.data.map(({ on }) => on);
  assert.ok(names.length >= 5);
  const joined: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await list({ limit: 2, ...(cursor ? { cursor } : {}) });
    joined.push(...page.data.map(({ on }) => on));
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(joined, names);
  const removed: string[] = [];
  do {
    const page = await list({ limit: 2, ...(cursor ? { cursor } : {}) });
    for (const { id, on } of page.data.filter(({ on }) => on.startsWith("user:page"))) {
      await sdk.deleteBudget({ client: admin, path: { id } });
      removed.push(on);
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(removed, names.filter((on) => on.startsWith("user:page")));
  const wrong = { account_id, cursor: crypto.randomUUID() };
  await assert.rejects(sdk.listBudgets({ client: admin, query: wrong }), /cursor/);
});

Deno.test("virtual models, webhooks and vendor keys come in pages that join", async () => {
  const { admin } = world();
  const client = admin;
  const hooks: string[] = [];
  for (const account_id of [1, 2]) {
    for (const name of ["page-a", "page-b", "page-c"]) {
      await sdk.createVirtualModel({ client, body: { name, targets: ["gpt-5-mini"], account_id } });
      const url = `https://hooks.example.com/${name}`;
      hooks.push((await sdk.addWebhook({ client, body: { url, account_id } })).data.id);
    }
    for (const vendor of ["openai", "anthropic"]) {
      await sdk.setVendorKey({ client, body: { vendor, value: "sk-of-a-page", account_id } });
    }
  }
  const lists: Record<string, (query: PageQuery) => Promise<{ data: Listed }>> = {
    models: (query) => sdk.listVirtualModels({ client, query }),
    webhooks: (query) => sdk.listWebhooks({ client, query }),
    "vendor keys": (query) => sdk.listVendorKeys({ client, query }),
  };
  for (const [name, list] of Object.entries(lists)) {
    for (const ofAccount of [{}, { account_id: 2 }]) {
      const whole = (await list(ofAccount)).data;
      assert.equal(whole.next_cursor, null, name);
      assert.ok(whole.data.length >= 2, name);
      const joined: unknown[] = [];
      let cursor: string | null | undefined;
      do {
        const query: PageQuery = { ...ofAccount, limit: 2, ...(cursor ? { cursor } : {}) };
        const { data }: { data: Listed } = await list(query);
        assert.ok(data.data.length <= 2);
        joined.push(...data.data);
        cursor = data.next_cursor;
      } while (cursor);
      assert.deepEqual(joined, whole.data, name);
    }
    await assert.rejects(list({ cursor: crypto.randomUUID() }), /cursor/);
  }
  for (const id of hooks) await sdk.deleteWebhook({ client, path: { id } });
});

interface PageQuery {
  account_id?: number;
  limit?: number;
  cursor?: string;
}

interface Listed {
  data: unknown[];
  next_cursor?: string | null;
}

Deno.test("webhook.test of the API arrives, signed with the secret that POST showed", async () => {
  const { service, admin } = world();
  const arrived = Promise.withResolvers<{ headers: http.IncomingHttpHeaders; body: string }>();
  const receiver = http.createServer(async (request, response) => {
    const body = await text(request);
    response.writeHead(204).end();
    arrived.resolve({ headers: request.headers, body });
  });
  await new Promise<void>((listens) => receiver.listen(0, "127.0.0.1", listens));
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const { data: added } = await sdk.addWebhook({
      client: admin,
      body: { url: "https://127.0.0.1:9/elsewhere", events: ["export.ready"] },
    });
    const path = { id: added.id };
    // What is not named stays, the secret too.
    const { data: changed } = await sdk.updateWebhook({ client: admin, path, body: { url } });
    assert.deepEqual([changed.url, changed.events], [url, ["export.ready"]]);
    const listed = await service.admin("webhook", "list");
    const { data: shown } = await sdk.getWebhook({ client: admin, path });
    assert.deepEqual(listed.json, [shown], "the command line shows the same");
    await sdk.testWebhook({ client: admin, path });
    const { headers, body } = await within(60_000, arrived.promise);
    const sent = headers as Record<string, string>;
    assert.deepEqual(new StandardWebhook(added.secret).verify(body, sent), {
      ...{ type: "webhook.test", data: { webhook_id: added.id } },
      timestamp: JSON.parse(body).timestamp,
    });
    await sdk.deleteWebhook({ client: admin, path });
    assert.deepEqual((await service.admin("webhook", "list")).json, []);
    assert.ok(!JSON.stringify([await audited(), service.log]).includes(added.secret));
  } finally {
    receiver.closeAllConnections();
    await new Promise((closed) => receiver.close(closed));
  }
});

Deno.test("the log and the audit log hold no secret, and the command line's acts stand beside", async () => {
  const { service, admin } = world();
  const value = "sk-canary-stays-secret-0123456789";
  const { data: made } = await sdk.createApiKey({ client: admin, body: { name: "canary" } });
  await sdk.setVendorKey({ client: admin, body: { vendor: "anthropic", value } });
  await sdk.deleteVendorKey({ client: admin, path: { vendor: "anthropic" } });
  const byCommand = await service.createKey();
  const text = JSON.stringify([await audited(), service.log]);
  for (const secret of [value, made.key, byCommand.key]) assert.ok(!text.includes(secret));
  const [entry] = await audited();
  assert.deepEqual([entry!.actor, entry!.action], ["command line", "api_key.created"]);
});
