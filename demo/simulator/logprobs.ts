import { hash } from "./tokens.ts";

export interface Logprob {
  token: string;
  logprob: number;
  bytes: number[];
}

/** A made-up but stable log probability of one token. */
export function logprobOf(
  token: string,
  alternatives: number,
): Logprob & { top_logprobs: Logprob[] } {
  const of = (text: string, rank: number) => ({
    token: text,
    logprob: -((hash(text) % 1000) / 1000 + rank),
    bytes: [...new TextEncoder().encode(text)],
  });
  return {
    ...of(token, 0),
    top_logprobs: Array.from(
      { length: alternatives },
      (_, rank) => rank === 0 ? of(token, 0) : of(`${token.trim()}~${rank}`, rank),
    ),
  };
}
