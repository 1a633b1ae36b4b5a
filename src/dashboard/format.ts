/** How long ago, or how long until, rounded to the largest unit that it holds: `3 hours ago`, `in 2 days`. */
export function relativeTime(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  const size = Math.abs(ms);
  if (size < 45_000) return ms > 0 ? "in a moment" : "just now";
  const unit = units.find((one) => size >= one.ms) ?? units.at(-1)!;
  const count = Math.max(1, Math.round(size / unit.ms));
  const text = `${count} ${unit.name}${count === 1 ? "" : "s"}`;
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

/** `21 Nov 2026, 13:48 UTC`. */
export function exactTime(at: Date): string {
  const text = at.toISOString();
  return `${day(at)}, ${text.slice(11, 16)} UTC`;
}

/** `21 Nov 2026`, in UTC. */
export function day(at: Date): string {
  return `${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()}`;
}

const units = [
  { name: "year", ms: 365 * 86_400_000 },
  { name: "month", ms: 30 * 86_400_000 },
  { name: "day", ms: 86_400_000 },
  { name: "hour", ms: 3_600_000 },
  { name: "minute", ms: 60_000 },
] as const;

export const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
