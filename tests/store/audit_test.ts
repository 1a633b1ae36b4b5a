/** An act and its entry in the audit log: both are there, or neither. */
import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import type { AuditNote } from "../../src/audit/audit.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import { createAuditLog } from "../../src/audit/store/audit.ts";
import type { Database } from "../../src/database/database.ts";
import { createEvals } from "../../src/evals/store/evals.ts";
import { createExportJobs } from "../../src/exports/store/export_jobs.ts";
import { carrySpend } from "../../src/credit/store/spend.ts";
import { createKeyService } from "../../src/keys/store/key_service.ts";
import { createPeople } from "../../src/people/store/people.ts";
import { createSignIns } from "../../src/people/store/sign_ins.ts";
import { createVendorKeys } from "../../src/keys/store/vendor_keys.ts";
import { eachDatabase } from "../support/databases.ts";
import { request, storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";

const at = new Date("2026-11-21T10:00:00Z");

/** Acts of an account, in an order in which each can be done; each gets its note. */
function actsOf(database: Database, accountId: number) {
  const keys = createKeyService(database, {
    analytics: createAnalyticsStore(database),
    carrySpend,
  });
  const people = createPeople(database, { now: () => at });
  const exports = createExportJobs(database, "one/1");
  const evals = createEvals(database, createAnalyticsStore(database));
  const master = MasterKey.generate();
  const vendorKeys = createVendorKeys(database, () =>
    Promise.resolve({
      source: "environment" as const,
      current: () => master,
      prepare: () => Promise.resolve(),
      adopt: () => Promise.resolve(),
      reread: () => Promise.resolve(),
    }));
  const newKey = (id: string) => ({
    ...{ id, accountId, name: id, prefix: "dmt_", hash: id, scopes: [], models: [] },
    ...{ onDisconnect: "drain" as const, translationMode: "default" as const },
    ...{ capDayNanos: null, capMonthNanos: null, expiresAt: null },
  });
  const invitation = (id: string) => ({
    ...{ id, email: `${id}@example.com`, role: "viewer" as const, tokenHash: id },
    ...{ createdAt: at, expiresAt: new Date(at.getTime() + 1000) },
  });
  const order = { format: "json" as const, tables: ["interactions" as const], filters: {} };
  const exported = { requestId: "e", accountId, location: "files" as const, snapshot: "1:1:" };
  return {
    "key created": (audit: AuditNote) => keys.create(newKey("a"), { environment: "", audit }),
    "key rotated": (audit: AuditNote) =>
      keys.rotate(accountId, "a", () => newKey("b"), {
        ...{ oldEndsAt: at, now: at, audit: () => audit },
      }),
    "key revoked": (audit: AuditNote) => keys.revoke(accountId, "a", audit),
    "vendor key set": (audit: AuditNote) =>
      vendorKeys.set(accountId, "vendor-b", new Secret("sk-0123456789-abcd"), () => audit),
    "master key rotated": (audit: AuditNote) =>
      vendorKeys.rotate(MasterKey.generate(), () => audit),
    "vendor key removed": (audit: AuditNote) => vendorKeys.remove(accountId, "vendor-b", audit),
    "invited": (audit: AuditNote) => people.invite(accountId, invitation("i"), audit),
    "withdrawn": (audit: AuditNote) => people.withdraw(accountId, "i", () => audit),
    "invited again": (audit: AuditNote) => people.invite(accountId, invitation("j"), audit),
    "joined": (audit: AuditNote) =>
      createSignIns(database).admit(
        { issuer: "i", subject: "s", email: "j@example.com", name: "J" },
        { claimHash: null, invitationHash: "j" },
        { now: at, newPersonId: "p", allowedDomains: [], hasAgreed: true, joined: () => audit },
      ),
    "role changed": (audit: AuditNote) => people.changeRole(accountId, "p", "member", () => audit),
    "removed": (audit: AuditNote) => people.remove(accountId, "p", () => audit),
    "export made": (audit: AuditNote) =>
      exports.create({ ...exported, spec: { ...order, rawCells: false }, audit }),
    "export deleted": (audit: AuditNote) => exports.remove(accountId, "e", audit),
    "evaluation made": (audit: AuditNote) =>
      evals.create({
        ...{ evalRunId: "r", createdAt: at, accountId, apiKeyId: "a", name: null, model: "m" },
        ...{ filtersText: "{}", graders: [], select: { accountId }, limit: 1, sample: "newest" },
        ...{ requestId: "q", requestHash: "h", audit },
      }),
    "deletion asked for": (audit: AuditNote) =>
      storeOf(database).add({
        ...request(accountId, { userIds: ["u"] }),
        audit,
      }),
  };
}

/** Everything that acts write, but for the log itself. */
async function stateOf(database: Database): Promise<string> {
  const tables = [
    ...[
      "api_keys",
      "api_key_notes",
      "vendor_keys",
      "master_key",
      "invitations",
      "people",
      "memberships",
    ],
    ...["export_jobs", "eval_runs", "deletions", "tombstones"],
  ];
  const states = [];
  for (const table of tables) {
    const rows = await database.query(
      `select coalesce(string_agg(t::text, ' ' order by t::text), '') as rows from ${table} t`,
    );
    states.push(rows[0]!.rows);
  }
  return JSON.stringify(states);
}

eachDatabase("an act is done with its entry, and not at all without it", async (database) => {
  const accountId = await newAccount(database);
  const log = createAuditLog(database, () => at);
  const note = (action: string): AuditNote => ({
    ...{ accountId, actor: { personId: null, name: "somebody" }, action, subject: "", detail: "" },
    at,
  });
  for (const [name, act] of Object.entries(actsOf(database, accountId))) {
    const before = await stateOf(database);
    // There is no such account, so the entry can't be written.
    await assert.rejects(act({ ...note(name), accountId: 999_999 }), undefined, name);
    assert.equal(await stateOf(database), before, `${name}: done without its entry`);
    await act(note(name));
    assert.notEqual(await stateOf(database), before, `${name}: not done`);
    const [latest] = await log.list(accountId, { before: null, limit: 1 });
    assert.deepEqual([latest?.action, latest?.at], [name, at]);
  }
});
