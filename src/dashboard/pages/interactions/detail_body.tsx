import { endings, latencyText } from "./endings.ts";
import type { InteractionDetail } from "../../../records/interaction_repository.ts";
import type { CostLines } from "../../../repricing/cost_lines.ts";
import type { Transcript } from "../../../records/transcript.ts";
import { errors } from "../../../../contracts/kernel/errors.ts";
import { Badge, BoxedFact } from "../../components.tsx";
import { Conversation } from "./conversation.tsx";
import { AttemptPanel, CostPanel, LabelPanel, TimingPanel, TokenPanel } from "./detail_panels.tsx";
import { count, duration, usd } from "../../amounts.ts";
import { vendorName, type VendorNames } from "../../vendor_names.ts";
import type { MediaAddresses } from "./media.ts";
import { RawPayloads } from "./raw_payloads.tsx";

/** All that a call's page shows. */
export interface DetailProps {
  detail: InteractionDetail;
  transcript: Transcript;
  cost: CostLines | undefined;
  /** Names of keys by their ids. */
  names: ReadonlyMap<string, string>;
  vendors: VendorNames;
  media: MediaAddresses;
  /** Whether the person may see what was sent and received. */
  seesPayloads: boolean;
  now: Date;
}

export const payloadsNeeded =
  "Prompts and answers are visible to members and owners, and to viewers whom an owner allows to see them.";

export function DetailBody(props: DetailProps) {
  const { detail, transcript, cost, names, vendors, media, seesPayloads, now } = props;
  const facts = { summary: detail.summary, names, vendors, now };
  return (
    <>
      <Headline detail={detail} />
      <Failure detail={detail} vendors={vendors} />
      <div class="detail">
        <div class="detail-main">
          {seesPayloads
            ? (
              <>
                <Conversation detail={detail} transcript={transcript} media={media} />
                <RawPayloads detail={detail} />
              </>
            )
            : <p class="notice">{payloadsNeeded}</p>}
        </div>
        <div class="detail-side">
          <LabelPanel {...facts} />
          <TimingPanel detail={detail} />
          <AttemptPanel detail={detail} vendors={vendors} />
          <TokenPanel {...facts} />
          <CostPanel {...{ detail, cost, vendors }} />
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
      <BoxedFact name="Status">
        <Badge tone={tone}>{label}</Badge>
        {summary.httpStatus === null
          ? null
          : <span class="muted">{` HTTP ${summary.httpStatus}`}</span>}
      </BoxedFact>
      <BoxedFact name="Cost">
        {summary.costNanos === null ? "No price known" : usd(summary.costNanos)}
      </BoxedFact>
      <BoxedFact name="Tokens">
        {summary.inputTokens === null && summary.outputTokens === null ? "–" : count(tokens)}
      </BoxedFact>
      <BoxedFact name="Latency">{latencyText(summary)}</BoxedFact>
      <BoxedFact name="First token">
        {summary.timeToFirstTokenMs === null || !summary.stream
          ? "–"
          : duration(summary.timeToFirstTokenMs)}
      </BoxedFact>
    </dl>
  );
}

/** Why a call failed: the error, the vendor's own message, and how often the vendor was asked. */
function Failure(
  { detail: { summary, vendorAnswer }, vendors }: Pick<DetailProps, "detail" | "vendors">,
) {
  if (summary.status === "completed" && summary.errorCode === null) return null;
  const { status, errorCode, attempts } = summary;
  // The error's own text says the same of these.
  const isExplained = status === "failed" || status === "truncated" && errorCode !== null;
  return (
    <div class="notice notice-failed">
      <p>
        {isExplained ? null : `${endings[status].meaning} `}
        {errorCode === null ? null : (
          <>
            {`${errors[errorCode]?.message ?? ""} `}
            <code>{errorCode}</code>
          </>
        )}
      </p>
      {vendorAnswer === null ? null : (
        <p>
          {`${vendorName(vendors, summary.vendor)} answered ${
            vendorAnswer.status === null ? "with an error" : `HTTP ${vendorAnswer.status}`
          }${vendorAnswer.message === "" ? "." : ": "}`}
          {vendorAnswer.message === "" ? null : <q class="vendor-words">{vendorAnswer.message}</q>}
        </p>
      )}
      {attempts === undefined
        ? null
        : <p>{`It was asked ${count(attempts.length)} times in ${duration(summary.latencyMs)}.`}
        </p>}
    </div>
  );
}

function LossPanel({ detail: { summary } }: { detail: InteractionDetail }) {
  const { translationLoss } = summary;
  return (
    <section class="facts">
      <h2>Translation</h2>
      {translationLoss.length === 0
        ? <p class="muted">Every field of the request was passed to the vendor.</p>
        : (
          <>
            <p>These fields could not be passed to the vendor:</p>
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
