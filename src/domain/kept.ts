/** A response that its caller may read and continue. Texts are JSON. */
export interface KeptResponse {
  responseId: string;
  /** The items of the whole conversation up to the answer, an array. */
  inputItemsText: string;
  /** The answer as the caller received it. */
  answerText: string;
  /** Ids of the answer's items. */
  itemIds: readonly string[];
}

/** What a vendor needs back with one tool call: JSON text that the gateway wrote. */
export interface KeptReasoning {
  callId: string;
  reasoningText: string;
}

/** What is kept of a call for the turns that follow; written and erased with its interaction. */
export interface Kept {
  response?: KeptResponse;
  reasoning: readonly KeptReasoning[];
}

/** Where kept answers are found again; they are written with their interaction. */
export interface KeptStore {
  findResponse(accountId: number, responseId: string): Promise<KeptResponse | undefined>;
  /** The responses that hold any of these items. */
  findByItems(accountId: number, itemIds: readonly string[]): Promise<KeptResponse[]>;
  /** False when there is none. */
  removeResponse(accountId: number, responseId: string): Promise<boolean>;
  findReasoning(accountId: number, callIds: readonly string[]): Promise<KeptReasoning[]>;
}
