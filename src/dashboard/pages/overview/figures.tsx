import { errorsOf, type UsageSums } from "../../../usage/usage_sums.ts";
import { changeOf, compact, count, duration, percent, usd } from "../../amounts.ts";
import { refusalDays } from "../../../refusals/refusal.ts";
import { callsAddress } from "./links.ts";
import type { Overview, RequestSums } from "./load.ts";
import type { Range } from "./range.ts";

/** The overview's figures, each with its change since the previous period. */
export function OverviewFigures({ overview: { total, previous, refusedSince }, range }: {
  overview: Pick<Overview, "total" | "previous" | "refusedSince">;
  range: Range;
}) {
  const calls = callsAddress(range);
  const failed = callsAddress(range, { status: ["failed", "truncated", "interrupted"] });
  const rate = (sums: RequestSums) => asked(sums) === 0 ? 0 : notAnswered(sums) / asked(sums);
  const tokens = (sums: UsageSums) => Number(sums.inputTokens + sums.outputTokens);
  const [from, to] = [previous, total];
  const change = (before: number, after: number) => changeOf(before, after, asked(from) > 0);
  // Refused requests are stored for a shorter time than calls: an older rate would be too low.
  const rateChange = range.before >= refusedSince
    ? change(rate(from), rate(to))
    : range.from >= refusedSince
    ? "no earlier data"
    : `refused calls: last ${refusalDays} days only`;
  const [slowBefore, slow] = [from, to].map(({ latency }) => latency.percentile(0.95));
  return (
    <ul class="key-figures">
      <KeyFigure
        {...{ name: "Spend", value: usd(to.costNanos), href: calls }}
        change={change(Number(from.costNanos), Number(to.costNanos))}
      />
      <KeyFigure
        {...{ name: "Requests", value: count(to.calls), href: calls }}
        change={change(from.calls, to.calls)}
      />
      <KeyFigure
        {...{ name: "Error rate", value: percent(notAnswered(to), asked(to)), href: failed }}
        change={rateChange}
      />
      <KeyFigure
        {...{ name: "Latency, p95", value: duration(slow), href: calls }}
        change={slow === undefined
          ? "no completed calls"
          : changeOf(slowBefore ?? 0, slow, slowBefore !== undefined)}
      />
      <KeyFigure
        {...{ name: "Tokens", value: compact(tokens(to)), href: calls }}
        change={change(tokens(from), tokens(to))}
      />
    </ul>
  );
}

/** Returns the number of calls that ended in an error plus that of refused requests. */
function notAnswered(sums: RequestSums): number {
  return errorsOf(sums) + sums.refused;
}

function asked({ calls, refused }: RequestSums): number {
  return calls + refused;
}

interface KeyFigureProps {
  name: string;
  value: string;
  href: string;
  change: string;
}

function KeyFigure({ name, value, href, change }: KeyFigureProps) {
  return (
    <li>
      <a href={href}>
        <span class="muted">{name}</span>
        <span class="headline">{value}</span>
        <span class="muted change">{change}</span>
      </a>
    </li>
  );
}
