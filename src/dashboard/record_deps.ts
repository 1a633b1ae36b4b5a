import type { FlushRecords } from "../records/flush_records.ts";
import type { AuditNote } from "../audit/audit.ts";
import type { Principal } from "../keys/api_key.ts";
import type { CohortStore } from "../cohorts/cohort.ts";
import type { CreditHistory } from "../credit/credit_history.ts";
import type { EvalStore } from "../evals/eval.ts";
import type { Credit } from "../credit/ledger.ts";
import type { PartitionsInUse } from "../erasure/retention.ts";
import type { SpendStore } from "../credit/spend_cap.ts";
import type { Deletions } from "../erasure/deletions.ts";
import type { EvalCaller, EvalRequest } from "../evals/create_eval.ts";
import type { Exports } from "../exports/exports.ts";

/** What the pages of records work on: the same services as the API's routes. */
export interface RecordDeps {
  /** Resolves when a read that begins now includes every call that was answered here. */
  flushRecords: FlushRecords;
  cohorts: Pick<CohortStore, "list" | "readLatest">;
  evals: Pick<EvalStore, "list" | "find" | "results" | "cancel">;
  /** Takes in an evaluation. Throws faults that name the field. */
  createEval: (
    caller: EvalCaller,
    body: EvalRequest,
    audit: AuditNote,
  ) => Promise<{ evalRunId: string; total: number }>;
  /** A key with its account, by the key's id. */
  principal: (keyId: string) => Promise<Principal | undefined>;
  /** Models as the unified list names them, as far as that is known without asking a vendor. */
  knownModels: () => readonly string[];
  exports: Pick<Exports, "hasBucket" | "list" | "start" | "ready" | "read" | "remove">;
  deletions: Pick<Deletions, "count" | "queue" | "find" | "list">;
  /** What the environment says of how long records stay; undefined: forever. */
  retention: { payloadDays: number | undefined; usageDays: number | undefined };
  partitionsInUse: PartitionsInUse;
  /** The account of the operator, who alone sees what concerns all. */
  operatorAccountId: () => Promise<number | undefined>;
  /** Credit as it is now, calls under way included. */
  credit: (accountId: number) => Promise<Credit>;
  creditHistory: CreditHistory;
  spend: SpendStore;
}
