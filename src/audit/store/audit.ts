import type { AuditLog, AuditNote } from "../audit.ts";
import type { Queryable } from "../../database/database.ts";
import { sanitizeText } from "../../database/sanitize_text.ts";

/** Acts are only ever added. */
export function createAuditLog(database: Queryable, now: () => Date): AuditLog {
  return {
    async record(entry) {
      await writeAudit(database, { ...entry, at: now() });
    },
    async list(accountId, { before, limit }) {
      const rows = await database.query(
        `select id, account_id, at, person_id, actor, action, subject, detail from audit_log
         where ($1::bigint is null or account_id = $1::bigint)
           and ($2::bigint is null or id < $2::bigint)
         order by id desc limit $3`,
        [accountId, before, limit],
      );
      return rows.map((row) => ({
        id: row.id as bigint,
        accountId: Number(row.account_id),
        at: row.at as Date,
        actor: { personId: row.person_id as string | null, name: String(row.actor) },
        action: String(row.action),
        subject: String(row.subject),
        detail: String(row.detail),
      }));
    },
  };
}

/** Notes an act as part of a transaction; does nothing without one. */
export async function writeAudit(tx: Queryable, entry: AuditNote | undefined): Promise<void> {
  if (!entry) return;
  await tx.query(
    `insert into audit_log (account_id, at, person_id, actor, action, subject, detail)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      entry.accountId,
      entry.at,
      entry.actor.personId,
      sanitizeText(entry.actor.name),
      entry.action,
      sanitizeText(entry.subject),
      sanitizeText(entry.detail),
    ],
  );
}
