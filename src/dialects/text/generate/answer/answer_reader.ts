import type { Steps } from "../../../../base/steps.ts";
import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { choiceIndexes } from "../../../kernel/choices.ts";
import { asRecord, asString, isRecord, type JsonRecord, unixTime } from "../../../kernel/json.ts";
import { OwnMembers } from "../../../kernel/own_fields.ts";
import { LogprobReader } from "../../../kernel/token_logprobs.ts";
import { CandidateReader } from "./candidate_reader.ts";
import { readCandidatesAhead } from "./logprobs.ts";
import { isBlocked } from "../finish_reason.ts";
import { mapsCount, searchCount } from "./grounding.ts";
import { modelTraits } from "../models.ts";
import { readUsage } from "../usage.ts";

export class AnswerReader {
  readonly #candidates = new Map<number, CandidateReader>();
  readonly #nextBlock = { value: 0 };
  readonly #logprobs = new LogprobReader();
  readonly #searches = new Map<number, number>();
  readonly #maps = new Map<number, number>();
  /** `createTime` is collected too, because it is read only to the second. */
  readonly #own = new OwnMembers(["candidates", "modelVersion", "responseId", "usageMetadata"]);
  #started = false;
  #blockReason: string | undefined;
  #model: string | undefined;

  /** Reads in steps what is long in one GenerateContentResponse, before `read` gets it. */
  readAhead(json: unknown): Steps<void> {
    return readCandidatesAhead(json, this.#logprobs);
  }

  /**
   * Reads one GenerateContentResponse, which carries no error and whose candidates are readable
   * (`areReadable`).
   */
  read(json: JsonRecord, events: CanonicalEvent[]): void {
    this.#start(json, events);
    this.#own.add(json);
    const candidates: JsonRecord[] = Array.isArray(json.candidates) ? json.candidates : [];
    for (const [position, index] of choiceIndexes(candidates).entries()) {
      const candidate = candidates[position]!;
      this.#candidate(index).read(candidate, events);
      const searches = searchCount(candidate);
      if (searches !== undefined) this.#searches.set(index, searches);
      const maps = mapsCount(candidate);
      if (maps !== undefined) this.#maps.set(index, maps);
    }
    const feedback = asRecord(json.promptFeedback);
    if (isBlocked(feedback.blockReason)) this.#blockReason = feedback.blockReason;
    const searches = this.#billed(this.#searches);
    const maps = this.#billed(this.#maps);
    const usage = readUsage(json.usageMetadata, {
      ...(searches === undefined ? {} : { webSearches: searches }),
      ...(maps === undefined ? {} : { mapsQueries: maps }),
    });
    if (usage) events.push({ type: "usage", usage });
  }

  /**
   * Whether at least `least` candidates have come and all have a finish reason, or the prompt was
   * blocked.
   */
  hasEnded(least: number): boolean {
    if (this.#blockReason !== undefined) return true;
    if (this.#candidates.size < least) return false;
    for (const { finished } of this.#candidates.values()) if (!finished) return false;
    return true;
  }

  /** See `CandidateReader.mayRepeatReason`. */
  get mayRepeatReasons(): boolean {
    for (const { mayRepeatReason } of this.#candidates.values()) if (mayRepeatReason) return true;
    return false;
  }

  /** Closes every candidate. A whole answer has ended, even if the vendor omits the reason. */
  close(events: CanonicalEvent[], isWhole: boolean): void {
    this.#own.report("generate", events);
    for (const candidate of this.#candidates.values()) {
      // A filter may stop an answer that has started, and report that only for the prompt.
      const reason = this.#blockReason !== undefined ? "SAFETY" : isWhole ? "STOP" : undefined;
      if (reason && !candidate.finished) candidate.read({ finishReason: reason }, events);
      candidate.close(events);
    }
    if (this.#candidates.size > 0 || this.#blockReason === undefined) return;
    events.push({ type: "finish", choice: 0, reason: "content_filter", raw: this.#blockReason });
  }

  #start(json: JsonRecord, events: CanonicalEvent[]): void {
    this.#model ??= asString(json.modelVersion);
    if (this.#started) return;
    this.#started = true;
    events.push({
      type: "start",
      id: asString(json.responseId),
      model: asString(json.modelVersion),
      created: unixSeconds(json.createTime),
    });
  }

  #candidate(index: number): CandidateReader {
    let candidate = this.#candidates.get(index);
    if (!candidate) {
      candidate = new CandidateReader(index, this.#nextBlock, this.#logprobs);
      this.#candidates.set(index, candidate);
    }
    return candidate;
  }

  /**
   * Returns the number of billed queries: one per grounded prompt before generation 3, since then
   * each of the prompt's queries.
   */
  #billed(queries: ReadonlyMap<number, number>): number | undefined {
    if (queries.size === 0) return undefined;
    if (modelTraits(this.#model ?? "").generation < 3) return 1;
    return [...queries.values()].reduce((total, one) => total + one, 0);
  }
}

/** Whether all candidates are objects: if one weren't, the caller would miss a choice. */
export function areReadable({ candidates }: JsonRecord): boolean {
  return !Array.isArray(candidates) || candidates.every(isRecord);
}

function unixSeconds(time: unknown): number | undefined {
  return typeof time === "string" ? unixTime(Date.parse(time) / 1000) : undefined;
}
