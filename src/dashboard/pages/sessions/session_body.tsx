import { endings, latencyText } from "../interactions/endings.ts";
import type { ShownAnswer, ShownTurn } from "../../../records/transcript.ts";
import type { SessionCall } from "../../../records/interaction_repository.ts";
import { count, counted, percent, usd } from "../../amounts.ts";
import { Badge, BoxedFact, Time } from "../../components.tsx";
import { AddedTurns } from "../interactions/conversation.tsx";
import { payloadsNeeded } from "../interactions/detail_body.tsx";
import type { MediaAddresses } from "../interactions/media.ts";
import { listPath } from "../interactions/view.ts";
import { modelOfCall, type VendorNames } from "../../vendor_names.ts";
import type { RunSums } from "./session_money.ts";

/** A call with what it added to the conversation. */
export interface ShownCall {
  readonly summary: SessionCall;
  /** Undefined if the request isn't stored or can't be read. */
  readonly turns: readonly ShownTurn[] | undefined;
  readonly answers: readonly ShownAnswer[] | undefined;
  readonly media: MediaAddresses;
  /** Sums of the session up to and including this call. */
  readonly sums: RunSums;
}

export interface SessionProps {
  id: string;
  calls: readonly SessionCall[];
  /** Whether these are all of the session's calls. */
  isWhole: boolean;
  sums: RunSums;
  savedNanos: bigint;
  shown: readonly ShownCall[];
  /** The index in `calls` at which `shown` begins. */
  from: number;
  callsOfPage: number;
  /** Whether the person may see what was sent and received. */
  seesPayloads: boolean;
  now: Date;
  vendors: VendorNames;
  pathOf: (at: number) => string;
}

/** Shows what the session used, then its calls in order. */
export function SessionBody(props: SessionProps) {
  const { id, calls, isWhole, sums, shown, from, callsOfPage, pathOf } = props;
  const list = `${listPath}?${new URLSearchParams({ session: id })}`;
  const before = Math.max(0, from - callsOfPage);
  const next = from + callsOfPage;
  return (
    <>
      <Headline {...props} />
      {isWhole ? null : (
        <p class="notice">
          {`These are the first ${count(calls.length)} calls of a longer session; `}
          <a href={list}>the list</a> {"shows all of them."}
        </p>
      )}
      <Losses calls={calls} />
      <p class="muted">
        {`Calls ${count(from + 1)} to ${count(from + shown.length)} of ${
          count(sums.calls)
        }, each with what it added. `}
        <a href={list}>As a list</a>
      </p>
      {props.seesPayloads ? null : <p class="notice">{payloadsNeeded}</p>}
      {shown.map((call) => <Call call={call} {...props} />)}
      {calls.length <= callsOfPage ? null : (
        <nav class="pager" aria-label="Pages">
          {from === 0 ? null : <a class="button" href={pathOf(before)}>Earlier calls</a>}
          {next < calls.length ? <a class="button" href={pathOf(next)}>Later calls</a> : null}
        </nav>
      )}
    </>
  );
}

function Headline({ calls, sums, savedNanos, vendors }: SessionProps) {
  const models = [...new Set(calls.map((call) => modelOfCall(vendors, call)))];
  const failed = calls.filter(({ status }) => status !== "completed").length;
  const facts: [string, string][] = [
    [
      "Calls",
      failed === 0 ? count(sums.calls) : `${count(sums.calls)}, ${count(failed)} not completed`,
    ],
    [
      "Models",
      models.slice(0, 3).join(", ") + (models.length > 3 ? ` and ${models.length - 3} more` : ""),
    ],
    [
      "Cost",
      usd(sums.costNanos) + (sums.unpriced > 0 ? `, ${count(sums.unpriced)} without a price` : ""),
    ],
    ["Input tokens", count(sums.inputTokens)],
    [
      "Of which cached",
      `${count(sums.cacheReadTokens)} (${percent(sums.cacheReadTokens, sums.inputTokens)})`,
    ],
    ["Output tokens", count(sums.outputTokens)],
    [
      savedNanos < 0n ? "Spent on caching" : "Saved by caching",
      usd(savedNanos < 0n ? -savedNanos : savedNanos),
    ],
  ];
  return (
    <dl class="headline">
      {facts.map(([name, value]) => <BoxedFact name={name}>{value}</BoxedFact>)}
    </dl>
  );
}

/** Lists the fields that vendors couldn't be sent, over the whole session. */
function Losses({ calls }: { calls: readonly SessionCall[] }) {
  const counts = new Map<string, number>();
  for (const { translationLoss } of calls) {
    for (const path of translationLoss) counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  if (counts.size === 0) return null;
  return (
    <details class="asked">
      <summary>{`${counted(counts.size, "field")} that a vendor could not be given`}</summary>
      <ul class="losses">
        {[...counts].slice(0, 100).map(([path, times]) => (
          <li>
            <code>{path}</code> <span class="muted">{counted(times, "call")}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Call({ call, seesPayloads, now, vendors }: SessionProps & { call: ShownCall }) {
  const { summary, turns, answers, media, sums } = call;
  const { label, tone } = endings[summary.status];
  const losses = summary.translationLoss.length;
  return (
    <section class="run-call" data-id={summary.transactionId}>
      <h2>
        <a href={`${listPath}/${summary.transactionId}`}>{`Call ${count(sums.calls)}`}</a>{" "}
        <span class="muted">{modelOfCall(vendors, summary)}</span>{" "}
        <Badge tone={tone}>{label}</Badge>
      </h2>
      <p class="muted run-figures">
        <Time at={summary.createdAt} now={now} />
        {` · ${latencyText(summary)}`}
        {` · ${count(summary.inputTokens ?? 0)} in, ${
          count(summary.cacheReadTokens ?? 0)
        } cached (${percent(summary.cacheReadTokens ?? 0, summary.inputTokens ?? 0)}), ${
          count(summary.outputTokens ?? 0)
        } out`}
        {` · ${summary.costNanos === null ? "no price known" : usd(summary.costNanos)}, ${
          usd(sums.costNanos)
        } so far`}
        {losses === 0
          ? null
          : ` · ${count(losses)} lost: ${summary.translationLoss.slice(0, 5).join(", ")}`}
        {summary.errorCode === null ? null : ` · ${summary.errorCode}`}
      </p>
      {seesPayloads ? <AddedTurns turns={turns} answers={answers} media={media} /> : null}
    </section>
  );
}
