import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { onBothDatabases, productMigrations } from "../support/databases.ts";

/** What step 21 does to the rows that are there; its columns are there already. */
async function repeatUpdates(database: Database): Promise<void> {
  const step = (await productMigrations()).find(({ name }) => name === "access")!;
  for (const [statement] of step.sql.matchAll(/^update [^;]+;/gm)) {
    await database.query(statement, []);
  }
}

async function addPeople(database: Database, accountId: number, now: Date): Promise<void> {
  for (const [person, role] of [["owner", "owner"], ["member", "member"]] as const) {
    await database.query(
      `insert into people (id, issuer, subject, name, created_at, signed_in_at)
       values ($1, 'i', $1, $1, $2, $2)`,
      [person, now],
    );
    await database.query(
      `insert into memberships (account_id, person_id, role, created_at) values ($1, $2, $3, $4)`,
      [accountId, person, role, now],
    );
  }
}

onBothDatabases("keys that members had made keep all but the right to erase", async (database) => {
  const now = new Date("2026-11-01T00:00:00Z");
  const [account] = await database.query(
    `insert into accounts (name, tier, requests_per_minute, burst)
     values ('a', 'pro', 60, 100) returning id`,
    [],
  );
  const id = Number(account!.id);
  const key = async (name: string, scopes: string[]) => {
    await database.query(
      `insert into api_keys (id, account_id, name, prefix, hash, scopes, models, on_disconnect,
         translation_mode) values ($1, $2, $1, $1, $1, $3::text[], '{}', 'cancel', 'default')`,
      [name, id, scopes],
    );
    await database.query(
      "insert into api_key_notes (api_key_id, environment) values ($1, '')",
      [name],
    );
  };
  const note = (person: string | null, action: string, detail: string) =>
    database.query(
      `insert into audit_log (account_id, at, person_id, actor, action, subject, detail)
       values ($1, $2, $3, 'x', $4, 's', $5)`,
      [id, now, person, action, detail],
    );
  await addPeople(database, id, now);
  const made: [string, string | null, string[]][] = [
    ["dmt_of_owner", "owner", []],
    ["dmt_of_nobod", null, []],
    ["dmt_of_membr", "member", []],
    ["dmt_of_named", "member", ["chat", "data:delete"]],
    ["dmt_of_gone_", "who was removed", []],
    ["dmt_of_erase", "member", ["data:delete"]],
  ];
  for (const [name, person, scopes] of made) {
    await key(name, scopes);
    await note(person, "api_key.created", `${name}…`);
  }
  await key("dmt_of_rotat", []);
  await note("member", "api_key.rotated", "dmt_of_owner… ends now, dmt_of_rotat… replaces it");
  await repeatUpdates(database);
  const rows = await database.query(
    `select k.id, k.scopes, k.revoked_at is not null as revoked, n.made_by
     from api_keys k join api_key_notes n on n.api_key_id = k.id`,
    [],
  );
  const of = (name: string) => rows.find((row) => row.id === name)!;
  assert.deepEqual([of("dmt_of_owner").scopes, of("dmt_of_owner").made_by], [[], "owner"]);
  assert.deepEqual([of("dmt_of_nobod").scopes, of("dmt_of_nobod").made_by], [[], null]);
  for (const name of ["dmt_of_membr", "dmt_of_gone_", "dmt_of_rotat"]) {
    const scopes = of(name).scopes as string[];
    assert.ok(scopes.includes("chat") && scopes.includes("vendor-g"), name);
    assert.ok(!scopes.includes("data:delete"), name);
  }
  assert.deepEqual(of("dmt_of_named").scopes, ["chat"]);
  // With no scope left it could do everything.
  assert.deepEqual([of("dmt_of_erase").scopes, of("dmt_of_erase").revoked], [
    ["data:delete"],
    true,
  ]);
  assert.ok(rows.filter(({ revoked }) => revoked).length === 1);
});
