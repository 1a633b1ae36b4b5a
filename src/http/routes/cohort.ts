import type { z } from "zod";
import type { cohortOutcome, cohortOutcomeAnswer } from "../../../contracts/data/cohort.ts";
import { contracts } from "../../../contracts/mod.ts";
import {
  type CohortStore,
  type OutcomeItem,
  type OutcomePost,
  outcomeValues,
} from "../../cohorts/cohort.ts";
import { differencesOf } from "../../cohorts/cohort_comparison.ts";
import { figuresBody, figuresOf } from "../../cohorts/cohort_report.ts";
import { modelsBody } from "../../cohorts/model_comparison.ts";
import { invalidValue } from "../../shared/fault.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { FlushRecords } from "../../records/flush_records.ts";
import { replayHeader, type Reply } from "../../relay/reply.ts";
import type { Endpoints } from "../bind.ts";
import { idempotent } from "../idempotent.ts";
import { jsonReply } from "../respond.ts";

/** Mounts the endpoints that report outcomes of a cohort and read its statistics. */
export function cohortRoutes(
  app: Endpoints,
  deps: {
    cohorts: CohortStore;
    flushRecords: FlushRecords;
    idempotency: Idempotency;
  },
): void {
  app.bind(contracts.postCohortOutcome, async ({ caller, body, bodyText }) => {
    const items = itemsOf(body, bodyText);
    const post = {
      accountId: caller.principal.account.id,
      apiKeyId: caller.principal.key.id,
      cohortId: body.cohort_id,
      requestId: caller.requestId,
      items,
    };
    const record = async () => acceptedReply(post, await deps.cohorts.post(post));
    return await idempotent(deps.idempotency, { caller, bodyText }, record);
  });

  app.bind(contracts.getCohort, async ({ caller, params, query }) => {
    const { cohort_id: cohortId } = params;
    const { compare } = query;
    if (compare === cohortId) {
      throw invalidValue("compare", "expected another cohort than the one that is asked for");
    }
    // A read includes every call that was answered before it.
    await deps.flushRecords({ accountId: caller.principal.account.id });
    const ids = [cohortId, ...(compare === undefined ? [] : [compare])];
    const cohorts = (await deps.cohorts.read(caller.principal.account.id, ids))
      .map((sums) => ({ sums, figures: figuresOf(sums) }));
    const [body, other] = cohorts.map(({ sums, figures }) => figuresBody(sums, figures));
    const [first, second] = cohorts;
    const models = query.by === undefined
      ? {}
      : modelsBody(await deps.cohorts.readModels(caller.principal.account.id, cohortId));
    if (!other || !second) return { ...body!, ...models };
    return {
      ...body!,
      ...models,
      comparison: {
        cohort: body!,
        compared_with: other,
        differences: differencesOf(first!, second),
      },
    };
  });
}

function itemsOf(body: z.output<typeof cohortOutcome>, bodyText: string): OutcomeItem[] {
  const values = outcomeValues(bodyText);
  const seen = new Set<string>();
  return body.conversions.map(({ type, label, id, transaction_id, session_id }, index) => {
    if (id && seen.has(id)) {
      const param = `conversions[${index}].id`;
      throw invalidValue(param, "the id is there twice");
    }
    if (id) seen.add(id);
    return {
      type,
      // Programs that have a text in its place send an empty one.
      label: label || null,
      valueNanos: values[index]!,
      itemId: id ?? null,
      transactionId: transaction_id ?? null,
      sessionId: session_id ?? null,
    };
  });
}

function acceptedReply(
  { cohortId, items }: OutcomePost,
  { accepted, repeated }: { accepted: number; repeated: boolean },
): Reply {
  const outcomes = items.length === 1 ? "outcome" : "outcomes";
  const answer: z.output<typeof cohortOutcomeAnswer> = {
    status: "ok",
    cohort_id: cohortId,
    accepted,
    message: accepted === items.length
      ? `${accepted} ${outcomes} recorded.`
      : `${accepted} of ${items.length} ${outcomes} recorded; the others were known.`,
  };
  // The store recognizes a repeat even if a crash lost the stored answer.
  return jsonReply(answer, repeated ? { headers: replayHeader } : {});
}
