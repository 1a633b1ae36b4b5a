import { type ErrorCode, errors } from "../../contracts/kernel/errors.ts";
import { parseExactly } from "../base/exact_json.ts";
import type { Log } from "../base/log.ts";
import type { Principal } from "../keys/api_key.ts";
import {
  answerRequestId,
  type ClaimedRun,
  type EvalItem,
  type EvalWork,
  type FinishedItem,
  type ItemOutcome,
  judgeRequestId,
} from "./eval.ts";
import type { StoredCall } from "../records/analytics_store.ts";
import { isStoreAway } from "../shared/fault.ts";
import { answerText, requestWords } from "../dialects/kernel/prompt_text.ts";
import { askAgain } from "../dialects/kernel/ask_again.ts";
import { decodeRecorded } from "../dialects/kernel/decode_recorded.ts";
import type { MediaStore } from "../shared/media.ts";
import { inlineStoredMedia } from "../records/inline_stored_media.ts";
import { lacksCredentials } from "../records/mask_credentials.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import { askModel, type CallResult, type EvalCallDeps, type Spent } from "./eval_call.ts";
import { judgeRequest, readVerdict } from "./eval_judge.ts";
import type { GradeThread } from "./grade_thread.ts";
import { broken, gradeText, requiresStoredAnswer, unknown, type Verdict } from "./graders.ts";

export interface EvalItemDeps extends EvalCallDeps {
  work: Pick<EvalWork, "stored" | "earlierCall" | "begin" | "countTry" | "countCalls">;
  dialects: Readonly<Record<string, Dialect>>;
  graders: Pick<GradeThread, "grade" | "close">;
  media: MediaStore;
  log: Pick<Log, "warn">;
}

export interface ItemContext {
  run: ClaimedRun;
  item: EvalItem;
  principal: Principal;
  signal: AbortSignal;
}

/** The outcome of a finished item, or why the run can't finish it now. */
export type ItemEnd =
  | { kind: "finished"; done: FinishedItem }
  | Extract<CallResult, { kind: "wait" | "unrecoverable" | "stopped" }>;

/** Tries of one item at a vendor that is overloaded or unreachable. */
const maxTries = 4;

/**
 * Repeats one stored interaction and has the answer judged. Throws when the store is unavailable.
 */
export async function runItem(deps: EvalItemDeps, context: ItemContext): Promise<ItemEnd> {
  const stored = await deps.work.stored(context.run, context.item);
  const paid: Paid = { spent: noSpent, judgements: [] };
  try {
    return await runStored(deps, context, stored, paid);
  } catch (thrown) {
    if (isStoreAway(thrown)) throw thrown;
    // An internal error ends the item: it would otherwise be retried forever.
    warnOf(deps, context, thrown);
    return failed(context, stored, "internal_error", errors.internal_error.message, paid);
  }
}

/** The calls of an item so far: its answer's and those of its judges. */
interface Paid {
  spent: Spent;
  judgements: Judgement[];
}

function warnOf({ log }: EvalItemDeps, { run, item }: ItemContext, thrown: unknown): void {
  log.warn("an interaction could not be evaluated", {
    run: run.evalRunId,
    position: item.position,
    reason: thrown instanceof Error ? thrown.name : "unknown",
  });
}

async function runStored(
  deps: EvalItemDeps,
  context: ItemContext,
  stored: StoredCall | undefined,
  paid: Paid,
): Promise<ItemEnd> {
  const { run, item } = context;
  const dialect = stored && dialectOf(deps, stored);
  const blocker = findBlocker(run, stored, dialect);
  if (!stored || !dialect || blocker !== undefined) {
    return skipped(context, stored, blocker ?? "erased");
  }
  const requestText = await withMedia(deps, context, dialect, stored.requestText!);
  if (requestText === undefined) return skipped(context, stored, "media_erased");
  let asked: { body: unknown; bodyText: string };
  let input: string;
  try {
    asked = askAgain(dialect, requestText, run.model);
    input = requestWords(decodeRecorded(dialect, asked.body));
  } catch {
    // Only the request's text was read so far, so the cause is a body that today's contracts
    // refuse.
    return skipped(context, stored, "request_not_repeatable");
  }
  await deps.work.begin(run, item);
  const answer = await answerOf(deps, context, stored, dialect, asked);
  if (answer.kind !== "answer") return unanswered(context, stored, answer);
  paid.spent = answer.spent;
  const text = answerText(dialect, answer.json);
  if (text === "" && dialect !== deps.dialects[stored.dialect]) {
    return skipped(context, stored, "unreadable_answer", paid);
  }
  const evidence = { input, answer: text, expected: storedAnswer(stored, dialect) };
  const { judgements } = paid;
  for (const index of run.graders.keys()) {
    const judgement = await judge(deps, context, stored, evidence, index);
    if (judgement.kind !== "judgement") {
      await countPaid(deps, context, [answer, ...judgements].map(({ spent }) => spent));
      return unanswered(context, stored, judgement);
    }
    judgements.push(judgement);
  }
  const outcome = outcomeOf(judgements.map(({ verdict }) => verdict));
  return finished(context, stored, { outcome, reason: null, ...paid });
}

