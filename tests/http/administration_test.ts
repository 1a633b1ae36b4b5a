/** Each operation of administration, by the generated client, and what the audit log says of it. */
import assert from "@std/assert";
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
import { isPostgresPreferred, shared, startSimulatedService } from "../support/service.ts";

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

type Options = { client: sdk.Gateway };

/** One operation of `contracts.admin`: how it is called, what it notes, and how it goes wrong. */
interface Row {
  /** By the generated client; throws `GatewayError`. Later rows find what earlier ones made. */
  call: (options: Options) => Promise<unknown>;
  /** Looks at the answer. */
  answer: (data: never) => void;
  /** Actions and subjects of the entries in the audit log, newest first; none for reads. */
  notes?: readonly (readonly [action: string, subject: string, accountId?: number])[];
  /** Wrong calls: the code, what the message has to name, and the call. */
  wrong?: readonly (readonly [code: string, names: RegExp, call: Row["call"]])[];
}

const model = { name: "assistant", targets: ["gpt-5-mini"] };
const weighted = [{ model: "gpt-4.1", weight: 9 }, { model: "claude-sonnet-4-6", weight: 1 }];
const none = { account_id: 4711 };
const noAccount = /^account_id: no account has the id 4711/;
const path = { name: "assistant" };
const noModel = /no virtual model named 'nothing'/;
const nothing = { name: "nothing" };

const rows: Readonly<Record<keyof typeof contracts.admin, Row>> = {
  createModel: {
    call: (to) => sdk.createVirtualModel({ ...to, body: model }),
    answer: ({ data }: { data: sdk.VirtualModel }) => {
      assert.deepEqual([data.account_id, data.name], [1, "assistant"]);
      assert.deepEqual(data.targets, [{ model: "gpt-5-mini", weight: 1 }]);
    },
    notes: [["virtual_model.set", "assistant"]],
    wrong: [
      ["already_exists", /^name: /, (to) => sdk.createVirtualModel({ ...to, body: model })],
      [
        "invalid_value",
        /^name: expected letters/,
        (to) => sdk.createVirtualModel({ ...to, body: { ...model, name: "a/b" } }),
      ],
      [
        "invalid_value",
        /^targets\[1\]\.model: /,
        (to) =>
          sdk.createVirtualModel({
            ...to,
            body: { name: "wrong", targets: ["gpt-4.1", "no-such-model"] },
          }),
      ],
      [
        "missing_required_field",
        /^targets: /,
        (to) => sdk.createVirtualModel({ ...to, body: { name: "wrong" } as typeof model }),
      ],
      [
        "account_not_found",
        noAccount,
        (to) => sdk.createVirtualModel({ ...to, body: { ...model, name: "far", ...none } }),
      ],
    ],
  },
  listModels: {
    call: (to) => sdk.listVirtualModels(to),
    answer: ({ data }: { data: sdk.VirtualModelList }) =>
      assert.deepEqual(data.data.map(({ name }) => name), ["assistant"]),
    wrong: [[
      "account_not_found",
      noAccount,
      (to) => sdk.listVirtualModels({ ...to, query: none }),
    ]],
  },
  getModel: {
    call: (to) => sdk.getVirtualModel({ ...to, path }),
    answer: ({ data }: { data: sdk.VirtualModel }) => assert.equal(data.name, "assistant"),
    wrong: [
      ["model_not_found", noModel, (to) => sdk.getVirtualModel({ ...to, path: nothing })],
      [
        "model_not_found",
        /named 'assistant'/,
        (to) => sdk.getVirtualModel({ ...to, path, query: { account_id: 2 } }),
      ],
    ],
  },
  updateModel: {
    call: (to) =>
      sdk.updateVirtualModel({ ...to, path, body: { targets: weighted, stick_by: "session" } }),
    answer: ({ data }: { data: sdk.VirtualModel }) => {
      assert.deepEqual([data.targets, data.fallbacks, data.stick_by], [weighted, [], "session"]);
    },
    notes: [["virtual_model.set", "assistant"]],
    wrong: [
      [
        "model_not_found",
        noModel,
        (to) => sdk.updateVirtualModel({ ...to, path: nothing, body: { targets: weighted } }),
      ],
      [
        "invalid_value",
        /^fallbacks\[0\]: 'gpt-4\.1' is targets/,
        (to) => sdk.updateVirtualModel({ ...to, path, body: { fallbacks: ["gpt-4.1"] } }),
      ],
    ],
  },
  deleteModel: {
    call: (to) => sdk.deleteVirtualModel({ ...to, path }),
    answer: ({ data }: { data: sdk.RemovedVirtualModel }) =>
      assert.deepEqual(data, { account_id: 1, name: "assistant", removed: true }),
    notes: [["virtual_model.removed", "assistant"]],
    wrong: [[
      "model_not_found",
      /named 'assistant'/,
      (to) => sdk.deleteVirtualModel({ ...to, path }),
    ]],
  },
  listAudit: {
    call: (to) => sdk.listAuditEntries({ ...to, query: { limit: 1 } }),
    answer: ({ data }: { data: sdk.AuditEntryList }) => {
      assert.deepEqual(Object.keys(data.data[0]!), [
        ...["at", "actor", "action", "subject", "detail", "account_id"],
      ]);
      assert.ok(data.next_cursor);
    },
    wrong: [
      [
        "invalid_value",
        /^cursor: /,
        (to) => sdk.listAuditEntries({ ...to, query: { cursor: "x" } }),
      ],
      ["invalid_value", /^limit: /, (to) => sdk.listAuditEntries({ ...to, query: { limit: 0 } })],
      ["account_not_found", noAccount, (to) => sdk.listAuditEntries({ ...to, query: none })],
    ],
  },
};

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

for (const [name, { call, answer, notes = [], wrong = [] }] of Object.entries(rows)) {
  Deno.test(`${name}: refused without the scope and to another account, done with it, and noted`, async (t) => {
    const { keys, clientOf, admin } = world();
    const before = await audited();
    await t.step("a key that doesn't name the scope, and another account's key", async () => {
      for (
        const [key, why] of [
          [keys.all, /don't name 'admin'/],
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
        added.map(({ action, subject, account_id }) => [action, subject, account_id]),
        notes.map(([action, subject, accountId = 1]) => [action, subject, accountId]),
      );
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
