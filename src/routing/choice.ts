import { createHash } from "node:crypto";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Route, WeightedTarget } from "./route.ts";
import type { TargetHealth } from "./target_health.ts";

/** The models that a call may be sent to, in the order in which they are asked. */
export type OrderedTargets = readonly [ResolvedModel, ...ResolvedModel[]];

/** The facts of a call that decide where it goes, besides its route. */
export interface RoutedCall {
  readonly sessionId: string | undefined;
  /** The end user. */
  readonly userId: string | undefined;
  /** Fallbacks that the call itself names; they come before the route's. */
  readonly fallbacks: readonly ResolvedModel[];
  /**
   * The call came with a vendor key, which must reach no vendor but that of the route's targets.
   */
  readonly isOneVendor: boolean;
}

export interface ChoiceDeps {
  targetHealth: Pick<TargetHealth, "isCooling">;
  /** Returns a number from 0 up to, but not including, 1; `Math.random` by default. */
  random?: () => number;
}

/**
 * Returns the targets in the order in which the call asks them: one chosen by weight, the others in
 * descending weight, then the fallbacks. Each is listed once; those that are cooling come last.
 */
export function orderTargets(
  { targetHealth, random = Math.random }: ChoiceDeps,
  route: Route,
  call: RoutedCall,
): OrderedTargets {
  const { targets, fallbacks } = route;
  const [{ target: only }] = targets;
  if (targets.length + fallbacks.length + call.fallbacks.length === 1) return [only];
  const all = [chooseTarget(route, call, random), ...targets].map(({ target }) => target)
    .concat(call.fallbacks, fallbacks)
    .filter((target) => !call.isOneVendor || sharesKey(target, only));
  const unique = withoutRepeats(all);
  const isCooling = new Set(unique.filter((target) => targetHealth.isCooling(target)));
  const [first = only, ...rest] = [
    ...unique.filter((target) => !isCooling.has(target)),
    ...isCooling,
  ];
  return [first, ...rest];
}

/** Keeps the first entry of each model. */
function withoutRepeats(models: readonly ResolvedModel[]): ResolvedModel[] {
  const seen = new Set<string>();
  return models.filter(({ id }) => !seen.has(id) && seen.add(id));
}

function sharesKey({ vendor }: ResolvedModel, other: ResolvedModel): boolean {
  return vendor.sharesWith === other.vendor.sharesWith;
}

function chooseTarget(
  { name, targets, stickBy }: Route,
  { sessionId, userId }: RoutedCall,
  random: () => number,
): WeightedTarget {
  const sticksTo = stickBy === "session" ? sessionId : stickBy === "user" ? userId : undefined;
  if (sticksTo !== undefined) {
    return highest(targets, ({ target, weight }) =>
      // Weighted rendezvous hashing: a target's score doesn't depend on the other targets, so that
      // a changed weight moves only calls to or from this target.
      -weight / Math.log(unitHash(`${name}\n${target.id}\n${sticksTo}`)));
  }
  const sum = targets.reduce((all, { weight }) => all + weight, 0);
  let left = random() * sum;
  return targets.find(({ weight }) => (left -= weight) < 0) ?? targets[0];
}

function highest(
  targets: Route["targets"],
  scoreOf: (one: WeightedTarget) => number,
): WeightedTarget {
  let best = targets[0];
  let bestScore = scoreOf(best);
  for (const one of targets.slice(1)) {
    const score = scoreOf(one);
    if (score > bestScore) [best, bestScore] = [one, score];
  }
  return best;
}

/** A number between 0 and 1, neither included, from 52 bits of the text's SHA-256. */
function unitHash(text: string): number {
  const digest = createHash("sha256").update(text).digest();
  const high = digest.readUInt32BE(0);
  const low = digest.readUInt32BE(4) >>> 12;
  return (high * 2 ** 20 + low + 0.5) / 2 ** 52;
}
