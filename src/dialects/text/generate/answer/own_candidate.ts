import { pushAll } from "../../../../base/lists.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { OwnMembers } from "../../../kernel/own_fields.ts";

/** No real answer has more tokens with log-probabilities. */
const maxTokens = 500_000;

/**
 * Collects a candidate's members besides its content. The log-probabilities of all elements are
 * joined.
 */
export class OwnCandidate extends OwnMembers {
  readonly #logprobs: Record<string, unknown[]> = { chosenCandidates: [], topCandidates: [] };

  constructor() {
    super(["content", "finishReason", "index", "logprobsResult"]);
  }

  override add(candidate: JsonRecord): void {
    super.add(candidate);
    const { logprobsResult: result } = candidate;
    if (!isRecord(result)) return;
    for (const [name, tokens] of Object.entries(this.#logprobs)) {
      const more = result[name];
      if (Array.isArray(more) && tokens.length + more.length <= maxTokens) pushAll(tokens, more);
    }
    this.set("logprobsResult", { ...result, ...this.#logprobs });
  }
}
