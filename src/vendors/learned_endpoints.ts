import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Clock } from "../base/clock.ts";
import type { Mode } from "../shared/interaction.ts";
import { type ToolDemand, toolDemands } from "../dialects/kernel/tool_demand.ts";

/** Cap on remembered models, whose names callers choose. */
const maxModels = 10_000;
/** Cap on causes per kind of call. The vendor words them, but few of them blame an addition. */
const maxCauses = 8;
/** How long a refusal counts. It may depend on an account at the vendor, whose rights change. */
const refusedMs = 10 * 60_000;

/** The kind of calls for which a vendor refused something that we had added. */
export interface RefusedCalls {
  label: string;
  model: string;
  dialect: DialectName;
  /** Kept per account, so that a refusal of one account's text doesn't change others' requests. */
  accountId: number;
  /** Whose vendor key was used: each organisation has its own rights at the vendor. */
  mode: Mode;
}

/**
 * What vendors' answers have shown about their endpoints. Kept in memory, most of it until the
 * process ends. Vendors are identified by label, since their addresses don't change in that time.
 */
export interface LearnedEndpoints {
  /** The vendor's endpoint of this dialect isn't there. */
  isMissing(label: string, dialect: DialectName): boolean;
  /** Says nothing of an endpoint that has answered before: one 404 may be a fault on the way. */
  learnMissing(label: string, dialect: DialectName): void;
  /** The endpoint has given an answer. */
  isProven(label: string, dialect: DialectName): boolean;
  learnProven(label: string, dialect: DialectName): void;
  /** Whether the chat endpoint has refused calls of the model with this demand or a smaller one. */
  chatRefuses(label: string, model: string, demand: ToolDemand): boolean;
  learnChatRefusal(label: string, model: string, demand: ToolDemand): void;
  /** The causes for which the vendor has lately refused our additions to such calls. */
  refusedAdditions(calls: RefusedCalls): string[];
  learnRefusedAddition(calls: RefusedCalls, cause: string): void;
}

export function createLearnedEndpoints(
  { clock }: { clock: Pick<Clock, "monotonicMs"> },
): LearnedEndpoints {
  const missing = new Set<string>();
  const proven = new Set<string>();
  /** Model → index in `toolDemands` of the smallest demand that was refused. */
  const refused = new Map<string, number>();
  /** Calls → cause → until when it counts (monotonic ms). */
  const additions = new Map<string, Map<string, number>>();
  const keyOfCalls = (calls: RefusedCalls) =>
    JSON.stringify([calls.label, calls.model, calls.dialect, calls.accountId, calls.mode]);
  const keyOf = (label: string, name: string) => `${label}/${name}`;
  return {
    isMissing: (label, dialect) => missing.has(keyOf(label, dialect)),
    learnMissing(label, dialect) {
      const key = keyOf(label, dialect);
      if (!proven.has(key)) missing.add(key);
    },
    isProven: (label, dialect) => proven.has(keyOf(label, dialect)),
    learnProven(label, dialect) {
      proven.add(keyOf(label, dialect));
      missing.delete(keyOf(label, dialect));
    },
    chatRefuses(label, model, demand) {
      return toolDemands.indexOf(demand) >= (refused.get(keyOf(label, model)) ?? Infinity);
    },
    learnChatRefusal(label, model, demand) {
      const key = keyOf(label, model);
      const least = Math.min(toolDemands.indexOf(demand), refused.get(key) ?? Infinity);
      makeRoom(refused, key);
      refused.set(key, least);
    },
    refusedAdditions(calls) {
      if (additions.size === 0) return [];
      const now = clock.monotonicMs();
      const found = [...additions.get(keyOfCalls(calls)) ?? []];
      return found.filter(([, untilMs]) => untilMs > now).map(([cause]) => cause);
    },
    learnRefusedAddition(calls, cause) {
      const key = keyOfCalls(calls);
      makeRoom(additions, key);
      const causes = additions.get(key) ?? new Map<string, number>();
      additions.set(key, causes);
      makeRoom(causes, cause, maxCauses);
      causes.set(cause, clock.monotonicMs() + refusedMs);
    },
  };
}

/** Drops the oldest entry of a full map, to make room for a new key. */
function makeRoom(learned: Map<string, unknown>, key: string, most = maxModels): void {
  if (!learned.has(key) && learned.size >= most) learned.delete(learned.keys().next().value!);
}
