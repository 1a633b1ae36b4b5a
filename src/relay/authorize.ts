import type { RequestFacts } from "../dialects/kernel/dialect.ts";
import type { Principal } from "../keys/api_key.ts";
import { inputTokenBound } from "../shared/token_estimate.ts";
import { outputLimit, type PriceRow, upperBoundNanos } from "../pricing/pricing.ts";
import type { SpendCaps } from "../credit/spend_cap.ts";
import type { Reservations } from "../credit/reservations.ts";
import type { HostedBound } from "./plan/hosted_work.ts";

/** What is held for one call: credit of its account, and room under its key's caps. */
export interface Authorization {
  /** The lease that the charge comes out of. */
  readonly leaseId: string | null;
  /** What it can cost at most; null where the account is charged nothing. */
  readonly heldNanos: bigint | null;
  /** The call has ended and was charged this, in nano-dollars; later calls do nothing. */
  settle(chargedNanos: bigint): void;
}

export interface AuthorizeDeps {
  reservations: Reservations;
  spendCaps: SpendCaps;
}

/** A call with a vendor key of the caller's own costs the account nothing. */
export const nothingHeld: Authorization = { leaseId: null, heldNanos: null, settle() {} };

/**
 * Holds what a call can cost at most. Throws `insufficient_credits`, `spend_cap_exceeded`, and
 * `store_unavailable` where it can't be known whether either is reached.
 */
export async function authorize(
  deps: AuthorizeDeps,
  call: { principal: Principal; transactionId: string; at: Date; boundNanos: bigint },
): Promise<Authorization> {
  const { principal: { key, account }, transactionId, at, boundNanos } = call;
  const hold = await deps.spendCaps.reserve({
    key,
    transactionId,
    upperBoundNanos: boundNanos,
    at,
  });
  try {
    const reservation = await deps.reservations.reserve(account.id, boundNanos);
    return {
      leaseId: reservation.leaseId,
      heldNanos: boundNanos,
      settle(chargedNanos) {
        reservation.settle(chargedNanos);
        hold.settle(chargedNanos);
      },
    };
  } catch (thrown) {
    hold.settle(0n);
    throw thrown;
  }
}

/** No vendor gives more answers to one request. */
const mostChoices = 128;

/**
 * What one use of a tool costs where only the vendor knows, as a bound in nano-dollars: the
 * aggregator's web plugin takes 4 USD per 1,000 results, five to a use.
 */
const unlistedUseNanos = 20_000_000n;

/**
 * Upper bound of a call's cost in nano-dollars, from what goes to the vendor: its tokens; what
 * hosted tools cost by the piece, and the prompt tokens that their results add; and what other
 * models do, the dearest of those of which one answers, all of those that work besides.
 */
export function boundOf(
  price: PriceRow,
  facts: RequestFacts,
  requestText: string,
  hosted: HostedBound,
): bigint {
  const bound = (row: PriceRow, more: HostedBound, limit = facts.maxOutputTokens) =>
    boundOfModel(row, { ...facts, maxOutputTokens: limit }, requestText, more);
  let dearest = bound(price, hosted);
  let besides = BigInt(hosted.unlistedUses) * unlistedUseNanos;
  for (const { price: row, role, uses, maxOutputTokens } of hosted.models) {
    if (role === "besides") besides += BigInt(uses) * bound(row, alone, maxOutputTokens);
    else dearest = [dearest, bound(row, hosted)].reduce((a, b) => a > b ? a : b);
  }
  return dearest + besides;
}

/** Another model's part has no tools. */
const alone: HostedBound = { uses: {}, inputTokens: 0, unlistedUses: 0, models: [] };

function boundOfModel(
  price: PriceRow,
  facts: RequestFacts,
  requestText: string,
  hosted: HostedBound,
): bigint {
  const { maxOutputTokens, serviceTier } = facts;
  const choices = Math.min(facts.choices, mostChoices);
  // Facts count all answers together.
  const asked = maxOutputTokens === undefined
    ? undefined
    : Math.ceil(maxOutputTokens / Math.max(1, facts.choices));
  return upperBoundNanos(price, {
    // What doesn't fit the model's context is refused by its vendor.
    inputTokens: Math.min(inputTokenBound(requestText), price.contextTokens ?? Infinity) +
      hosted.inputTokens,
    ...hosted.uses,
    ...(hosted.region === undefined ? {} : { region: hosted.region }),
    maxOutputTokens: outputLimit(price, asked),
    choices,
    ...(serviceTier === undefined ? {} : { serviceTier }),
  });
}
