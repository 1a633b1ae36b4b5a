import type { BreakdownPart } from "./load.ts";
import { type Range, rangeQuery } from "./range.ts";

/** Returns the address of the list of calls behind a figure. */
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

/** Returns the address of the refused requests of a range, or of all that are listed. */
export function refusedAddress({ key }: Pick<Range, "key">): string {
  return `/dashboard/interactions/refused?range=${key === "24h" || key === "7d" ? key : "30d"}`;
}

/** Returns the filters that find a value's calls; undefined for calls without a value. */
export function filtersOf(part: BreakdownPart, value: string): Record<string, string> | undefined {
  if (part === "vendor") return { vendor: value };
  if (part === "api_key") return { key: value };
  if (part !== "model") return value === "" ? undefined : { [part]: value };
  const slash = value.indexOf("/");
  return { vendor: value.slice(0, slash), model: value.slice(slash + 1) };
}

/** Returns the address of the overview, or of a path below it, for a range and a breakdown. */
export function overviewAddress(
  range: Range,
  more: Readonly<Record<string, string>>,
  below = "",
): string {
  return `/dashboard/overview${below}?${new URLSearchParams({ ...rangeQuery(range), ...more })}`;
}

/** `2026-11-21T09:00`, in UTC. */
function minute(at: Date): string {
  return at.toISOString().slice(0, "2026-11-21T09:00".length);
}
