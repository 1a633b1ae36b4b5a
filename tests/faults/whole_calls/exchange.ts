import type { Random } from "../../support/random.ts";
import type { Errand, KeyName } from "./calls.ts";
import type { HookDeed } from "./hooks.ts";
import type { World } from "./world.ts";

/** A change of an account's credit, which must be made exactly once however often it is sent. */
export interface CreditChange {
  /** Also the id of its request, and its note in the ledger. */
  readonly id: string;
  readonly accountId: number;
  readonly nanos: bigint;
  isAnswered: boolean;
}

/** A time in which no call may be charged that arrives then. */
export interface Closure {
  readonly what: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly of: Readonly<{ accountId?: number; app?: string; keyId?: string }>;
}

/** What operators did with money, and what follows from it. */
export interface MoneyDeeds {
  readonly credits: CreditChange[];
  readonly closures: Closure[];
  /** Closures last one at a time, since each ends by undoing its change; caps change between them. */
  isClosing: boolean;
}

/** What operators and owners did beside the calls. */
export interface Deeds {
  readonly deletions: Deletion[];
  readonly outcomes: {
    id: string;
    key: KeyName;
    nanos: bigint;
    taken: boolean;
    session?: string;
  }[];
  /** Answers that no operation should have. */
  readonly unexpected: string[];
  readonly done: Map<string, number>;
  repriced: boolean;
  /** The table by which all calls were repriced at the end. */
  lastPrices?: number;
  readonly money: MoneyDeeds;
  readonly hooks: HookDeed[];
  /** Sessions of the database were ended meanwhile. */
  readonly isCut: boolean;
}

export interface Deletion {
  readonly accountId: number;
  readonly by: "user" | "session" | "transaction";
  readonly value: string;
  readonly startMs: number;
  /** When it was answered, and its answer was good. */
  endMs?: number;
  id?: string;
}

/** What an operation works on. */
export interface Exchange {
  readonly world: World;
  readonly errands: readonly Errand[];
  readonly deeds: Deeds;
  readonly random: Random;
  readonly seed: number;
}

export async function ask(
  { world, random }: Pick<Exchange, "world" | "random">,
  key: KeyName,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; process: string }> {
  const place = random.pick(world.running());
  if (!place?.service) return { status: 0, text: "", process: "" };
  const process = place.name;
  try {
    const answer = await fetch(place.service.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${world.keys.get(key)!.key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // Longer than a pause: a process that goes on would still do what nobody waits for.
      signal: AbortSignal.timeout(60_000),
    });
    return { status: answer.status, text: await answer.text(), process };
  } catch (thrown) {
    return { status: 0, text: String(thrown), process };
  }
}

export type Operation = (exchange: Exchange) => Promise<unknown>;

/** Notes an answer that the operation should not have. */
export function expectStatus(
  { deeds }: Exchange,
  what: string,
  status: number,
  text: string,
  allowed: readonly number[],
): void {
  // A process may be ended meanwhile.
  if (status === 0 || allowed.includes(status)) return;
  // Other programs may keep the machine, and so the database, from answering in time.
  if (status === 503 && (deeds.isCut || text.includes("store_unavailable"))) return;
  deeds.unexpected.push(`${what}: ${status} ${text.slice(0, 300)}`);
}
