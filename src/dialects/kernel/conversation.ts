import type { Steps } from "../../base/steps.ts";
import type { BodyAndText, JsonRecord } from "./json.ts";

/** How callers of a dialect continue an answer by its id. The gateway stores what this needs. */
export interface Conversation {
  /** Path of the field that names the answer to be continued. */
  readonly previousField: string;
  /** The field that adds to the conversation. */
  readonly inputField: string;
  /** `error.details` for an unknown answer, which the dialect's clients use to recover. */
  readonly notFoundDetails?: JsonRecord;
  /** Id of the answer that a request continues. */
  previousId(body: unknown): string | undefined;
  wantsStored(body: unknown): boolean;
  /**
   * For a dialect whose callers ask for each conversation to be stored. If a call uses the caller's
   * own vendor key, its vendor stores the conversations that began there.
   */
  readonly own?: {
    /** The field that asks for storage. */
    readonly field: string;
    /** `error.details` if nothing can be stored, which the dialect's clients use to recover. */
    readonly unsupportedDetails: JsonRecord;
    /** Throws `invalid_value` for a request that neither adds to a conversation nor continues one. */
    check(body: unknown): void;
    /** Whether the request asks for storage. */
    isAsked(body: unknown): boolean;
    /**
     * Returns a request that begins a conversation, its text without the field that asks the vendor
     * to store it.
     */
    start(request: BodyAndText): Steps<BodyAndText>;
  };
  /**
   * Throws `missing_required_field` for a request without input. Called for vendors of other
   * dialects: at a vendor of this one, state that it stores could take the input's place.
   */
  requireInput?(body: unknown): void;
  /** The items that the request adds to the conversation, as JSON values. */
  inputItems(body: unknown): readonly unknown[];
  /** For a dialect whose callers may list the items that a stored answer was made from. */
  readonly listing?: {
    /**
     * Returns the items' ids, all different: an item's own id, or one that is always the same in
     * this list.
     */
    ids(items: readonly unknown[], answerId: string): string[];
    /**
     * Returns an item as the list shows it; `include` names the parts that are shown only on
     * request.
     */
    shown(item: unknown, id: string, include: readonly string[]): Readonly<ListedItem>;
  };
  /**
   * Throws `unsupported_parameter` if a stored answer, a JSON value, lacks a part that its reader
   * asks to `include`.
   */
  requireIncluded?(answer: unknown, include: readonly string[]): void;
  /** Returns the answer's id as the caller knows it, given the answer as a JSON value. */
  answerId(answer: unknown): string | undefined;
  /** Ids of stored items that the request refers to instead of repeating them. */
  referencedIds(body: unknown): readonly string[];
  /** Ids of the items in an answer, which later requests may refer to. */
  itemIds(answer: unknown): readonly string[];
  /** The request with its references replaced by items of these answers. Absent: it has none. */
  resolve?(request: BodyAndText, answers: readonly unknown[]): Steps<BodyAndText>;
  /** Ids of the reasoning among these items that isn't sealed. */
  unsealedIds(items: unknown): readonly string[];
  /** The items with their reasoning sealed, as `find` returns it for an id. */
  sealItems(items: unknown, find: (id: string) => string | undefined): unknown;
  /**
   * The request with the reasoning in its input sealed; reasoning unknown to `find` is left out.
   * Absent: reasoning is never sealed.
   */
  sealInput?(request: BodyAndText, find: (id: string) => string | undefined): Steps<BodyAndText>;
  /** The request with the stored conversation before it. */
  continueFrom(
    request: BodyAndText & {
      /** The items of the whole conversation up to the stored answer. */
      inputItems: readonly unknown[];
      answer: unknown;
    },
  ): Steps<BodyAndText>;
}

export interface ListedItem {
  id: string;
  type: string;
  [name: string]: unknown;
}
