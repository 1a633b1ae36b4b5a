import type { Random } from "../../support/random.ts";
import type { Per } from "./model.ts";

export const users = ["user-1", "user-2"] as const;
/** The tag of some calls. */
export const app = "shop";
/** What budgets are on; a call counts under each that fits. */
const scopes = ["account", "user:user-1", "user:user-2", `app:${app}`] as const;

/** Calls at once, each with a text of its own. */
export interface CallStep {
  readonly do: "call";
  readonly service: number;
  readonly count: number;
  readonly user: string;
  readonly app: string | undefined;
  readonly model: string;
  readonly fallback: string | undefined;
  readonly stream: boolean;
  /** How often vendors fail before one answers. */
  readonly failures: number;
  readonly meanwhile: Meanwhile;
  /** How often each is asked once more, with the same id, of any process. */
  readonly repeats: number;
  /** Whether a refusal must not last if there is credit. */
  readonly insists: boolean;
}

/**
 * What happens while vendors have the calls: the day or month turns, sessions of the database end,
 * the key is replaced, all credit is taken back, stored calls are repriced, or the user is erased.
 */
export type Meanwhile =
  | ("nothing" | "day" | "month" | "cut")
  | ("replace key" | "take back" | "reprice" | "erase user");

/** What is done to an account. Numbers are random, and taken modulo what there is. */
export type Step =
  | CallStep
  | { readonly do: "cached"; readonly text: number; readonly service: number }
  | { readonly do: "background"; readonly service: number; readonly cancels: boolean }
  | {
    readonly do: "eval";
    readonly which: number;
    readonly model: string;
    readonly service: number;
  }
  | { readonly do: "grant" | "deduct"; readonly nanos: bigint; readonly times: number }
  | { readonly do: "cap"; readonly per: Per; readonly nanos: bigint }
  | BudgetStep
  | { readonly do: "remove budget"; readonly which: number }
  | { readonly do: "replace key" }
  | { readonly do: "turn"; readonly per: Per }
  | { readonly do: "reprice"; readonly table: number }
  | { readonly do: "erase"; readonly which: number }
  | { readonly do: "erase user"; readonly user: string }
  | { readonly do: "check" };

export interface BudgetStep {
  readonly do: "budget";
  readonly on: string;
  readonly per: Per;
  readonly nanos: bigint;
  /** A higher or lower limit for some days. */
  readonly raise: { readonly nanos: bigint; readonly days: number } | undefined;
}

/** From a call's worth to dozens. */
const amount = (random: Random) => BigInt(1 + random.below(200)) * 1_000_000n;

/** Returns what a seed does; a part of it can be played as well. */
export function makeSteps(random: Random, count: number): Step[] {
  const first: Step[] = [{ do: "grant", nanos: 200_000_000n, times: 1 }];
  return [...first, ...Array.from({ length: count }, () => makeStep(random))];
}

const models = [
  "vendor-b/gpt-4.1",
  "vendor-c/claude-haiku-4-5",
  "vendor-d/gemini-2.5-flash",
  "vendor-b/gpt-4.1-nano",
];
/** Its calls are shared out among models. */
export const mix = {
  mix: {
    targets: models.slice(0, 2).map((model, index) => ({ model, weight: 1 + index })),
    fallbacks: models.slice(2),
  },
};

function makeStep(random: Random): Step {
  const per = random.pick(["day", "month"] as const);
  const service = random.below(100);
  return random.weighted<() => Step>([
    [40, () => makeCalls(random, service)],
    [6, () => ({ do: "cached", text: random.below(2), service })],
    [4, () => ({ do: "background", service, cancels: random.chance(50) })],
    [3, () => ({ do: "eval", which: random.below(100), model: random.pick(models), service })],
    [8, () => ({ do: "grant", nanos: amount(random), times: 1 + random.below(3) })],
    [3, () => ({ do: "deduct", nanos: amount(random) / 4n, times: 1 + random.below(2) })],
    [5, () => ({ do: "cap", per, nanos: amount(random) })],
    [6, () => ({ ...makeBudget(random), per })],
    [2, () => ({ do: "remove budget", which: random.below(100) })],
    [2, () => ({ do: "replace key" })],
    [4, () => ({ do: "turn", per: random.chance(80) ? "day" : "month" })],
    [3, () => ({ do: "reprice", table: random.below(2) })],
    [4, () => ({ do: "erase", which: random.below(100) })],
    [1, () => ({ do: "erase user", user: random.pick(users) })],
    [2, () => ({ do: "check" })],
  ])();
}

function makeBudget(random: Random): BudgetStep {
  return {
    do: "budget",
    on: random.pick(scopes),
    per: "day",
    nanos: amount(random),
    raise: random.chance(30) ? { nanos: amount(random), days: 1 + random.below(3) } : undefined,
  };
}

function makeCalls(random: Random, service: number): CallStep {
  return {
    do: "call",
    service,
    count: random.pick([1, 1, 2, 4, 8]),
    user: random.pick(users),
    app: random.chance(30) ? app : undefined,
    model: random.pick([...models, "mix"]),
    fallback: random.chance(40) ? random.pick(models) : undefined,
    stream: random.chance(40),
    failures: random.pick([0, 0, 0, 0, 1, 2, 9]),
    meanwhile: random.weighted<Meanwhile>([
      ...[[73, "nothing"], [6, "day"], [2, "month"], [7, "cut"]] as const,
      ...[[3, "replace key"], [3, "take back"], [3, "reprice"], [3, "erase user"]] as const,
    ]),
    repeats: random.pick([0, 0, 0, 1, 2]),
    insists: random.chance(5),
  };
}
