import type { Account } from "../../../keys/account.ts";
import { Badge } from "../../components.tsx";
import { nameText } from "../../format.ts";
import { count, counted, exactUsd, percent, usd } from "../../amounts.ts";
import { callsAddress, overviewAddress } from "./links.ts";
import type { CapUse } from "../../../credit/spend_cap.ts";
import type { Overview } from "./load.ts";
import { LimitBadge, nearShare, shareSpent } from "../../caps.tsx";
import { Meter } from "./meter.tsx";
import type { Range } from "./range.ts";

interface StandingProps {
  overview: Overview;
  range: Range;
  account: Account;
}

/** Shows what is left of the account's credit, rate and caps, and which end users spent most. */
export function Standing({ overview, range, account }: StandingProps) {
  return (
    <section class="panel standing" aria-label="Balance and limits">
      <Balance overview={overview} />
      <TopUsers overview={overview} range={range} />
      <Rate account={account} tokensLeft={overview.tokensLeft} />
      <Caps caps={overview.caps} />
    </section>
  );
}

function Balance({ overview: { credit, dailyNanos } }: { overview: Overview }) {
  const { balanceNanos, reservedNanos } = credit;
  return (
    <div>
      <h2>Balance</h2>
      <p class="headline" title={exactUsd(balanceNanos)}>{usd(balanceNanos)}</p>
      <p class="muted">
        {runway(balanceNanos, dailyNanos)}
        {reservedNanos > 0n ? ` ${usd(reservedNanos)} is reserved for calls in flight.` : ""}
      </p>
    </div>
  );
}

/** Says how long the balance lasts at the average charge per day. */
function runway(balanceNanos: bigint, dailyNanos: bigint | undefined): string {
  if (balanceNanos <= 0n) return "No credit left: calls with the service's keys are refused.";
  if (dailyNanos === undefined || dailyNanos <= 0n) {
    return "Nothing was charged in the last 7 days.";
  }
  const days = Number(balanceNanos) / Number(dailyNanos);
  const pace = `at ${usd(dailyNanos)} a day, as in the last 7 days.`;
  if (days < 1) return `Lasts less than a day ${pace}`;
  if (days > 730) return `Lasts more than two years ${pace}`;
  const whole = Math.floor(days);
  return `Lasts about ${count(whole)} day${whole === 1 ? "" : "s"} ${pace}`;
}

function TopUsers({ overview: { topUsers, total }, range }: Omit<StandingProps, "account">) {
  if (topUsers.length === 0) return null;
  return (
    <div>
      <h2>Top users</h2>
      <ul class="caps">
        {topUsers.map(({ value, costNanos }) => (
          <li>
            <div class="cap-line">
              <a
                href={callsAddress(range, { user: value })}
                class="cap-name"
                dir="auto"
                title={nameText(value)}
              >
                {nameText(value)}
              </a>
              <span class="muted" title={exactUsd(costNanos)}>
                {`${usd(costNanos)}, ${percent(Number(costNanos), Number(total.costNanos))}`}
              </span>
            </div>
          </li>
        ))}
      </ul>
      <p class="muted">
        <a href={`${overviewAddress(range, { by: "user" })}#breakdown`}>All users</a>
      </p>
    </div>
  );
}

function Rate({ account, tokensLeft }: { account: Account; tokensLeft: number }) {
  const { tier, requestsPerMinute, burst } = account;
  const used = Math.max(0, burst - tokensLeft);
  const share = burst === 0 ? 1 : used / burst;
  return (
    <div>
      <h2>
        Rate limit <Badge tone="neutral">{tier}</Badge>
      </h2>
      <Meter share={share} tone={toneOf(share)} />
      <p class="muted">
        {`${count(Math.min(tokensLeft, burst))} of ${
          count(burst)
        } calls can be made at once; refills at ${count(requestsPerMinute)} a minute.`}
      </p>
    </div>
  );
}

function Caps({ caps: { caps, all } }: Pick<Overview, "caps">) {
  const near = caps.filter((cap) => shareUsed(cap) >= nearShare);
  const shown = caps.slice(0, Math.max(3, near.length));
  return (
    <div>
      <h2>Spend caps</h2>
      {caps.length === 0
        ? <p class="muted">No key has a cap. A cap limits what a key can spend.</p>
        : (
          <ul class="caps">
            {shown.map((cap) => <Cap cap={cap} />)}
          </ul>
        )}
      {all > shown.length
        ? (
          <p class="muted">
            {`${counted(all - shown.length, "other cap")}, used no more than these.`}
          </p>
        )
        : null}
    </div>
  );
}

function Cap({ cap }: { cap: CapUse }) {
  const share = shareUsed(cap);
  return (
    <li>
      <div class="cap-line">
        <a
          href={`/dashboard/keys/${cap.keyId}`}
          class="cap-name"
          dir="auto"
          title={cap.keyName}
        >
          {cap.keyName}
        </a>
        <LimitBadge share={share} />
        <span class="muted">
          {`${usd(cap.spentNanos)} of ${usd(cap.capNanos)} a ${cap.period}, ${
            percent(Number(cap.spentNanos), Number(cap.capNanos))
          }`}
        </span>
      </div>
      <Meter share={share} tone={toneOf(share)} />
    </li>
  );
}

function shareUsed({ spentNanos, capNanos }: CapUse): number {
  return shareSpent(spentNanos, capNanos);
}

function toneOf(share: number): string {
  return share >= 1 ? "tone-bad" : share >= nearShare ? "tone-warn" : "tone-1";
}
