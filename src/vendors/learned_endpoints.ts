import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Clock } from "../base/clock.ts";
import type { Mode } from "../shared/interaction.ts";
import { type ToolDemand, toolDemands } from "../dialects/kernel/tool_demand.ts";

/** Names come from callers: no more of them are remembered. */
const mostModels = 10_000;
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
  /** Why the vendor has lately refused an addition of ours to such calls. */
  refusedAddition(calls: RefusedCalls): string | undefined;
  learnRefusedAddition(calls: RefusedCalls, cause: string): void;
}

export function createLearnedEndpoints(
  { clock }: { clock: Pick<Clock, "monotonicMs"> },
): LearnedEndpoints {
  const missing = new Set<string>();
  const proven = new Set<string>();
  /** Model → place in `toolDemands` of the least that was refused. */
  const refused = new Map<string, number>();
  const additions = new Map<string, { cause: string; untilMs: number }>();
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
    refusedAddition(calls) {
      if (additions.size === 0) return undefined;
      const found = additions.get(keyOfCalls(calls));
      return found && found.untilMs > clock.monotonicMs() ? found.cause : undefined;
    },
    learnRefusedAddition(calls, cause) {
      const key = keyOfCalls(calls);
      makeRoom(additions, key);
      additions.set(key, { cause, untilMs: clock.monotonicMs() + refusedMs });
    },
  };
}

/** The model learned first goes first. */
function makeRoom(models: Map<string, unknown>, key: string): void {
  if (!models.has(key) && models.size >= mostModels) models.delete(models.keys().next().value!);
}
