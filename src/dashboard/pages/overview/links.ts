import type { UsagePart } from "../../../usage/usage_sums.ts";
import { type Range, rangeQuery } from "./range.ts";

/** The list of the calls that a figure is made of. */
export function callsAddress(
  range: Pick<Range, "from" | "to">,
  filters: Readonly<Record<string, string | readonly string[]>> = {},
): string {
  const query = new URLSearchParams({ from: minute(range.from), to: minute(range.to) });
  for (const [name, values] of Object.entries(filters)) {
    for (const value of [values].flat()) query.append(name, value);
  }
  return `/dashboard/interactions?${query}`;
}

/** The filters that find a value's calls; undefined for calls without an app. */
export function filtersOf(part: UsagePart, value: string): Record<string, string> | undefined {
  if (part === "vendor") return { vendor: value };
  if (part === "api_key") return { key: value };
  if (part === "app") return value === "" ? undefined : { app: value };
  const slash = value.indexOf("/");
  return { vendor: value.slice(0, slash), model: value.slice(slash + 1) };
}

/** This page with another range or breakdown. */
export function overviewAddress(range: Range, more: Readonly<Record<string, string>>): string {
  return `/dashboard/overview?${new URLSearchParams({ ...rangeQuery(range), ...more })}`;
}

/** `2026-11-21T09:00`, in UTC. */
function minute(at: Date): string {
  return at.toISOString().slice(0, "2026-11-21T09:00".length);
}
