import { bytes } from "../../amounts.ts";
import { indentJson } from "../../../base/indent_json.ts";
import type { InteractionDetail, StoredPayload } from "../../../records/interaction_repository.ts";
import { listPath } from "./view.ts";

/** How many characters of a payload the page shows; the whole payload has its own address. */
const shownChars = 24 * 1024;

/** Shows exactly what the caller sent and received. */
export function RawPayloads({ detail }: { detail: InteractionDetail }) {
  const { summary, request, response } = detail;
  const isRecorded = summary.recording !== "metadata";
  return (
    <section class="raw">
      <h2>Raw payloads</h2>
      <p class="muted">
        As the caller sent and received them; a stream as one whole answer, large media by URL. The
        exchange with the vendor is not stored separately.
      </p>
      {isRecorded
        ? (
          <>
            <Payload title="Request" side="request" payload={request} id={summary.transactionId} />
            <Payload
              title="Response"
              side="response"
              payload={response}
              id={summary.transactionId}
            />
          </>
        )
        : <p class="muted">Not recorded: this call has only metadata.</p>}
      {summary.usageRawText === null ? null : (
        <details class="payload">
          <summary>Usage as the vendor reported it</summary>
          <pre tabindex={0} aria-label="Usage"><code>{
            indentJson(summary.usageRawText, shownChars).text
          }</code></pre>
        </details>
      )}
      {summary.payloadTruncated
        ? <p class="muted">A payload was too large and is truncated.</p>
        : null}
    </section>
  );
}

function Payload({ title, side, payload, id }: {
  title: string;
  side: "request" | "response";
  payload: StoredPayload | null;
  id: string;
}) {
  if (payload === null) {
    return (
      <p class="muted">
        {`${title}: none is stored. The call had none, or its retention time is over.`}
      </p>
    );
  }
  const shown = indentJson(payload.text, shownChars);
  const href = `${listPath}/${id}/raw/${side}`;
  return (
    <details class="payload">
      <summary>
        {title} <span class="muted">{bytes(payload.bytes)}</span>
      </summary>
      <pre tabindex={0} aria-label={title}><code>{shown.text}</code></pre>
      <p>
        {shown.isWhole && payload.isWhole
          ? null
          : <span class="muted">{`This is the beginning. `}</span>}
        <a href={href}>
          {shown.isWhole && payload.isWhole ? "Open as text" : "Show all as text"}
          <span class="visually-hidden">{`: ${title}`}</span>
        </a>
      </p>
    </details>
  );
}
