import type { QuotedJson } from "../base/quoted_json.ts";

/** A response that its caller can retrieve and continue. Texts are JSON. */
export interface StoredResponseFields {
  responseId: string;
  /**
   * All items of the conversation before the answer, an array; quoted where it may be large, as the
   * journal has it.
   */
  inputItemsText: string | QuotedJson;
  /** The answer as the caller received it; quoted where it is large. */
  answerText: string | QuotedJson;
  itemIds: readonly string[];
  /** Calls whose text is in the input items: if one is erased, so is this response. */
  sources: readonly string[];
}

export interface StoredResponse extends StoredResponseFields {
  transactionId: string;
}

/** Reasoning that a vendor requires back with a tool call; JSON text written by the gateway. */
export interface RetainedReasoning {
  callId: string;
  reasoningText: string;
}

export interface BackgroundEnd {
  responseId: string;
  state: "completed" | "incomplete" | "failed" | "cancelled";
  /** The response object if the answer isn't stored; JSON text. */
  answerText: string | null;
}

/** Stored for later turns of a conversation; written and erased with the call's interaction. */
export interface Retained {
  response?: StoredResponseFields;
  /** Ends a background call. If it has already ended, this answer isn't stored. */
  background?: BackgroundEnd;
  reasoning: readonly RetainedReasoning[];
}

/** Reads stored responses, which are written with their interactions. */
export interface StoredResponseStore {
  findResponse(accountId: number, responseId: string): Promise<StoredResponse | undefined>;
  findByItems(accountId: number, itemIds: readonly string[]): Promise<StoredResponse[]>;
  /** False if there is none. */
  removeResponse(accountId: number, responseId: string): Promise<boolean>;
  findReasoning(accountId: number, callIds: readonly string[]): Promise<RetainedReasoning[]>;
  /**
   * Repeats `find` while other processes write what they have answered; undefined if nothing
   * appears. `request` is the request that needs it, which waits in vain only once, however many
   * vendors it tries.
   */
  lookAgain?<T>(
    accountId: number,
    request: object,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /** The state of a background call; undefined if it isn't one. */
  backgroundState?(accountId: number, responseId: string): Promise<string | undefined>;
}
