import { type AuditEntry, commandLine } from "../audit/audit.ts";

/**
 * The entry of the audit log for a command that was done; undefined for commands that change
 * nothing of an account. `json` is the command's result.
 */
export function auditEntry(name: string, json: unknown): AuditEntry | undefined {
  const act = Object.hasOwn(acts, name) ? acts[name] : undefined;
  if (!act) return undefined;
  const result = json as Readonly<Record<string, unknown>>;
  const text = (field: string | undefined) => field === undefined ? "" : String(result[field]);
  const accountId = Number(result[act.account ?? "account_id"]);
  if (!Number.isSafeInteger(accountId)) return undefined;
  const { action, subject, unit = "", detail } = act;
  const what = text(subject) + unit;
  return { accountId, actor: commandLine, action, subject: what, detail: text(detail) };
}

/** Which fields of a result tell what was done; never one that holds a secret. */
interface Act {
  action: string;
  account?: string;
  subject: string;
  unit?: string;
  detail?: string;
}

const acts: Readonly<Record<string, Act>> = {
  "key create": { action: "api_key.created", subject: "name", detail: "prefix" },
  "vendor-key set": { action: "vendor_key.set", subject: "vendor", detail: "last_four" },
  "vendor-key remove": { action: "vendor_key.removed", subject: "vendor" },
  "credits grant": { action: "credit.granted", subject: "granted_usd", unit: " USD" },
  "account create": { action: "account.created", account: "id", subject: "name", detail: "tier" },
  "account tier": { action: "account.tier_changed", account: "id", subject: "tier" },
};
