import { nanosToUsd } from "../base/money.ts";
import type { ApiKey } from "./api_key.ts";

type Limits = Pick<ApiKey, "capDayNanos" | "capMonthNanos">;

/** Models of a key that an entry names; a key's list never changes, and its page has all of it. */
const shownModels = 20;

/** Returns what the audit log says of a new key: what it may do, and its limits. */
export function grantText(
  { prefix, scopes, models, expiresAt, recording, defaults, ...caps }:
    & Limits
    & Pick<ApiKey, "prefix" | "scopes" | "models" | "expiresAt" | "recording" | "defaults">,
): string {
  const more = models.length - shownModels;
  const named = models.slice(0, shownModels).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const tokens = defaults?.expectedOutputTokens;
  return [
    `${prefix}…`,
    `scopes: ${scopes.length === 0 ? "all but admin" : scopes.join(", ")}`,
    `models: ${models.length === 0 ? "all" : named}`,
    `cap a day: ${capText(caps.capDayNanos)}`,
    `cap a month: ${capText(caps.capMonthNanos)}`,
    `ends: ${expiresAt?.toISOString() ?? "never"}`,
    ...(tokens === undefined ? [] : [`expected output tokens: ${tokens}`]),
    ...(recording === "metadata" ? ["records: metadata"] : []),
  ].join("; ");
}

/** Returns what the audit log says of a changed key: what changed, and what it was before. */
export function changeText(
  before: Limits & Pick<ApiKey, "name">,
  after: Limits & Pick<ApiKey, "prefix" | "name">,
): string {
  const cap = (what: string, old: bigint | null, now: bigint | null) =>
    old === now ? [] : [`${what}: ${capText(now)}, was ${capText(old)}`];
  return [
    `${after.prefix}…`,
    ...cap("cap a day", before.capDayNanos, after.capDayNanos),
    ...cap("cap a month", before.capMonthNanos, after.capMonthNanos),
    // The last, since people choose names: nothing in one reads as another change.
    ...(before.name === after.name ? [] : [`name was: ${before.name}`]),
  ].join("; ");
}

function capText(nanos: bigint | null): string {
  return nanos === null ? "none" : `${nanosToUsd(nanos)} USD`;
}
