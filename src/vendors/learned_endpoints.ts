import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Clock } from "../base/clock.ts";
import type { Mode } from "../shared/interaction.ts";
import { type ToolDemand, toolDemands } from "../dialects/kernel/tool_demand.ts";

/** Names come from callers: no more of them are remembered. */
const mostModels = 10_000;
/** A refusal's words that name an addition are few; vendors word them. */
const mostCauses = 8;
/** What a vendor refuses may depend on an account there, whose rights change. */
const refusedMs = 10 * 60_000;

/** The calls of which a vendor refused an addition of ours. */
export interface RefusedCalls {
  label: string;
  model: string;
  dialect: DialectName;
  /** One account's words must not change what others are asked with. */
  accountId: number;
  /** By which of its vendor keys, since organisations have rights of their own. */
  mode: Mode;
}

/**
 * What vendors' answers have shown of their endpoints: held by the process, most of it until that
 * ends. A vendor is known by its label, since its address doesn't change while the process lives.
 */
export interface LearnedEndpoints {
  /** The vendor's endpoint of this dialect isn't there. */
  isMissing(label: string, dialect: DialectName): boolean;
  learnMissing(label: string, dialect: DialectName): void;
  /** The endpoint has given an answer. */
  isProven(label: string, dialect: DialectName): boolean;
  learnProven(label: string, dialect: DialectName): void;
  /** Whether the chat endpoint has refused calls of the model that asked for this, or for less. */
  chatRefuses(label: string, model: string, demand: ToolDemand): boolean;
  learnChatRefusal(label: string, model: string, demand: ToolDemand): void;
  /** Why the vendor has lately refused additions of ours to such calls, a cause for each. */
  refusedAdditions(calls: RefusedCalls): string[];
  learnRefusedAddition(calls: RefusedCalls, cause: string): void;
}

export function createLearnedEndpoints(
  { clock }: { clock: Pick<Clock, "monotonicMs"> },
): LearnedEndpoints {
  const missing = new Set<string>();
  const proven = new Set<string>();
  /** Model → place in `toolDemands` of the least that was refused. */
  const refused = new Map<string, number>();
  /** Calls → cause → until when it counts. */
  const additions = new Map<string, Map<string, number>>();
  const keyOfCalls = (calls: RefusedCalls) =>
    JSON.stringify([calls.label, calls.model, calls.dialect, calls.accountId, calls.mode]);
  const keyOf = (label: string, name: string) => `${label}/${name}`;
  return {
    isMissing: (label, dialect) => missing.has(keyOf(label, dialect)),
    learnMissing(label, dialect) {
      missing.add(keyOf(label, dialect));
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
      makeRoom(causes, cause, mostCauses);
      causes.set(cause, clock.monotonicMs() + refusedMs);
    },
  };
}

/** What was learned first goes first. */
function makeRoom(learned: Map<string, unknown>, key: string, most = mostModels): void {
  if (!learned.has(key) && learned.size >= most) learned.delete(learned.keys().next().value!);
}