/**
 * Returns the dialect in which to repeat the call. A call that compacted a conversation is repeated
 * as one; OpenAI encrypts the summary, so its answer can't be judged.
 */
function dialectOf(
  { dialects }: Pick<EvalItemDeps, "dialects">,
  stored: StoredCall,
): Dialect | undefined {
  const dialect = dialects[stored.dialect];
  const compaction = dialect?.compaction;
  const isCompaction = compaction &&
    stored.endpoint.endsWith(compaction.upstreamPath("", false));
  return isCompaction ? compaction : dialect;
}

/** Counts paid calls of an item that doesn't end now: if the run ends first, nothing else does. */
async function countPaid(
  { work }: EvalItemDeps,
  { run, item }: ItemContext,
  paid: readonly Spent[],
): Promise<void> {
  const calls = paid.filter(({ costNanos, unpricedCalls }) => costNanos > 0n || unpricedCalls > 0);
  if (calls.length > 0) await work.countCalls(run, item, calls);
}

interface Judgement {
  kind: "judgement";
  verdict: Verdict;
  spent: Spent;
}

const noSpent: Spent = { transactionId: null, costNanos: 0n, unpricedCalls: 0 };

/** Returns the reason why an interaction can't be repeated; undefined if it can. */
function findBlocker(
  run: ClaimedRun,
  stored: StoredCall | undefined,
  dialect: Dialect | undefined,
): string | undefined {
  if (!stored) return "erased";
  if (!dialect) return "not_a_conversation";
  if (stored.requestText === null) return "payload_erased";
  if (stored.payloadTruncated) return "payload_truncated";
  if (lacksCredentials(stored.requestText, dialect.credentialFields)) {
    return "credentials_not_recorded";
  }
  const requiresAnswer = run.graders.every(requiresStoredAnswer);
  return requiresAnswer && !storedAnswer(stored, dialect) ? "no_stored_answer" : undefined;
}

function storedAnswer(stored: StoredCall, dialect: Dialect): string | null {
  if (stored.status !== "completed" || stored.responseText === null) return null;
  try {
    return answerText(dialect, parseExactly(stored.responseText));
  } catch {
    return null;
  }
}

/** Puts separately stored media back into the request; undefined when some was erased. */
function withMedia(
  { media }: EvalItemDeps,
  { run }: ItemContext,
  dialect: Dialect,
  requestText: string,
): Promise<string | undefined> {
  return inlineStoredMedia(requestText, dialect.mediaFields, async (sha256) => {
    const facts = await media.find(run.accountId, sha256);
    return facts && await media.read(sha256, 0, facts.bytes);
  });
}

type CallOutcome = Exclude<CallResult, { kind: "busy" }>;

async function answerOf(
  deps: EvalItemDeps,
  context: ItemContext,
  stored: StoredCall,
  dialect: Dialect,
  asked: { body: unknown; bodyText: string },
): Promise<CallOutcome> {
  const requestId = answerRequestId({ ...context.run, ...context.item });
  return await earlierAnswer(deps, context, requestId) ??
    await call(deps, context, stored, { dialect, ...asked, requestId });
}

async function judge(
  deps: EvalItemDeps,
  context: ItemContext,
  stored: StoredCall,
  evidence: { input: string; answer: string; expected: string | null },
  index: number,
): Promise<Judgement | Exclude<CallOutcome, { kind: "answer" }>> {
  const grader = context.run.graders[index]!;
  if (grader.type !== "judge") {
    const verdict = await gradeText(grader, evidence, {
      grade: (rule, text) => deps.graders.grade(rule, text, String(context.run.accountId)),
    });
    return { kind: "judgement", verdict, spent: noSpent };
  }
  const { run, item } = context;
  const chat = deps.dialects.chat!;
  const requestId = judgeRequestId({ ...run, ...item }, index);
  const asked = await earlierAnswer(deps, context, requestId) ??
    await call(deps, context, stored, {
      dialect: chat,
      ...judgeRequest(grader, evidence, chat),
      requestId,
    });
  if (asked.kind === "refused") {
    const verdict = broken(`the judge could not be asked: ${asked.code}: ${asked.message}`);
    return { kind: "judgement", verdict, spent: asked.spent };
  }
  if (asked.kind !== "answer") return asked;
  const verdict = readVerdict(answerText(chat, asked.json));
  return { kind: "judgement", verdict, spent: asked.spent };
}

