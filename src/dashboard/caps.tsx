import type { ApiKey } from "../keys/api_key.ts";
import { usd } from "./amounts.ts";
import { capsOf, type KeySpend } from "./key_spend.ts";

/** Shows a key's spend caps and how much of each is spent. */
export function Caps({ row, spent }: {
  row: Pick<ApiKey, "name" | "capDayNanos" | "capMonthNanos">;
  spent: KeySpend | undefined;
}) {
  const caps = capsOf(row);
  if (caps.length === 0) return <span class="muted">None</span>;
  return (
    <div class="caps">
      {caps.map(({ name, limitNanos }) => {
        const used = (name === "day" ? spent?.dayNanos : spent?.monthNanos) ?? 0n;
        return (
          <div class="cap">
            <meter
              aria-label={`Spent of the cap per ${name} of ${row.name}`}
              min="0"
              max="100"
              high={80}
              value={String(share(used, limitNanos))}
            >
            </meter>
            <span>{`${usd(used)} of ${usd(limitNanos)} a ${name}`}</span>
          </div>
        );
      })}
    </div>
  );
}

/** Returns whole per cent, from 0 to 100. */
function share(used: bigint, limit: bigint): number {
  if (limit === 0n) return 100;
  const percent = Number(used * 100n / limit);
  return Math.min(100, Math.max(0, percent));
}
