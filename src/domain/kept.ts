/** A response that its caller may read and continue. Texts are JSON. */
export interface KeptResponse {
  responseId: string;
  /** The items of the whole conversation up to the answer, an array. */
  inputItemsText: string;
  /** The answer as the caller received it. */
  answerText: string;
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
  /** False when there is none. */
  removeResponse(accountId: number, responseId: string): Promise<boolean>;
  findReasoning(accountId: number, callIds: readonly string[]): Promise<KeptReasoning[]>;
}
