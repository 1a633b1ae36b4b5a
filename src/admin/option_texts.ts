/** What each option does, in one sentence for `--help`. */
const optionTexts: Readonly<Record<string, string>> = {
  account: "Id or name of an account; the first account if absent.",
  name: "Name, at most 200 characters.",
  scope: "What the key may call; repeatable. Everything but 'admin' if absent.",
  expires: "Last day (UTC) or time of the key, such as 2027-01-31; never if absent.",
  models: "The only models that the key may call, separated by spaces.",
  "cap-day-usd": "Maximum that calls of the key may cost per day (UTC), in US dollars.",
  "cap-month-usd": "Maximum that calls of the key may cost per month (UTC), in US dollars.",
  "on-disconnect":
    "When the caller disconnects: cancel the vendor's call, or drain it (let it finish).",
  "translation-mode":
    "Unsupported fields: refuse them (strict), or drop and report them (lenient).",
  "prompt-cache": "Whether calls get marks for the vendor's prompt cache; on if absent.",
  "cache-ttl": "Seconds for which answers to identical calls are reused, 1 to 86400.",
  for: "Coding agent to set the key up for, such as claude-code; prints lines to paste.",
  app: "App tag of calls without one.",
  "default-model": "Model to use if a call's model is unknown.",
  map: "NAME=MODEL: calls that name NAME go to MODEL; repeatable.",
  "expected-output-tokens":
    "Output tokens to reserve credit for; needs a cap, which limits the debt.",
  record: "What is stored of calls: full, or metadata (no prompts and no answers).",
  usd: "An amount in US dollars, such as 2.50.",
  note: "Note in the ledger, at most 500 characters.",
  rpm: "Requests per minute; for enterprise.",
  burst: "Maximum requests at once; for enterprise.",
  role: "What the person may do: owner, member or viewer.",
  email: "The only e-mail address that can use the link; whoever opens it first if absent.",
  person: "E-mail address of the person to sign in; the first owner if absent.",
  vendor: "Vendor, by name or label, such as openai or vendor-b.",
  model: "Model with its vendor, such as openai/gpt-5-mini; with --vendor also without.",
  since: "First day (UTC) or time of the calls, such as 2026-11-01.",
  until: "Last day (UTC) of the calls, such as 2026-11-30, or the time of the end.",
  "dry-run": "Only count what would change.",
  from: "The first day or time of the export; the beginning if absent.",
  to: "The last day, or the time of the end; now if absent.",
  format: "How rows are written.",
  table: "Table to export; repeatable. interactions if absent.",
  filter: "COLUMN=VALUE: only matching rows; repeat a column to allow another value.",
  "raw-cells": "Don't escape CSV cells that a spreadsheet would read as a formula.",
  column: "Column to export; repeatable. All if absent.",
  "no-payloads": "Leave requests and answers out.",
  out: "File to write; standard output if absent.",
  on: "What is limited: account, app:NAME or user:ID.",
  per: "The period, in UTC: day or month.",
  "raise-until": "Last day (UTC) on which the last --usd is the limit, or the time of the end.",
  url: "URL that receives events: public and https, or of a host in FETCH_ALLOW_HOSTS.",
  event: "Event type to send; repeatable. All if absent.",
  "credit-low-usd": "Balance below which credit.low is sent; a tenth of the last grant if absent.",
};

/** Returns the help text of an option; undefined if there is none. */
export function optionText(option: { about?: string }, name: string): string | undefined {
  return option.about ?? (Object.hasOwn(optionTexts, name) ? optionTexts[name] : undefined);
}
