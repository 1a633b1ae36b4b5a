import type { AuditNote } from "../../audit/audit.ts";
import { writeAudit } from "../../audit/store/audit.ts";
import {
  BalanceRangeError,
  type LeaseRequest,
  type LeaseReturn,
  type LeaseTaken,
  type Ledger,
  type LedgerGap,
  type Settlement,
} from "../ledger.ts";
import type { Database, Queryable, SqlRow } from "../../database/database.ts";
import {
  createLeaseKeeper,
  type LeaseTable,
  type LockWait,
  readTaken,
} from "../../database/lease_table.ts";
import { codeOf, uniqueViolation } from "../../database/postgres/faults.ts";
import { addCredit, checkSums, postSettlements, returnLeases, takeLease } from "./ledger_sql.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** The ledger on PostgreSQL, served or embedded. */
export function createLedger(database: Database): Ledger {
  return {
    async grant(accountId, nanos, more = {}) {
      if (nanos <= 0n) throw new RangeError("a grant is more than 0");
      return await creditOnceADay(database, "grant", accountId, nanos, more);
    },
    adjust: (accountId, nanos, more) => creditOnceADay(database, "adjust", accountId, nanos, more),
    async show(accountId, exceptProcess) {
      const [row] = await database.query(
        `select coalesce((select balance_nanos from account_balances where account_id = $1), 0)
             as balance,
           (select coalesce(sum(in_flight_nanos), 0)::bigint from leases
             where account_id = $1 and expires_at > clock_timestamp()
               and ($2::text is null or process_id <> $2)) as reserved`,
        [accountId, exceptProcess ?? null],
      );
      return { balanceNanos: row!.balance as bigint, reservedNanos: row!.reserved as bigint };
    },
    take: (request) => take(database, request),
    release: (back) => database.transaction((tx) => releaseLease(tx, back)),
    async available(accountIds) {
      const rows = await database.query(
        `select account_id, balance_nanos - leased_nanos as available from account_balances
         where account_id = any($1::bigint[])`,
        [accountIds],
      );
      return new Map(rows.map((row) => [Number(row.account_id), row.available as bigint]));
    },
    async post(settlements) {
      await database.transaction((tx) => postAll(tx, settlements));
    },
    ...createLeaseKeeper(database, accountLeases),
    async check() {
      return (await database.query(checkSums, [])).map(readGap);
    },
  };
}

/** Writes the entry; one with an `operationId` only if there was none in the last 24 hours. */
function creditOnceADay(
  database: Database,
  kind: "grant" | "adjust",
  accountId: number,
  nanos: bigint,
  { operationId, ...more }: CreditOptions,
): Promise<bigint> {
  return database.transaction(async (tx) => {
    const once = operationId === undefined ? {} : { operationId: await ofDay(tx, operationId) };
    return await credit(tx, kind, accountId, nanos, { ...more, ...once });
  });
}

interface CreditOptions {
  note?: string;
  operationId?: string;
  interactionId?: string;
  audit?: AuditNote;
}

/**
 * Returns the id with a day of UTC: yesterday's if an entry of the last 24 hours has that, else
 * today's. So ids are free again after a day, although entries stay.
 */
async function ofDay(tx: Queryable, operationId: string): Promise<string> {
  const [row] = await tx.query(
    `with days as (
       select $1::text || to_char(n.at, ' YYYY-MM-DD') as today,
         $1::text || to_char(n.at - interval '1 day', ' YYYY-MM-DD') as yesterday
       from (select clock_timestamp() at time zone 'UTC' as at) n
     )
     select coalesce(e.operation_id, d.today) as id from days d
     left join ledger_entries e on e.operation_id = d.yesterday
       and e.created_at > clock_timestamp() - interval '24 hours'`,
    [operationId],
  );
  return String(row!.id);
}

/** Posts charges, each once, as part of a transaction that may also write the calls' rows. */
export async function postAll(tx: Queryable, settlements: readonly Settlement[]): Promise<void> {
  const charges = settlements.filter(({ chargedNanos }) => chargedNanos !== 0n);
  if (charges.length === 0) return;
  const accountIds = [...new Set(charges.map(({ accountId }) => accountId))];
  await tx.query(
    `insert into account_balances (account_id, balance_nanos, leased_nanos)
     select id, 0, 0 from unnest($1::bigint[]) as a (id) order by id
     on conflict (account_id) do nothing`,
    [accountIds],
  );
  await lockAccounts(tx, accountIds);
  await tx.query(postSettlements, [JSON.stringify(charges.map((one) => ({
    interaction_id: one.interactionId,
    account_id: one.accountId,
    lease_id: one.leaseId,
    charged_nanos: String(one.chargedNanos),
  })))]);
}

