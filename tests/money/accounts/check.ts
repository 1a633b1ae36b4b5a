import assert from "@std/assert";
import type { AccountHistory } from "./history.ts";
import { startOf } from "./model.ts";

const nanosOf = (usd: unknown) => BigInt(String(usd).replace(".", ""));

/** Compares everything that the service says of an account with the model. */
export async function checkAccount(history: AccountHistory): Promise<void> {
  await history.flush();
  await checkRows(history);
  await checkSums(history);
  await checkLimits(history);
  await checkEntries(history);
}

/** Each answered call has one row, with what it was charged; an erased one has none. */
async function checkRows({ world, key, model }: AccountHistory): Promise<void> {
  const rows = await world.services.at(-1)!.rows({}, key.key);
  const charged = new Map(
    rows.map((row) => [String(row.transaction_id), nanosOf(row.charged_usd)]),
  );
  assert.equal(charged.size, rows.length, "one row for each call");
  for (const { id, chargedNanos, isErased, ...more } of model.calls) {
    const expected = isErased ? undefined : chargedNanos;
    assert.equal(charged.get(id), expected, `the row of ${id} ${JSON.stringify(more)}`);
    charged.delete(id);
  }
  for (const [id, nanos] of charged) assert.equal(nanos, 0n, `${id}, which was not answered`);
}

async function checkSums({ world, key, model, accountId }: AccountHistory): Promise<void> {
  const { balance_usd } = await world.admin<{ balance_usd: string }>(
    "GET",
    `/api/v1/admin/credits?account_id=${accountId}`,
  );
  assert.equal(nanosOf(balance_usd), model.balanceNanos, "the balance");
  const answer = await world.services[0]!.fetch("/api/v1/usage?group_by=day", {
    headers: { authorization: `Bearer ${key.key}` },
  });
  const usage = await answer.json() as {
    data: { day: string; charged_usd: string }[];
    total: { charged_usd: string };
  };
  assert.equal(nanosOf(usage.total.charged_usd), model.chargedNanos, "all that was charged");
  const days = new Map<string, bigint>();
  for (const { day, charged_usd } of usage.data) {
    days.set(day, (days.get(day) ?? 0n) + nanosOf(charged_usd));
  }
  for (const [day, nanos] of model.byDay()) {
    assert.equal(days.get(day) ?? 0n, nanos, `charged on ${day}`);
  }
}

async function checkLimits({ world, model, accountId, budgets }: AccountHistory): Promise<void> {
  const { data } = await world.admin<{ data: { id: string; spent_usd: string }[] }>(
    "GET",
    `/api/v1/admin/budgets?account_id=${accountId}`,
  );
  const spent = new Map(data.map(({ id, spent_usd }) => [id, nanosOf(spent_usd)]));
  assert.equal(spent.size, budgets.size, "as many budgets as were made");
  for (const [name, { id }] of budgets) {
    const limit = model.limits.get(name)!;
    assert.equal(spent.get(id), model.spentNanos(limit, world.now()), `spent of the ${name}`);
  }
  if (!world.database) return;
  const sums = await world.database.query(
    `select api_key_id as key, to_char(day at time zone 'UTC', 'YYYY-MM-DD') as day, charged_nanos
     from key_spend where charged_nanos <> 0 and day >= $2
       and api_key_id in (select id from api_keys where account_id = $1)`,
    [accountId, new Date(startOf("month", world.now()))],
  );
  const found = new Map(sums.map((row) => [`${row.key} ${row.day}`, nanosOf(row.charged_nanos)]));
  const byKey = Map.groupBy(
    // Sums of months that are over count for no cap and go.
    model.calls.filter(({ chargedNanos, at }) =>
      chargedNanos > 0n && startOf("month", at) === startOf("month", world.now())
    ),
    ({ keyId, at }) => `${keyId} ${startOf("day", at)}`,
  );
  const expected = new Map(
    [...byKey].map(([name, calls]) => [
      name,
      calls.reduce((sum, { chargedNanos }) => sum + chargedNanos, 0n),
    ]),
  );
  assert.deepEqual(
    new Map([...found].toSorted()),
    new Map([...expected].toSorted()),
    "what keys have spent by day",
  );
}

/** Each entry of the ledger is a change that was asked for once, or a call's. */
async function checkEntries({ world, model, accountId, credits }: AccountHistory): Promise<void> {
  if (!world.database) return;
  const entries = await world.database.query(
    `select kind, amount_nanos, note, interaction_id from ledger_entries
     where account_id = $1 and (amount_nanos <> 0 or interaction_id is not null) order by id`,
    [accountId],
  );
  const made = entries.filter(({ interaction_id }) => interaction_id === null)
    .map(({ note, amount_nanos }) => ({ note: String(note), nanos: amount_nanos as bigint }));
  assert.deepEqual(made, credits, "changes of the credit");
  const ofCalls = Map.groupBy(entries, ({ interaction_id }) => String(interaction_id));
  ofCalls.delete("null");
  for (const { id, chargedNanos } of model.calls) {
    const own = ofCalls.get(id) ?? [];
    ofCalls.delete(id);
    const sum = own.reduce((total, { amount_nanos }) => total + (amount_nanos as bigint), 0n);
    assert.equal(-sum, chargedNanos, `entries of ${id}`);
    assert.ok(own.filter(({ kind }) => kind === "settle").length <= 1, `${id} is charged once`);
  }
  assert.deepEqual([...ofCalls.keys()], [], "entries of calls that were not answered");
}
