import type { KeyName } from "./calls.ts";
import {
  ask,
  type Closure,
  type CreditChange,
  type Exchange,
  expectStatus,
  type Operation,
} from "./exchange.ts";
import { pauseMs } from "./world.ts";

/**
 * "Within about a second", and at the latest when the lease ends by which a process goes on that
 * didn't hear of it (`LEASE_SECONDS`, here 5).
 */
export const effectMs = 5_500;
const closedMs = 1_500;
/** No amount of a request is smaller; no call fits. */
const nextToNothing = "0.000000001";
const caps = ["0.03", "0.05", "0.08"] as const;
/** The highest of `caps`. */
export const maxCapNanos = 80_000_000n;
const limits = ["0.01", "0.02", "0.03"] as const;
/** The highest of `limits`. */
export const maxLimitNanos = 30_000_000n;

const usd = (nanos: bigint) => {
  const text = String(nanos < 0n ? -nanos : nanos).padStart(10, "0");
  return `${text.slice(0, -9)}.${text.slice(-9)}`;
};

export const moneyOperations: Readonly<Record<string, readonly [number, Operation]>> = {
  grant: [3, (exchange) => changeCredit(exchange, "team", 40_000_000n)],
  deduct: [1, (exchange) => changeCredit(exchange, "team", -10_000_000n)],
  "repeat a change of credit": [1, async (exchange) => {
    const { credits } = exchange.deeds.money;
    if (credits.length > 0) await send(exchange, exchange.random.pick(credits));
  }],
  "change prices": [1, ({ world, random }) => world.setPrices(random.below(2))],
  "change a cap": [2, (exchange) =>
    alone(exchange, async () => {
      const { id } = exchange.world.keys.get("capped")!;
      await setCap(exchange, id, exchange.random.pick(caps));
    })],
  "change a budget": [
    2,
    (exchange) => setBudget(exchange, "user:user-1", exchange.random.pick(limits)),
  ],
  "remove a budget": [1, removeBudget],
  "replace a key": [2, replaceKey],
  "close a cap": [1, (exchange) => {
    const { id } = exchange.world.keys.get("capped")!;
    return closing(exchange, {
      what: "a cap of next to nothing",
      close: () => setCap(exchange, id, nextToNothing),
      open: () => setCap(exchange, id, "0.08"),
      of: { keyId: id },
    });
  }],
  "close a budget": [1, (exchange) =>
    closing(exchange, {
      what: "a budget of next to nothing",
      close: () => setBudget(exchange, "app:shop", nextToNothing),
      open: () => setBudget(exchange, "app:shop", "60"),
      of: { accountId: 1, app: "shop" },
    })],
  "take all credit back": [1, (exchange) =>
    closing(exchange, {
      what: "a negative balance",
      close: () => changeCredit(exchange, "team", -5_000_000_000n),
      open: () => changeCredit(exchange, "team", 5_000_000_000n),
      of: { accountId: exchange.world.keys.get("team")!.accountId },
    })],
};

/** Adds a change and sends it, perhaps several times; resolves to whether it is made for certain. */
export function changeCredit(exchange: Exchange, key: KeyName, nanos: bigint): Promise<boolean> {
  const { deeds: { money: { credits } }, world, seed } = exchange;
  const id = `credit-${seed}-${credits.length}`;
  const { accountId } = world.keys.get(key)!;
  const change: CreditChange = { id, accountId, nanos, isAnswered: false };
  credits.push(change);
  return send(exchange, change);
}

/** Sends those changes again whose outcome isn't known; resolves to whether it is known now. */
export async function finishCredits(exchange: Exchange): Promise<boolean> {
  const open = exchange.deeds.money.credits.filter(({ isAnswered }) => !isAnswered);
  for (const change of open) await send(exchange, change);
  return open.every(({ isAnswered }) => isAnswered);
}

async function send(exchange: Exchange, change: CreditChange): Promise<boolean> {
  const { id, accountId, nanos } = change;
  const path = `/api/v1/admin/credits/${nanos > 0n ? "grants" : "deductions"}`;
  const body = { usd: usd(nanos), account_id: accountId, note: id };
  const answer = await untilAnswered(exchange, "POST", path, body, id);
  if (answer) change.isAnswered = true;
  return answer !== undefined;
}

