import type { FlushRecords } from "../../records/flush_records.ts";
import { contracts } from "../../../contracts/mod.ts";
import { administratorBy, noteBy } from "../../administration/administration.ts";
import type { Audited, AuditLog, AuditNote } from "../../audit/audit.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { callerUnreadTimeout, pulledStream } from "../../base/pulled_stream.ts";
import type { ExportJob, NewExport } from "../../exports/export_job.ts";
import {
  describeExport,
  type ExportFormat,
  exportMediaType,
  type ExportSpec,
  readExportSpec,
} from "../../exports/export_spec.ts";
import { Fault } from "../../shared/fault.ts";
import type { CallContext } from "../../relay/call_context.ts";
import type { Exports } from "../../exports/exports.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import { callerLeftReply, type Reply } from "../../relay/reply.ts";
import type { Endpoints } from "../bind.ts";
import { errorReply } from "../errors.ts";
import { idempotent, repeatableHash } from "../idempotent.ts";
import { jsonReply } from "../respond.ts";

export function exportRoutes(
  app: Endpoints,
  deps: {
    exports: Audited<Exports>;
    flushRecords: FlushRecords;
    idempotency: Idempotency;
    audit: Pick<AuditLog, "record">;
    clock: Pick<Clock, "now">;
  },
): void {
  const { exports, audit } = deps;
  const by = administratorBy(deps.clock);
  const note = (caller: CallContext, action: string, subject: string, detail?: string) =>
    noteBy(by(caller), caller.principal.account.id, action, subject, detail);
  app.bind(contracts.createExport, async ({ caller, body, bodyText }) => {
    const accountId = caller.principal.account.id;
    const { spec, delivery } = readExportSpec(body, { accountId, hasBucket: exports.hasBucket });
    if (delivery === "stream") {
      await deps.flushRecords({ accountId });
      // The audit log says who took data out, before any of it leaves.
      await audit.record(note(caller, "export.downloaded", describeExport(spec)));
      const bytes = pulledStream(await exports.write(accountId, spec), callerUnreadTimeout);
      return { reply: { status: 200, headers: contentHeaders(spec.format), body: bytes } };
    }
    const run = async () => {
      await deps.flushRecords({ accountId });
      const detail = delivery === "bucket" ? "to the bucket" : "";
      const audit = note(caller, "export.created", describeExport(spec), detail);
      const hash = defined({ requestHash: repeatableHash(caller, bodyText) });
      return await startedReply(exports, caller, { spec, delivery, audit, ...hash });
    };
    return await idempotent(deps.idempotency, { caller, bodyText }, run);
  });
  app.bind(contracts.streamExport, async ({ caller, params, header }) => {
    const job = await exports.ready(caller.principal.account.id, params.request_id);
    await audit.record(note(caller, "export.downloaded", describeExport(job), job.requestId));
    return { reply: await fileReply(job, exports, header, caller.requestId) };
  });
  app.bind(contracts.listExports, async ({ caller }) => ({
    data: (await exports.list(caller.principal.account.id)).map((job) => ({
      request_id: job.requestId,
      state: job.state,
      format: job.format,
      bytes_size: job.bytesSize,
      created_at: job.createdAt.toISOString(),
      expires_at: job.expiresAt.toISOString(),
    })),
  }));
  app.bind(contracts.deleteExport, async ({ caller, params }) => {
    const { request_id: id } = params;
    const audit = note(caller, "export.deleted", id);
    const isFileGone = await exports.remove(caller.principal.account.id, id, audit);
    return {
      status: "success" as const,
      request_id: id,
      message: isFileGone
        ? "The export is gone, and its file with it."
        : "The export is gone. Its file can't be removed now; this is tried again every minute.",
    };
  });
}

