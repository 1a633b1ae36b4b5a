import type { z } from "zod";
import { contracts } from "../../../contracts/mod.ts";
import type { Clock } from "../../base/clock.ts";
import { administratorBy, noteBy } from "../../administration/administration.ts";
import type { CallContext } from "../../relay/call_context.ts";
import { dataTables, selectorKinds, type Selectors, totalOf } from "../../erasure/deletion.ts";
import { deletionBody } from "../../erasure/deletion_body.ts";
import { deletionSelectors, erasureSelectors } from "../../erasure/deletion_scope.ts";
import { Fault } from "../../shared/fault.ts";
import type { Audited } from "../../audit/audit.ts";
import type { Deletions } from "../../erasure/deletions.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { Endpoints } from "../bind.ts";
import { idempotent } from "../idempotent.ts";
import { jsonReply } from "../respond.ts";

/** Mounts both forms of deletion, and the endpoint for their progress and receipts. */
export function deletionRoutes(
  app: Endpoints,
  deps: {
    deletions: Audited<Deletions>;
    idempotency: Idempotency;
    clock: Pick<Clock, "now">;
  },
): void {
  const { deletions, idempotency } = deps;
  const by = administratorBy(deps.clock);
  const auditOf = (caller: CallContext, selectors: Selectors) => (deletionId: string) => {
    const { account, key } = caller.principal;
    const detail = `by ${selectorKinds(selectors)}; with key ${key.id}`;
    return noteBy(by(caller), account.id, "data.deleted", deletionId, detail);
  };
  app.bind(contracts.deleteData, async ({ caller, body, bodyText }) => {
    const selectors = deletionSelectors(body);
    if (!body.dry_run) requireConfirm(body.confirm);
    const wanted = {
      ...{ accountId: caller.principal.account.id, tables: body.tables, selectors, reason: null },
      audit: auditOf(caller, selectors),
    };
    const run = async () =>
      jsonReply(body.dry_run ? await dryRun(deletions, wanted) : await erase(deletions, wanted));
    return await idempotent(idempotency, { caller, bodyText, method: "DELETE" }, run);
  });
  app.bind(contracts.requestErasure, async ({ caller, body, bodyText }) => {
    const selectors = erasureSelectors(body);
    const wanted = {
      accountId: caller.principal.account.id,
      tables: dataTables,
      selectors,
      reason: body.reason,
      audit: auditOf(caller, selectors),
    };
    const run = async () => jsonReply(await queue(deletions, wanted));
    return await idempotent(idempotency, { caller, bodyText }, run);
  });
  app.bind(contracts.getDeletion, async ({ caller, params }) => {
    const found = await deletions.find(caller.principal.account.id, params.request_id);
    if (!found) {
      throw new Fault("deletion_not_found", {
        param: "request_id",
        message: `request_id: no deletion has the id '${params.request_id.slice(0, 100)}'.`,
      });
    }
    return deletionBody(found);
  });
}

type AuditedDeletion = Parameters<Audited<Deletions>["erase"]>[0];
type DeletionAnswer = z.input<typeof contracts.deleteData.answer>;

async function dryRun(
  deletions: Audited<Deletions>,
  wanted: AuditedDeletion,
): Promise<DeletionAnswer> {
  const count = totalOf(await deletions.count(wanted));
  const message = `Dry run: ${rowsOf(count)} would be deleted. Nothing was.`;
  return { status: "success", deleted_count: count, message };
}

async function erase(
  deletions: Audited<Deletions>,
  wanted: AuditedDeletion,
): Promise<DeletionAnswer> {
  const { deletionId, counts } = await deletions.erase(wanted);
  const count = totalOf(counts);
  const message = `${rowsOf(count)} deleted.`;
  return { status: "success", deleted_count: count, message, deletion_id: deletionId };
}

async function queue(
  deletions: Audited<Deletions>,
  wanted: AuditedDeletion,
): Promise<z.input<typeof contracts.requestErasure.answer>> {
  const requestId = await deletions.queue(wanted);
  const path = `/api/v1/data/requests/${requestId}`;
  const message = `The deletion is queued; its progress and receipt are at ${path}.`;
  return { status: "ok", message, request_id: requestId };
}

function requireConfirm(confirm: boolean | undefined): void {
  if (confirm === true) return;
  throw new Fault(confirm === undefined ? "missing_required_field" : "invalid_value", {
    param: "confirm",
    message: "confirm: must be true for a deletion to run; dry_run needs none.",
  });
}

function rowsOf(count: number): string {
  return count === 1 ? "1 row" : `${count} rows`;
}
