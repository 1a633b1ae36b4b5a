import { dataTables } from "../../../erasure/deletion.ts";
import type { InteractionDetail } from "../../../records/interaction_repository.ts";
import type { Transcript } from "../../../records/transcript.ts";
import {
  NotFound,
  orNotFound,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { Time } from "../../components.tsx";
import type { InteractionSummary } from "../../../shared/interaction.ts";
import { readTags } from "../../../shared/prompt_tags.ts";
import { confirmationRoutes } from "../../confirmation.tsx";
import { exactTime, shortText } from "../../format.ts";
import { DetailBody, payloadsNeeded } from "./detail_body.tsx";
import { modelOfCall, type VendorNames } from "../../vendor_names.ts";
import { inlineMedia, mediaAddresses } from "./media.ts";
import { listPath } from "./view.ts";

/** How much of a payload is read to show it as a conversation, in UTF-16 units. */
const readableChars = 4 * 1024 * 1024;
/** A payload that is opened by itself is read whole. */
const allChars = 256 * 1024 * 1024;

/** Pages of one call: the call itself, its raw payloads, its media, and its deletion. */
export function interactionRoutes(app: Routes, ctx: PageContext): void {
  app.get(`${listPath}/:id`, "viewer", async (request) => {
    const detail = await findCall(ctx, request, readableChars);
    const [transcript, cost, names] = await Promise.all([
      transcriptOf(ctx, detail),
      ctx.interactions.costLines(detail),
      ctx.keys.names(request.accountId, [detail.summary.apiKeyId]),
    ]);
    const { accountId, transactionId, createdAt } = detail.summary;
    const media = mediaAddresses(transcript, {
      sign: (sha256) => ctx.interactions.mediaSigner.sign(accountId, sha256),
      inline: (index) => `${listPath}/${transactionId}/media/${index}`,
    });
    return {
      title: titleOf(detail, transcript),
      section: "interactions",
      lead: `${modelOfCall(ctx.vendorNames, detail.summary)}, ${exactTime(createdAt)}`,
      action: <Actions detail={detail} request={request} />,
      body: (
        <DetailBody
          {...{ detail, transcript, cost, names, media }}
          vendors={ctx.vendorNames}
          seesPayloads={request.seesPayloads}
          now={request.now}
        />
      ),
    };
  });
  app.get(`${listPath}/:id/raw/:side`, "viewer", (request) => rawAnswer(ctx, request));
  app.get(`${listPath}/:id/media/:index`, "viewer", (request) => mediaAnswer(ctx, request));
  confirmationRoutes(app, {
    ...{ path: `${listPath}/:id/delete`, role: "owner", section: "interactions" },
    ...{ title: "Delete interaction", button: "Delete this interaction" },
    find: async (request) => (await findCall(ctx, request, 1)).summary,
    consequence: (call, { now }) => deletion(call, ctx.vendorNames, now),
    back: ({ transactionId }) => `${listPath}/${transactionId}`,
    async act({ transactionId }, request) {
      await ctx.interactions.deletions.erase({
        accountId: request.accountId,
        tables: dataTables,
        selectors: { transactionIds: [transactionId] },
        reason: "Deleted in the dashboard",
        audit: (deletionId) =>
          request.note("interaction.deleted", transactionId, `deletion ${deletionId}`),
      });
      const text = "The interaction and everything derived from it were deleted.";
      return { to: listPath, notice: { kind: "done", text } };
    },
  });
}

/** Finds a call of the account; flushes records first if it may not be written yet. */
async function findCall(
  ctx: PageContext,
  request: PageRequest,
  maxChars: number,
): Promise<InteractionDetail> {
  const id = request.param("id");
  if (!/^[\w-]{1,100}$/.test(id)) throw new NotFound();
  const find = () => ctx.interactions.interactions.find(request.accountId, id, maxChars);
  let found = await find();
  if (!found) {
    await ctx.interactions.flushRecords();
    found = await find();
  }
  return visibleTo(request, orNotFound(found));
}

/** Removes what was sent and received from the call, unless the person may see payloads. */
function visibleTo(request: PageRequest, detail: InteractionDetail): InteractionDetail {
  if (request.seesPayloads) return detail;
  const { vendorAnswer } = detail;
  return {
    ...detail,
    request: null,
    response: null,
    vendorAnswer: vendorAnswer && { ...vendorAnswer, message: "" },
  };
}

/** Returns the first words of the prompt, by which people recognize a call. */
function titleOf({ summary }: InteractionDetail, { request }: Transcript): string {
  const turn = request?.turns.find(({ role }) => role === "user");
  const text = turn?.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join(" ") ??
    "";
  const beginning = withoutTags(text).slice(0, 500).replace(/\s+/g, " ").trim();
  if (beginning === "") return summary.model;
  return shortText(beginning, maxTitle);
}

const maxTitle = 70;

/** Removes the tags at the beginning, which are the same in all calls of an app. */
function withoutTags(text: string): string {
  try {
    return text.slice(readTags(text).length);
  } catch {
    return text;
  }
}

async function transcriptOf(
  ctx: PageContext,
  { summary, request, response }: InteractionDetail,
): Promise<Transcript> {
  return await ctx.interactions.readTranscript(summary.dialect, {
    request: request?.text ?? null,
    response: response?.text ?? null,
    status: summary.status,
  });
}

/** Answers with a payload as it is stored, as plain text so that browsers run nothing in it. */
async function rawAnswer(ctx: PageContext, request: PageRequest): Promise<Response | Page> {
  if (!request.seesPayloads) return noPayloads;
  const side = request.param("side");
  if (side !== "request" && side !== "response") throw new NotFound();
  const payload = orNotFound((await findCall(ctx, request, allChars))[side]);
  return new Response(payload.text, {
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}

/** Answers with a small image or sound that is inline in the payload. */
async function mediaAnswer(ctx: PageContext, request: PageRequest): Promise<Response | Page> {
  if (!request.seesPayloads) return noPayloads;
  const detail = await findCall(ctx, request, readableChars);
  const found = orNotFound(inlineMedia(await transcriptOf(ctx, detail), request.param("index")));
  return new Response(found.bytes, {
    headers: {
      "content-type": found.type,
      "content-disposition": found.isShown ? "inline" : "attachment",
      "cache-control": "private, no-store",
    },
  });
}

const noPayloads: Page = {
  title: "Not for viewers",
  section: "interactions",
  status: 403,
  body: <p class="notice notice-failed">{payloadsNeeded}</p>,
};

function Actions({ detail, request }: { detail: InteractionDetail; request: PageRequest }) {
  if (!request.may("owner")) return null;
  return (
    <a
      class="button button-danger"
      href={`${listPath}/${detail.summary.transactionId}/delete`}
    >
      Delete
    </a>
  );
}

function deletion(
  call: InteractionSummary,
  vendors: VendorNames,
  now: Date,
) {
  return (
    <>
      <p>
        The call of <strong>{modelOfCall(vendors, call)}</strong> from{" "}
        <Time at={call.createdAt} now={now} />{" "}
        is erased: its row, request, answer and media, results of evaluations that were drawn from
        it, and export files that may hold it. What it cost stays on the account's ledger. This
        can't be undone.
      </p>
      <p class="muted">
        <code>{call.transactionId}</code>
      </p>
    </>
  );
}
