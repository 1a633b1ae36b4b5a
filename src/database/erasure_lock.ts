import type { Queryable } from "./database.ts";

/**
 * Key of the advisory lock between writers of records (shared) and erasures (exclusive): a writer
 * either commits before an erasure looks for rows, or sees the erasure.
 */
const erasureLock = 7_305_112_604_914n;

/**
 * Takes the lock for an erasure, until its transaction ends. While an erasure waits for a long
 * writer, such as the drop of a month, other writers queue behind it: so it waits for a second at a
 * time, and lets them pass in between. After a minute it waits for its turn, which always comes. Then
 * it waits a second for each lock, since all writers wait for it: what others have locked for longer
 * fails it, and it is tried again later.
 */
export async function lockForErasure(tx: Queryable): Promise<void> {
  await tx.query(takeTurns);
}

/** How long a writer waits for a lock: an erasure waits for it, and all others for the erasure. */
const longestLockMs = 5_000;

const takeTurns = `do $$
declare
  last_try timestamptz := clock_timestamp() + interval '1 minute';
begin
  loop
    begin
      perform set_config('lock_timeout',
        case when clock_timestamp() < last_try then '1s' else '0' end, true);
      perform pg_advisory_xact_lock(${erasureLock});
      exit;
    exception when lock_not_available then
      perform pg_sleep(0.5);
    end;
  end loop;
  perform set_config('lock_timeout', '1s', true);
end $$`;

/**
 * Takes the lock for a writer, until its transaction ends. It must come before the lock of any row:
 * an erasure, which locks the same rows in another order, then can't happen in between. Later locks
 * of the transaction are waited for `lockMs` each, five seconds by default. This one is waited for
 * without limit: who waits for it holds up nobody.
 */
export async function lockForWriting(
  tx: Queryable,
  { lockMs = longestLockMs }: { lockMs?: number | undefined } = {},
): Promise<void> {
  await tx.query(
    `set local lock_timeout = 0; ${sharedErasureLock}; set local lock_timeout = ${
      Math.ceil(lockMs)
    }`,
  );
}

/** The statement of `lockForWriting`, to send it together with others. */
export const sharedErasureLock = `select pg_advisory_xact_lock_shared(${erasureLock})`;