/** Returns the answer of an earlier try's call, if there is one: it was paid for, so it is used. */
async function earlierAnswer(
  { work }: EvalItemDeps,
  { run, item }: ItemContext,
  requestId: string,
): Promise<Extract<CallResult, { kind: "answer" }> | undefined> {
  if (item.attempts === 0) return undefined;
  const earlier = await work.earlierCall(run, requestId);
  if (!earlier || earlier.responseText === null || earlier.payloadTruncated) return undefined;
  const { transactionId, costNanos } = earlier;
  const unpricedCalls = costNanos === null ? 1 : 0;
  const spent = item.countedCalls.includes(transactionId)
    ? { ...noSpent, transactionId }
    : { transactionId, costNanos: costNanos ?? 0n, unpricedCalls };
  return { kind: "answer", json: parseExactly(earlier.responseText), spent };
}

async function call(
  deps: EvalItemDeps,
  context: ItemContext,
  { sessionId, userId }: StoredCall,
  request: { dialect: Dialect; body: unknown; bodyText: string; requestId: string },
): Promise<CallOutcome> {
  const { run, principal, signal, item } = context;
  const ofStored = { sessionId, userId, sourceCallIds: [item.transactionId] };
  const asked = await askModel(deps, { principal, signal, ...ofStored, ...request });
  if (asked.kind === "refused" && asked.cause !== undefined) {
    warnOf(deps, context, asked.cause);
  }
  // A vendor may bill what it wrote until it was interrupted.
  if (asked.kind === "stopped" && asked.spent) await countPaid(deps, context, [asked.spent]);
  if (asked.kind !== "busy") return asked;
  const { code, spent, ms } = asked;
  const tries = Math.max(1, item.attempts);
  if (tries >= maxTries) {
    return { kind: "refused", code, message: `no answer after ${tries} tries`, spent };
  }
  // A vendor may bill an interrupted answer, and the item's end counts only its last call.
  await deps.work.countTry(run, item, spent);
  return { kind: "wait", code, message: code, ms: ms ?? 1000 * 2 ** tries };
}

function unanswered(
  context: ItemContext,
  stored: StoredCall,
  asked: Exclude<CallOutcome, { kind: "answer" }>,
): ItemEnd {
  if (asked.kind !== "refused") return asked;
  const { code, message, spent } = asked;
  return failed(context, stored, code, message, { spent, judgements: [] });
}

function failed(
  context: ItemContext,
  stored: StoredCall | undefined,
  code: ErrorCode,
  message: string,
  paid: Paid,
): ItemEnd {
  const end = { outcome: "error", reason: code, ...paid } as const;
  return finished(context, stored, end, `${code}: ${message}`);
}

function skipped(
  context: ItemContext,
  stored: StoredCall | undefined,
  reason: string,
  paid: Paid = { spent: noSpent, judgements: [] },
): ItemEnd {
  const end = { outcome: "skipped", reason, ...paid } as const;
  return finished(context, stored, end, `skipped: ${reason}`);
}

/**
 * Combines the graders' verdicts: `error` if any grader failed to work, else `failed` if any says
 * no, else `skipped` if any had nothing to compare with.
 */
function outcomeOf(verdicts: readonly Verdict[]): ItemOutcome {
  if (verdicts.some(({ state }) => state === "error")) return "error";
  if (verdicts.some(({ passed }) => passed === false)) return "failed";
  return verdicts.some(({ state }) => state === "unknown") ? "skipped" : "passed";
}

/**
 * Builds an item's end. Where no grader was asked, the result of each has `detail` as the reason.
 */
function finished({ run, item }: ItemContext, stored: StoredCall | undefined, end: {
  outcome: ItemOutcome;
  reason: string | null;
  spent: Spent;
  judgements: readonly Judgement[];
}, detail = ""): ItemEnd {
  const { outcome, reason, spent, judgements } = end;
  const all = [spent, ...judgements.map((one) => one.spent)];
  const results = run.graders.map((grader, graderIndex) => {
    const judgement = judgements[graderIndex];
    const { passed, score, detail: message } = judgement?.verdict ?? unknown(detail);
    return {
      transactionId: item.transactionId,
      answerTransactionId: spent.transactionId,
      judgeTransactionId: judgement?.spent.transactionId ?? null,
      sessionId: stored?.sessionId ?? null,
      userId: stored?.userId ?? null,
      graderIndex,
      grader,
      passed,
      score,
      detail: message,
    };
  });
  const costNanos = all.reduce((sum, one) => sum + one.costNanos, 0n);
  const unpricedCalls = all.reduce((sum, one) => sum + one.unpricedCalls, 0);
  return { kind: "finished", done: { outcome, reason, results, costNanos, unpricedCalls } };
}
