import type { Database } from "../../../src/database/database.ts";
import { markerPattern } from "./vendor.ts";

interface RowAttempt {
  readonly vendor: string;
  readonly http_status: number | null;
}

export interface CallRow {
  readonly id: string;
  readonly requestId: string;
  readonly accountId: number;
  readonly keyId: string;
  readonly app: string | null;
  readonly user: string | null;
  readonly session: string | null;
  readonly endpoint: string;
  readonly vendor: string;
  readonly model: string;
  readonly status: string;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
  readonly input: number | null;
  readonly output: number | null;
  readonly costNanos: bigint | null;
  readonly chargedNanos: bigint;
  readonly basis: string;
  readonly cache: string | null;
  readonly attempts: readonly RowAttempt[] | null;
  readonly marker: string | undefined;
  readonly createdMs: number;
  readonly recording: string | null;
}

export async function readRows(database: Database): Promise<CallRow[]> {
  const rows = await database.query(
    `select i.*, p.request, p.response from interactions i
     left join interaction_payloads p using (transaction_id)`,
  );
  const count = (value: unknown) => value === null ? null : Number(value);
  return rows.map((row) => ({
    id: String(row.transaction_id),
    requestId: String(row.request_id),
    accountId: Number(row.account_id),
    keyId: String(row.api_key_id),
    app: row.app as string | null,
    user: row.user_id as string | null,
    session: row.session_id as string | null,
    endpoint: String(row.endpoint),
    vendor: String(row.vendor),
    model: String(row.model),
    status: String(row.status),
    httpStatus: count(row.http_status),
    errorCode: row.error_code as string | null,
    input: count(row.input_tokens),
    output: count(row.output_tokens),
    costNanos: row.cost_nanos as bigint | null,
    chargedNanos: row.charged_nanos as bigint,
    basis: String(row.billing_basis),
    cache: row.cache as string | null,
    attempts: typeof row.attempts === "string" ? JSON.parse(row.attempts) : row.attempts as null,
    marker: markerPattern.exec(String(row.request))?.[0],
    createdMs: (row.created_at as Date).getTime(),
    recording: (row.recording ?? null) as string | null,
  }));
}

export function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => typeof each === "bigint" ? `${each}` : each)?.slice(
    0,
    1500,
  );
}
