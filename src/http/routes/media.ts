import { contracts } from "../../../contracts/mod.ts";
import { Fault } from "../../shared/fault.ts";
import type { MediaFacts, MediaStore } from "../../shared/media.ts";
import type { MediaSigner } from "../../records/signed_media.ts";
import type { FlushRecords } from "../../records/flush_records.ts";
import { type Endpoints, type ReplyOutput } from "../bind.ts";

type MediaRouteDeps = {
  media: MediaStore;
  mediaSigner: MediaSigner;
  flushRecords: FlushRecords;
};

/** Mounts `GET /api/v1/media/{sha256}` for callers with a key. */
export function mediaRoutes(app: Endpoints, deps: MediaRouteDeps): void {
  app.bind(
    contracts.getMedia,
    ({ caller, params }) => reply(deps, caller.principal.account.id, params.sha256),
  );
}

/** Mounts it for signed URLs, which need no key: before authentication. */
export function signedMediaRoutes(app: Endpoints, deps: MediaRouteDeps): void {
  app.bindPublic(
    contracts.getMedia,
    ({ params: { sha256 }, query: { expires, signature } }) => {
      const accountId = deps.mediaSigner.check(sha256, expires ?? "", signature ?? "");
      if (accountId === undefined) throw notFound();
      // Pages of any origin may embed a signed URL.
      return reply(deps, accountId, sha256, { "cross-origin-resource-policy": "cross-origin" });
    },
    ({ query, header }) =>
      query("signature") !== undefined && header("authorization") === undefined &&
      header("x-api-key") === undefined,
  );
}

/** Bytes per read from the store. */
const pieceBytes = 1024 * 1024;

async function reply(
  { media, flushRecords }: MediaRouteDeps,
  accountId: number,
  sha256: string,
  more: Readonly<Record<string, string>> = {},
): Promise<ReplyOutput> {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw notFound();
  let facts = await media.find(accountId, sha256);
  if (!facts) {
    // The payload that names it may not be written yet.
    await flushRecords({ accountId });
    facts = await media.find(accountId, sha256);
  }
  if (!facts) throw notFound();
  const first = await media.read(sha256, 0, pieceBytes);
  return {
    reply: {
      status: 200,
      headers: { ...headersOf(facts, sha256), ...more },
      body: piecesOf(media, sha256, first, facts.bytes),
    },
  };
}

function headersOf({ bytes, mimeType }: MediaFacts, sha256: string): Record<string, string> {
  return {
    "content-type": /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : "application/octet-stream",
    "content-length": String(bytes),
    "content-disposition": `${
      shown.test(mimeType) ? "inline" : "attachment"
    }; filename="${sha256}"`,
    // Erased media must not live on in caches.
    "cache-control": "private, no-store",
  };
}

/** Types that a browser doesn't execute: the bytes are untrusted. */
const shown = /^(image\/(png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

function piecesOf(
  media: MediaStore,
  sha256: string,
  first: Uint8Array,
  bytes: number,
): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      const piece = sent === 0 ? first : await media.read(sha256, sent, pieceBytes);
      if (piece.length === 0 && sent < bytes) {
        return controller.error(new Error("The media was erased while it was read."));
      }
      sent += piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      if (sent >= bytes) controller.close();
    },
  });
}

function notFound(): Fault {
  return new Fault("media_not_found", {
    param: "sha256",
    message: "sha256: no stored payload of this account names this media.",
  });
}
