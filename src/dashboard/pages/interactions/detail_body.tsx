import type { InteractionDetail } from "../../../records/interaction_repository.ts";
import type { CostLines } from "../../../repricing/cost_lines.ts";
import type { Transcript } from "../../../records/transcript.ts";
import { errors } from "../../../../contracts/kernel/errors.ts";
import { Badge } from "../../components.tsx";
import { Conversation } from "./conversation.tsx";
import { AttemptPanel, CostPanel, LabelPanel, TimingPanel, TokenPanel } from "./detail_panels.tsx";
import { count } from "../../amounts.ts";
import { duration, endings, usd } from "./figures.ts";
import type { MediaAddresses } from "./media.ts";
import { RawPayloads } from "./raw_payloads.tsx";

/** What a call's page shows. */
export interface DetailProps {
  detail: InteractionDetail;
  transcript: Transcript;
  cost: CostLines | undefined;
  /** Ids of keys → their names. */
  names: ReadonlyMap<string, string>;
  media: MediaAddresses;
  now: Date;
}

export function DetailBody(props: DetailProps) {
  const { detail, transcript, cost, names, media, now } = props;
  const facts = { summary: detail.summary, names, now };
  return (
    <>
      <Headline detail={detail} />
      <Failure detail={detail} />
      <div class="detail">
        <div class="detail-main">
          <Conversation detail={detail} transcript={transcript} media={media} />
          <RawPayloads detail={detail} />
        </div>
        <div class="detail-side">
          <LabelPanel {...facts} />
          <TimingPanel detail={detail} />
          <AttemptPanel detail={detail} />
          <TokenPanel {...facts} />
          <CostPanel detail={detail} cost={cost} />
          <LossPanel detail={detail} />
        </div>
      </div>
    </>
  );
}

/** The figures that people look for first. */
function Headline({ detail: { summary } }: { detail: InteractionDetail }) {
  const { label, tone } = endings[summary.status];
  const tokens = summary.totalTokens ??
    (summary.inputTokens ?? 0) + (summary.outputTokens ?? 0);
  return (
    <dl class="headline">
      <div>
        <dt>Status</dt>
        <dd>
          <Badge tone={tone}>{label}</Badge>
          {summary.httpStatus === null
            ? null
            : <span class="muted">{` HTTP ${summary.httpStatus}`}</span>}
        </dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>{summary.costNanos === null ? "No price known" : usd(summary.costNanos)}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>
          {summary.inputTokens === null && summary.outputTokens === null ? "–" : count(tokens)}
        </dd>
      </div>
      <div>
        <dt>Latency</dt>
        <dd>{duration(summary.latencyMs)}</dd>
      </div>
      <div>
        <dt>First token</dt>
        <dd>
          {summary.timeToFirstTokenMs === null || !summary.stream
            ? "–"
            : duration(summary.timeToFirstTokenMs)}
        </dd>
      </div>
    </dl>
  );
}

function Failure({ detail: { summary } }: { detail: InteractionDetail }) {
  if (summary.status === "completed" && summary.errorCode === null) return null;
  return (
    <p class="notice notice-failed">
      {endings[summary.status].meaning}
      {summary.errorCode === null ? null : (
        <>
          {` ${errors[summary.errorCode]?.message ?? ""} `}
          <code>{summary.errorCode}</code>
        </>
      )}
    </p>
  );
}

function LossPanel({ detail: { summary } }: { detail: InteractionDetail }) {
  const { translationLoss } = summary;
  return (
    <section class="facts">
      <h2>Translation</h2>
      {translationLoss.length === 0
        ? <p class="muted">The vendor was given every field of the request.</p>
        : (
          <>
            <p>The vendor could not be given these fields:</p>
            <ul class="losses">
              {translationLoss.map((path) => (
                <li>
                  <code>{path}</code>
                </li>
              ))}
            </ul>
          </>
        )}
    </section>
  );
}
