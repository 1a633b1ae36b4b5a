import type { ResolvedModel } from "../vendors/model_name.ts";

/** Where calls of one model name may go. */
export interface Route {
  /** As the call names it. */
  readonly name: string;
  readonly isVirtual: boolean;
  /** At least one, in falling weight. A route of a plain model has just this model. */
  readonly targets: readonly [WeightedTarget, ...WeightedTarget[]];
  /** Asked in this order once all targets have failed. */
  readonly fallbacks: readonly ResolvedModel[];
  /** What of a call decides its target: the same value, the same target. */
  readonly stickBy?: "session" | "user";
}

export interface WeightedTarget {
  readonly target: ResolvedModel;
  /** A whole number from 1 to 1,000,000; its share of the sum of all is its share of the calls. */
  readonly weight: number;
}

/** The models that calls of the unified family may name. */
export interface RouteTable {
  /**
   * The route of a name: `<vendor>/<model>`, else the account's virtual model, the service's, the
   * model that one vendor has as its own. Throws `model_not_found`, and `invalid_value` for a name
   * that several vendors have. Asks no database.
   */
  find(accountId: number, name: string): Route;
}
