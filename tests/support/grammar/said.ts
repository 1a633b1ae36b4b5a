/** What an answer says, as a grammar reads it off the wire: for comparing dialects. */
export interface Said {
  /** `failed`: it ended in the dialect's own error. */
  ending: "finished" | "failed";
  choices: SaidChoice[];
  /** Undefined where the dialect shows none. */
  usage: SaidUsage | undefined;
  error: { code: string; message: string } | undefined;
}

export interface SaidChoice {
  text: string;
  reasoning: string;
  refusal: string;
  calls: SaidCall[];
  /** In the chat dialect's words; undefined when the choice never ended. */
  finish: "stop" | "length" | "tool_calls" | "content_filter" | undefined;
}

export interface SaidCall {
  id: string;
  name: string;
  /** Text as it was written: JSON of a function's arguments, free text of a custom tool's input. */
  input: string;
  custom: boolean;
}

export interface SaidUsage {
  /** Whole prompt, cached parts included. */
  input: number;
  cacheRead: number;
  output: number;
}

export function newChoice(): SaidChoice {
  return { text: "", reasoning: "", refusal: "", calls: [], finish: undefined };
}
