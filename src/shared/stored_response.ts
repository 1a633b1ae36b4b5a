/** A response that its caller may read and continue. Texts are JSON. */
export interface StoredResponseFields {
  responseId: string;
  /** The items of the whole conversation up to the answer, an array. */
  inputItemsText: string;
  /** The answer as the caller received it. */
  answerText: string;
  /** Ids of the answer's items. */
  itemIds: readonly string[];
  /** The calls whose text stands in the input items: with any of them this goes too. */
  sources: readonly string[];
}

/** A response as the store has it, with the call that made it. */
export interface StoredResponse extends StoredResponseFields {
  transactionId: string;
}

/** What a vendor needs back with one tool call: JSON text that the gateway wrote. */
export interface RetainedReasoning {
  callId: string;
  reasoningText: string;
}

/** How a background call ended for its caller. */
export interface BackgroundEnd {
  responseId: string;
  state: "completed" | "incomplete" | "failed" | "cancelled";
  /** The response object where the answer is not kept; JSON text. */
  answerText: string | null;
}

/** What is kept of a call for the turns that follow; written and erased with its interaction. */
export interface Retained {
  response?: StoredResponseFields;
  /** Ends a background call, unless it has ended already: then its answer is not kept. */
  background?: BackgroundEnd;
  reasoning: readonly RetainedReasoning[];
}

/** Where kept answers are found again; they are written with their interaction. */
export interface StoredResponseStore {
  findResponse(accountId: number, responseId: string): Promise<StoredResponse | undefined>;
  /** The responses that hold any of these items. */
  findByItems(accountId: number, itemIds: readonly string[]): Promise<StoredResponse[]>;
  /** False when there is none. */
  removeResponse(accountId: number, responseId: string): Promise<boolean>;
  findReasoning(accountId: number, callIds: readonly string[]): Promise<RetainedReasoning[]>;
  /** Where a background call stands; undefined for what is none. */
  backgroundState?(accountId: number, responseId: string): Promise<string | undefined>;
}
