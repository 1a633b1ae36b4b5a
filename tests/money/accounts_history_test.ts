/** Random histories of accounts, call by call, against a model of plain sums. */
import { databasesOfThisRun } from "../support/databases.ts";
import { Random, seeds } from "../support/random.ts";
import { playSteps } from "./accounts/history.ts";
import { makeSteps, type Step } from "./accounts/steps.ts";
import { type Kind, openWorld, type World } from "./accounts/world.ts";

/** `HISTORIES=1000 deno test -A tests/money/accounts_history_test.ts` plays 25: each takes seconds. */
const histories = Math.ceil(Number(Deno.env.get("HISTORIES") ?? 0) / 40) || 2;
const steps = 25;
/** How many shorter histories are tried of one that fails. */
const maxTrials = 40;

const { postgres, embedded } = databasesOfThisRun();
const kinds: Kind[] = [
  ...postgres ? ["split"] as const : [],
  ...embedded ? ["embedded"] as const : [],
];

/** What failed once, as steps of its own. */
const earlier: readonly (readonly Step[])[] = [
  // A budget that another process set.
  [0, 1].flatMap((service): Step[] => [
    { do: "grant", nanos: 200_000_000n, times: 1 },
    {
      do: "budget",
      on: `user:user-${1 + service}`,
      per: "day",
      nanos: 3_000_000n,
      raise: undefined,
    },
    {
      ...{ do: "call", service, count: 8, user: `user-${1 + service}`, model: "vendor-b/gpt-4.1" },
      ...{ app: undefined, fallback: undefined, stream: false, failures: 0 },
      ...{ meanwhile: "nothing", repeats: 0, insists: false },
    },
  ]),
];

for (const kind of kinds) {
  Deno.test(`${histories} random histories of accounts keep every sum (${kind})`, async () => {
    await using world = await openWorld(kind);
    for (const each of earlier) await playSteps(world, each);
    for (const seed of seeds(histories)) {
      const failure = await failureOf(world, makeSteps(new Random(seed), steps));
      if (!failure) continue;
      console.error(`history ${seed} fails`, failure.thrown);
      const { steps: shortest, thrown } = await shorten(world, failure);
      const lines = shortest.map((step) =>
        JSON.stringify(step, (_, value) => typeof value === "bigint" ? `${value}` : value)
      );
      throw new Error(`history ${seed}, of which this fails:\n${lines.join("\n")}`, {
        cause: thrown,
      });
    }
  });
}

interface Failure {
  readonly steps: readonly Step[];
  readonly thrown: unknown;
}

async function failureOf(world: World, steps: readonly Step[]): Promise<Failure | undefined> {
  try {
    await playSteps(world, steps);
    return undefined;
  } catch (thrown) {
    return { steps, thrown };
  }
}

/** Leaves out what the failure doesn't need, in ever smaller portions. */
async function shorten(world: World, failure: Failure): Promise<Failure> {
  let shortest = failure;
  let trials = maxTrials;
  for (let size = Math.ceil(failure.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < shortest.steps.length && trials > 0; trials--) {
      const shorter = await failureOf(world, shortest.steps.toSpliced(at, size));
      if (shorter) shortest = shorter;
      else at += size;
    }
  }
  return shortest;
}
