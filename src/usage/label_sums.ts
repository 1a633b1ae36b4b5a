import {
  type LabelStep,
  type LabelSum,
  labelSums,
  type StoredStep,
  type UsageLabel,
} from "./label_usage.ts";

/** Sums of whole days by label, kept so that no page adds them up from the calls. */
export interface LabelSumStore {
  /** Of these days those whose calls are still in these states. */
  read(
    accountId: number,
    label: UsageLabel,
    days: readonly StoredStep[],
  ): Promise<LabelStep[]>;
}

/** Finds and keeps them. Implemented in `src/usage/store/label_sums.ts`. */
export interface LabelSumKeeper {
  /** Up to `limit` accounts with calls, by id, behind this one. */
  accounts(after: number, limit: number): Promise<number[]>;
  /** Days of the span whose sums are missing or are of other calls, the newest first. */
  missing(accountId: number, span: { from: Date; to: Date }): Promise<Date[]>;
  /** Adds up the calls of a day, and keeps the sums of each label. */
  keep(accountId: number, day: Date): Promise<void>;
}

/**
 * For each sum, in the order of `labelSums`: 0 where all numbers are zero; else 1 and the numbers, seven
 * bits a byte, the lowest first. A number takes two bytes on average, of eight that it has in memory.
 */
export function packSums({ values, sums }: LabelStep): Uint8Array {
  const bytes: number[] = [];
  for (const name of labelSums) {
    const numbers = sums[name];
    const isThere = numbers?.some((one) => one !== 0) === true;
    bytes.push(isThere ? 1 : 0);
    if (!isThere) continue;
    for (let at = 0; at < values.length; at++) pushNumber(bytes, numbers[at]!);
  }
  return Uint8Array.from(bytes);
}

function pushNumber(bytes: number[], number: number): void {
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${number} is no sum of calls`);
  let rest = number;
  while (rest >= 128) {
    bytes.push(rest % 128 + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

export function unpackSums(bytes: Uint8Array, length: number): LabelStep["sums"] {
  const sums: Partial<Record<LabelSum, Float64Array>> = {};
  let at = 0;
  for (const name of labelSums) {
    if (bytes[at++] !== 1) continue;
    const numbers = new Float64Array(length);
    for (let nth = 0; nth < length; nth++) {
      let byte = bytes[at++]!;
      let number = byte & 127;
      for (let unit = 128; byte >= 128; unit *= 128) {
        byte = bytes[at++]!;
        number += (byte & 127) * unit;
      }
      numbers[nth] = number;
    }
    sums[name] = numbers;
  }
  return sums;
}

export interface LabelSumsJobDeps {
  keeper: LabelSumKeeper;
  /** Wall clock. */
  now: () => Date;
}

/** The longest span that the overview offers, with the month before. */
const storedDays = 400;
/** A round looks at the days of every account. */
const roundEveryMs = 3_600_000;
/** What one run may take, so that calls have the store for most of the time. */
const runMs = 4_000;
const accountsAtOnce = 100;
const dayMs = 86_400_000;

/**
 * Keeps the sums of days that are over, account by account, the newest day first. A run goes on where
 * the last one ended; with nothing left, the next round begins an hour after the last one did.
 */
export function createLabelSumsJob({ keeper, now }: LabelSumsJobDeps): () => Promise<void> {
  let roundBegan: number | undefined;
  let after = 0;
  let isDone = false;
  const keepAccount = async (accountId: number, isTimeUp: () => boolean): Promise<boolean> => {
    const today = Math.floor(now().getTime() / dayMs) * dayMs;
    const span = { from: new Date(today - storedDays * dayMs), to: new Date(today) };
    for (const day of await keeper.missing(accountId, span)) {
      if (isTimeUp()) return false;
      await keeper.keep(accountId, day);
    }
    return true;
  };
  return async () => {
    const began = now().getTime();
    if (roundBegan === undefined || began - roundBegan >= roundEveryMs && isDone) {
      [roundBegan, after, isDone] = [began, 0, false];
    }
    const isTimeUp = () => now().getTime() - began >= runMs;
    while (!isDone && !isTimeUp()) {
      const accounts = await keeper.accounts(after, accountsAtOnce);
      if (accounts.length === 0) isDone = true;
      for (const accountId of accounts) {
        if (isTimeUp() || !await keepAccount(accountId, isTimeUp)) return;
        after = accountId;
      }
    }
  };
}
