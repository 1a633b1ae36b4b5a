/** What an answer says, as a grammar reads it from the bytes, to compare dialects. */
export interface AnswerContent {
  /** `failed`: it ended in the dialect's own error. */
  ending: "finished" | "failed";
  choices: AnswerChoice[];
  /** Undefined if the answer has none. */
  usage: AnswerUsage | undefined;
  error: { code: string; message: string } | undefined;
}

export interface AnswerChoice {
  text: string;
  reasoning: string;
  refusal: string;
  calls: AnswerCall[];
  /** In the chat dialect's terms; undefined if the choice never ended. */
  finish: "stop" | "length" | "tool_calls" | "content_filter" | undefined;
}

export interface AnswerCall {
  id: string;
  name: string;
  /** The text as written: a function's arguments as JSON, or a custom tool's free text. */
  input: string;
  custom: boolean;
}

export interface AnswerUsage {
  /** Tokens of the whole prompt, including cached ones. */
  input: number;
  cacheRead: number;
  output: number;
}

export function newChoice(): AnswerChoice {
  return { text: "", reasoning: "", refusal: "", calls: [], finish: undefined };
}
