import type { DialectName } from "../../contracts/calls/vendors.ts";
import { type ToolDemand, toolDemands } from "../dialects/kernel/tool_demand.ts";

/** Names come from callers: no more of them are remembered. */
const mostModels = 10_000;

/**
 * What vendors' answers have shown of their endpoints: held by the process, until it ends. A vendor
 * is known by its label, since its address doesn't change while the process lives.
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
}

export function createLearnedEndpoints(): LearnedEndpoints {
  const missing = new Set<string>();
  const proven = new Set<string>();
  /** Model → place in `toolDemands` of the least that was refused. */
  const refused = new Map<string, number>();
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
      if (!refused.has(key) && refused.size >= mostModels) {
        refused.delete(refused.keys().next().value!);
      }
      refused.set(key, least);
    },
  };
}
