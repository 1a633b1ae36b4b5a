import type { Check } from "./checks.ts";
import { isTest } from "./tree.ts";

/**
 * SQL that names a table stands in the `store/` of the table's subject (docs/developing.md,
 * "Layout"): a subject asks another one for what that one stores.
 */
export const tableOwners: Check = {
  isAbout: (path) => /^src\//.test(path) && !isTest(path),
  looks: (path) => [
    (report) => {
      const look = (node: Deno.lint.Node, text: string) => {
        for (const table of tablesIn(text)) {
          const owner = owners.get(table)!;
          if (isHome(path, owner) || isException(path, table)) continue;
          report(
            node,
            `names the table ${table}, which belongs to src/${owner}/store: add a function there and call it`,
          );
        }
      };
      return {
        Literal: (node) => typeof node.value === "string" && look(node, node.value),
        TemplateElement: (node) => look(node, node.cooked),
      };
    },
  ],
};

/** Subject → its tables. */
const tables: Readonly<Record<string, string>> = {
  records: "interactions interaction_payloads media media_refs unfinished_corrections",
  usage: "usage_sums label_steps label_sums",
  audit: "audit_log",
  keys: "accounts api_keys api_key_notes vendor_keys master_key",
  credit:
    "ledger_entries account_balances leases key_charges key_leases key_spend corrected_charges",
  budgets: "budgets budget_periods budget_leases budget_charges",
  webhooks: "webhooks webhook_deliveries vendor_states",
  people: "people memberships removed_members invitations dashboard_sessions sign_in_states",
  rate_limits: "rate_buckets rate_processes",
  idempotency: "replays",
  response_cache: "cached_answers",
  relay: "kept_responses kept_reasoning",
  background: "background_calls",
  exports: "export_jobs export_chunks",
  erasure: "deletions tombstones erased_calls refunded_calls scrubs",
  evals: "eval_runs eval_items eval_results",
  cohorts: "cohort_outcomes",
  repricing: "price_versions",
  routing: "virtual_models",
};

const owners: ReadonlyMap<string, string> = new Map(
  Object.entries(tables).flatMap(([owner, names]) =>
    names.split(/\s+/).map((name) => [name, owner])
  ),
);

/** Who names a table of others, and why. */
const exceptions: readonly { path: RegExp; tables: string; why: string }[] = [
  {
    path: /^src\/\w+\/store\//,
    tables: "accounts",
    why: "whose row every subject's rows refer to, and which a transaction locks",
  },
  {
    path: /^src\/erasure\/store\//,
    tables:
      "audit_log background_calls cached_answers cohort_outcomes eval_results eval_runs kept_reasoning kept_responses replays",
    why: "one transaction erases what hangs on a call in the main database",
  },
  {
    path: /^src\/credit\/store\/(charge_once|refund_charge)\.ts$/,
    tables: "replays",
    why: "a request is charged once in the transaction that says by which attempt",
  },
  {
    path: /^src\/credit\/store\/(key_leases|spend)\.ts$/,
    tables: "api_keys",
    why: "the caps of keys are read with what they spent",
  },
  {
    path: /^src\/repricing\/store\/repricing\.ts$/,
    tables: "account_balances corrected_charges key_charges ledger_entries",
    why: "one statement corrects charges; to be a command of credit/store",
  },
  {
    path: /^src\/keys\/store\/accounts\.ts$/,
    tables: "rate_buckets",
    why: "an account's tier and its bucket change in one statement",
  },
  {
    path: /^src\/keys\/store\/key_service\.ts$/,
    tables: "people",
    why: "a key is shown with the name of who made it",
  },
  {
    path: /^src\/relay\/conversation\/store\/stored_responses\.ts$/,
    tables: "background_calls",
    why: "a response that is asked for may still be in the background",
  },
  {
    path: /^src\/admin\/export_command\.ts$/,
    tables: "interactions",
    why: "says in words which table an export is of",
  },
];

function isHome(path: string, owner: string): boolean {
  return path.startsWith(`src/${owner}/`) && path.includes("/store/");
}

function isException(path: string, table: string): boolean {
  return exceptions.some((one) => one.path.test(path) && one.tables.split(" ").includes(table));
}

/** A name directly after a word that SQL has a table's name after. */
const named = /\b(?:from|join|into|update|table|analyze)\s+(?:only\s+)?([a-z_]+)\b/gi;

function tablesIn(text: string): string[] {
  return [...text.matchAll(named)].map(([, name]) => name!.toLowerCase())
    .filter((name) => owners.has(name));
}
