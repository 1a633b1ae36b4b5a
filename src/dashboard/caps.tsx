import type { ApiKey } from "../keys/api_key.ts";
import { usd } from "./amounts.ts";
import { Badge } from "./components.tsx";
import type { KeySpend } from "../credit/spend_cap.ts";
import { capsOf } from "./key_spend.ts";

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
              value={String(Math.min(100, shareSpent(used, limitNanos) * 100))}
            >
            </meter>
            <span>
              {`${usd(used)} of ${usd(limitNanos)} a ${name} `}
              <LimitBadge share={shareSpent(used, limitNanos)} />
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** From this share of a limit on it is near. */
export const nearShare = 0.8;

/** Returns the spent share, from 0 to 1, or above 1 if calls cost more than was reserved. */
export function shareSpent(spentNanos: bigint, limitNanos: bigint): number {
  return limitNanos === 0n ? 1 : Math.max(0, Number(spentNanos) / Number(limitNanos));
}

/** Says in a word that a limit is near or reached: a bar's colour alone says it only to some. */
export function LimitBadge({ share }: { share: number }) {
  if (share < nearShare) return null;
  return share >= 1 ? <Badge tone="bad">Reached</Badge> : <Badge tone="warn">Near</Badge>;
}