async function setCap(exchange: Exchange, id: string, cap: string): Promise<boolean> {
  const path = `/api/v1/admin/keys/${id}`;
  return await untilAnswered(exchange, "PATCH", path, { cap_day_usd: cap }) !== undefined;
}

async function setBudget(exchange: Exchange, on: string, limit: string): Promise<boolean> {
  const body = { on, per: "day", usd: limit };
  return await untilAnswered(exchange, "POST", "/api/v1/admin/budgets", body) !== undefined;
}

/** Of the users whose budgets come and go; those of `shop` and of user 1 are there throughout. */
async function removeBudget(exchange: Exchange): Promise<void> {
  const listed = await untilAnswered(exchange, "GET", "/api/v1/admin/budgets");
  if (!listed) return;
  const { data } = JSON.parse(listed) as { data: { id: string; on: string }[] };
  const removable = data.filter(({ on }) => /^user:user-[2-4]$/.test(on));
  if (removable.length === 0) return;
  const { id } = exchange.random.pick(removable);
  await untilAnswered(exchange, "DELETE", `/api/v1/admin/budgets/${id}`);
}

/** Options of the keys that are replaced, as they were made with. */
const keyOptions: Readonly<Partial<Record<KeyName, Readonly<Record<string, unknown>>>>> = {
  team: {},
  capped: { cap_day_usd: "0.05" },
  drain: { on_disconnect: "drain" },
};

/** Makes another key for the same calls, and revokes the one before while calls of it run. */
async function replaceKey(exchange: Exchange): Promise<void> {
  const { world, random, deeds } = exchange;
  const name = random.pick(Object.keys(keyOptions) as KeyName[]);
  const before = world.keys.get(name)!;
  if (deeds.money.isClosing) return;
  const made = await untilAnswered(exchange, "POST", "/api/v1/admin/keys", {
    ...keyOptions[name],
    name,
    account_id: before.accountId,
  });
  if (!made) return;
  const { id, key } = JSON.parse(made) as { id: string; key: string };
  world.keys.set(name, { id, key, accountId: before.accountId });
  if (!await untilAnswered(exchange, "DELETE", `/api/v1/admin/keys/${before.id}`)) return;
  const fromMs = Date.now() + effectMs;
  const of = { keyId: before.id };
  deeds.money.closures.push({ what: "a revoked key", fromMs, toMs: Infinity, of });
}

/** Leaves no room for any call for a moment. */
function closing(
  exchange: Exchange,
  change: Readonly<{
    what: string;
    close: () => Promise<boolean>;
    open: () => Promise<boolean>;
    of: Closure["of"];
  }>,
): Promise<void> {
  return alone(exchange, async () => {
    // The end of an earlier closure, if it was not made yet, would be the end of this one.
    if (!await finishCredits(exchange)) return;
    if (await change.close()) {
      const fromMs = Date.now() + effectMs;
      await pauseMs(effectMs + closedMs);
      const toMs = Date.now();
      exchange.deeds.money.closures.push({ what: change.what, fromMs, toMs, of: change.of });
    }
    await change.open();
  });
}

/** Leaves it out while another one is under way: a change of a cap would open what is closed. */
async function alone(
  { deeds: { money } }: Exchange,
  change: () => Promise<void>,
): Promise<void> {
  if (money.isClosing) return;
  money.isClosing = true;
  try {
    await change();
  } finally {
    money.isClosing = false;
  }
}

/** Repeats a request, which changes nothing the second time, until a process answers it. */
async function untilAnswered(
  exchange: Exchange,
  method: string,
  path: string,
  body?: unknown,
  requestId?: string,
): Promise<string | undefined> {
  const headers: Record<string, string> = requestId === undefined
    ? {}
    : { "x-request-id": requestId };
  for (let left = 40; left > 0; left--) {
    const { status, text } = await ask(exchange, "admin", method, path, body, headers);
    if (status === 200) return text;
    // Another process has the request, or had it when it died.
    const isUnderWay = requestId !== undefined && status === 409;
    const isGone = status === 0 || status === 503 || isUnderWay;
    if (!isGone) {
      expectStatus(exchange, `${method} ${path}`, status, text, []);
      return undefined;
    }
    await pauseMs(100);
  }
  return undefined;
}
