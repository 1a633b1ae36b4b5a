import type { BudgetService } from "../budgets/budget_service.ts";
import type { WebhookService } from "../webhooks/webhook_service.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { Audited, AuditLog, AuditNote } from "../audit/audit.ts";
import type { KeyService } from "../keys/key_service.ts";
import type { PeopleStore } from "../people/person.ts";
import type { SessionStore } from "../people/session.ts";
import type { SignInStore } from "../people/sign_in.ts";
import type { VendorKeyStore } from "../keys/vendor_key.ts";
import type { VirtualModels } from "../routing/virtual_models.ts";
import type { SignInSettings } from "./identity_provider.ts";
import type { OverviewDeps } from "./pages/overview/load.ts";
import type { ExampleModels } from "./pages/keys/key_examples.ts";
import type { PlaygroundDeps } from "./pages/playground/page.tsx";
import type { RefusalDeps } from "./pages/interactions/refused_page.tsx";
import type { FlushRecords } from "../records/flush_records.ts";
import type { Principal } from "../keys/api_key.ts";
import type { CohortStore } from "../cohorts/cohort.ts";
import type { CreditHistory } from "../credit/credit_history.ts";
import type { EvalStore } from "../evals/eval.ts";
import type { Credit } from "../credit/ledger.ts";
import type { PartitionsInUse } from "../erasure/retention.ts";
import type { ReadSpend } from "../credit/spend_cap.ts";
import type { Deletions } from "../erasure/deletions.ts";
import type { EvalCaller, EvalRequest } from "../evals/create_eval.ts";
import type { EvalEstimate } from "../evals/estimate_eval.ts";
import type { Exports } from "../exports/exports.ts";
import type {
  InteractionDetail,
  InteractionRepository,
} from "../records/interaction_repository.ts";
import type { MediaSigner } from "../records/signed_media.ts";
import type { CostLines } from "../repricing/cost_lines.ts";
import type { StoredContent, Transcript } from "../records/transcript.ts";
import type { VendorNames } from "./vendor_names.ts";

export type VendorKeyTest =
  | { kind: "works"; models: number }
  | { kind: "refused" }
  | { kind: "unknown"; reason: string };

export interface KeyVendor {
  label: string;
  kind: string;
}

/** Dependencies of the pages about records: the services that the API's routes use too. */
export interface RecordDeps {
  /** Resolves when a read that begins now includes every call that was answered here. */
  flushRecords: FlushRecords;
  cohorts: Pick<CohortStore, "list" | "readLatest" | "readModels">;
  evals: Pick<Audited<EvalStore>, "list" | "find" | "results" | "cancel">;
  /** Creates an evaluation. Throws faults that name the field. */
  createEval: (
    caller: EvalCaller,
    body: EvalRequest,
    audit: AuditNote,
  ) => Promise<{ evalRunId: string; total: number }>;
  /** Estimates what an evaluation would cost. Throws faults that name the field. */
  estimateEval: (accountId: number, body: EvalRequest) => Promise<EvalEstimate>;
  /** Finds a key with its account by the key's id. */
  principal: (keyId: string) => Promise<Principal | undefined>;
  /** Ids of the unified list's models, as far as they are known without asking a vendor. */
  knownModels: () => readonly string[];
  exports: Pick<Audited<Exports>, "hasBucket" | "list" | "start" | "ready" | "read" | "remove">;
  deletions: Pick<Audited<Deletions>, "count" | "queue" | "find" | "list">;
  /** How long records are kept, as configured in the environment; undefined: forever. */
  retention: { payloadDays: number | undefined; usageDays: number | undefined };
  partitionsInUse: PartitionsInUse;
  /** The operator's account: only its people see what concerns all accounts. */
  operatorAccountId: () => Promise<number | undefined>;
  /** Returns the account's present credit, with calls in progress included. */
  credit: (accountId: number) => Promise<Credit>;
  creditHistory: CreditHistory;
  spend: ReadSpend;
}

export interface InteractionDeps {
  interactions: InteractionRepository;
  /** Resolves when a read that begins now includes every call that was answered here. */
  flushRecords: FlushRecords;
  readTranscript: (dialect: string, payloads: StoredContent) => Promise<Transcript>;
  costLines: (detail: InteractionDetail) => Promise<CostLines | undefined>;
  mediaSigner: Pick<MediaSigner, "sign">;
  exports: Pick<Exports, "write">;
  deletions: Pick<Audited<Deletions>, "erase">;
}

/** All dependencies of the dashboard. */
export interface DashboardDeps extends RecordDeps {
  /** The service's public URL, without a slash at the end. */
  baseUrl: string;
  /** Settings of the identity provider; undefined if there is none. */
  signIn: SignInSettings | undefined;
  /** Whether the operator's links sign people in (`admin sign-in`). */
  hasLocalSignIn: boolean;
  /** What the operator types before a command, such as `DATA_DIR=/srv/demeter deno task admin`. */
  adminCommand: string;
  /** The same to show to anybody: without paths, unless only this machine is served. */
  publicAdminCommand: string;
  /** E-mail domains whose people become members of the first account. */
  allowedDomains: readonly string[];
  signIns: SignInStore;
  sessions: SessionStore;
  people: Audited<PeopleStore>;
  audit: AuditLog;
  keys: Audited<KeyService>;
  /** Called with the ids of changed keys, so that this process applies the change at once. */
  keysChanged: (ids: readonly string[]) => void;
  scopes: readonly string[];
  /** The names of all vendors. */
  vendorNames: VendorNames;
  /** Models that examples of a first call can name. */
  exampleModels: ExampleModels;
  vendorKeys: Pick<Audited<VendorKeyStore>, "set" | "remove" | "list">;
  vendorKeysChanged: () => Promise<void>;
  keyVendors: readonly KeyVendor[];
  storedVendorKey: (accountId: number, vendor: string) => Promise<Secret | undefined>;
  testVendorKey: (vendor: string, key: Secret) => Promise<VendorKeyTest>;
  virtualModels: VirtualModels;
  budgets: BudgetService;
  webhooks: WebhookService;
  isModel: (accountId: number, name: string) => boolean;
  interactions: InteractionDeps;
  refusals: RefusalDeps;
  overview: OverviewDeps;
  playground: PlaygroundDeps;
  clock: Clock;
  newId: () => string;
  log: Log;
}
