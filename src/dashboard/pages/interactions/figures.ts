import { nanosToUsd } from "../../../base/money.ts";
import type { InteractionStatus } from "../../../shared/interaction.ts";
import type { Tone } from "../../components.tsx";

/** Dollars with as many decimals as say something: `$0.000054`, `$0.0123`, `$1.20`, `$0`. */
export function usd(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  if (size === 0n) return "$0";
  const decimals = size >= 1_000_000_000n ? 2 : size >= 10_000_000n ? 4 : size >= 1000n ? 6 : 9;
  const unit = 10n ** BigInt(9 - decimals);
  const rounded = nanosToUsd((size + unit / 2n) / unit * unit);
  return `${nanos < 0n ? "-" : ""}$${rounded.slice(0, rounded.length - 9 + decimals)}`;
}

/** `340 ms`, `1.20 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `512 B`, `4.2 KB`, `1.0 MB`. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** How a call's end is told. */
export const endings: Readonly<
  Record<InteractionStatus, { label: string; tone: Tone; meaning: string }>
> = {
  completed: { label: "Completed", tone: "good", meaning: "The whole answer was delivered." },
  failed: { label: "Failed", tone: "bad", meaning: "The call failed." },
  truncated: { label: "Cut off", tone: "warn", meaning: "The vendor's stream broke off." },
  cancelled: { label: "Cancelled", tone: "neutral", meaning: "The caller left before the end." },
  interrupted: {
    label: "Interrupted",
    tone: "warn",
    meaning: "The service stopped before the call had ended.",
  },
};
