/** Acts that come at once take their rows in one order: none of them fails for a deadlock. */
import assert from "@std/assert";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import { createKeyService } from "../../src/keys/store/key_service.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createPeople } from "../../src/people/store/people.ts";
import { createSessions } from "../../src/people/store/sessions.ts";
import { createSignIns } from "../../src/people/store/sign_ins.ts";
import type { Database } from "../../src/database/database.ts";
import { onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { newAccount } from "./samples.ts";

const noon = new Date("2026-11-21T12:00:00Z");

/** An account with an owner, a member who made a key, and an invitation. */
async function household(database: Database) {
  const accountId = await newAccount(database);
  const context = { now: noon, allowedDomains: ["example.com"], hasAgreed: true };
  const signIns = createSignIns(database);
  const admit = (name: string, invitationHash: string | null = null) =>
    signIns.admit(
      { issuer: "i", subject: name, email: `${name}@example.com`, name },
      { claimHash: null, invitationHash },
      { ...context, newPersonId: name },
    );
  await admit("ann");
  await admit("bob");
  const audit = {
    ...{ accountId, at: noon, actor: { personId: null, name: "test" }, action: "key.revoked" },
    ...{ subject: "s", detail: "" },
  } as const;
  const key = {
    ...{ id: "key", accountId, name: "key", prefix: "p", hash: "h", scopes: ["chat"], models: [] },
    ...{ onDisconnect: "drain", translationMode: "default", expiresAt: null } as const,
    ...{ capDayNanos: null, capMonthNanos: null },
  };
  const keys = createKeyService(database, {
    analytics: createAnalyticsStore(database),
    carrySpend: () => Promise.resolve(),
  });
  await keys.create(key, { environment: "", madeBy: "bob" });
  const invitation = {
    ...{ id: "invitation", email: "cy@example.com", role: "member", tokenHash: "t" } as const,
    ...{ createdAt: noon, expiresAt: new Date(noon.getTime() + 1000) },
  };
  const people = createPeople(database);
  await people.invite(accountId, invitation);
  return { accountId, admit, audit, keys, people };
}

const heldAccount = "select from accounts for update";

onPostgres("a member is removed while a key of theirs is revoked", async (database) => {
  const { accountId, audit, keys, people } = await household(database);
  const [removed] = await startInTurn(
    database,
    heldAccount,
    () => people.remove(accountId, "bob", () => audit, () => audit),
    () => keys.revoke(accountId, "key", audit),
  );
  assert.ok(typeof removed === "object" && removed !== null && "id" in removed);
  assert.deepEqual(
    await createApiKeys(database).findByHash("h").then((one) => !!one?.key.revokedAt),
    true,
  );
});

onPostgres("a member is removed while they sign in", async (database) => {
  const { accountId, people } = await household(database);
  const sessions = createSessions(database);
  const session = { tokenHash: "s", personId: "bob", accountId, now: noon };
  await startInTurn(
    database,
    heldAccount,
    () => people.remove(accountId, "bob"),
    () => sessions.start(session),
  );
  assert.deepEqual(await people.list(accountId).then((all) => all.map(({ person }) => person.id)), [
    "ann",
  ]);
  assert.equal(await sessions.find("s", noon), undefined);
});

onPostgres("an invitation is accepted while it is withdrawn", async (database) => {
  const { accountId, admit, audit, people } = await household(database);
  const [admission, withdrawn] = await startInTurn(
    database,
    heldAccount,
    () => admit("cy", "t"),
    () => people.withdraw(accountId, "invitation", () => audit),
  );
  assert.deepEqual([admission, withdrawn], [{ kind: "invitation_void" }, "cy@example.com"]);
});

onPostgres("two posts have the same outcomes in another order", async (database) => {
  const accountId = await newAccount(database);
  const cohorts = createCohorts(database, createAnalyticsStore(database));
  const post = (...ids: string[]) =>
    cohorts.post({
      ...{ accountId, apiKeyId: "key", cohortId: "c", requestId: crypto.randomUUID() },
      items: ids.map((itemId) => ({
        ...{ type: "clicks", label: null, valueNanos: 1n, itemId },
        ...{ transactionId: null, sessionId: null },
      })),
    });
  const added = await startInTurn(
    database,
    `insert into cohort_outcomes (account_id, cohort_id, type, value_nanos, item_id, api_key_id,
       request_id, request_hash) values (${accountId}, 'c', 'clicks', 1, 'b', 'key', 'r', 'h')`,
    () => post("a", "b", "c"),
    () => post("c", "a"),
  );
  assert.deepEqual(added, [
    { accepted: 2, repeated: false },
    { accepted: 0, repeated: false },
  ]);
});