/**
 * Locks accounts, always in the same order, and returns them; whoever changes an account's credit
 * does so first.
 */
export function lockAccounts(
  tx: Queryable,
  accountIds: readonly number[],
  wait: LockWait = "",
): Promise<readonly SqlRow[]> {
  return tx.query(
    `select account_id from account_balances where account_id = any($1::bigint[])
     order by account_id for update ${wait}`,
    [accountIds],
  );
}

const accountLeases: LeaseTable<number> = {
  name: "leases",
  ownerColumns: "account_id",
  ownerOf: (row) => Number(row.account_id),
  lock: lockAccounts,
  remove: (tx, which, values, accountIds, wait) =>
    tx.query(returnLeases(which, values.length + 1, wait), [...values, accountIds]),
};

/** Writes a grant or an adjustment, also as part of a transaction; returns the new balance. */
export async function credit(
  database: Queryable,
  kind: "grant" | "adjust",
  accountId: number,
  nanos: bigint,
  more: CreditOptions,
): Promise<bigint> {
  const values = [
    accountId,
    kind,
    nanos,
    sanitizeText(more.note ?? null),
    more.operationId ?? null,
    more.interactionId ?? null,
  ];
  const [row] = await database.query(addCredit, values).catch((thrown) => {
    if (codeOf(thrown) !== numberOutOfRange) throw thrown;
    throw new BalanceRangeError("The balance would be beyond what an account can hold.", {
      cause: thrown,
    });
  });
  if (row) {
    await writeAudit(database, more.audit);
    return row.balance_nanos as bigint;
  }
  const [existing] = await database.query(
    "select balance_nanos from account_balances where account_id = $1",
    [accountId],
  );
  return existing!.balance_nanos as bigint;
}

/**
 * The operation id of the entry that refunds a call's charge, which may be 0: with it, the call is
 * not charged, whatever price it gets later.
 */
export function refundOperation(transactionId: string): string {
  return `give-back:${transactionId}`;
}

/** SQLSTATE of both databases. */
const numberOutOfRange = "22003";

async function take(database: Database, request: LeaseRequest): Promise<LeaseTaken> {
  const ask = () =>
    database.query(takeLease, [
      request.operationId,
      request.accountId,
      request.atLeastNanos,
      request.wantedNanos,
      request.aheadNanos,
      request.leaseId,
      request.processId,
      request.leaseSeconds,
    ]);
  const [row] = await ask().catch((thrown) => {
    if (codeOf(thrown) !== uniqueViolation) throw thrown;
    // The first run of this operation has ended meanwhile: now its result can be read.
    return ask();
  });
  return readTaken(row!);
}

/**
 * Gives part of a lease back to the balance, once, as part of a transaction; resolves to what is
 * then available.
 */
export async function releaseLease(tx: Queryable, back: LeaseReturn): Promise<bigint> {
  await lockAccounts(tx, [back.accountId]);
  await tx.query(
    `with given as (
       select id, account_id, least(amount_nanos, $2::bigint) as nanos from leases
       where id = $1 and account_id = $3
         and not exists (select from ledger_entries where operation_id = $4)
     ), lease as (
       update leases l set amount_nanos = l.amount_nanos - given.nanos
       from given where l.id = given.id
     ), balance as (
       update account_balances b set leased_nanos = b.leased_nanos - given.nanos
       from given where b.account_id = given.account_id
     )
     insert into ledger_entries
       (account_id, kind, amount_nanos, leased_nanos, lease_id, operation_id)
     select account_id, 'release', 0, -nanos, id, $4 from given where nanos > 0`,
    [back.leaseId, back.amountNanos, back.accountId, back.operationId],
  );
  const [row] = await tx.query(
    "select balance_nanos - leased_nanos as available from account_balances where account_id = $1",
    [back.accountId],
  );
  return row === undefined ? 0n : row.available as bigint;
}

function readGap(row: SqlRow): LedgerGap {
  return {
    accountId: Number(row.account_id),
    what: row.what as LedgerGap["what"],
    unspentNanos: row.kept as bigint,
    entriesNanos: row.entries as bigint,
  };
}