async function startedReply(
  exports: Audited<Exports>,
  caller: CallContext,
  { spec, delivery, ...more }:
    & { spec: ExportSpec; delivery: "job" | "bucket"; audit: AuditNote }
    & Pick<NewExport, "requestHash">,
): Promise<Reply> {
  const started = await exports.start(caller.principal.account.id, spec, delivery, more);
  if (prefersAsync(caller.header("prefer"))) return accepted(started);
  const job = await exports.finished(started, caller.signal);
  if (!job) return callerLeftReply;
  return jsonReply(
    delivery === "bucket" ? { export_url: await exports.address(job) } : jobAnswer(job),
  );
}

/** RFC 7240; other preferences are ignored. */
function prefersAsync(prefer: string | undefined): boolean {
  return (prefer ?? "").split(",").some((one) => /^\s*respond-async\s*(;|$)/i.test(one));
}

function accepted(job: ExportJob): Reply {
  const headers = { "preference-applied": "respond-async" };
  return jsonReply(jobAnswer(job), { status: 202, headers });
}

function jobAnswer(job: ExportJob) {
  const address = `/api/v1/exports/${job.requestId}/stream`;
  return {
    status: "success" as const,
    request_id: job.requestId,
    bytes_size: job.bytesSize,
    message: job.state === "ready"
      ? `The export is written. Fetch it with GET ${address} until ${job.expiresAt.toISOString()}.`
      : `The export is being written. Fetch it with GET ${address}, which answers 409 until then.`,
  };
}

function contentHeaders(format: ExportFormat): Record<string, string> {
  return { "content-type": exportMediaType(format) };
}

/** The file or the requested part of it. A file never changes once it is written. */
async function fileReply(
  job: ExportJob,
  exports: Audited<Exports>,
  header: (name: string) => string | undefined,
  requestId: string,
): Promise<Reply> {
  const size = job.bytesSize;
  const etag = `"${job.requestId}.${job.claim}"`;
  const range = readByteRange(header("range"), header("if-range"), { size, etag });
  if (range.kind === "beyond") {
    const reply = errorReply(new Fault("range_not_satisfiable"), "service", requestId);
    return { ...reply, headers: { ...reply.headers, "content-range": `bytes */${size}` } };
  }
  const { start, end } = range.kind === "part" ? range : { start: 0, end: size };
  return {
    status: range.kind === "part" ? 206 : 200,
    headers: {
      ...contentHeaders(job.format),
      "content-length": String(end - start),
      "content-disposition": `attachment; filename="export-${job.requestId}.${job.format}"`,
      "accept-ranges": "bytes",
      etag,
      ...(range.kind === "part" ? { "content-range": `bytes ${start}-${end - 1}/${size}` } : {}),
    },
    body: pulledStream(await exports.read(job, start, end), callerUnreadTimeout),
  };
}

/** The part of a file to send; `end` is exclusive. */
export type ByteRange =
  | { kind: "whole" }
  | { kind: "part"; start: number; end: number }
  | { kind: "beyond" };

/**
 * Reads `Range` and `If-Range` (RFC 9110 §14). Anything but a single range of bytes, and a range of
 * another version of the file, is ignored as the RFC says: the whole file is sent.
 */
export function readByteRange(
  range: string | undefined,
  ifRange: string | undefined,
  file: { size: number; etag: string },
): ByteRange {
  const match = byteRange.exec(range ?? "");
  if (!match || (ifRange !== undefined && ifRange.trim() !== file.etag)) return { kind: "whole" };
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return { kind: "whole" };
  const { size } = file;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: "beyond" } : { kind: "part", start: size - length, end: size };
  }
  const start = Number(first);
  const end = last === "" ? size : Math.min(Number(last) + 1, size);
  if (last !== "" && Number(last) < start) return { kind: "whole" };
  return start >= size ? { kind: "beyond" } : { kind: "part", start, end };
}

/** Some clients add blanks; all counts are bounded, so that the pattern is linear. */
const byteRange = /^bytes\s{0,8}=\s{0,8}(\d{0,40})\s{0,8}-\s{0,8}(\d{0,40})\s{0,8}$/i;
